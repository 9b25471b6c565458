//! The writer on a real database: store and apply, retry, dismiss, restore, open a balance; figures kept beside.

use payout_ledger::domain::guard::Account;
use payout_ledger::domain::money::Currency;
use payout_ledger::domain::outcome::State;
use payout_ledger::domain::owner::Owner;
use payout_ledger::domain::retry::Profile;
use payout_ledger::store::act::Actor;
use payout_ledger::store::schema;
use payout_ledger::store::writer::{Answer, Arrival, Writer};
use rusqlite::Connection;

struct Bench {
    dir: tempfile::TempDir,
    writer: Writer,
    now_ms: i64,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let conn = schema::open(&dir.path().join("ledger.db")).unwrap();
        let writer = Writer::new(conn, false, Profile::default()).unwrap();
        Self { dir, writer, now_ms: 1_000_000 }
    }

    fn look(&self) -> Connection {
        schema::open_read_only(&self.dir.path().join("ledger.db")).unwrap()
    }

    fn send(&mut self, bodies: &[String]) -> Vec<Answer> {
        let batch: Vec<Arrival> = bodies.iter().map(|b| Arrival::new(b.clone().into_bytes(), self.now_ms)).collect();
        self.writer.ingest(&batch).unwrap()
    }

    fn one<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        self.look().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn state(&self, id: &str) -> State {
        State::from_code(self.one(&format!("SELECT state FROM events WHERE id = '{id}'"))).unwrap()
    }

    fn counted(&self, state: State) -> i64 {
        let sql = format!("SELECT coalesce(sum(n), 0) FROM counters WHERE name = 'event:{state}'");
        let counted: i64 = self.one(&sql);
        let real: i64 = self.one(&format!("SELECT count(*) FROM events WHERE state = {}", state.code()));
        assert_eq!(counted, real, "the counter of {state}");
        real
    }
}

fn actor() -> Actor<'static> {
    Actor { who: "ada", reason: "trying it", now_ms: 2_000_000 }
}

fn payout(event: &str, object: &str, status: &str, amount: i64, created: i64) -> String {
    format!(
        r#"{{"id":"{event}","object":"event","type":"payout.{status}","created":{created},"livemode":false,
        "data":{{"object":{{"id":"{object}","object":"payout","amount":{amount},"currency":"usd","status":"{status}"}}}}}}"#
    )
}

fn charge(event: &str, amount: i64) -> String {
    format!(
        r#"{{"id":"{event}","object":"event","type":"charge.succeeded","created":5,"livemode":false,"data":{{"object":
        {{"id":"ch_{event}","object":"charge","amount":{amount},"currency":"usd","captured":true,"status":"succeeded"}}}}}}"#
    )
}

#[test]
fn a_payout_waits_for_its_charge_and_then_goes_by_itself() {
    let mut bench = Bench::new();
    let answers = bench.send(&[payout("evt_1", "po_1", "paid", 700, 9), payout("evt_1", "po_1", "paid", 700, 9)]);
    assert_eq!(answers, [Answer::Stored { seq: 1 }, Answer::Repeat { seq: 1 }]);
    assert_eq!(bench.state("evt_1"), State::Waiting);
    assert_eq!(bench.one::<String>("SELECT status FROM payouts"), "paid");
    assert_eq!(bench.one::<i64>("SELECT posted FROM payouts"), 0);
    assert_eq!(bench.one::<i64>("SELECT waiting FROM balances"), -700);
    assert_eq!(bench.counted(State::Waiting), 1);
    bench.send(&[charge("evt_2", 1_000)]);
    assert_eq!(bench.state("evt_1"), State::Applied);
    assert_eq!(bench.one::<i64>("SELECT funds FROM balances"), 300);
    assert_eq!(bench.one::<i64>("SELECT posted FROM payouts"), 1);
    assert_eq!(bench.one::<i64>("SELECT waiting + competing FROM balances"), 0);
    assert_eq!(bench.one::<i64>("SELECT count(*) FROM pending_legs"), 0);
    assert_eq!((bench.counted(State::Waiting), bench.counted(State::Applied)), (0, 2));
}

#[test]
fn stale_and_refused_deliveries_change_no_money() {
    let mut bench = Bench::new();
    bench.send(&[charge("evt_0", 900), payout("evt_2", "po_1", "paid", 700, 9)]);
    let answers = bench.send(&[payout("evt_1", "po_1", "pending", 700, 8), "[]".to_owned()]);
    assert!(matches!(answers[1], Answer::Refused(_)));
    assert_eq!(bench.state("evt_1"), State::Skipped);
    assert_eq!(bench.one::<i64>("SELECT events FROM payouts"), 2);
    assert_eq!(bench.one::<i64>("SELECT funds FROM balances"), 200);
    assert_eq!(bench.one::<i64>("SELECT paid_out FROM balances"), 700);
}

#[test]
fn eight_failures_leave_it_to_a_person_who_opens_the_balance() {
    let mut bench = Bench::new();
    bench.send(&[payout("evt_1", "po_1", "pending", 700, 9)]);
    for _ in 0..7 {
        bench.now_ms += 400_000;
        assert!(bench.writer.is_due(bench.now_ms).unwrap());
        bench.writer.sweep(bench.now_ms).unwrap();
    }
    assert_eq!(bench.state("evt_1"), State::Stuck);
    assert_eq!(bench.one::<i64>("SELECT attempts FROM events"), 8);
    assert_eq!(bench.one::<i64>("SELECT count(*) FROM tries"), 8);
    assert_eq!(bench.counted(State::Stuck), 1);
    let ids = ["evt_1".to_owned()];
    let dry = bench.writer.dry_run(&ids, &actor()).unwrap();
    assert_eq!(dry[0].after, State::Stuck);
    assert!(dry[0].text.contains("lacks 7.00 USD"), "{}", dry[0].text);
    let account: Account = (Owner::platform(), Currency::parse("usd").unwrap());
    bench.writer.open_balance(&account, 1_000, &actor()).unwrap().unwrap();
    assert!(bench.writer.open_balance(&account, 1_000, &actor()).unwrap().is_err(), "only once");
    assert_eq!(bench.state("evt_1"), State::Applied);
    assert_eq!(bench.one::<i64>("SELECT funds FROM balances"), 300);
    assert_eq!(bench.one::<i64>("SELECT opened FROM balances"), 1);
    assert_eq!(bench.one::<String>("SELECT group_concat(action) FROM audit"), "open-balance");
}

#[test]
fn dismiss_and_restore_move_the_waiting_money() {
    let mut bench = Bench::new();
    bench.send(&[payout("evt_1", "po_1", "pending", 700, 9), payout("evt_x", "po_x", "teleported", 5, 9)]);
    let ids = ["evt_1".to_owned(), "evt_x".to_owned(), "evt_nowhere".to_owned()];
    let deeds = bench.writer.dismiss(&ids, &actor()).unwrap();
    assert_eq!((deeds[0].after, deeds[1].after), (State::Dismissed, State::Dismissed));
    assert!(deeds[2].text.contains("no such event"));
    assert_eq!(bench.one::<i64>("SELECT waiting + competing FROM balances"), 0);
    assert_eq!(
        (bench.counted(State::Dismissed), bench.counted(State::Stuck), bench.counted(State::Waiting)),
        (2, 0, 0)
    );
    bench.writer.restore(&ids, &actor()).unwrap();
    assert_eq!((bench.state("evt_1"), bench.state("evt_x")), (State::Waiting, State::Stuck));
    assert_eq!(bench.one::<i64>("SELECT waiting FROM balances"), -700);
    assert_eq!(
        (bench.counted(State::Dismissed), bench.counted(State::Stuck), bench.counted(State::Waiting)),
        (0, 1, 1)
    );
    assert_eq!(bench.one::<i64>("SELECT count(*) FROM audit"), 4);
}

#[test]
fn another_process_acts_and_the_writer_notices() {
    let mut bench = Bench::new();
    bench.send(&[payout("evt_1", "po_1", "pending", 700, 9)]);
    let conn = schema::open(&bench.dir.path().join("ledger.db")).unwrap();
    let mut other = Writer::new(conn, false, Profile::default()).unwrap();
    other.dismiss(&["evt_1".to_owned()], &actor()).unwrap();
    bench.send(&[charge("evt_2", 1_000)]);
    assert_eq!(bench.state("evt_1"), State::Dismissed);
    assert_eq!(bench.one::<i64>("SELECT funds FROM balances"), 1_000);
    bench.send(&[payout("evt_3", "po_1", "paid", 700, 12)]);
    assert_eq!(bench.one::<i64>("SELECT funds FROM balances"), 300);
}
