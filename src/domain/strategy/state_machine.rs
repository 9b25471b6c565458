//! Ours: only forwards. A version decides where there is one, else the way the states take; a fact counts once by its id.
//!
//! Payouts and everything with money go through the engine itself; this is the same rule for any other object.

use std::collections::BTreeSet;

use super::arrival_order::each;
use super::table::Table;
use super::version_compare::is_newer;
use super::{Act, Change, Delivery, Event, Run, Sender, Strategy, ledger};
use crate::domain::engine::Rules;

/// Forward-only.
pub struct StateMachine {
    /// The engine's rules, for Stripe's events.
    pub rules: Rules,
}

impl Strategy for StateMachine {
    fn name(&self) -> &'static str {
        "state_machine"
    }

    fn rule(&self) -> &'static str {
        "only forwards (ours)"
    }

    fn run(&self, deliveries: &[Delivery], _: &Sender) -> Run {
        if deliveries.iter().any(|d| d.event.stripe.is_some()) {
            return ledger::run(self.rules, deliveries);
        }
        let mut seen = BTreeSet::new();
        each(deliveries, |table, delivery| {
            let event = &delivery.event;
            if !seen.insert(event.id.clone()) {
                (Act::Skipped("a repeat"), Vec::new())
            } else if is_forward(table, event) {
                (Act::Applied, table.write(event))
            } else {
                (Act::Skipped("not a step forward"), Vec::new())
            }
        })
    }
}

fn is_forward(table: &Table, event: &Event) -> bool {
    let Some(stored) = table.get(&event.object).map(|row| &row.event) else { return true };
    match (&event.change, stored.version, event.version) {
        (Change::Adds(_), ..) => true,
        (_, Some(_), Some(_)) => is_newer(table, event),
        // A deleted object has no later state.
        _ => match (stored.change == Change::Gone, event.change == Change::Gone) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => (event.rank, event.created) > (stored.rank, stored.created),
        },
    }
}
