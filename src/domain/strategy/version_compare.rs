//! Only a higher version than the stored one is written.

use super::arrival_order::each;
use super::table::Table;
use super::{Act, Delivery, Event, Run, Sender, Strategy};

/// Compares the sender's version with the stored one.
pub struct VersionCompare;

/// What a strategy that compares versions says about a sender without any.
pub const NO_VERSION: &str = "the sender has no version to compare (Stripe has none): every payload is written";

impl Strategy for VersionCompare {
    fn name(&self) -> &'static str {
        "version_compare"
    }

    fn rule(&self) -> &'static str {
        "a higher version wins"
    }

    fn run(&self, deliveries: &[Delivery], _: &Sender) -> Run {
        let run = each(deliveries, |table, delivery| match is_newer(table, &delivery.event) {
            true => (Act::Applied, table.write(&delivery.event)),
            false => (Act::Skipped("not a higher version"), Vec::new()),
        });
        Run { note: note(deliveries), ..run }
    }
}

/// Whether the event's version is above the stored one; always, where either has none.
pub fn is_newer(table: &Table, event: &Event) -> bool {
    match (table.get(&event.object).and_then(|row| row.event.version), event.version) {
        (Some(stored), Some(version)) => version > stored,
        _ => true,
    }
}

/// [`NO_VERSION`] when that is so.
pub fn note(deliveries: &[Delivery]) -> Option<&'static str> {
    deliveries.iter().any(|d| d.event.version.is_none()).then_some(NO_VERSION)
}
