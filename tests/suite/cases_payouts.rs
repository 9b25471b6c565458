//! Kinds of fault that were reported elsewhere, as payouts in a monitor: each with its right end in every order.

use payout_ledger::domain::event::{Event, parse};
use payout_ledger::domain::guard::Account;
use payout_ledger::domain::memory::Monitor;
use payout_ledger::domain::money::Currency;
use payout_ledger::domain::outcome::State;
use payout_ledger::domain::owner::Owner;
use payout_ledger::domain::retry::Profile;
use payout_ledger::stripe::simulate::objects::Payout;
use serde_json::json;

use crate::support::bodies::{body, payout};

const OPENING: i64 = 10_000;

fn platform(currency: &str) -> Account {
    (Owner::platform(), Currency::parse(currency).unwrap())
}

/// Every order of the events, each delivered twice, on an opened balance.
fn in_every_order(currency: &str, events: &[Event], right: impl Fn(&Monitor)) {
    let mut orders: Vec<Vec<usize>> = vec![vec![]];
    for _ in events {
        let longer = |order: &Vec<usize>| {
            let rest: Vec<usize> = (0..events.len()).filter(|i| !order.contains(i)).collect();
            rest.into_iter().map(|i| [order.as_slice(), &[i]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    for order in orders {
        let mut monitor = Monitor::new(false, Profile::default());
        monitor.open(&platform(currency), OPENING, 1).unwrap();
        for at in order.iter().chain(&order) {
            monitor.deliver(&events[*at], 2);
        }
        monitor.sweep(3);
        assert!(monitor.book.blocked.is_empty(), "{order:?}");
        right(&monitor);
    }
}

fn left(monitor: &Monitor, currency: &str) -> i64 {
    monitor.book.balances[&platform(currency)].total()
}

fn status(monitor: &Monitor, id: &str) -> &'static str {
    monitor.book.payouts[id].status.as_str()
}

#[test]
fn three_states_in_parallel_end_as_paid() {
    let events = ["pending", "in_transit", "paid"].map(|s| payout("po_par", "", 700, s, 5));
    in_every_order("usd", &events, |m| assert_eq!((status(m, "po_par"), left(m, "usd")), ("paid", OPENING - 700)));
}

#[test]
fn a_bounce_after_paid_gives_the_money_back_once() {
    let events = [("pending", 1), ("paid", 2), ("failed", 3)].map(|(s, at)| payout("po_bounce", "", 450, s, at));
    in_every_order("usd", &events, |m| assert_eq!((status(m, "po_bounce"), left(m, "usd")), ("failed", OPENING)));
}

#[test]
fn the_reversing_payout_is_canceled_when_the_original_fails_first() {
    let reversing = |status: &str, at: i64| {
        let mut object = Payout::new("po_rev", 300, "usd", 0).with_status(status, None).json();
        object["amount"] = json!(-300);
        object["original_payout"] = json!("po_orig");
        parse(body(&format!("evt_rev_{status}"), &format!("payout.{status}"), "", at, object).as_bytes()).unwrap()
    };
    let events = [
        payout("po_orig", "", 300, "paid", 1),
        payout("po_orig", "", 300, "failed", 3),
        reversing("pending", 2),
        reversing("canceled", 3),
    ];
    in_every_order("usd", &events, |m| {
        assert_eq!((status(m, "po_orig"), status(m, "po_rev")), ("failed", "canceled"));
        assert_eq!(left(m, "usd"), OPENING);
    });
}

#[test]
fn yen_and_dollars_never_mix() {
    let yen = |status: &str, at: i64| {
        let object = Payout::new("po_yen", 1_500, "jpy", 0).with_status(status, None).json();
        parse(body(&format!("evt_yen_{status}"), &format!("payout.{status}"), "", at, object).as_bytes()).unwrap()
    };
    in_every_order("jpy", &[yen("pending", 1), yen("paid", 2)], |m| {
        assert_eq!(left(m, "jpy"), OPENING - 1_500);
        assert!(!m.book.balances.contains_key(&platform("usd")));
    });
    let mut monitor = Monitor::new(false, Profile::default());
    monitor.open(&platform("usd"), OPENING, 1).unwrap();
    let outcome = monitor.deliver(&yen("paid", 2), 2).unwrap();
    assert_eq!(outcome.state, State::Waiting, "dollars pay no yen");
    monitor.open(&platform("jpy"), 1_500, 3).unwrap();
    assert!(monitor.book.payouts["po_yen"].posted, "the opening balance wakes it");
    assert_eq!(left(&monitor, "jpy"), 0);
    assert!(monitor.open(&platform("jpy"), 1, 4).is_err(), "an opening balance is put once");
}

#[test]
fn reconciliation_changes_details_and_moves_no_money() {
    let mut object = Payout::new("po_rec", 900, "usd", 0).with_status("paid", None).json();
    object["reconciliation_status"] = json!("completed");
    let done = parse(body("evt_rec", "payout.reconciliation_completed", "", 9, object).as_bytes()).unwrap();
    in_every_order("usd", &[payout("po_rec", "", 900, "paid", 2), done], |m| {
        assert_eq!(left(m, "usd"), OPENING - 900);
        assert_eq!(m.book.payouts["po_rec"].details.get("reconciliation_status"), Some("completed"));
    });
}

#[test]
fn the_greatest_amounts_are_refused_or_wait_but_never_wrap() {
    let mut monitor = Monitor::new(false, Profile::default());
    monitor.open(&platform("usd"), i64::MAX, 1).unwrap();
    let more = crate::support::bodies::charge("ch_more", 1, 2);
    let outcome = monitor.deliver(&more, 2).unwrap();
    assert_eq!(outcome.state, State::Stuck, "{outcome:?}");
    monitor.deliver(&payout("po_all", "", i64::MAX, "paid", 3), 3);
    assert_eq!((status(&monitor, "po_all"), left(&monitor, "usd")), ("paid", 0));
}
