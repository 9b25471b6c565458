//! The event is a hint: the object is read from the sender as it is at that moment, and that is written.

use std::sync::Arc;

use super::table::Table;
use super::{Act, Change, Delivery, Event, Run, Sender, Shown, Step, Strategy};

/// One call per delivery. With two workers and no lock per object, a slow one writes what it read before the other.
pub struct FetchOnReceipt {
    /// One, or two without a lock.
    pub workers: usize,
}

impl Strategy for FetchOnReceipt {
    fn name(&self) -> &'static str {
        if self.workers == 1 { "fetch_on_receipt" } else { "fetch_on_receipt_two_workers" }
    }

    fn rule(&self) -> &'static str {
        if self.workers == 1 { "read the object at every event" } else { "read it, two workers, no lock" }
    }

    fn run(&self, deliveries: &[Delivery], sender: &Sender) -> Run {
        let mut table = Table::default();
        let mut run = Run { api_calls: u32::try_from(deliveries.len()).unwrap_or(u32::MAX), ..Run::default() };
        for indices in (0..deliveries.len()).collect::<Vec<_>>().chunks(self.workers) {
            let read: Vec<_> = indices
                .iter()
                .map(|&i| (i, deliveries[i].at, sender.newest(&deliveries[i].event.object, deliveries[i].at)))
                .collect();
            // The interleaving that hurts: of each pair the first worker reads first and writes last.
            let written_at = deliveries[indices[indices.len() - 1]].at;
            for (i, _, answer) in read.into_iter().rev() {
                let changed = write(&mut table, &deliveries[i].event, answer);
                run.steps.push(Step { delivery: Some(i), at: written_at, act: Act::Applied, changed });
            }
        }
        run
    }
}

fn write(table: &mut Table, hint: &Arc<Event>, answer: Option<&Arc<Event>>) -> Vec<Shown> {
    match answer {
        // The answer tells that the refund exists, not whether it was counted: it is counted again.
        _ if matches!(hint.change, Change::Adds(_)) => table.write(hint),
        Some(event) if event.change != Change::Gone => table.write(event),
        _ => table.delete(&hint.object),
    }
}
