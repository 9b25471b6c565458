//! The lab as one looks at it: a case, the order in front, the step one stands at, every strategy's marks.

use super::case::Case;
use super::compare::{Outcome, judge};
use super::orders::{Mark, Wanted, mark, orders};
use super::report::strategies;
use crate::domain::engine::Rules;
use crate::domain::strategy::{Act, Delivery, Strategy};

/// Up to this many deliveries all orders are shown; more are sampled.
const ALL_UP_TO: usize = 5;
/// Orders sampled otherwise.
const SAMPLED: usize = 64;

/// Our rules, one off at a time: what is off, in words.
pub const SWITCHES: [&str; 5] = [
    "all our rules are on",
    "snapshot legs are off",
    "the credit wake-up is off",
    "the joint try is off",
    "greatest details are off",
];

/// A case on the bench.
pub struct Stage {
    /// The case.
    pub case: Case,
    /// Orders with a mark each.
    pub orders: Vec<Vec<usize>>,
    /// Per strategy one mark per order.
    pub marks: Vec<Vec<Mark>>,
    /// Per strategy what it made of the order in front.
    pub outcomes: Vec<Outcome>,
    /// The order in front: indices of the case's deliveries.
    pub order: Vec<usize>,
    /// The order in front as deliveries with their times.
    pub deliveries: Vec<Delivery>,
    /// Deliveries handed out so far.
    pub step: usize,
    /// Which entry of [`SWITCHES`].
    pub switch: usize,
    /// The seed of the newest shuffle and of the sample.
    pub seed: u64,
}

impl Stage {
    /// Sets a case up in its order of arrival, at its end.
    pub fn new(case: Case, switch: usize, seed: u64) -> Self {
        let order: Vec<usize> = (0..case.deliveries.len()).collect();
        let orders = if order.len() <= ALL_UP_TO {
            orders(&case, Wanted::All(SAMPLED, seed))
        } else {
            orders(&case, Wanted::Sample(SAMPLED, seed))
        };
        let step = order.len();
        let mut stage = Self {
            case,
            orders,
            marks: Vec::new(),
            outcomes: Vec::new(),
            order,
            deliveries: Vec::new(),
            step,
            switch: switch % SWITCHES.len(),
            seed,
        };
        stage.mark_all();
        stage.run();
        stage
    }

    fn strategies(&self) -> Vec<Box<dyn Strategy + Send + Sync>> {
        let on = Rules::default();
        strategies(match self.switch {
            1 => Rules { snapshot_legs: false, ..on },
            2 => Rules { credit_wakeup: false, ..on },
            3 => Rules { joint_try: false, ..on },
            4 => Rules { greatest_details: false, ..on },
            _ => on,
        })
    }

    fn mark_all(&mut self) {
        let arranged: Vec<Vec<Delivery>> = self.orders.iter().map(|order| self.case.arranged(order)).collect();
        let marks =
            |s: &(dyn Strategy + Send + Sync)| arranged.iter().map(|o| mark(&judge(&self.case, o, s))).collect();
        self.marks = self.strategies().iter().map(|s| marks(s.as_ref())).collect();
    }

    fn run(&mut self) {
        self.deliveries = self.case.arranged(&self.order);
        self.outcomes = self.strategies().iter().map(|s| judge(&self.case, &self.deliveries, s.as_ref())).collect();
    }

    /// The place of the order in front among the marks; none when it was made by hand or sampled elsewhere.
    pub fn place(&self) -> Option<usize> {
        self.orders.iter().position(|order| *order == self.order)
    }

    /// Puts another order in front, at its end.
    pub fn choose(&mut self, place: usize) {
        if let Some(order) = self.orders.get(place) {
            self.order.clone_from(order);
            self.step = self.order.len();
            self.run();
        }
    }

    /// The next (or the last) of the marked orders.
    pub fn walk(&mut self, forwards: bool) {
        let count = self.orders.len().max(1);
        let next = match self.place() {
            Some(place) if forwards => (place + 1) % count,
            Some(place) => (place + count - 1) % count,
            None => 0,
        };
        self.choose(next);
    }

    /// The next marked order in which this strategy is not right; false when it is right in all.
    pub fn next_wrong(&mut self, strategy: usize) -> bool {
        let count = self.orders.len();
        let start = self.place().map_or(0, |place| place + 1);
        let Some(marks) = self.marks.get(strategy) else { return false };
        let is_bad = |place: &usize| marks.get(*place).is_some_and(|m| !m.right || m.late);
        match (start..start + count).map(|n| n % count.max(1)).find(is_bad) {
            Some(place) => {
                self.choose(place);
                true
            }
            None => false,
        }
    }

    /// Another order by the next seed. Where the orders are a sample, the sample is drawn anew.
    pub fn shuffle(&mut self) {
        self.seed = self.seed.wrapping_add(1);
        super::rng::Rng::new(self.seed).shuffle(&mut self.order);
        self.step = self.order.len();
        self.run();
    }

    /// Moves the delivery one stands at; one stays with it.
    pub fn shift(&mut self, down: bool) {
        let Some(at) = self.step.checked_sub(1) else { return };
        let to = if down { at + 1 } else { at.wrapping_sub(1) };
        if to < self.order.len() {
            self.order.swap(at, to);
            self.step = to + 1;
            self.run();
        }
    }

    /// One delivery on or back.
    pub fn go(&mut self, forwards: bool) {
        self.step = if forwards { (self.step + 1).min(self.order.len()) } else { self.step.saturating_sub(1) };
    }

    /// The next rule off, then all on again.
    pub fn switch_rule(&mut self) {
        self.switch = (self.switch + 1) % SWITCHES.len();
        self.mark_all();
        self.run();
    }

    /// What a strategy did with the `delivery`-th delivery of the order in front: the act, the row it left, and whether
    /// that was wrong.
    pub fn did(&self, strategy: usize, delivery: usize) -> Option<(Act, String, bool)> {
        let outcome = self.outcomes.get(strategy)?;
        let object = &self.deliveries.get(delivery)?.event.object;
        let at = outcome.run.steps.iter().rposition(|step| step.delivery == Some(delivery))?;
        let rows = outcome.run.rows(at + 1);
        let shown = rows.get(object.as_str()).map(|shown| super::case::brief(shown.view.as_deref()));
        let wrong = outcome.wrong.get(at).is_some_and(|objects| objects.contains(object));
        Some((outcome.run.steps[at].act, shown.unwrap_or_default(), wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::scenario;

    fn stage(name: &str) -> Stage {
        Stage::new(scenario::built_in(name).unwrap().unwrap(), 0, 1)
    }

    #[test]
    fn orders_are_walked_chosen_moved_and_shuffled() {
        let mut stage = stage("same_second");
        assert_eq!((stage.orders.len(), stage.place(), stage.step), (2, Some(0), 2));
        assert!(!stage.outcomes[3].matches, "skipping ties is wrong in order");
        stage.shift(false);
        assert_eq!((stage.order.as_slice(), stage.step, stage.place()), ([1, 0].as_slice(), 1, Some(1)));
        assert!(stage.outcomes[3].matches && !stage.outcomes[0].matches);
        assert_eq!(stage.did(0, 1).map(|(_, shown, wrong)| (shown, wrong)), Some(("incomplete/v1".to_owned(), true)));
        assert!(stage.next_wrong(3));
        assert_eq!(stage.place(), Some(0));
        assert!(!stage.next_wrong(7), "ours is never wrong");
        stage.go(false);
        stage.go(false);
        stage.go(false);
        assert_eq!(stage.step, 0);
        stage.shift(true);
        stage.walk(false);
        assert_eq!(stage.place(), Some(1));
        let before = stage.seed;
        stage.shuffle();
        assert_eq!(stage.seed, before + 1);
    }

    #[test]
    fn a_rule_switched_off_shows_in_the_marks() {
        let mut stage = stage("transfer_deadlock");
        let bad = |stage: &Stage| stage.marks[7].iter().filter(|m| !m.right || m.late).count();
        assert_eq!((bad(&stage), stage.orders.len()), (0, 120));
        stage.switch_rule();
        assert!(bad(&stage) > 0, "{}", SWITCHES[stage.switch]);
        for _ in 0..4 {
            stage.switch_rule();
        }
        assert_eq!((bad(&stage), stage.switch), (0, 0));
    }
}
