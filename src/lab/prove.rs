//! The proof run: random valid histories in random orders with repeats, every strategy against the true end.

use super::case::Case;
use super::compare::judge;
use super::history::{self, History, Shape};
use super::orders::{Counterexample, shrink};
use super::rng::Rng;
use crate::domain::event;
use crate::domain::strategy::{Delivery, Event, Sender, Strategy};
use std::sync::Arc;

/// Orders tried of one history before the next one is made.
const ORDERS_PER_HISTORY: usize = 10;

/// One strategy's record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The strategy's name.
    pub name: &'static str,
    /// Orders whose end is not the truth.
    pub differs: usize,
    /// Orders after which something waits although every event came.
    pub waiting: usize,
    /// The shortest order found that ends wrong.
    pub counterexample: Option<Counterexample>,
}

/// What a proof run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// Orders run under each strategy.
    pub orders: usize,
    /// Histories they were orders of.
    pub histories: usize,
    /// How many of the histories had a debt at some moment.
    pub owed: usize,
    /// Replays the run.
    pub seed: u64,
    /// One record per strategy.
    pub records: Vec<Record>,
}

/// Runs `orders` random orders. `go_on` is told how many are done and ends the run early by answering false.
pub fn prove(
    orders: usize,
    seed: u64,
    strategies: &[Box<dyn Strategy + Send + Sync>],
    mut go_on: impl FnMut(&Proof) -> bool,
) -> Proof {
    let records = strategies.iter().map(|s| Record { name: s.name(), differs: 0, waiting: 0, counterexample: None });
    let records = records.collect();
    let mut proof = Proof { orders: 0, histories: 0, owed: 0, seed, records };
    while proof.orders < orders && go_on(&proof) {
        let mut rng = Rng::nth(seed, proof.histories as u64);
        let shape = Shape { events: 4 + rng.below(10), may_owe: rng.chance(50), noise: true };
        let history = history::generate(&mut rng, shape);
        proof.histories += 1;
        proof.owed += usize::from(history.owed);
        let mut case = case_of(&history);
        for _ in 0..ORDERS_PER_HISTORY.min(orders - proof.orders) {
            case.deliveries = arrive(&case.sender, &mut rng);
            proof.orders += 1;
            for (strategy, record) in strategies.iter().zip(&mut proof.records) {
                try_order(&case, strategy.as_ref(), record);
            }
        }
    }
    proof
}

fn try_order(case: &Case, strategy: &dyn Strategy, record: &mut Record) {
    let outcome = judge(case, &case.deliveries, strategy);
    record.waiting += usize::from(!outcome.waiting.is_empty());
    if outcome.matches {
        return;
    }
    record.differs += 1;
    // Shrinking is costly: the first few suffice to find a short one.
    let short_enough = record.counterexample.as_ref().is_some_and(|c| c.deliveries.len() <= 2);
    if record.differs <= 30 && !short_enough {
        let found = shrink(case, case.deliveries.clone(), strategy).into_iter().chain(record.counterexample.take());
        record.counterexample = found.min_by_key(|c| c.deliveries.len());
    }
}

/// A history as a case without deliveries.
pub fn case_of(history: &History) -> Case {
    let events: Vec<Arc<Event>> = history
        .events
        .iter()
        .filter_map(|made| Event::from_stripe(event::parse(made.body.as_bytes()).ok()?))
        .map(Arc::new)
        .collect();
    let balances = history.balances.iter().map(|((owner, currency), minor)| (format!("{owner} {currency}"), *minor));
    Case {
        name: "random history".to_owned(),
        title: String::new(),
        teaches: String::new(),
        left_out: history.events.len() - events.len(),
        sender: Sender { history: events },
        deliveries: Vec::new(),
        balances: Some(balances.collect()),
    }
}

/// Every event at least once, some again, in any order; mostly close together, now and then hours apart, so that attempts
/// run out in the middle.
fn arrive(sender: &Sender, rng: &mut Rng) -> Vec<Delivery> {
    let mut at = sender.history.last().map_or(0, |e| e.created);
    let order = history::arrivals(rng, sender.history.len(), 1);
    let deliveries = order.into_iter().map(|i| {
        at += if rng.chance(5) { 3_600 } else { rng.below(3) as i64 };
        Delivery { event: sender.history[i].clone(), at, stalls: false }
    });
    deliveries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::engine::Rules;
    use crate::domain::strategy;

    fn cases() -> usize {
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
    }

    #[test]
    fn ours_differs_never_and_leaves_nothing_waiting() {
        let proof = prove(4 * cases(), 20_26, &strategy::all(Rules::default()), |_| true);
        let of = |name: &str| proof.records.iter().find(|r| r.name == name).unwrap();
        let ours = of("state_machine");
        assert_eq!((ours.differs, ours.waiting), (0, 0), "{:?}", ours.counterexample);
        assert!(proof.owed > 0, "debts must be among the histories");
        assert!(of("arrival_order").differs > proof.orders / 4);
        // Fetching after everything has happened is right for states, whatever the order.
        assert_eq!(of("fetch_on_receipt").differs, 0, "{:?}", of("fetch_on_receipt").counterexample);
        let short = of("arrival_order").counterexample.as_ref().unwrap();
        assert!(short.deliveries.len() <= 2, "{short:?}");
    }

    #[test]
    fn a_seed_replays() {
        let strategies = strategy::all(Rules::default());
        assert_eq!(prove(20, 9, &strategies, |_| true), prove(20, 9, &strategies, |_| true));
    }

    #[test]
    fn without_snapshot_legs_the_end_depends_on_the_order() {
        let rules = Rules { snapshot_legs: false, ..Rules::default() };
        let proof = prove(400, 3, &strategy::all(rules), |_| true);
        let ours = proof.records.last().unwrap();
        assert!(ours.differs > 0);
    }
}
