//! The Transfers tab: every state, the detail beside it, a double press, a read-only view.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use payout_ledger::domain::retry::Profile;
use payout_ledger::domain::transfer::intent::State;
use payout_ledger::store::act::Actor;
use payout_ledger::store::read::Reader;
use payout_ledger::tui::app::App;
use payout_ledger::tui::data::{Data, Link};
use payout_ledger::tui::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::stripe::Faults;
use super::{Bench, HOUR_MS, Near, runtime};

fn app(bench: &Bench, live: bool, read_only: bool) -> App {
    let data = Data {
        reader: Reader::open(&bench.path, live).unwrap(),
        link: Link::default(),
        database: bench.path.clone(),
        profile: Profile::default(),
        who: "ann".into(),
        read_only,
    };
    let mut app = App::new(data, Theme::named("mono").unwrap());
    app.use_utc();
    press(&mut app, bench, "5");
    app
}

/// Types keys; `\n` is enter, `\t` tab.
fn press(app: &mut App, bench: &Bench, keys: &str) {
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            c => KeyCode::Char(c),
        };
        app.input(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)), bench.stripe.now_ms());
    }
    app.refresh(bench.stripe.now_ms());
}

/// The picture below the header.
fn picture(app: &mut App, bench: &Bench, width: u16, height: u16) -> String {
    rows(app, bench, width, height, 3)
}

fn rows(app: &mut App, bench: &Bench, width: u16, height: u16, from: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buf = Buffer::empty(area);
    app.draw(area, &mut buf, bench.stripe.now_ms());
    let line = |y: u16| (0..width).map(|x| buf[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (from..height).map(line).collect::<Vec<_>>().join("\n")
}

fn bench() -> Bench {
    let bench = Bench::new(61);
    runtime().block_on(async {
        let actor = || Actor { who: "ann", reason: "typo", now_ms: bench.stripe.now_ms() };
        bench.create("order-771");
        bench.stripe.plant("order-772", 4_200, "acct_shopOne");
        bench.create("order-772");
        bench.stripe.plant("order-773", 99, "acct_shopTwo");
        bench.create("order-773");
        bench.settle().await;
        bench.create("order-774");
        bench.store().cancel("order-774", &actor()).unwrap().unwrap();
        bench.create("order-775");
        bench.stripe.suffer(Faults { lost_after: 100, ..Faults::default() });
        bench.worker(Near::new(&bench.stripe)).step(None).await.unwrap();
        bench.stripe.suffer(Faults::default());
        bench.create("order-776");
        bench.stripe.refuse_as(Some(401));
        bench.worker(Near::new(&bench.stripe)).step(Some("order-776")).await.unwrap();
        bench.stripe.refuse(false);
        bench.stripe.pass(HOUR_MS);
        bench.store().retry("order-776", Some(0), &actor()).unwrap().unwrap();
        bench.worker(Near::new(&bench.stripe)).step(Some("order-776")).await.unwrap();
    });
    bench
}

#[test]
fn states_and_detail() {
    let bench = bench();
    let mut app = app(&bench, false, false);
    insta::assert_snapshot!("transfers_120x35", picture(&mut app, &bench, 120, 35));
    insta::assert_snapshot!("transfers_80x24", picture(&mut app, &bench, 80, 24));
    assert!(rows(&mut app, &bench, 120, 35, 1).starts_with(" 1 Payouts"), "the tabs");
    assert!(rows(&mut app, &bench, 120, 35, 1).contains("5 Transfers [2!]"));
    for (width, height) in [(60, 15), (40, 10), (300, 60), (1, 1)] {
        picture_of_any_size(&mut app, &bench, width, height);
    }
    press(&mut app, &bench, "\n");
    let text = picture(&mut app, &bench, 120, 35).replace(['\n', '│'], " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("this is a replay of an old failure"), "{text}");
}

fn picture_of_any_size(app: &mut App, bench: &Bench, width: u16, height: u16) {
    let area = Rect::new(0, 0, width, height);
    app.draw(area, &mut Buffer::empty(area), bench.stripe.now_ms());
}

#[test]
fn the_table_of_guards_is_a_key_away() {
    let bench = Bench::new(64);
    bench.create("order-1");
    let mut app = app(&bench, false, false);
    press(&mut app, &bench, "w");
    assert!(picture(&mut app, &bench, 130, 35).contains("queue retention passed"));
}

#[test]
fn a_double_press_is_one_job_and_one_transfer() {
    let bench = bench();
    let mut app = app(&bench, false, false);
    press(&mut app, &bench, "rr");
    assert_eq!(bench.store().find("order-776").unwrap().unwrap().intent.version, 0, "it asks first");
    press(&mut app, &bench, "y");
    press(&mut app, &bench, "ry");
    let intent = bench.store().find("order-776").unwrap().unwrap().intent;
    assert_eq!((intent.version, intent.state), (1, State::Queued));
    runtime().block_on(bench.settle());
    assert_eq!((bench.state("order-776"), bench.stripe.of("order-776").len()), (State::Sent, 1));
    press(&mut app, &bench, "ry");
    assert!(picture(&mut app, &bench, 120, 35).contains("it is paid"));
}

#[test]
fn cancel_asks_for_a_reason_and_a_viewer_only_looks() {
    let bench = Bench::new(62);
    bench.create("order-1");
    let mut viewer = app(&bench, false, true);
    press(&mut viewer, &bench, "cwhy\n");
    assert!(picture(&mut viewer, &bench, 120, 35).contains("read-only"));
    assert_eq!(bench.state("order-1"), State::Queued);
    let mut app = app(&bench, false, false);
    press(&mut app, &bench, "c\n");
    assert_eq!(bench.state("order-1"), State::Queued);
    press(&mut app, &bench, "cwrong seller\n");
    assert_eq!(bench.state("order-1"), State::Canceled);
}

#[test]
fn live_money_is_typed_again() {
    let bench = Bench::new(63);
    let live = payout_ledger::store::transfers::Transfers::open(&bench.path, true).unwrap();
    let actor = Actor { who: "ann", reason: "", now_ms: bench.stripe.now_ms() + 5 };
    live.create(&super::order("order-9"), &actor).unwrap();
    let due = |live: &payout_ledger::store::transfers::Transfers| live.find("order-9").unwrap().unwrap().intent.next_ms;
    let before = due(&live);
    let mut app = app(&bench, true, false);
    press(&mut app, &bench, "r4201\n");
    assert_eq!(due(&live), before);
    assert!(picture(&mut app, &bench, 120, 35).contains("the amount is another"));
    press(&mut app, &bench, "r4200\n");
    assert_ne!(due(&live), before);
}
