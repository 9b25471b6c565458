//! Stripe's `created` compared with the stored one. It counts whole seconds, so two events of one second tie.

use std::cmp::Ordering;

use super::arrival_order::each;
use super::{Act, Delivery, Run, Sender, Strategy};

/// The event with the newest `created` wins.
pub struct CreatedCompare {
    /// Whether an event of the same second is written or left out.
    pub apply_ties: bool,
}

impl Strategy for CreatedCompare {
    fn name(&self) -> &'static str {
        if self.apply_ties { "created_compare_apply_ties" } else { "created_compare_skip_ties" }
    }

    fn rule(&self) -> &'static str {
        if self.apply_ties { "newest created wins, ties win" } else { "newest created wins, ties skip" }
    }

    fn run(&self, deliveries: &[Delivery], _: &Sender) -> Run {
        each(deliveries, |table, delivery| {
            let stored = table.get(&delivery.event.object).map(|row| row.event.created);
            match stored.map(|stored| delivery.event.created.cmp(&stored)) {
                Some(Ordering::Less) => (Act::Skipped("older"), Vec::new()),
                Some(Ordering::Equal) if !self.apply_ties => (Act::Skipped("same second"), Vec::new()),
                _ => (Act::Applied, table.write(&delivery.event)),
            }
        })
    }
}
