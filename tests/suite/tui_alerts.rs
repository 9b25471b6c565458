//! The list of alerts over the screen: shown, moved through, acknowledged; what the header says of it.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use payout_ledger::domain::retry::Profile;
use payout_ledger::store::read::Reader;
use payout_ledger::tui::app::App;
use payout_ledger::tui::data::{Data, Link};
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
    assert!(picture(&mut app, 120, 30).contains("! 2 alerts: A"));
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
    assert!(!shown.contains("alerts: A"), "{shown}");
    assert_eq!(bench.rows("SELECT who FROM audit WHERE action = 'acknowledge'"), ["ann", "ann"]);
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
