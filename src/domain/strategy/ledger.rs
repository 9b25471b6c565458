//! Ours for Stripe's events: the engine itself on a book in memory, with its sweeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::stripe::{balances, legs_view, payout_view};
use super::{Act, Delivery, Run, Shown, Step, View};
use crate::domain::engine::Rules;
use crate::domain::memory::Monitor;
use crate::domain::outcome::{Outcome, State};
use crate::domain::retry::Profile;

/// Sweeps after the last delivery at the most. Each row has eight attempts, so this never ends a run early.
const LAST_SWEEPS: usize = 10_000;

/// Delivers everything, sweeping before each delivery and at the end until all attempts are used up.
pub fn run(rules: Rules, deliveries: &[Delivery]) -> Run {
    let live = deliveries.iter().find_map(|d| d.event.stripe.as_ref()?.livemode).unwrap_or(false);
    let mut ledger =
        Ledger { monitor: Monitor::new(live, Profile::default()), rows: BTreeMap::new(), arrived: Vec::new() };
    ledger.monitor.engine.rules = rules;
    let mut run = Run::default();
    for (i, delivery) in deliveries.iter().enumerate() {
        let Some(event) = &delivery.event.stripe else { continue };
        let now_ms = delivery.at.saturating_mul(1_000);
        ledger.sweep(now_ms, &mut run);
        let act = match ledger.monitor.deliver(event, now_ms) {
            None => Act::Skipped("a repeat"),
            Some(outcome) => {
                ledger.arrived.push(i);
                act(&outcome)
            }
        };
        let changed = ledger.changed();
        run.steps.push(Step { delivery: Some(i), at: delivery.at, act, changed });
    }
    let end_ms = deliveries.last().map_or(0, |d| d.at.saturating_mul(1_000));
    let mut now_ms = end_ms;
    for _ in 0..LAST_SWEEPS {
        if ledger.sweep(now_ms, &mut run) {
            run.settled_after = (now_ms - end_ms) / 1_000;
        }
        let due = ledger.monitor.book.blocked.values().filter_map(|row| row.next_ms).min();
        let Some(due) = due else { break };
        now_ms = due.max(now_ms + 1);
    }
    run.balances = Some(ledger.balances());
    let waiting = ledger.monitor.book.blocked.keys().filter_map(|seq| usize::try_from(seq - 1).ok());
    run.waiting = waiting.filter_map(|n| ledger.arrived.get(n).copied()).collect();
    run
}

fn act(outcome: &Outcome) -> Act {
    match outcome.state {
        State::Applied => Act::Applied,
        State::Waiting => Act::Waits,
        State::Stuck => Act::Stuck,
        _ => Act::Skipped("old news"),
    }
}

struct Ledger {
    monitor: Monitor,
    rows: BTreeMap<String, Arc<View>>,
    /// The delivery that brought each inbox row, by arrival number less one.
    arrived: Vec<usize>,
}

impl Ledger {
    /// Whether it posted anything.
    fn sweep(&mut self, now_ms: i64, run: &mut Run) -> bool {
        let moved = self.monitor.sweep(now_ms);
        if moved {
            let changed = self.changed();
            run.steps.push(Step { delivery: None, at: now_ms / 1_000, act: Act::Applied, changed });
        }
        run.owed |= self.monitor.book.balances.values().any(|balance| balance.total() < 0);
        moved
    }

    /// Posted and waiting: what the balances come to.
    fn balances(&self) -> BTreeMap<String, i64> {
        let book = &self.monitor.book;
        balances(book.journal.values().flatten().chain(book.blocked.values().flat_map(|row| &row.legs)))
    }

    /// Rows that look different from the last look: what is posted and what waits, which is what a screen shows.
    fn changed(&mut self) -> Vec<Shown> {
        let book = &self.monitor.book;
        let mut now: BTreeMap<String, Arc<View>> = BTreeMap::new();
        for (id, payout) in &book.payouts {
            now.insert(id.clone(), Arc::new(payout_view(payout.status.as_str(), &payout.details)));
        }
        let waiting = || book.blocked.values().flat_map(|row| row.legs.iter().map(|leg| (row.object.as_str(), leg)));
        let posted = || book.journal.iter().flat_map(|(object, legs)| legs.iter().map(|leg| (object.as_str(), leg)));
        let mut objects: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (object, leg) in posted().chain(waiting()).filter(|(object, _)| !book.payouts.contains_key(*object)) {
            objects.entry(object).or_default().push(leg);
        }
        now.extend(objects.into_iter().map(|(id, legs)| (id.to_owned(), Arc::new(legs_view(legs)))));
        let news = now.iter().filter(|(id, view)| self.rows.get(*id) != Some(*view));
        let news = news.map(|(id, view)| Shown { object: id.clone(), view: Some(view.clone()), from: None }).collect();
        self.rows = now;
        news
    }
}
