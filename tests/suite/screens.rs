//! The screens at several sizes, as pictures in text; and no size, no text and no key makes them fall over.

use std::path::PathBuf;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use payout_ledger::daemon::secrets::Secrets;
use payout_ledger::domain::retry::Profile;
use payout_ledger::lab::rng::Rng;
use payout_ledger::store::act::Actor;
use payout_ledger::store::read::Reader;
use payout_ledger::store::schema;
use payout_ledger::store::writer::{Arrival, Writer};
use payout_ledger::tui::app::{App, Effect};
use payout_ledger::tui::data::{Data, Link};
use payout_ledger::tui::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use secrecy::SecretString;

use crate::support::bodies::body;
use crate::support::memory_dir;
use payout_ledger::stripe::simulate::objects::{self, Payout};

/// 2026-03-04 10:42:00 UTC.
const NOON: i64 = 1_772_620_920_000;

struct Stage {
    _dir: tempfile::TempDir,
    app: App,
}

impl Stage {
    /// An app over a database with these bodies, one a second.
    fn new(bodies: &[String], theme: &str) -> Self {
        let dir = memory_dir();
        let path = dir.path().join("ledger.db");
        let mut writer = Writer::new(schema::open(&path).unwrap(), false, Profile::default()).unwrap();
        let mut now_ms = NOON - 1_000 * i64::try_from(bodies.len()).unwrap();
        for body in bodies {
            writer.ingest(&[Arrival::new(body.clone().into_bytes(), now_ms)]).unwrap();
            now_ms += 1_000;
        }
        let secrets = Secrets::default();
        secrets.add(&SecretString::from("whsec_screens".to_owned())).unwrap();
        let link = Link { endpoint: Some("http://127.0.0.1:4242/webhook".to_owned()), secrets, ..Link::default() };
        let data = Data {
            reader: Reader::open(&path, false).unwrap(),
            link,
            database: path,
            profile: Profile::default(),
            who: "ada".to_owned(),
            read_only: false,
        };
        let mut app = App::new(data, Theme::named(theme).unwrap());
        app.use_utc();
        app.refresh(NOON);
        Self { _dir: dir, app }
    }

    fn press(&mut self, keys: &str) -> Effect {
        let mut last = Effect::None;
        for c in keys.chars() {
            let code = match c {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                '\t' => KeyCode::Tab,
                c => KeyCode::Char(c),
            };
            last = self.app.input(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)), NOON);
        }
        last
    }

    fn picture(&mut self, width: u16, height: u16) -> String {
        let area = Rect { x: 0, y: 0, width, height };
        let mut buffer = Buffer::empty(area);
        let database = std::mem::replace(&mut self.app.data.database, PathBuf::from("/data/payout-ledger/test.db"));
        self.app.draw(area, &mut buffer, NOON);
        self.app.data.database = database;
        let mut text = String::new();
        for y in 0..height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..width {
                let symbol = buffer[(x, y)].symbol();
                if skip == 0 {
                    line.push_str(symbol);
                    skip = unicode_width::UnicodeWidthStr::width(symbol).max(1);
                }
                skip -= 1;
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A morning: money in every state, disorder, a debt, something stuck, something waiting, odd text.
fn morning() -> Vec<String> {
    let at = 1_772_600_000;
    let payout = |id: &str, amount: i64, currency: &str| Payout::new(id, amount, currency, at);
    let event = |id: &str, kind: &str, account: &str, after: i64, object| body(id, kind, account, at + after, object);
    let quiet = payout("po_1QuietMorning", 125_000, "usd");
    let bounced = payout("po_1Bounced", 800_000, "usd");
    let tokyo = payout("po_1Tokyo", 84_000, "jpy");
    let veteran = payout("po_1Veteran", 1_250, "usd");
    let mut odd = payout("po_1Odd", 700, "usd").json();
    odd["description"] = "東京 \u{202e}evil\u{1b}]0;x\u{7} 👩‍👩‍👧".into();
    odd["status"] = "teleported".into();
    vec![
        event("evt_a1", "charge.succeeded", "", 0, objects::charge("ch_1Big", 2_000_000, "usd", at)),
        event("evt_a2", "charge.succeeded", "", 1, objects::charge("ch_1Yen", 500_000, "jpy", at)),
        event("evt_b1", "payout.paid", "", 40, quiet.with_status("paid", None).json()),
        event("evt_b2", "payout.created", "", 10, quiet.json()),
        event("evt_b3", "payout.updated", "", 20, quiet.with_status("in_transit", None).json()),
        event("evt_c1", "transfer.created", "", 50, objects::transfer("tr_1", 800_000, "usd", at, "acct_1Seller", &[])),
        event("evt_c2", "payout.created", "acct_1Seller", 60, bounced.json()),
        event("evt_c3", "payout.paid", "acct_1Seller", 70, bounced.with_status("paid", None).json()),
        event(
            "evt_c4",
            "payout.failed",
            "acct_1Seller",
            90_000,
            bounced.with_status("failed", Some("account_closed")).json(),
        ),
        event("evt_d1", "transfer.created", "", 80, objects::transfer("tr_2", 90_000, "jpy", at, "acct_1Tokyo東", &[])),
        event("evt_d2", "transfer.created", "", 80, objects::transfer("tr_3", 90_000, "jpy", at, "acct_1Tokyo", &[])),
        event("evt_d3", "payout.updated", "acct_1Tokyo", 81, tokyo.with_status("in_transit", None).json()),
        event("evt_e1", "payout.created", "acct_1Veteran", 100, veteran.json()),
        event("evt_f1", "payout.updated", "", 110, odd),
        event("evt_g1", "customer.created", "", 120, serde_json::json!({"id": "cus_1", "object": "customer"})),
        event("evt_b2", "payout.created", "", 10, quiet.json()),
    ]
}

macro_rules! pictures {
    ($name:literal, $stage:expr) => {
        for (width, height) in [(120, 35), (80, 24), (60, 20), (40, 6)] {
            insta::assert_snapshot!(format!("{}_{width}x{height}", $name), $stage.picture(width, height));
        }
    };
}

#[test]
fn every_screen_at_four_sizes() {
    let mut stage = Stage::new(&morning(), "mono");
    pictures!("payouts", stage);
    stage.press("jjjj\n");
    pictures!("payout", stage);
    stage.press("\u{1b}2");
    pictures!("balances", stage);
    stage.press("3");
    pictures!("inbox", stage);
    stage.press("4");
    pictures!("events", stage);
    stage.press("v");
    pictures!("journal", stage);
}

#[test]
fn overlays_and_the_first_run() {
    let mut stage = Stage::new(&[], "mono");
    pictures!("first_run", stage);
    let mut stage = Stage::new(&morning(), "mono");
    stage.press("3?");
    pictures!("help", stage);
    stage.press("\u{1b}:dismiss");
    pictures!("palette", stage);
    stage.press("\u{1b}d");
    pictures!("dismiss", stage);
    stage.press("\u{1b}q");
    pictures!("quit", stage);
}

#[test]
fn the_lab() {
    let mut stage = Stage::new(&morning(), "mono");
    stage.press("6");
    pictures!("lab", stage);
    stage.press("hh");
    assert!(stage.picture(120, 35).contains("step 3 of 5") && stage.picture(120, 35).contains("not delivered yet"));
    let before = stage.picture(120, 35);
    stage.press("K");
    assert_ne!(stage.picture(120, 35), before, "a delivery moves up");
    stage.press("\n");
    assert!(stage.picture(120, 35).contains("× WRONG"));
    stage.press("t");
    assert!(stage.picture(120, 35).contains("snapshot legs are off"));
    stage.press("ttttP");
    assert!(stage.picture(120, 35).contains("ours: 0 differ, 0 waiting"));
    for _ in 0..6 {
        stage.press("s");
    }
    pictures!("lab_own", stage);
}

#[test]
fn a_person_dismisses_undoes_opens_and_retries() {
    let mut stage = Stage::new(&morning(), "mono");
    let inbox = |stage: &Stage| stage.app.data.reader.summary().unwrap().inbox;
    assert_eq!((inbox(&stage).stuck, inbox(&stage).waiting), (2, 1));
    stage.press("3jjd");
    assert_eq!(inbox(&stage).waiting, 1, "nothing happens before the question is answered");
    stage.press("\n");
    assert_eq!(inbox(&stage).waiting, 1, "a reason is wanted");
    stage.press("dd for a d\n");
    assert_eq!((inbox(&stage).waiting, inbox(&stage).dismissed), (0, 1));
    assert!(stage.picture(120, 35).contains("dismissed"));
    stage.press("u");
    assert_eq!((inbox(&stage).waiting, inbox(&stage).dismissed), (1, 0));
    stage.press("x");
    assert!(stage.picture(120, 35).contains("Nothing was changed"));
    stage.press("\u{1b}Gb");
    stage.app.input(&Event::Paste("2000\nq3".to_owned()), NOON);
    assert!(stage.picture(120, 35).contains("2000q3"), "pasted text is text, never keys");
    for _ in 0..2 {
        stage.app.input(&Event::Key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE)), NOON);
    }
    stage.press("\n");
    assert_eq!(inbox(&stage).waiting, 0, "the opened balance lets it go");
    let audit = stage.app.data.reader.audit(10).unwrap();
    let actions: Vec<&str> = audit.iter().rev().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["dismiss", "restore", "open-balance"]);
    assert_eq!(stage.press("q"), Effect::None, "it stops a receiver: asked first");
    assert_eq!(stage.press("q"), Effect::Quit);
}

#[test]
fn filters_narrow_and_esc_clears() {
    let mut stage = Stage::new(&morning(), "mono");
    stage.press("/state:failed\n");
    let picture = stage.picture(120, 35);
    assert!(picture.contains("po_1Bounced") && !picture.contains("po_1Tokyo"), "{picture}");
    stage.press("\u{1b}");
    assert!(stage.picture(120, 35).contains("po_1Tokyo"));
    stage.press("4/type:charge.*\n");
    let picture = stage.picture(120, 35);
    assert!(picture.contains("charge.succeeded") && !picture.contains("transfer.created"), "{picture}");
}

#[test]
fn another_process_acts_and_the_screen_sees_it() {
    let mut stage = Stage::new(&morning(), "mono");
    let path = stage.app.data.database.clone();
    stage.app.data.reader.changed().unwrap();
    assert!(!stage.app.data.reader.changed().unwrap(), "nothing happens, nothing is read");
    let mut other = Writer::new(schema::open(&path).unwrap(), false, Profile::default()).unwrap();
    let actor = Actor { who: "bob", reason: "elsewhere", now_ms: NOON };
    other.dismiss(&["evt_e1".to_owned()], &actor).unwrap();
    assert!(stage.app.data.reader.changed().unwrap());
    stage.app.refresh(NOON);
    assert!(stage.picture(120, 35).contains("[2 stuck]"));
}

#[test]
fn nothing_harmful_reaches_the_terminal_and_no_size_breaks_it() {
    let mut stage = Stage::new(&morning(), "terminal");
    let mut rng = Rng::new(5);
    let keys = "6xhhhJK[]sstt\n1234jjkkG\n\u{1b}g vxJ\u{1b}?\u{1b}:\u{1b}/x\n\u{1b}fsS3x\u{1b}N\u{1b}!\u{1b}zzpp";
    for key in keys.chars() {
        stage.press(&key.to_string());
        for _ in 0..12 {
            let (width, height) =
                (u16::try_from(1 + rng.below(150)).unwrap(), u16::try_from(1 + rng.below(45)).unwrap());
            let picture = stage.picture(width, height);
            for harmful in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}'] {
                assert!(!picture.contains(harmful), "{harmful:?} at {width}x{height}");
            }
        }
    }
    for width in 1..130 {
        stage.picture(width, 1 + width % 40);
    }
}

#[test]
fn a_million_rows_cost_what_a_screenful_costs() {
    let many: Vec<String> = (0..3_000)
        .map(|n| {
            let object = objects::charge(&format!("ch_{n}"), 100, "usd", n);
            body(&format!("evt_{n}"), "charge.succeeded", "", n, object)
        })
        .collect();
    let mut stage = Stage::new(&many, "mono");
    stage.press("4G");
    assert!(stage.picture(120, 35).contains("ch_0"));
    stage.press("g");
    assert!(stage.picture(120, 35).contains("ch_2999"));
}
