//! What people do about deliveries out of order, as pure functions: the lab compares them, the timeline asks them.
//!
//! A strategy gets the deliveries in the order in which they came and answers with every step it took. All work on
//! anything that has an id, a state, Stripe's `created` in whole seconds and perhaps a version.

mod arrival_order;
mod created_compare;
mod fetch_on_receipt;
mod fifo_queue;
mod ledger;
mod state_machine;
pub mod stripe;
mod table;
mod version_compare;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use arrival_order::ArrivalOrder;
pub use created_compare::CreatedCompare;
pub use fetch_on_receipt::FetchOnReceipt;
pub use fifo_queue::FifoQueue;
pub use state_machine::StateMachine;
pub use version_compare::VersionCompare;

use super::engine::Rules;

/// What a reader of the row sees: `status`, `version`, `plan`, `total`, …
pub type View = BTreeMap<String, Value>;

/// What an event says about its object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The whole object as it was then.
    Snapshot(Arc<View>),
    /// The object is deleted: the sender answers 404 from then on.
    Gone,
    /// A fact and not a state, for instance a refund that adds to an order's total. Minor units.
    Adds(i64),
}

/// One event of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `evt_…`, the same in every delivery of it.
    pub id: String,
    /// The object it is about.
    pub object: String,
    /// Unix seconds, the resolution of Stripe's `created`.
    pub created: i64,
    /// The sender's version of the object. Stripe has none.
    pub version: Option<i64>,
    /// Place of its state on the way that its kind of object takes; none where no way is declared.
    pub rank: Option<i64>,
    /// What it says.
    pub change: Change,
    /// Stripe's event, where it is one: then the engine itself is asked.
    pub stripe: Option<Arc<super::event::Event>>,
}

/// One arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// What arrived.
    pub event: Arc<Event>,
    /// When, unix seconds.
    pub at: i64,
    /// The worker that takes it first hangs until long after the queue gave the message to another one.
    pub stalls: bool,
}

/// The sender: every event in the order in which it truly happened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sender {
    /// The true history.
    pub history: Vec<Arc<Event>>,
}

impl Sender {
    /// What the sender's API answers at `at`: the newest event of the object that had happened by then. None before its
    /// first event.
    pub fn newest(&self, object: &str, at: i64) -> Option<&Arc<Event>> {
        self.history.iter().rev().find(|e| e.object == object && e.created <= at)
    }
}

/// What became of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It was written.
    Applied,
    /// It was left out; why.
    Skipped(&'static str),
    /// It is kept and will be tried again.
    Waits,
    /// It is kept for a person.
    Stuck,
}

/// A row after a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The object's id.
    pub object: String,
    /// What a reader sees from now on; none when the row is deleted.
    pub view: Option<Arc<View>>,
    /// The event whose payload the row holds, where it holds one.
    pub from: Option<Arc<Event>>,
}

/// One delivery handled.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Index into the deliveries; none for a sweep, which retries what waits.
    pub delivery: Option<usize>,
    /// When it was handled, unix seconds.
    pub at: i64,
    /// What became of it.
    pub act: Act,
    /// Rows that changed.
    pub changed: Vec<Shown>,
}

/// One round of the queue's two workers: index of the delivery each took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// The first worker.
    pub a: Option<usize>,
    /// The second worker.
    pub b: Option<usize>,
}

/// All that a strategy did with one order of deliveries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Every delivery handled, in the order of handling.
    pub steps: Vec<Step>,
    /// Calls to the sender's API.
    pub api_calls: u32,
    /// Rounds of the workers; empty where there is no queue.
    pub trace: Vec<Round>,
    /// The balances at the end, where the strategy keeps its own: minor units per `OWNER currency`.
    pub balances: Option<BTreeMap<String, i64>>,
    /// Whether a balance was posted below zero at any moment.
    pub owed: bool,
    /// Seconds after the last delivery until the last row that waited was posted; 0 when none had to wait.
    pub settled_after: i64,
    /// Deliveries that still wait at the end.
    pub waiting: Vec<usize>,
    /// What the reader has to know, for instance that the sender has no version.
    pub note: Option<&'static str>,
}

impl Run {
    /// The balances at the end: the strategy's own, or what the payloads in its rows imply.
    pub fn balances(&self) -> BTreeMap<String, i64> {
        self.balances.clone().unwrap_or_else(|| {
            let rows = self.rows(usize::MAX);
            let kept = rows.values().filter(|shown| shown.view.is_some()).filter_map(|shown| shown.from.as_ref());
            stripe::balances(kept.flat_map(|event| event.legs()))
        })
    }

    /// The rows after the first `steps` steps.
    pub fn rows(&self, steps: usize) -> BTreeMap<&str, &Shown> {
        let changed = self.steps.iter().take(steps).flat_map(|s| &s.changed);
        changed.map(|shown| (shown.object.as_str(), shown)).collect()
    }
}

/// A way to handle deliveries.
pub trait Strategy {
    /// Its name on the command line and in JSON.
    fn name(&self) -> &'static str;
    /// What it does, in a few words.
    fn rule(&self) -> &'static str;
    /// Handles the deliveries in the order given.
    fn run(&self, deliveries: &[Delivery], sender: &Sender) -> Run;
}

/// The strategies that are compared, in the order of the contract. Ours is the last; its rules can be switched off.
pub fn all(rules: Rules) -> Vec<Box<dyn Strategy + Send + Sync>> {
    vec![
        Box::new(ArrivalOrder),
        Box::new(FetchOnReceipt { workers: 1 }),
        Box::new(VersionCompare),
        Box::new(CreatedCompare { apply_ties: false }),
        Box::new(CreatedCompare { apply_ties: true }),
        Box::new(FifoQueue { compare_versions: false }),
        Box::new(FifoQueue { compare_versions: true }),
        Box::new(StateMachine { rules }),
    ]
}

/// Variants shown beside the strategies: the same rule with one thing done wrong.
pub fn variants() -> Vec<Box<dyn Strategy + Send + Sync>> {
    vec![Box::new(FetchOnReceipt { workers: 2 })]
}

#[cfg(test)]
mod tests;
