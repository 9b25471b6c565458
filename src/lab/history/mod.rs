//! Random histories that Stripe itself would accept, with the truth at their end worked out by a small model of Stripe.
//!
//! The bodies are whole Stripe events. The model knows nothing of the engine: it adds and subtracts as each thing happens,
//! so that it can be the judge of every order in which the same events arrive.

mod world;

use std::collections::BTreeMap;

use super::rng::Rng;
use world::World;

/// What kind of history is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Events at the least.
    pub events: usize,
    /// Whether refunds, disputes, reversals and fees may take more than there is, as they can at Stripe.
    pub may_owe: bool,
    /// Whether events without any effect and twins (two ids, one change) are mixed in.
    pub noise: bool,
}

/// One event in its true place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// `evt_…`; ids grow with the true order, so that a tie of `created` is settled by the id.
    pub id: String,
    /// `payout.paid`, …
    pub kind: String,
    /// Id of the object.
    pub object: String,
    /// Unix seconds. Several events may share one.
    pub created: i64,
    /// The event as JSON.
    pub body: String,
}

/// A payout as it truly ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayoutTruth {
    /// Stripe's word.
    pub status: String,
    /// `platform` or `acct_…`.
    pub account: String,
    /// Minor units; negative for a bank debit.
    pub amount: i64,
    /// Lower-case code.
    pub currency: String,
    /// The newest expected day, unix seconds.
    pub arrival_date: i64,
    /// Why it failed.
    pub failure_code: Option<String>,
}

/// A history and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// In true order.
    pub events: Vec<Made>,
    /// By payout id.
    pub payouts: BTreeMap<String, PayoutTruth>,
    /// By owner (`platform`, `acct_…`) and currency, minor units; zero ones are left out.
    pub balances: BTreeMap<(String, String), i64>,
    /// Whether any balance was below zero at any moment.
    pub owed: bool,
}

/// A random valid history; the same for the same generator state and shape.
pub fn generate(rng: &mut Rng, shape: Shape) -> History {
    let mut world = World::new(rng, shape);
    while world.made.len() < shape.events {
        world.step();
    }
    world.end()
}

/// An order of arrival: indices of `events` events, each `copies` times at the least and some once more, shuffled.
pub fn arrivals(rng: &mut Rng, events: usize, copies: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..events).flat_map(|i| std::iter::repeat_n(i, copies)).collect();
    order.extend((0..events).filter(|_| rng.chance(25)));
    rng.shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_makes_one_history_and_every_kind_appears() {
        let shape = Shape { events: 12, may_owe: true, noise: true };
        assert_eq!(generate(&mut Rng::new(5), shape), generate(&mut Rng::new(5), shape));
        let mut kinds = BTreeSet::new();
        let mut owing = 0;
        for n in 0..400 {
            let history = generate(&mut Rng::nth(1, n), shape);
            owing += u32::from(history.owed);
            for pair in history.events.windows(2) {
                assert!(pair[0].created <= pair[1].created && pair[0].id < pair[1].id);
            }
            kinds.extend(history.events.into_iter().map(|e| e.kind));
        }
        for kind in [
            "application_fee.created",
            "application_fee.refunded",
            "balance.available",
            "charge.captured",
            "charge.dispute.created",
            "charge.dispute.funds_reinstated",
            "charge.dispute.funds_withdrawn",
            "charge.refunded",
            "charge.succeeded",
            "payout.canceled",
            "payout.created",
            "payout.failed",
            "payout.paid",
            "payout.updated",
            "refund.created",
            "refund.failed",
            "refund.updated",
            "topup.created",
            "topup.failed",
            "topup.reversed",
            "topup.succeeded",
            "transfer.created",
            "transfer.reversed",
        ] {
            assert!(kinds.contains(kind), "{kind} is never made");
        }
        assert!(owing > 50, "{owing}");
    }

    #[test]
    fn without_leave_nothing_is_ever_owed() {
        let shape = Shape { events: 16, may_owe: false, noise: true };
        for n in 0..300 {
            let history = generate(&mut Rng::nth(2, n), shape);
            assert!(!history.owed && history.balances.values().all(|b| *b > 0), "{n}");
        }
    }
}
