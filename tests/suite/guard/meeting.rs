//! The transfer we made and the event Stripe sends about it meet in one place, and the ledger posts once.

use payout_ledger::domain::guard::Account;
use payout_ledger::domain::money::Currency;
use payout_ledger::domain::owner::Owner;
use payout_ledger::domain::retry::Profile;
use payout_ledger::domain::transfer::intent::{Source, State};
use payout_ledger::store::act::Actor;
use payout_ledger::store::read::Reader;
use payout_ledger::store::schema;
use payout_ledger::store::writer::{Arrival, Writer};
use serde_json::json;

use super::stripe::Faults;
use super::{Bench, LEASE_MS, Near, runtime};

fn event(id: &str, kind: &str, transfer: &str, group: &str, reversed: i64) -> Vec<u8> {
    json!({
        "id": id, "object": "event", "type": kind, "created": 1_790_000_100, "livemode": false,
        "api_version": "2026-10-28.endive",
        "data": { "object": {
            "id": transfer, "object": "transfer", "amount": 4_200, "amount_reversed": reversed, "currency": "eur",
            "created": 1_790_000_100, "destination": "acct_shopOne", "livemode": false, "reversed": reversed == 4_200,
            "transfer_group": group,
        } },
    })
    .to_string()
    .into_bytes()
}

#[test]
fn row_and_event_are_shown_together_and_post_once() {
    let bench = Bench::new(41);
    bench.create("sent");
    runtime().block_on(bench.settle());
    bench.create("lost");
    bench.stripe.suffer(Faults { lost_after: 100, ..Faults::default() });
    let worker = bench.worker(Near::new(&bench.stripe));
    runtime().block_on(worker.step(None)).unwrap();
    assert_eq!(bench.state("lost"), State::Unknown);

    let now_ms = bench.stripe.now_ms();
    let mut writer = Writer::new(schema::open(&bench.path).unwrap(), false, Profile::default()).unwrap();
    let platform: Account = (Owner::platform(), Currency::parse("eur").unwrap());
    let actor = Actor { who: "ann", reason: "", now_ms };
    writer.open_balance(&platform, 100_000, &actor).unwrap().unwrap();
    let (sent, lost) = (bench.stripe.of("sent").remove(0), bench.stripe.of("lost").remove(0));
    let bodies = [
        event("evt_s1", "transfer.created", &sent, "sent", 0),
        event("evt_s1", "transfer.created", &sent, "sent", 0),
        event("evt_s2", "transfer.updated", &sent, "sent", 0),
        event("evt_l1", "transfer.created", &lost, "lost", 0),
    ];
    writer.ingest(&bodies.map(|body| Arrival::new(body, now_ms))).unwrap();

    assert_eq!(worker.read_events().unwrap(), 1, "only the lost one is news");
    assert_eq!(worker.read_events().unwrap(), 0);
    let reader = Reader::open(&bench.path, false).unwrap();
    let detail = reader.transfer_detail("sent").unwrap().unwrap();
    assert_eq!((detail.row.intent.state, detail.events.len(), detail.legs.len()), (State::Sent, 2, 1));
    let detail = reader.transfer_detail("lost").unwrap().unwrap();
    assert_eq!((detail.row.intent.state, detail.row.intent.known_from), (State::Adopted, Some(Source::Event)));
    assert_eq!((detail.events.len(), detail.legs.len()), (1, 1));

    // A late repeat and the reversal.
    let back = [
        event("evt_s3", "transfer.reversed", &sent, "sent", 4_200),
        event("evt_s4", "transfer.created", &sent, "sent", 0),
    ];
    writer.ingest(&back.map(|body| Arrival::new(body, now_ms))).unwrap();
    assert_eq!(worker.read_events().unwrap(), 1);
    assert_eq!(bench.state("sent"), State::Reversed);
    bench.stripe.pass(LEASE_MS);
    runtime().block_on(bench.settle());
    assert_eq!(bench.stripe.posts(), 2);
}
