//! The state machine under random operations: the pure rules are the model, the database is the system, and a small
//! Stripe counts what was paid.

use std::collections::HashMap;

use payout_ledger::domain::transfer::answer::{Failure, Outcome, Stored, read};
use payout_ledger::domain::transfer::backoff::Backoff;
use payout_ledger::domain::transfer::claim::Lease;
use payout_ledger::domain::transfer::intent::{Intent, State};
use payout_ledger::domain::transfer::key::idempotency_key;
use payout_ledger::domain::transfer::lookup::{Looked, Seen, Wanted};
use payout_ledger::domain::transfer::order::Order;
use payout_ledger::store::act::Actor;
use payout_ledger::store::transfers::{Posted, Told, TransferRow, Transfers, Work};
use proptest::prelude::*;

use super::{HOUR_MS, order};

const LEASE: Lease = Lease { ms: 70_000 };
const TIMEOUT_MS: i64 = 30_000;
const BACKOFF: Backoff = Backoff { base_ms: 1_000, most_ms: 60_000, tries: 3 };

#[derive(Debug, Clone, Copy)]
enum Op {
    Pass(i64),
    Claim(usize),
    Look(usize),
    Prepare(usize),
    Post(usize),
    Answer(usize, bool),
    Fail(usize, u16),
    Retry,
    Cancel,
    Event(i64),
    Outside,
    Refuse(bool),
}

fn op() -> impl Strategy<Value = Op> {
    let worker = 0..3usize;
    prop_oneof![
        3 => prop::sample::select(vec![0, 900, 20_000, 71_000, HOUR_MS, 25 * HOUR_MS]).prop_map(Op::Pass),
        6 => worker.clone().prop_map(Op::Claim),
        6 => worker.clone().prop_map(Op::Look),
        6 => worker.clone().prop_map(Op::Prepare),
        6 => worker.clone().prop_map(Op::Post),
        6 => (worker.clone(), prop::bool::weighted(0.3)).prop_map(|(w, lost)| Op::Answer(w, lost)),
        2 => (worker, prop::sample::select(vec![400, 401, 403, 409, 429, 500, 502])).prop_map(|(w, s)| Op::Fail(w, s)),
        3 => Just(Op::Retry),
        1 => Just(Op::Cancel),
        1 => prop::sample::select(vec![0, 4_200]).prop_map(Op::Event),
        1 => Just(Op::Outside),
        1 => any::<bool>().prop_map(Op::Refuse),
    ]
}

#[derive(Default)]
struct Worker {
    claimed: Option<i64>,
    looked_ms: Option<i64>,
    posted: Option<(Intent, Option<Posted>)>,
    outcome: Option<Outcome>,
}

struct World {
    order: Order,
    now_ms: i64,
    intent: Intent,
    workers: [Worker; 3],
    transfers: Vec<Seen>,
    ours: usize,
    keys: HashMap<String, (Outcome, i64)>,
    refuses: bool,
    /// The system, when it takes part.
    store: Option<Transfers>,
}

impl World {
    fn new(store: Option<Transfers>) -> Self {
        let order = order("m");
        if let Some(store) = &store {
            store.create(&order, &Actor { who: "ann", reason: "", now_ms: 0 }).unwrap();
        }
        Self {
            order,
            now_ms: 0,
            intent: Intent::new(0),
            workers: Default::default(),
            transfers: Vec::new(),
            ours: 0,
            keys: HashMap::new(),
            refuses: false,
            store,
        }
    }

    fn work(&self) -> Work<'static> {
        Work { who: "w", now_ms: self.now_ms, lease: LEASE, backoff: BACKOFF, random: 3 }
    }

    fn row(&self) -> Option<TransferRow> {
        self.store.as_ref().map(|s| s.find("m").unwrap().unwrap())
    }

    fn make(&mut self) -> Seen {
        let order = &self.order;
        let seen = Seen {
            id: format!("tr_{}", self.transfers.len()),
            amount: order.amount,
            amount_reversed: 0,
            currency: order.currency.to_string(),
            destination: Some(order.destination.clone()),
            group: Some(order.order_ref.clone()),
            live: false,
        };
        self.transfers.push(seen.clone());
        seen
    }

    /// What Stripe does with a POST under this key.
    fn post(&mut self, key: String) -> Outcome {
        let now = self.now_ms;
        self.keys.retain(|_, (_, at)| now - *at < 24 * HOUR_MS);
        if let Some((outcome, _)) = self.keys.get(&key) {
            return outcome.clone();
        }
        let outcome = if self.refuses {
            Outcome::Refused { stored: Stored::Yes, why: "no funds".into() }
        } else {
            self.ours += 1;
            Outcome::Created(self.make())
        };
        self.keys.insert(key, (outcome.clone(), now));
        outcome
    }

    fn answer(&mut self, w: usize, outcome: &Outcome) {
        let Some((posted, written)) = self.workers[w].posted.take() else { return };
        let wanted = Wanted { order: &self.order, live: false };
        let after = self.intent.answered(wanted, posted.fence, outcome, self.now_ms, BACKOFF, 3);
        if let (Some(store), Some(written)) = (&self.store, &written) {
            store.answered(written, outcome, &Told::default(), self.work()).unwrap();
        }
        self.intent = after.unwrap_or_else(|| self.intent.clone());
        self.workers[w] = Worker::default();
    }

    fn step(&mut self, op: Op) {
        let wanted_order = self.order.clone();
        let wanted = Wanted { order: &wanted_order, live: false };
        let work = self.work();
        match op {
            Op::Pass(ms) => self.now_ms += ms,
            Op::Claim(w) => {
                let claimed = self.intent.claimed("w", self.now_ms, LEASE);
                let taken_over = self.intent.claim.is_some();
                let given_up = claimed.as_ref().ok().filter(|_| taken_over).and_then(|i| i.given_up(BACKOFF));
                if let Some(store) = &self.store {
                    let got = store.claim(None, work).unwrap().is_some();
                    assert_eq!(got, claimed.is_ok() && given_up.is_none());
                }
                if let Some(dead) = given_up {
                    self.intent = dead;
                } else if let Ok(intent) = claimed {
                    self.workers[w] = Worker { claimed: Some(intent.fence), ..Worker::default() };
                    self.intent = intent;
                }
            }
            Op::Look(w) => {
                let Some(fence) = self.workers[w].claimed else { return };
                let looked = self.intent.looked(wanted, fence, &self.transfers);
                if let (Some(store), Some(mut row)) = (&self.store, self.row()) {
                    row.intent.fence = fence;
                    assert_eq!(store.looked(&row, &self.transfers, work).unwrap(), looked);
                }
                match looked {
                    Looked::Create => self.workers[w].looked_ms = Some(self.now_ms),
                    Looked::Settled(intent) => self.intent = intent,
                    Looked::Lost => {}
                }
            }
            Op::Prepare(w) => {
                let (Some(fence), Some(looked_ms)) = (self.workers[w].claimed, self.workers[w].looked_ms.take()) else {
                    return;
                };
                let posting = self.intent.posting(fence, looked_ms, self.now_ms, LEASE);
                let mut written = None;
                if let (Some(store), Some(mut row)) = (&self.store, self.row()) {
                    row.intent.fence = fence;
                    written = store.posting(&row, looked_ms, work).unwrap().ok();
                    assert_eq!(written.is_some(), posting.is_ok());
                }
                if let Ok(intent) = posting {
                    self.workers[w].posted = Some((intent.clone(), written));
                    self.intent = intent;
                }
            }
            Op::Post(w) => {
                let Some((posted, _)) = &self.workers[w].posted else { return };
                if self.workers[w].outcome.is_none() && posted.may_send(posted.fence, self.now_ms, TIMEOUT_MS) {
                    let key = idempotency_key("m", posted.version);
                    self.workers[w].outcome = Some(self.post(key));
                }
            }
            Op::Answer(w, lost) => {
                let Some(outcome) = self.workers[w].outcome.take() else { return };
                let unknown = Outcome::Unknown { why: "no answer".into(), replayed: false };
                self.answer(w, if lost { &unknown } else { &outcome });
            }
            // Something else than Stripe's idempotency answers; nothing was executed.
            Op::Fail(w, status) if self.workers[w].outcome.is_none() && !(400..404).contains(&status) => {
                let kind = "api_error";
                let failure = Failure { status: Some(status), kind, from_stripe: true, replayed: false, left: true };
                self.answer(w, &read(failure, "failed"));
            }
            Op::Fail(w, 401) => {
                let failure = Failure { status: Some(401), kind: "", from_stripe: true, replayed: false, left: true };
                if self.workers[w].outcome.is_none() {
                    self.answer(w, &read(failure, "who are you"));
                }
            }
            Op::Fail(..) => {}
            Op::Retry => {
                let version = self.intent.version;
                let retried = self.intent.retried(version, self.now_ms);
                if let Some(store) = &self.store {
                    let actor = Actor { who: "ann", reason: "", now_ms: self.now_ms };
                    assert_eq!(store.retry("m", Some(version), &actor).unwrap().is_ok(), retried.is_ok());
                }
                if let Ok((intent, _)) = retried {
                    let definite = self.intent.spent && !self.intent.doubt;
                    assert!(intent.version == version || definite, "a new key only after a definite failure");
                    self.intent = intent;
                }
            }
            Op::Cancel => {
                let canceled = self.intent.canceled("no");
                if let Some(store) = &self.store {
                    let actor = Actor { who: "ann", reason: "no", now_ms: self.now_ms };
                    assert_eq!(store.cancel("m", &actor).unwrap().is_ok(), canceled.is_ok());
                }
                self.intent = canceled.unwrap_or_else(|_| self.intent.clone());
            }
            Op::Event(reversed) => {
                let Some(seen) = self.transfers.last() else { return };
                let seen = Seen { amount_reversed: reversed, ..seen.clone() };
                let after = self.intent.event(wanted, &seen);
                if let Some(store) = &self.store {
                    assert_eq!(store.told_by_event(&seen, self.now_ms).unwrap(), after.is_some());
                }
                self.intent = after.unwrap_or_else(|| self.intent.clone());
                assert_eq!(self.intent.event(wanted, &seen), None, "a repeated event drives nothing");
            }
            Op::Outside => drop(self.make()),
            Op::Refuse(refuses) => self.refuses = refuses,
        }
    }

    fn check(&self, before: &Intent) {
        assert_eq!(self.intent.unsound(), None, "{:?}", self.intent);
        assert!(self.ours <= 1, "paid {} times", self.ours);
        assert!(self.intent.version >= before.version && self.intent.version <= before.version + 1);
        if before.state.is_paid() {
            assert!(self.intent.state.is_paid() || self.intent.state == State::Conflict, "{}", self.intent.state);
        }
        if self.intent.state == State::Canceled {
            assert_eq!(self.ours, 0, "canceled although it was paid");
        }
        if let Some(row) = self.row() {
            assert_eq!(row.intent, Intent { reason: row.intent.reason.clone(), ..self.intent.clone() });
        }
    }
}

fn run(ops: &[Op], store: Option<Transfers>) {
    let mut world = World::new(store);
    for op in ops {
        let before = world.intent.clone();
        world.step(*op);
        world.check(&before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn at_most_one_transfer_whatever_happens(ops in prop::collection::vec(op(), 1..400)) {
        run(&ops, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_database_does_what_the_rules_say(ops in prop::collection::vec(op(), 1..120)) {
        let dir = crate::support::memory_dir();
        run(&ops, Some(Transfers::open(&dir.path().join("m.db"), false).unwrap()));
    }
}
