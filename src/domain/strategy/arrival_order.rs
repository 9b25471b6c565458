//! The payload that comes last wins.

use super::table::Table;
use super::{Act, Delivery, Run, Sender, Step, Strategy};

/// Writes every payload over the row.
pub struct ArrivalOrder;

impl Strategy for ArrivalOrder {
    fn name(&self) -> &'static str {
        "arrival_order"
    }

    fn rule(&self) -> &'static str {
        "the last payload wins"
    }

    fn run(&self, deliveries: &[Delivery], _: &Sender) -> Run {
        each(deliveries, |table, delivery| {
            let changed = table.write(&delivery.event);
            (Act::Applied, changed)
        })
    }
}

/// Runs a handler that deals with one delivery at a time, at once.
pub fn each(deliveries: &[Delivery], mut handle: impl FnMut(&mut Table, &Delivery) -> (Act, Vec<super::Shown>)) -> Run {
    let mut table = Table::default();
    let steps = deliveries.iter().enumerate().map(|(i, delivery)| {
        let (act, changed) = handle(&mut table, delivery);
        Step { delivery: Some(i), at: delivery.at, act, changed }
    });
    Run { steps: steps.collect(), ..Run::default() }
}
