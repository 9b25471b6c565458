//! A case under many orders: all of them while that is possible, else a sample by seed; and the shortest order that fails.

use std::collections::BTreeMap;

use super::case::Case;
use super::compare::{Outcome, judge};
use super::rng::Rng;
use crate::domain::strategy::{Delivery, Strategy};

/// All orders are run for at most this many deliveries (5,040 orders).
pub const ALL_UP_TO: usize = 7;

/// Which orders are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// All, where there are at most [`ALL_UP_TO`] deliveries; else this many by this seed.
    All(usize, u64),
    /// So many, shuffled by the seed. The first is the order of arrival.
    Sample(usize, u64),
}

/// One order's result in a few bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The end is the truth.
    pub right: bool,
    /// Something waits at the end.
    pub waits: bool,
    /// Something older was shown on the way.
    pub went_back: bool,
    /// It took time after the last delivery, or showed a debt that never was.
    pub late: bool,
}

/// One strategy under all orders.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// The strategy's name.
    pub name: &'static str,
    /// One mark per order.
    pub marks: Vec<Mark>,
    /// The shortest order that ends wrong, with what is wrong at its end.
    pub counterexample: Option<Counterexample>,
}

impl Tally {
    /// How many marks are so.
    pub fn count(&self, is: impl Fn(&Mark) -> bool) -> usize {
        self.marks.iter().filter(|mark| is(mark)).count()
    }
}

/// An order that ends wrong, as short as it could be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterexample {
    /// Event ids in order of delivery.
    pub deliveries: Vec<String>,
    /// The object that is wrong at the end, or the balance.
    pub object: String,
    /// What is shown.
    pub shown: String,
    /// What is true.
    pub truth: String,
}

/// The orders of a case, as indices of its deliveries.
pub fn orders(case: &Case, wanted: Wanted) -> Vec<Vec<usize>> {
    let n = case.deliveries.len();
    match wanted {
        Wanted::All(..) if n <= ALL_UP_TO => permutations(n),
        Wanted::All(count, seed) | Wanted::Sample(count, seed) => (0..count.max(1))
            .map(|i| {
                let mut order: Vec<usize> = (0..n).collect();
                if i > 0 {
                    Rng::nth(seed, i as u64).shuffle(&mut order);
                }
                order
            })
            .collect(),
    }
}

/// All permutations in lexicographic order; the first is the order itself.
pub fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut all = vec![order.clone()];
    while let Some(i) = (1..n).rev().find(|&i| order[i - 1] < order[i]) {
        let swap = (i..n).rev().find(|&j| order[j] > order[i - 1]).unwrap_or(i);
        order.swap(i - 1, swap);
        order[i..].reverse();
        all.push(order.clone());
    }
    all
}

/// Runs every order under every strategy.
pub fn tally(case: &Case, orders: &[Vec<usize>], strategies: &[Box<dyn Strategy + Send + Sync>]) -> Vec<Tally> {
    strategies.iter().map(|strategy| tally_one(case, orders, strategy.as_ref())).collect()
}

fn tally_one(case: &Case, orders: &[Vec<usize>], strategy: &dyn Strategy) -> Tally {
    let mut marks = Vec::with_capacity(orders.len());
    let mut failing = Vec::new();
    for order in orders {
        let outcome = judge(case, &case.arranged(order), strategy);
        if !outcome.matches && failing.len() < 50 {
            failing.push(order);
        }
        marks.push(mark(&outcome));
    }
    let shrunk = failing.into_iter().filter_map(|order| shrink(case, case.arranged(order), strategy));
    let counterexample = shrunk.min_by_key(|c| c.deliveries.len());
    Tally { name: strategy.name(), marks, counterexample }
}

/// An outcome in a few bits.
pub fn mark(outcome: &Outcome) -> Mark {
    Mark {
        right: outcome.matches,
        waits: !outcome.waiting.is_empty(),
        went_back: outcome.wrong_steps > 0,
        late: outcome.run.settled_after > 0 || outcome.false_debt,
    }
}

/// Leaves out deliveries while an object still ends wrong. The newest event of the object always stays: without it nobody
/// could be right. An order that is wrong only in its balances stays whole.
pub fn shrink(case: &Case, order: Vec<Delivery>, strategy: &dyn Strategy) -> Option<Counterexample> {
    let newest = case.newest();
    let wrong_object = |deliveries: &[Delivery]| {
        let outcome = judge(case, deliveries, strategy);
        let truth = case.truth();
        let wrong = |object: &&String| {
            deliveries.iter().any(|d| d.event.object == **object) && outcome.end.get(*object) != truth.get(*object)
        };
        truth.keys().find(wrong).map(|object| (object.clone(), outcome.end.get(object).cloned().flatten()))
    };
    let Some((object, mut shown)) = wrong_object(&order) else {
        let outcome = judge(case, &order, strategy);
        let (truth, end) = (case.balances.as_ref()?, outcome.balances?);
        let (account, minor) = end.iter().find(|(account, minor)| truth.get(*account) != Some(minor))?;
        return Some(Counterexample {
            deliveries: order.iter().map(|d| d.event.id.clone()).collect(),
            object: account.clone(),
            shown: minor.to_string(),
            truth: truth.get(account).copied().unwrap_or(0).to_string(),
        });
    };
    let still_wrong = |deliveries: &[Delivery]| wrong_object(deliveries).filter(|(wrong, _)| *wrong == object);
    let mut kept: Vec<Delivery> = order.iter().filter(|d| d.event.object == object).cloned().collect();
    match still_wrong(&kept) {
        Some((_, now)) => shown = now,
        None => kept = order,
    }
    let mut i = 0;
    while i < kept.len() {
        let mut fewer = kept.clone();
        let out = fewer.remove(i);
        let must_stay = newest.get(object.as_str()).is_some_and(|e| e.id == out.event.id)
            && !fewer.iter().any(|d| d.event.id == out.event.id);
        match still_wrong(&fewer).filter(|_| !must_stay) {
            Some((_, now)) => (kept, shown) = (fewer, now),
            None => i += 1,
        }
    }
    let truth: BTreeMap<_, _> = case.truth();
    Some(Counterexample {
        deliveries: kept.iter().map(|d| d.event.id.clone()).collect(),
        shown: super::case::brief(shown.as_deref()),
        truth: super::case::brief(truth.get(&object).and_then(Option::as_deref)),
        object,
    })
}
