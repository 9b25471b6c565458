//! Reconcile and fetch on receipt against a small Stripe: every kind of difference, repair, faults, ties, thin events.

use payout_ledger::daemon::confirm::{Confirmed, Follower, Mode};
use payout_ledger::daemon::intake::Taken;
use payout_ledger::daemon::reconcile::{Reconciled, Window, openings, reconcile};
use payout_ledger::daemon::side_error::SideError;
use payout_ledger::domain::owner::Owner;
use payout_ledger::store::verify::Audit;
use payout_ledger::store::writer::Writer;
use payout_ledger::stripe::client::Client;
use payout_ledger::stripe::error::ErrorKind;

use crate::support::side_bench::Bench;
use crate::support::small_stripe::{Fault, SmallStripe};

const NOW: i64 = 2_000_000_000;

fn payout(id: &str, amount: i64, status: &str) -> String {
    format!(
        r#"{{"id":"{id}","object":"payout","amount":{amount},"currency":"usd","status":"{status}","livemode":false}}"#
    )
}

fn event(id: &str, kind: &str, created: i64, object: &str) -> String {
    format!(
        r#"{{"id":"{id}","object":"event","type":"{kind}","created":{created},"livemode":false,"data":{{"object":{object}}}}}"#
    )
}

fn charge(amount: i64) -> String {
    format!(
        r#"{{"id":"ch_1","object":"charge","amount":{amount},"currency":"usd","captured":true,"status":"succeeded"}}"#
    )
}

fn there(stripe: &SmallStripe, id: &str, amount: i64, status: &str) {
    stripe.push("", "/v1/payouts", id, NOW - 5_000, &payout(id, amount, status));
}

async fn compare(bench: &Bench, client: &Client) -> Result<Reconciled, SideError> {
    let window = Window { since: NOW - 86_400, now: NOW };
    reconcile(client, &bench.side, None::<&mut Writer>, &Owner::platform(), window).await
}

fn lines(reconciled: &Reconciled) -> Vec<String> {
    reconciled.findings.iter().map(payout_ledger::domain::reconcile::Finding::line).collect()
}

/// A ledger with 100.00 in, two payouts of 20.00 and 30.00 out, and a Stripe that agrees.
async fn agreeing() -> (Bench, SmallStripe, Client) {
    let (mut bench, stripe) = (Bench::new(), SmallStripe::default());
    bench.deliver(&event("evt_1", "charge.succeeded", 10, &charge(10_000)));
    for (n, id, amount) in [(2, "po_1", 2_000), (3, "po_2", 3_000)] {
        bench.deliver(&event(&format!("evt_{n}"), "payout.created", 11, &payout(id, amount, "pending")));
        there(&stripe, id, amount, "pending");
    }
    stripe.object(
        "",
        "/v1/balance",
        r#"{"available":[{"amount":4000,"currency":"usd"}],"pending":[{"amount":1000,"currency":"usd"}]}"#,
    );
    let client = stripe.client().await;
    (bench, stripe, client)
}

fn replace(stripe: &SmallStripe, id: &str, json: String) {
    let mut held = stripe.held();
    let list = held.lists.get_mut(&(String::new(), "/v1/payouts".to_owned())).unwrap();
    list.iter_mut().find(|e| e.id == id).unwrap().json = json;
}

#[tokio::test]
async fn agreement_finds_nothing() {
    let (bench, _stripe, client) = agreeing().await;
    let result = compare(&bench, &client).await.unwrap();
    assert_eq!((lines(&result), result.objects), (vec![], 2));
}

#[tokio::test]
async fn a_lost_webhook_is_found_repaired_and_the_finding_resolves() {
    let (mut bench, stripe, client) = agreeing().await;
    replace(&stripe, "po_1", payout("po_1", 2_000, "failed"));
    there(&stripe, "po_3", 1_000, "paid");
    stripe.object("", "/v1/balance", r#"{"available":[{"amount":6000,"currency":"usd"}]}"#);
    let found = compare(&bench, &client).await.unwrap();
    assert_eq!(
        lines(&found),
        [
            "status differs: po_1 of platform: Stripe has failed, we have pending",
            "missing here: po_3 of platform: Stripe has paid, 10.00 USD, we have nothing",
            "balance differs: balance usd of platform: Stripe has 60.00 USD, we have 50.00 USD; no event explains 10.00 USD",
        ]
    );
    assert_eq!(found.recorded.opened, 3);
    let again = compare(&bench, &client).await.unwrap();
    assert_eq!((again.recorded.opened, again.recorded.refreshed), (0, 3));

    let window = Window { since: NOW - 86_400, now: NOW };
    let mended = reconcile(&client, &bench.side, Some(&mut bench.writer), &Owner::platform(), window).await.unwrap();
    assert_eq!((mended.repaired, lines(&mended)), (Taken { stored: 2, ..Taken::default() }, vec![]));
    assert_eq!(mended.recorded.resolved, 3);
    assert_eq!(
        bench.rows("SELECT id || ' ' || status FROM payouts ORDER BY id"),
        ["po_1 failed", "po_2 pending", "po_3 paid"]
    );
    let repeat = reconcile(&client, &bench.side, Some(&mut bench.writer), &Owner::platform(), window).await.unwrap();
    assert_eq!(repeat.repaired, Taken::default(), "a repair is made once");
}

#[tokio::test]
async fn a_trace_id_that_came_late_is_brought_in_by_a_repair() {
    let (mut bench, stripe, client) = agreeing().await;
    let late = payout("po_1", 2_000, "pending")
        .replace("\"amount\"", r#""trace_id":{"status":"supported","value":"T1"},"amount""#);
    replace(&stripe, "po_1", late);
    let window = Window { since: NOW - 86_400, now: NOW };
    for stored in [1, 0] {
        let done = reconcile(&client, &bench.side, Some(&mut bench.writer), &Owner::platform(), window).await.unwrap();
        assert_eq!((done.repaired.stored, lines(&done)), (stored, vec![]));
    }
    assert_eq!(bench.rows("SELECT details FROM payouts WHERE id = 'po_1'"), [r#"{"trace_id":"T1"}"#]);
}

#[tokio::test]
async fn open_payouts_outside_the_window_are_asked_for_one_by_one() {
    let (bench, stripe, client) = agreeing().await;
    stripe.held().lists.clear();
    stripe.object("", "/v1/payouts/po_1", &payout("po_1", 2_000, "pending"));
    let found = compare(&bench, &client).await.unwrap();
    assert_eq!(lines(&found), ["missing there: po_2 of platform: Stripe has nothing, we have pending, 30.00 USD"]);
}

#[tokio::test]
async fn what_changed_in_the_last_minute_is_not_flagged() {
    let (bench, stripe, client) = agreeing().await;
    replace(&stripe, "po_1", payout("po_1", 2_000, "paid"));
    let news = event("evt_9", "payout.paid", NOW - 30, &payout("po_1", 2_000, "paid"));
    stripe.push("", "/v1/events", "evt_9", NOW - 30, &news);
    stripe.object("", "/v1/balance", r#"{"available":[]}"#);
    assert_eq!(lines(&compare(&bench, &client).await.unwrap()), Vec::<String>::new());
}

#[tokio::test]
async fn a_fault_half_way_records_nothing() {
    let (bench, stripe, client) = agreeing().await;
    replace(&stripe, "po_1", payout("po_1", 2_000, "paid"));
    compare(&bench, &client).await.unwrap();
    let before = bench.side.findings(9).unwrap();
    assert_eq!(before.len(), 1);
    replace(&stripe, "po_1", payout("po_1", 2_000, "pending"));
    // Events, transfers, payouts, balance: each of the four reads fails in its turn.
    for (n, fault) in [Fault::Cut, Fault::Html, Fault::Status(401), Fault::Status(500)].into_iter().enumerate() {
        {
            let mut held = stripe.held();
            held.broken_from = Some((held.asked.len() + n, fault));
        }
        compare(&bench, &client).await.unwrap_err();
        assert_eq!(bench.side.findings(9).unwrap(), before);
    }
    stripe.held().broken_from = None;
    assert_eq!(compare(&bench, &client).await.unwrap().recorded.resolved, 1);
}

#[tokio::test]
async fn an_account_that_may_not_be_read_concerns_itself_alone() {
    let (bench, stripe, client) = agreeing().await;
    let seller = Owner::connected("acct_gone").unwrap();
    stripe.held().refused.insert(("acct_gone".into(), "/v1/events".into()), 403);
    let window = Window { since: 0, now: NOW };
    let error = reconcile(&client, &bench.side, None::<&mut Writer>, &seller, window).await.unwrap_err();
    assert!(!error.concerns_all());
    assert!(matches!(&error, SideError::Api(e) if matches!(e.kind, ErrorKind::Forbidden { .. })), "{error}");
}

#[tokio::test]
async fn an_opening_balance_is_what_stripe_has_and_we_cannot_explain() {
    let (bench, stripe, client) = agreeing().await;
    let balance = r#"{"available":[{"amount":7000,"currency":"usd"},{"amount":-300,"currency":"eur"}]}"#;
    stripe.object("", "/v1/balance", balance);
    let openings = openings(&client, &bench.side, &Owner::platform()).await.unwrap();
    let shown: Vec<String> = openings.iter().map(|((o, c), n)| format!("{o} {c} {n}")).collect();
    assert_eq!(shown, ["platform eur -300", "platform usd 2000"]);
}

async fn follow(bench: &mut Bench, client: &Client, mode: Mode) -> Confirmed {
    let mut follower = Follower::new(mode);
    while follower.step(client, &bench.side, &mut bench.writer).await.unwrap() {}
    follower.confirmed
}

#[tokio::test]
async fn each_object_is_read_once_and_the_truth_goes_through_the_rules() {
    let (mut bench, stripe, client) = agreeing().await;
    follow(&mut bench, &client, Mode::Fetch).await;
    let asked = stripe.held().asked.len();
    for n in 10..15 {
        let object = payout("po_1", 2_000, "pending");
        bench.deliver(&event(&format!("evt_{n}"), "payout.updated", 20 + n, &object));
    }
    bench.deliver(&event("evt_20", "charge.captured", 12, &charge(10_000)));
    bench.deliver(&event("evt_21", "payout.created", 12, &payout("po_simulated", 1, "pending")));
    stripe.object("", "/v1/payouts/po_1", &payout("po_1", 2_000, "in_transit"));
    let settled = charge(10_000).replace(
        "\"amount\"",
        r#""balance_transaction":{"amount":10000,"currency":"usd","fee_details":[{"amount":320,"currency":"usd","type":"stripe_fee"}]},"amount""#,
    );
    stripe.object("", "/v1/charges/ch_1", &settled);
    let confirmed = follow(&mut bench, &client, Mode::Fetch).await;
    assert_eq!((confirmed.fetched, confirmed.unknown, confirmed.refused), (2, 1, 0));
    assert_eq!(stripe.held().asked.len() - asked, 3, "one read per object");
    assert_eq!(bench.rows("SELECT status FROM payouts WHERE id = 'po_1'"), ["in_transit"]);
    assert_eq!(
        bench.rows("SELECT leg || amount FROM journal WHERE object = 'ch_1' ORDER BY id"),
        ["captured10000", "fee320"]
    );
    assert_eq!(follow(&mut bench, &client, Mode::Fetch).await, Confirmed::default(), "what we read is not read again");
    assert_eq!(Audit::of(&bench.path(), false).unwrap().broken, Vec::<String>::new());
}

#[tokio::test]
async fn a_tie_and_a_thin_event_are_settled_even_without_the_option() {
    let (mut bench, stripe, client) = agreeing().await;
    follow(&mut bench, &client, Mode::Payload).await;
    let with = |id: &str, text: &str| {
        payout(id, 2_000, "paid").replace("\"amount\"", &format!("\"description\":\"{text}\",\"amount\""))
    };
    bench.deliver(&event("evt_a", "payout.paid", 50, &with("po_1", "one")));
    bench.deliver(&event("evt_b", "payout.updated", 50, &with("po_1", "two")));
    assert_eq!(bench.rows("SELECT '' || ambiguous FROM payouts WHERE id = 'po_1'"), ["1"]);
    stripe.object("", "/v1/payouts/po_1", &with("po_1", "one"));
    let thin = r#"{"id":"evt_test_1","object":"v2.core.event","type":"v1.payout.paid","livemode":false,
        "created":"2026-01-01T00:00:00.000Z","related_object":{"id":"po_2","type":"payout","url":"/v1/payouts/po_2"}}"#;
    bench.deliver(thin);
    stripe.object("", "/v1/payouts/po_2", &payout("po_2", 3_000, "paid"));
    let confirmed = follow(&mut bench, &client, Mode::Payload).await;
    assert_eq!(confirmed.fetched, 2);
    let rows = bench.rows("SELECT id || ' ' || status || ' ' || ambiguous || ' ' || details FROM payouts ORDER BY id");
    assert_eq!(rows, [r#"po_1 paid 0 {"description":"one"}"#, "po_2 paid 0 {}"]);
}

#[tokio::test]
async fn an_event_that_happens_during_a_read_is_newer_than_the_read() {
    let (mut bench, stripe, client) = agreeing().await;
    follow(&mut bench, &client, Mode::Fetch).await;
    let described = |text: &str| {
        payout("po_1", 2_000, "pending").replace("\"amount\"", &format!("\"description\":\"{text}\",\"amount\""))
    };
    // The read answers with what was there before; the event of the same second comes in first.
    stripe.object("", "/v1/payouts/po_1", &described("before"));
    let now = chrono::Utc::now().timestamp();
    bench.deliver(&event("evt_9", "payout.updated", now, &described("after")));
    assert_eq!(follow(&mut bench, &client, Mode::Fetch).await.fetched, 1);
    assert_eq!(bench.rows("SELECT details FROM payouts WHERE id = 'po_1'"), [r#"{"description":"after"}"#]);
    assert_eq!(bench.rows("SELECT '' || ambiguous FROM payouts WHERE id = 'po_1'"), ["0"]);
}

#[tokio::test]
async fn a_fault_while_reading_loses_no_object() {
    let (mut bench, stripe, client) = agreeing().await;
    follow(&mut bench, &client, Mode::Fetch).await;
    bench.deliver(&event("evt_9", "payout.updated", 20, &payout("po_1", 2_000, "pending")));
    stripe.object("", "/v1/payouts/po_1", &payout("po_1", 2_000, "paid"));
    {
        let mut held = stripe.held();
        held.broken_from = Some((held.asked.len(), Fault::Status(500)));
    }
    let mut follower = Follower::new(Mode::Fetch);
    let failed = follower.step(&client, &bench.side, &mut bench.writer).await;
    assert!(failed.is_err() && follower.confirmed == Confirmed::default());
    stripe.held().broken_from = None;
    assert_eq!(follow(&mut bench, &client, Mode::Fetch).await.fetched, 1);
    assert_eq!(bench.rows("SELECT status FROM payouts WHERE id = 'po_1'"), ["paid"]);
}
