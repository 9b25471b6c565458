//! A queue that keeps the order of arrival: a message group per object, one message of a group in flight, two workers.
//!
//! The queue forgets a message id after five minutes, so a later repeat is a new message. A message that its worker has
//! not deleted when the visibility timeout ends is given to the other worker, while the first may still write.

use std::collections::{BTreeMap, BTreeSet};

use super::table::Table;
use super::version_compare::{is_newer, note};
use super::{Act, Delivery, Round, Run, Sender, Step, Strategy};

/// Repeats of an id within this many seconds are dropped.
pub const DUPLICATE_WINDOW_S: i64 = 300;
/// Seconds after which an undeleted message is given out again.
pub const VISIBILITY_TIMEOUT_S: i64 = 30;
/// A worker that stalls writes this many seconds after it took the message.
const STALL_S: i64 = 2 * VISIBILITY_TIMEOUT_S;

/// The queue, with or without a version compare inside the worker.
pub struct FifoQueue {
    /// Whether the worker compares versions before it writes.
    pub compare_versions: bool,
}

impl Strategy for FifoQueue {
    fn name(&self) -> &'static str {
        if self.compare_versions { "fifo_queue_version_compare" } else { "fifo_queue" }
    }

    fn rule(&self) -> &'static str {
        if self.compare_versions { "ordered queue, version compare" } else { "ordered queue per object" }
    }

    fn run(&self, deliveries: &[Delivery], _: &Sender) -> Run {
        let mut workers = Workers::new(deliveries, self.compare_versions);
        while workers.round() {}
        Run { note: if self.compare_versions { note(deliveries) } else { None }, ..workers.run }
    }
}

/// A message not yet deleted.
struct Message {
    delivery: usize,
    visible_from: i64,
}

/// A message in a worker's hands.
#[derive(Clone, Copy)]
struct Taken {
    delivery: usize,
    hangs: bool,
}

struct Workers<'a> {
    deliveries: &'a [Delivery],
    compare_versions: bool,
    table: Table,
    run: Run,
    /// Second of the newest poll.
    now: i64,
    arrived: usize,
    /// In the order of arrival.
    queue: Vec<Message>,
    /// Second in which an id was accepted first.
    accepted: BTreeMap<&'a str, i64>,
    /// Per worker: the delivery it hangs on and when it writes it at last.
    hangs: [Option<(usize, i64)>; 2],
    hung: BTreeSet<usize>,
}

impl<'a> Workers<'a> {
    fn new(deliveries: &'a [Delivery], compare_versions: bool) -> Self {
        Self {
            deliveries,
            compare_versions,
            table: Table::default(),
            run: Run::default(),
            now: i64::MIN,
            arrived: 0,
            queue: Vec::new(),
            accepted: BTreeMap::new(),
            hangs: [None, None],
            hung: BTreeSet::new(),
        }
    }

    /// Both workers poll once; false when nothing is left to do.
    fn round(&mut self) -> bool {
        let arrival = self.deliveries.get(self.arrived).map(|d| d.at);
        let visible = self.queue.iter().map(|m| m.visible_from).min();
        let late = self.hangs.iter().flatten().map(|(_, at)| *at).min();
        let Some(wake) = [arrival, visible, late].into_iter().flatten().min() else { return false };
        self.now = self.now.saturating_add(1).max(wake);
        self.accept();
        for worker in 0..2 {
            if let Some((delivery, at)) = self.hangs[worker]
                && at <= self.now
            {
                self.hangs[worker] = None;
                self.write(delivery);
            }
        }
        let a = self.take(0, None);
        let b = self.take(1, a.map(|a| a.delivery));
        if a.is_some() || b.is_some() {
            self.run.trace.push(Round { a: a.map(|a| a.delivery), b: b.map(|b| b.delivery) });
        }
        for taken in [a, b].into_iter().flatten().filter(|taken| !taken.hangs) {
            self.queue.retain(|m| m.delivery != taken.delivery);
            self.write(taken.delivery);
        }
        true
    }

    fn accept(&mut self) {
        while let Some(delivery) = self.deliveries.get(self.arrived).filter(|d| d.at <= self.now) {
            let first = self.accepted.get(delivery.event.id.as_str());
            if first.is_some_and(|first| delivery.at - first < DUPLICATE_WINDOW_S) {
                let act = Act::Skipped("a repeat within five minutes");
                self.run.steps.push(Step { delivery: Some(self.arrived), at: delivery.at, act, changed: Vec::new() });
            } else {
                self.accepted.insert(&delivery.event.id, delivery.at);
                self.queue.push(Message { delivery: self.arrived, visible_from: delivery.at });
            }
            self.arrived += 1;
        }
    }

    /// The oldest visible message at the head of a group that the other worker has not just taken.
    fn take(&mut self, worker: usize, other: Option<usize>) -> Option<Taken> {
        if self.hangs[worker].is_some() {
            return None;
        }
        let group = |delivery: usize| self.deliveries[delivery].event.object.as_str();
        let mut locked: BTreeSet<&str> = other.map(group).into_iter().collect();
        let at = self.queue.iter().position(|m| locked.insert(group(m.delivery)) && m.visible_from <= self.now)?;
        let delivery = self.queue[at].delivery;
        let hangs = self.deliveries[delivery].stalls && self.hung.insert(delivery);
        if hangs {
            self.queue[at].visible_from = self.now + VISIBILITY_TIMEOUT_S;
            self.hangs[worker] = Some((delivery, self.now + STALL_S));
        }
        Some(Taken { delivery, hangs })
    }

    fn write(&mut self, delivery: usize) {
        let event = &self.deliveries[delivery].event;
        let newer = !self.compare_versions || is_newer(&self.table, event);
        let (act, changed) = if newer {
            (Act::Applied, self.table.write(event))
        } else {
            (Act::Skipped("not a higher version"), vec![])
        };
        self.run.steps.push(Step { delivery: Some(delivery), at: self.now, act, changed });
    }
}
