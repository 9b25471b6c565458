//! The Stripe side on the screen: the list of alerts, the header's words for each state, what is said when it changes.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use payout_ledger::daemon::stripe_side::{Progress, Status};
use payout_ledger::domain::retry::Profile;
use payout_ledger::store::read::Reader;
use payout_ledger::stripe::cli::CliProblem;
use payout_ledger::stripe::listen::{ListenState, ListenStatus};
use payout_ledger::tui::app::App;
use payout_ledger::tui::data::{Data, Link};
use payout_ledger::tui::notices::Tone;
use payout_ledger::tui::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::support::side_bench::Bench;

const NOW: i64 = 1_800_000_000_000;

fn payout(event: &str, id: &str, status: &str, created: i64) -> String {
    format!(
        r#"{{"id":"{event}","object":"event","type":"payout.{status}","created":{created},"livemode":false,"data":{{"object":{{
        "id":"{id}","object":"payout","amount":1999,"currency":"usd","status":"{status}","arrival_date":1700000000,
        "failure_code":"account_closed"}}}}}}"#
    )
}

fn app(bench: &Bench, read_only: bool) -> App {
    let data = Data {
        reader: Reader::open(&bench.path(), false).unwrap(),
        link: Link::default(),
        database: bench.path(),
        profile: Profile::default(),
        who: "ann".to_owned(),
        read_only,
    };
    let mut app = App::new(data, Theme::named("terminal").unwrap());
    app.use_utc();
    app.refresh(NOW);
    app
}

fn press(app: &mut App, keys: &str) {
    for c in keys.chars() {
        app.input(&Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)), NOW);
    }
}

fn picture(app: &mut App, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    app.draw(area, &mut buffer, NOW);
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

fn troubled() -> Bench {
    let mut bench = Bench::new();
    bench.deliver(&payout("evt_1", "po_returned", "paid", 1));
    bench.deliver(&payout("evt_2", "po_returned", "failed", 2));
    bench.deliver(&payout("evt_3", "po_late", "in_transit", 3));
    bench.side.scan_alerts(NOW, Some(2)).unwrap();
    bench
}

#[test]
fn listed_with_their_whole_text_and_acknowledged() {
    let bench = troubled();
    let mut app = app(&bench, false);
    assert!(picture(&mut app, 120, 30).contains("! alerts: 2 (A)"));
    press(&mut app, "A");
    let shown = picture(&mut app, 120, 30);
    for text in [
        "Alerts: 2 open, 0 acknowledged",
        "✗ returned  ",
        "! overdue   08:00:00",
        "platform po_late: a payout of 19.99 USD should have arrived",
    ] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    press(&mut app, "j ");
    let shown = picture(&mut app, 120, 30);
    assert!(shown.contains("Alerts: 1 open, 1 acknowledged") && shown.contains("1 acknowledged"), "{shown}");
    press(&mut app, "aq");
    let shown = picture(&mut app, 120, 30);
    assert!(!shown.contains("alerts: 2"), "{shown}");
    assert_eq!(bench.rows("SELECT who FROM audit WHERE action = 'acknowledge'"), ["ann", "ann"]);
}

fn listening(state: ListenState) -> Option<Status> {
    let listen = ListenStatus { state, version: None, forwarded: 0, lost: 0, gaps: 0 };
    Some(Status { key: Some("rk_test_…"), listen: Some(listen), ..Status::default() })
}

#[test]
fn the_header_has_a_word_for_each_state_of_the_child() {
    let bench = Bench::new();
    let mut app = app(&bench, false);
    for (state, header, said) in [
        (ListenState::Starting, "◦ stripe listen", "starting"),
        (ListenState::Ready, "● stripe listen", "ready"),
        (ListenState::Reconnecting("gone".into()), "! stripe listen reconnects", "reconnecting: gone"),
        (ListenState::Unusable(CliProblem::NotInstalled), "✗ stripe listen: L", "npm install -g @stripe/cli"),
        (ListenState::Unusable(CliProblem::NotLoggedIn(String::new())), "✗ stripe listen: L", "run stripe login"),
        (ListenState::Unusable(CliProblem::TooOld("1.0".into())), "✗ stripe listen: L", "1.0 is too old"),
        (ListenState::Stopped, "– stripe listen", "stopped"),
    ] {
        let before = std::mem::replace(&mut app.data.link.stripe, listening(state.clone()));
        app.stripe_news(before, listening(state));
        for width in [120, 100] {
            let shown = picture(&mut app, width, 24);
            assert!(shown.contains(header), "{header}\n{shown}");
        }
        assert!(said_now(&mut app).contains(said), "{said}\n{}", said_now(&mut app));
    }
}

#[test]
fn beside_a_receiver_the_header_says_it_all_in_fewer_words() {
    let bench = troubled();
    let mut app = app(&bench, false);
    app.data.link.endpoint = Some("http://127.0.0.1:4242/webhook".to_owned());
    app.data.link.unsigned = true;
    app.data.link.stripe = listening(ListenState::Ready).map(|s| Status { findings: 3, ..s });
    let head = |app: &mut App, width| picture(app, width, 24).lines().next().unwrap().to_owned();
    for (width, parts) in [
        (160, ["! alerts: 2 (A)", "● stripe listen", "≠ findings: 3", "http://127.0.0.1:4242/webhook"]),
        (130, ["!2 A", "● listen", "≠3", "http://127.0.0.1:4242/webhook"]),
        (106, ["!2 A", "● listen", "≠3", ":4242/webhook"]),
    ] {
        let shown = head(&mut app, width);
        assert!(parts.iter().all(|p| shown.contains(p)), "{shown}");
    }
}

#[test]
fn what_the_api_came_to_is_said_once() {
    let bench = Bench::new();
    let mut app = app(&bench, false);
    let with = |change: fn(&mut Status)| {
        let mut status = Status { key: Some("rk_test_…"), ..Status::default() };
        change(&mut status);
        status
    };
    for (status, said) in [
        (with(|s| s.backfill = Progress::Done(1, "7 missed events".into())), "✓ backfill: 7 missed events"),
        (with(|s| s.reconcile = Progress::Failed(1, "Stripe failed".into())), "✗ reconcile: Stripe failed"),
        (with(|s| s.trouble = Some("the API key is a live key".into())), "✗ the API key is a live key"),
        (with(|s| s.unopened = 1), "! a payout lacks money from before the first event: O opens"),
        (with(|s| s.confirmed.unknown = 1), "! Stripe does not know an object (simulated"),
        (with(|s| s.webhook = Some("--alert-webhook answered 500".into())), "✗ --alert-webhook answered 500"),
        (with(|s| s.openings = Progress::Done(1, "2 opened".into())), "✓ opening balances: 2 opened"),
    ] {
        app.stripe_news(None, Some(status.clone()));
        assert!(said_now(&mut app).contains(said), "{said}\n{}", said_now(&mut app));
        app.say(Tone::Done, "something else");
        app.stripe_news(Some(status.clone()), Some(status));
        assert!(said_now(&mut app).contains("something else"));
    }
}

/// The toast line, drawn now: notices carry the real clock.
fn said_now(app: &mut App) -> String {
    let area = Rect::new(0, 0, 120, 24);
    let mut buffer = Buffer::empty(area);
    app.draw(area, &mut buffer, payout_ledger::daemon::now_ms());
    (0..120).map(|x| buffer[(x, 22)].symbol()).collect()
}

#[test]
fn every_size_holds_it_and_a_viewer_may_not_act() {
    let bench = troubled();
    let mut app = app(&bench, true);
    press(&mut app, "A");
    for (width, height) in [(200, 60), (80, 24), (60, 15), (20, 5), (1, 1)] {
        picture(&mut app, width, height);
    }
    assert!(picture(&mut app, 60, 15).contains("acknowledge"));
    press(&mut app, "a");
    assert!(picture(&mut app, 80, 24).contains("read-only"));
    let empty = Bench::new();
    let mut app = self::app(&empty, false);
    press(&mut app, "A");
    assert!(picture(&mut app, 120, 30).contains("Nothing: no payout failed"));
}
