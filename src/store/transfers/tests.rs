//! Guard 1 in the database: transactions, constraints, history.

use super::*;
use crate::domain::transfer::answer::{Outcome, Stored};
use crate::domain::transfer::backoff::Backoff;
use crate::domain::transfer::claim::{Lease, Refusal};
use crate::domain::transfer::intent::State;
use crate::domain::transfer::lookup::{Looked, Seen};
use crate::domain::transfer::order::{Draft, Order};
use crate::domain::transfer::person::Retried;
use crate::store::act::Actor;

fn order(name: &str, amount: &str) -> Order {
    Draft {
        order_ref: name.into(),
        amount: amount.into(),
        currency: "eur".into(),
        destination: "acct_shop9".into(),
        ..Draft::default()
    }
    .check()
    .unwrap()
}

fn actor(now_ms: i64) -> Actor<'static> {
    Actor { who: "ann", reason: "", now_ms }
}

fn work(now_ms: i64) -> Work<'static> {
    Work { who: "w1", now_ms, lease: Lease { ms: 1_000 }, backoff: Backoff::default(), random: 0 }
}

fn store() -> (tempfile::TempDir, Transfers) {
    let dir = tempfile::tempdir().unwrap();
    let store = Transfers::open(&dir.path().join("t.db"), false).unwrap();
    (dir, store)
}

fn seen(order: &Order, id: &str) -> Seen {
    Seen {
        id: id.into(),
        amount: order.amount,
        amount_reversed: 0,
        currency: order.currency.to_string(),
        destination: Some(order.destination.clone()),
        group: Some(order.order_ref.clone()),
        live: false,
    }
}

#[test]
fn an_order_is_one_row_and_never_changes() {
    let (_dir, store) = store();
    let order = order("o-1", "500");
    assert!(matches!(store.create(&order, &actor(1)).unwrap(), Created::New(_)));
    assert!(matches!(store.create(&order, &actor(2)).unwrap(), Created::Same(_)));
    let other = Order { amount: 501, ..order.clone() };
    let Created::Differs(why) = store.create(&other, &actor(3)).unwrap() else { panic!() };
    assert!(why.contains("amount 500, not 501"), "{why}");
    for sql in [
        "UPDATE transfer_orders SET amount = 1",
        "DELETE FROM transfer_orders",
        "UPDATE transfer_orders SET version = 1",
        "UPDATE transfer_orders SET state = 'sent'",
        "UPDATE transfer_orders SET doubt = 1",
        "UPDATE transfer_history SET detail = ''",
        "DELETE FROM transfer_history",
    ] {
        let error = store.transact(|tx| Ok(tx.execute(sql, [])?)).unwrap_err();
        assert!(matches!(error, StoreError::Sqlite(_)), "{sql}");
    }
}

#[test]
fn the_whole_way_to_sent_and_back() {
    let (_dir, store) = store();
    let order = order("o-1", "500");
    store.create(&order, &actor(1)).unwrap();
    let claimed = store.claim(None, work(5)).unwrap().unwrap();
    assert_eq!(store.claim(None, work(6)).unwrap(), None, "one claim at a time");
    assert_eq!(store.looked(&claimed, &[], work(7)).unwrap(), Looked::Create);
    let posted = store.posting(&claimed, 6, work(8)).unwrap().unwrap();
    let told = Told { status: Some(200), request_id: Some("req_1".into()), replayed: false };
    let made = Outcome::Created(seen(&order, "tr_1"));
    let row = store.answered(&posted, &made, &told, work(9)).unwrap();
    assert_eq!((row.intent.state, row.intent.transfer.as_deref()), (State::Sent, Some("tr_1")));
    assert_eq!(store.find("o-1").unwrap().unwrap(), row);
    assert!(!store.told_by_event(&seen(&order, "tr_1"), 10).unwrap(), "the event says nothing new");
    let back = Seen { amount_reversed: 500, ..seen(&order, "tr_1") };
    assert!(store.told_by_event(&back, 11).unwrap());
    assert!(!store.told_by_event(&back, 12).unwrap());
    assert_eq!(store.find("o-1").unwrap().unwrap().intent.state, State::Reversed);
    let error = store.transact(|tx| {
        Ok(tx.execute("UPDATE transfer_orders SET state = 'queued', next_ms = 1, transfer = NULL", [])?)
    });
    assert!(error.is_err());
    let what: Vec<String> = store
        .transact(|tx| {
            let mut statement = tx.prepare("SELECT what FROM transfer_history ORDER BY id")?;
            Ok(statement.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?)
        })
        .unwrap();
    assert_eq!(what, ["created", "post", "answer", "event"]);
}

#[test]
fn a_lost_claim_cannot_post_and_its_late_answer_still_counts_when_it_is_a_transfer() {
    let (_dir, store) = store();
    let order = order("o-1", "500");
    store.create(&order, &actor(1)).unwrap();
    let first = store.claim(None, work(5)).unwrap().unwrap();
    let posted = store.posting(&first, 5, work(6)).unwrap().unwrap();
    let second = store.claim(None, work(2_000)).unwrap().unwrap();
    assert!(second.intent.doubt, "the first may have posted");
    assert_eq!(store.posting(&first, 2_000, work(2_001)).unwrap(), Err(Refusal::Lost));
    let refused = Outcome::Refused { stored: Stored::Yes, why: "no funds".into() };
    let row = store.answered(&posted, &refused, &Told::default(), work(2_002)).unwrap();
    assert_eq!(row.intent.state, State::Sending, "a late refusal changes nothing");
    let made = Outcome::Created(seen(&order, "tr_1"));
    let row = store.answered(&posted, &made, &Told::default(), work(2_003)).unwrap();
    assert_eq!(row.intent.state, State::Sent);
    assert_eq!(store.posting(&second, 2_003, work(2_004)).unwrap(), Err(Refusal::Lost));
}

#[test]
fn retries_race_to_one_new_version_and_one_job() {
    let (_dir, store) = store();
    let order = order("o-1", "500");
    store.create(&order, &actor(1)).unwrap();
    let claimed = store.claim(None, work(5)).unwrap().unwrap();
    let posted = store.posting(&claimed, 5, work(6)).unwrap().unwrap();
    let refused = Outcome::Refused { stored: Stored::Yes, why: "no funds".into() };
    store.answered(&posted, &refused, &Told::default(), work(7)).unwrap();
    let (row, how) = store.retry("o-1", Some(0), &actor(8)).unwrap().unwrap();
    assert_eq!((row.intent.version, how), (1, Retried::NewKey));
    assert!(store.retry("o-1", Some(0), &actor(9)).unwrap().unwrap_err().contains("already"));
    assert_eq!(store.retry("o-1", None, &actor(9)).unwrap().unwrap().1, Retried::Nudged);
    let jobs = |store: &Transfers| -> i64 {
        store.transact(|tx| Ok(tx.query_row("SELECT count(*) FROM transfer_jobs", [], |r| r.get(0))?)).unwrap()
    };
    assert_eq!(jobs(&store), 2);
    assert_eq!(store.forget_jobs(8).unwrap(), 1);
    assert_eq!(store.cancel("o-1", &actor(10)).unwrap().unwrap().intent.state, State::Canceled);
    assert!(store.retry("nothing", None, &actor(11)).unwrap().is_err());
    let audits: i64 = store.transact(|tx| Ok(tx.query_row("SELECT count(*) FROM audit", [], |r| r.get(0))?)).unwrap();
    assert_eq!(audits, 4);
}

#[test]
fn an_import_is_all_or_nothing() {
    let (_dir, store) = store();
    let good = [order("a", "5"), order("b", "6"), order("a", "5")];
    let made = store.import(&good, &actor(1)).unwrap().unwrap();
    assert!(matches!(made[..], [Created::New(_), Created::New(_), Created::Same(_)]));
    let bad = [order("c", "5"), order("a", "7")];
    assert_eq!(store.import(&bad, &actor(2)).unwrap().unwrap_err().0, 1);
    assert_eq!(store.find("c").unwrap(), None);
    assert_eq!(store.next_due().unwrap(), Some(1));
}
