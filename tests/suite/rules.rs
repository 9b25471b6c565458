//! The rules one by one: R5's known counterexamples, each with its right end, and for each rule of ours the case that
//! goes wrong without it.

use payout_ledger::domain::engine::Rules;
use payout_ledger::domain::event::{Event, parse};
use payout_ledger::domain::guard::Account;
use payout_ledger::domain::memory::Monitor;
use payout_ledger::domain::money::Currency;
use payout_ledger::domain::outcome::State;
use payout_ledger::domain::owner::Owner;
use payout_ledger::domain::retry::Profile;
use serde_json::json;

use crate::support::bodies::{body, charge, fee, payout, refund, transfer};

fn platform() -> Account {
    (Owner::platform(), Currency::parse("usd").unwrap())
}

fn seller() -> Account {
    (Owner::connected("acct_seller").unwrap(), Currency::parse("usd").unwrap())
}

/// Delivers in this order and sweeps until nothing moves; `give_up` lets all attempts run out.
fn run(rules: Rules, events: &[Event], give_up: bool) -> Monitor {
    let mut monitor = Monitor::new(false, Profile::default());
    monitor.engine.rules = rules;
    let mut now_ms = 1;
    for event in events {
        monitor.deliver(event, now_ms);
        now_ms += 1;
    }
    monitor.sweep(now_ms);
    for _ in 0..if give_up { 12 } else { 0 } {
        now_ms += 1_000_000;
        monitor.sweep(now_ms);
    }
    monitor
}

fn total(monitor: &Monitor, account: &Account) -> i64 {
    monitor.book.balances.get(account).copied().unwrap_or_default().total()
}

fn all_applied(monitor: &Monitor) {
    for (id, outcome) in monitor.outcomes() {
        assert!(matches!(outcome.state, State::Applied | State::Skipped), "{id}: {outcome:?}");
    }
    assert!(monitor.book.blocked.is_empty());
}

#[test]
fn a_reversal_before_its_transfer_and_a_refund_between() {
    let events = [
        charge("ch_1", 100, 1),
        transfer("tr_1", 100, 3, &[40]),
        refund("re_1", 40, 4, "succeeded"),
        transfer("tr_1", 100, 2, &[]),
    ];
    let monitor = run(Rules::default(), &events, false);
    assert_eq!((total(&monitor, &platform()), total(&monitor, &seller())), (0, 60));
    all_applied(&monitor);
}

#[test]
fn an_application_fee_and_a_refund_before_the_transfer() {
    let events = [
        charge("ch_1", 100, 1),
        fee("fee_1", 30, 3, &[]),
        refund("re_1", 30, 4, "succeeded"),
        transfer("tr_1", 100, 2, &[]),
    ];
    let monitor = run(Rules::default(), &events, false);
    assert_eq!((total(&monitor, &platform()), total(&monitor, &seller())), (0, 70));
    all_applied(&monitor);
}

#[test]
fn a_reversal_after_the_payout_took_everything_is_shown_as_owed() {
    let events = [
        charge("ch_1", 100, 1),
        transfer("tr_1", 100, 2, &[]),
        transfer("tr_1", 100, 3, &[100]),
        payout("po_1", "acct_seller", 100, "paid", 4),
    ];
    let monitor = run(Rules::default(), &events, true);
    assert_eq!((total(&monitor, &platform()), total(&monitor, &seller())), (100, -100));
    all_applied(&monitor);
}

#[test]
fn a_refund_beyond_the_funds_is_the_platforms_debt() {
    let events = [
        charge("ch_1", 100, 1),
        refund("re_1", 100, 2, "succeeded"),
        transfer("tr_1", 100, 3, &[]),
        payout("po_1", "acct_seller", 100, "paid", 4),
    ];
    let monitor = run(Rules::default(), &events, true);
    assert_eq!((total(&monitor, &platform()), total(&monitor, &seller())), (-100, 0));
    all_applied(&monitor);
    let alerts =
        monitor.outcomes().values().filter(|o| o.reason.as_deref().is_some_and(|r| r.starts_with("owed:"))).count();
    assert!(alerts >= 1, "a debt is said to be one");
}

#[test]
fn newer_details_survive_an_older_event_of_the_same_state() {
    let with = |event: &str, text: &str, at: i64| {
        let mut object = payout_ledger::stripe::simulate::objects::Payout::new("po_1", 100, "usd", 0)
            .with_status("paid", None)
            .json();
        object["description"] = json!(text);
        parse(body(event, "payout.paid", "", at, object).as_bytes()).unwrap()
    };
    let events = [charge("ch_1", 100, 1), with("evt_new", "newer", 9), with("evt_old", "older", 5)];
    let description = |m: &Monitor| m.book.payouts["po_1"].details.get("description").map(str::to_owned);
    let monitor = run(Rules::default(), &events, false);
    assert_eq!(description(&monitor).as_deref(), Some("newer"));
    let last = run(Rules { greatest_details: false, ..Rules::default() }, &events, false);
    assert_eq!(description(&last).as_deref(), Some("older"), "without R6 the last to arrive wins");
}

#[test]
fn two_details_in_one_second_are_ambiguous_in_every_order() {
    let with = |event: &str, text: &str| {
        let mut object = payout_ledger::stripe::simulate::objects::Payout::new("po_1", 100, "usd", 0)
            .with_status("paid", None)
            .json();
        object["description"] = json!(text);
        parse(body(event, "payout.paid", "", 7, object).as_bytes()).unwrap()
    };
    let (a, b) = (with("evt_a", "one"), with("evt_b", "two"));
    for order in [[a.clone(), b.clone()], [b, a]] {
        let monitor = run(Rules::default(), &order, false);
        let record = &monitor.book.payouts["po_1"];
        assert!(record.ambiguous);
        assert_eq!(record.details.get("description"), Some("two"));
    }
}

#[test]
fn a_payout_that_failed_eight_times_goes_when_its_money_comes() {
    let mut monitor = run(Rules::default(), &[payout("po_1", "acct_seller", 100, "pending", 9)], true);
    assert_eq!(monitor.outcomes()["evt_po_1_pending_9"].state, State::Stuck);
    assert_eq!(monitor.outcomes()["evt_po_1_pending_9"].attempts, 8);
    assert_eq!(monitor.book.payouts["po_1"].status.as_str(), "pending", "its state is known all the same");
    monitor.deliver(&transfer("tr_1", 100, 2, &[]), 99_000_000);
    assert_eq!(monitor.outcomes()["evt_po_1_pending_9"].state, State::Stuck);
    monitor.deliver(&charge("ch_1", 100, 1), 99_000_001);
    all_applied(&monitor);
    assert!(monitor.book.payouts["po_1"].posted);
}

#[test]
fn a_chain_of_one_second_delivered_backwards() {
    let seller = |i: usize| format!("acct_chain{i}");
    let mut events = vec![charge("ch_1", 100, 5)];
    for i in 0..9 {
        let object =
            payout_ledger::stripe::simulate::objects::transfer(&format!("tr_{i}"), 100, "usd", 5, &seller(i), &[]);
        events.push(parse(body(&format!("evt_t{i}"), "transfer.created", "", 5, object).as_bytes()).unwrap());
        let object =
            payout_ledger::stripe::simulate::objects::transfer(&format!("tr_{i}"), 100, "usd", 5, &seller(i), &[100]);
        events.push(parse(body(&format!("evt_r{i}"), "transfer.reversed", "", 5, object).as_bytes()).unwrap());
    }
    assert_eq!(events.len(), 19);
    events.reverse();
    let monitor = run(Rules::default(), &events, false);
    all_applied(&monitor);
    assert_eq!(total(&monitor, &platform()), 100);
}

#[test]
fn only_together_can_they_go() {
    // The payout took the seller's all before the money it was made of came; the reversal funds the second transfer.
    let first = transfer("tr_1", 100, 2, &[]);
    let object = payout_ledger::stripe::simulate::objects::transfer("tr_2", 40, "usd", 4, "acct_seller", &[]);
    let second = parse(body("evt_tr_2", "transfer.created", "", 4, object).as_bytes()).unwrap();
    let events = [
        charge("ch_1", 100, 1),
        first,
        payout("po_1", "acct_seller", 100, "paid", 5),
        transfer("tr_1", 100, 3, &[40]),
        second,
    ];
    let monitor = run(Rules::default(), &events, false);
    all_applied(&monitor);
    assert_eq!((total(&monitor, &platform()), total(&monitor, &seller())), (0, 0));
    let alone = run(Rules { joint_try: false, ..Rules::default() }, &events, false);
    assert_eq!(alone.book.blocked.len(), 2, "without the joint try both wait");
}

#[test]
fn without_the_wake_up_it_waits_for_the_sweep() {
    let events = [payout("po_1", "", 100, "paid", 2), charge("ch_1", 100, 1)];
    let deliver = |rules| {
        let mut monitor = Monitor::new(false, Profile::default());
        monitor.engine.rules = rules;
        for event in &events {
            monitor.deliver(event, 1);
        }
        monitor.book.blocked.len()
    };
    assert_eq!(deliver(Rules::default()), 0);
    assert_eq!(deliver(Rules { credit_wakeup: false, ..Rules::default() }), 1);
}

#[test]
fn without_snapshot_legs_a_payout_first_seen_as_failed_makes_money() {
    let events = [charge("ch_1", 100, 1), payout("po_1", "", 100, "failed", 9)];
    assert_eq!(total(&run(Rules::default(), &events, false), &platform()), 100);
    let by_type = run(Rules { snapshot_legs: false, ..Rules::default() }, &events, false);
    assert_eq!(total(&by_type, &platform()), 200, "money back that never went out");
}

#[test]
fn states_that_contradict_each_other_wait_for_a_person() {
    let events = [
        charge("ch_1", 100, 1),
        payout("po_1", "", 100, "paid", 5),
        payout("po_1", "", 100, "canceled", 6),
        payout("po_1", "", 90, "paid", 7),
    ];
    let monitor = run(Rules::default(), &events, true);
    for id in ["evt_po_1_canceled_6", "evt_po_1_paid_7"] {
        let outcome = monitor.outcomes()[id];
        assert_eq!((outcome.state, outcome.attempts), (State::Stuck, 1), "{outcome:?}");
        assert!(outcome.reason.as_deref().unwrap().starts_with("contradiction"));
    }
    assert_eq!(total(&monitor, &platform()), 0);
}

#[test]
fn a_bank_debit_comes_in_at_paid_and_a_failed_one_leaves_nothing() {
    for order in [["pending", "paid"], ["paid", "pending"]] {
        let events = order.map(|status| payout("po_d", "", -50, status, if status == "paid" { 2 } else { 1 }));
        assert_eq!(total(&run(Rules::default(), &events, false), &platform()), 50);
    }
    let failed = [payout("po_d", "", -50, "failed", 3), payout("po_d", "", -50, "paid", 2)];
    assert_eq!(total(&run(Rules::default(), &failed, true), &platform()), 0);
    let canceled = [payout("po_d", "", -50, "canceled", 3), payout("po_d", "", -50, "pending", 2)];
    assert_eq!(total(&run(Rules::default(), &canceled, true), &platform()), 0);
}

#[test]
fn refunds_that_fail_come_back_and_cumulative_fields_post_up_to_the_greatest() {
    let events = [
        charge("ch_1", 100, 1),
        refund("re_1", 60, 5, "failed"),
        refund("re_1", 60, 4, "succeeded"),
        transfer("tr_1", 80, 6, &[10, 30]),
        transfer("tr_1", 80, 5, &[10]),
        transfer("tr_1", 80, 2, &[]),
        fee("fee_1", 20, 7, &[5]),
        fee("fee_1", 20, 6, &[]),
    ];
    for rotate in 0..events.len() {
        let mut order = events.to_vec();
        order.rotate_left(rotate);
        let monitor = run(Rules::default(), &order, false);
        assert_eq!((total(&monitor, &platform()), total(&monitor, &seller())), (75, 25), "rotated by {rotate}");
        all_applied(&monitor);
    }
}

#[test]
fn twin_events_post_once() {
    let twin = |id: &str| {
        let object = payout_ledger::stripe::simulate::objects::charge("ch_1", 100, "usd", 1);
        parse(body(id, "charge.succeeded", "", 1, object).as_bytes()).unwrap()
    };
    let monitor = run(Rules::default(), &[twin("evt_a"), twin("evt_b")], false);
    assert_eq!(total(&monitor, &platform()), 100);
    assert_eq!(monitor.outcomes()["evt_b"].state, State::Skipped);
}

#[test]
fn only_the_newest_snapshot_of_an_object_waits() {
    let events = [transfer("tr_1", 100, 2, &[]), transfer("tr_1", 100, 3, &[40]), transfer("tr_1", 100, 4, &[40, 10])];
    let forward = run(Rules::default(), &events, false);
    assert_eq!(forward.book.blocked.len(), 1);
    assert!(forward.outcomes()["evt_tr_1_0"].reason.as_deref().unwrap().starts_with("superseded by evt_tr_1_1"));
    let mut backward = events.to_vec();
    backward.reverse();
    let backward = run(Rules::default(), &backward, false);
    assert_eq!(backward.book.blocked.len(), 1);
    assert_eq!(backward.book.blocked.values().next().unwrap().key.event, "evt_tr_1_2");
}

#[test]
fn the_other_mode_is_kept_and_moves_nothing() {
    let object = payout_ledger::stripe::simulate::objects::charge("ch_1", 100, "usd", 1);
    let live = body("evt_live", "charge.succeeded", "", 1, object).replace("\"livemode\":false", "\"livemode\":true");
    let monitor = run(Rules::default(), &[parse(live.as_bytes()).unwrap()], false);
    assert_eq!(total(&monitor, &platform()), 0);
    let outcome = monitor.outcomes()["evt_live"];
    assert_eq!(outcome.state, State::Ignored);
    assert!(outcome.reason.as_deref().unwrap().contains("LIVE"));
}

#[test]
fn ten_thousand_hopeless_rows_starve_nobody() {
    let mut monitor = Monitor::new(false, Profile::default());
    for i in 0..10_000 {
        monitor.deliver(&payout(&format!("po_poison{i}"), &format!("acct_poor{i}"), 1_000_000, "pending", 1), 1);
    }
    monitor.deliver(&payout("po_good", "", 100, "paid", 9), 2);
    monitor.deliver(&charge("ch_1", 100, 1), 3);
    assert_eq!(monitor.outcomes()["evt_po_good_paid_9"].state, State::Applied);
    let began = std::time::Instant::now();
    monitor.sweep(10_000_000);
    assert!(began.elapsed().as_secs() < 60, "a sweep over hopeless rows ends");
}

#[test]
fn thousands_that_could_help_each_other_cost_a_bounded_time() {
    // The payout could be funded by any of the transfers, and none of those by anything.
    let mut monitor = Monitor::new(false, Profile::default());
    monitor.deliver(&payout("po_big", "acct_seller", 90_000_000, "pending", 1), 1);
    for i in 0..5_000 {
        monitor.deliver(&transfer(&format!("tr_{i}"), 100, 2, &[]), 1);
    }
    let began = std::time::Instant::now();
    assert!(!monitor.sweep(2));
    assert_eq!(monitor.book.blocked.len(), 5_001);
    assert!(began.elapsed().as_secs() < 30, "the joint try took {:?}", began.elapsed());
}

#[test]
fn a_dispute_takes_once_however_its_transactions_are_listed() {
    let dispute = |event: &str, kind: &str, nets: &[i64]| {
        let transactions: Vec<_> = nets
            .iter()
            .enumerate()
            .map(|(i, net)| json!({"id": format!("txn_{i}"), "amount": net, "net": net, "currency": "usd"}))
            .collect();
        let object = json!({
            "id": "dp_1", "object": "dispute", "amount": 50, "currency": "usd", "status": "needs_response",
            "balance_transactions": transactions,
        });
        parse(body(event, kind, "", 5, object).as_bytes()).unwrap()
    };
    let (taken, back) = ("charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated");
    let events = [
        charge("ch_1", 100, 1),
        dispute("evt_bare", taken, &[]),
        dispute("evt_fee", taken, &[-65]),
        dispute("evt_back", back, &[-65, 50]),
    ];
    for rotate in 0..events.len() {
        let mut order = events.to_vec();
        order.rotate_left(rotate);
        let monitor = run(Rules::default(), &order, true);
        assert_eq!(total(&monitor, &platform()), 85, "rotated by {rotate}");
        all_applied(&monitor);
    }
}
