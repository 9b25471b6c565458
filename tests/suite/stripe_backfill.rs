//! Backfill: whatever deliveries were lost, the end is as if none had been; and no fault leaves anything half done.

use payout_ledger::daemon::backfill::{Filled, backfill};
use payout_ledger::daemon::intake::Taken;
use payout_ledger::daemon::side_error::SideError;
use payout_ledger::domain::owner::Owner;
use payout_ledger::lab::history::{History, Shape, arrivals, generate};
use payout_ledger::lab::rng::Rng;
use payout_ledger::store::schema;
use payout_ledger::stripe::client::Client;
use proptest::prelude::*;

use crate::support::side_bench::Bench;
use crate::support::small_stripe::{Element, Fault, SmallStripe};

const NOW: i64 = 2_000_000_000;

async fn fill(bench: &mut Bench, client: &Client, owner: &Owner) -> Result<Filled, SideError> {
    backfill(client, &bench.side, &mut bench.writer, owner, None, NOW).await
}

fn note(n: i64) -> (String, String) {
    let id = format!("evt_{n:05}");
    let json = format!(
        r#"{{"id":"{id}", "type":"note.made","created":{},"livemode":false,"data":{{"object":{{}}}}}}"#,
        NOW - 50_000 + n
    );
    (id, json)
}

fn with_notes(count: i64) -> SmallStripe {
    let stripe = SmallStripe::default();
    for n in 1..=count {
        let (id, json) = note(n);
        stripe.push("", "/v1/events", &id, NOW - 50_000 + n, &json);
    }
    stripe
}

#[tokio::test]
async fn a_long_listing_comes_in_oldest_first_and_the_bytes_stay() {
    let stripe = with_notes(2_345);
    let (mut bench, platform) = (Bench::new(), Owner::platform());
    let client = stripe.client().await;
    let filled = fill(&mut bench, &client, &platform).await.unwrap();
    assert_eq!(filled.taken, Taken { stored: 2_345, ..Taken::default() });
    let ids = bench.ids();
    assert!(ids.is_sorted() && ids.len() == 2_345);
    let body: Vec<u8> = schema::open_read_only(&bench.path())
        .unwrap()
        .query_row("SELECT body FROM payloads WHERE seq = 7", [], |r| r.get(0))
        .unwrap();
    assert_eq!(String::from_utf8(body).unwrap(), note(7).1);
    let again = fill(&mut bench, &client, &platform).await.unwrap();
    assert_eq!((again.taken.stored, again.since), (0, NOW - 50_000 + 2_345 - 600));
}

#[tokio::test]
async fn a_cut_listing_moves_no_watermark_and_the_next_run_goes_on_from_there() {
    let stripe = with_notes(2_600);
    let (mut bench, platform) = (Bench::new(), Owner::platform());
    let client = stripe.client().await;
    // 26 pages back to the oldest event, then 6 forward: each run meets a fault one step later.
    let faults = [Fault::Cut, Fault::Status(500), Fault::Html, Fault::Status(429)];
    for (n, steps) in [0, 3, 25, 27, 2, 1].into_iter().enumerate() {
        {
            let mut held = stripe.held();
            held.broken_from = Some((held.asked.len() + steps, faults[n % 4]));
        }
        let before = bench.ids().len();
        fill(&mut bench, &client, &platform).await.unwrap_err();
        assert!(n < 3 || bench.ids().len() > before, "what came whole is kept");
        assert_eq!(bench.side.mark("backfill_until:platform").unwrap(), None, "no watermark yet");
    }
    stripe.held().broken_from = None;
    let filled = fill(&mut bench, &client, &platform).await.unwrap();
    assert!(filled.taken.stored > 0 && filled.taken.known == 0);
    let ids = bench.ids();
    assert!(ids.is_sorted() && ids.len() == 2_600, "{}", ids.len());
    assert_eq!(bench.side.mark("backfill_until:platform").unwrap(), Some((NOW - 50_000 + 2_600).to_string()));
}

#[tokio::test]
async fn events_that_happen_meanwhile_are_not_lost() {
    let stripe = with_notes(350);
    let (mut bench, platform) = (Bench::new(), Owner::platform());
    let client = stripe.client().await;
    let (id, json) = note(351);
    stripe.held().grows = Some((2, Element { id, created: NOW - 50_000 + 351, json }));
    fill(&mut bench, &client, &platform).await.unwrap();
    let again = fill(&mut bench, &client, &platform).await.unwrap();
    assert_eq!((again.taken.stored, bench.ids().len()), (1, 351));
}

#[tokio::test]
async fn the_first_backfill_begins_where_watching_began() {
    let stripe = with_notes(5_000);
    let mut bench = Bench::new();
    for n in [3_000, 5_000] {
        bench.deliver(&note(n).1);
    }
    let filled = fill(&mut bench, &stripe.client().await, &Owner::platform()).await.unwrap();
    assert_eq!(filled.since, NOW - 50_000 + 3_000 - 600);
    assert_eq!(filled.taken, Taken { stored: 2_600 - 1, known: 2, ..Taken::default() });
}

#[tokio::test]
async fn a_forgotten_place_begins_afresh() {
    let stripe = with_notes(3);
    let (mut bench, platform) = (Bench::new(), Owner::platform());
    let client = stripe.client().await;
    bench.side.set_mark("backfill_at:platform", Some("5 evt_that_stripe_forgot")).unwrap();
    fill(&mut bench, &client, &platform).await.unwrap_err();
    assert_eq!(fill(&mut bench, &client, &platform).await.unwrap().taken.stored, 3);
}

#[tokio::test]
async fn what_is_older_than_thirty_days_is_said() {
    let stripe = with_notes(3);
    let mut bench = Bench::new();
    bench.deliver(r#"{"id":"evt_old","type":"note.made","created":1000,"livemode":false,"data":{"object":{}}}"#);
    let filled = fill(&mut bench, &stripe.client().await, &Owner::platform()).await.unwrap();
    assert!(filled.too_old && filled.since == NOW - 30 * 86_400 && filled.taken.stored == 3);
}

fn history(seed: u64) -> History {
    generate(&mut Rng::new(seed), Shape { events: 14, may_owe: true, noise: true })
}

/// The account an event belongs to: empty for the platform.
fn account(body: &str) -> String {
    let event: serde_json::Value = serde_json::from_str(body).unwrap();
    event["account"].as_str().unwrap_or("").to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// For any deliveries lost and any order of the rest, backfill and retry end where no loss ends.
    #[test]
    fn any_lost_deliveries_end_as_none(seed: u64, lost: u64) {
        let history = history(seed);
        let now_ms = NOW * 1000;
        let mut whole = Bench::new();
        for event in &history.events {
            whole.deliver(&event.body);
        }
        let mut rng = Rng::new(lost);
        let mut bench = Bench::new();
        for n in arrivals(&mut rng, history.events.len(), 1) {
            if lost >> (n % 64) & 1 == 0 {
                bench.deliver(&history.events[n].body);
            }
        }
        let stripe = SmallStripe::default();
        let mut owners = vec![Owner::platform()];
        let last = history.events.last().unwrap().created;
        for event in &history.events {
            let account = account(&event.body);
            if !account.is_empty() && !owners.iter().any(|o| o.as_str() == account) {
                owners.push(Owner::connected(&account).unwrap());
            }
            stripe.push(&account, "/v1/events", &event.id, event.created, &event.body);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = stripe.client().await;
            for owner in &owners {
                let since = Some(last - 20 * 86_400);
                backfill(&client, &bench.side, &mut bench.writer, owner, since, last + 10).await.unwrap();
            }
        });
        for bench in [&mut whole, &mut bench] {
            for round in 0..12 {
                bench.writer.sweep(now_ms + round * 1_000_000).unwrap();
            }
        }
        prop_assert_eq!(bench.end(), whole.end());
    }
}
