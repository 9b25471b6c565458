//! What a strategy made of one order of a case: the end, whether it is the truth, and how wrong it was on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::case::{Case, Rows, total_view};
use crate::domain::strategy::{Act, Change, Delivery, Run, Strategy, View, stripe};

/// One strategy on one order.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The strategy's name.
    pub name: &'static str,
    /// What it does.
    pub rule: &'static str,
    /// What a reader sees at the end.
    pub end: Rows,
    /// The balances at the end, where money is involved: minor units per `OWNER currency`.
    pub balances: Option<BTreeMap<String, i64>>,
    /// Whether the end is the truth.
    pub matches: bool,
    /// Calls to the sender's API.
    pub api_calls: u32,
    /// Ids of the deliveries left out, in order.
    pub skipped: Vec<String>,
    /// Ids of the events that still wait at the end.
    pub waiting: Vec<String>,
    /// Steps after which something older than what had already been told was shown.
    pub wrong_steps: usize,
    /// Seconds during which that was so, up to the last step.
    pub wrong_seconds: i64,
    /// States shown that never existed.
    pub never_existed: Vec<String>,
    /// Whether a debt was shown that Stripe never had.
    pub false_debt: bool,
    /// Every step, for walking through it.
    pub run: Run,
    /// Per step of [`Outcome::run`], the objects shown wrong after it.
    pub wrong: Vec<BTreeSet<String>>,
}

/// Runs a strategy over an order and judges every step.
pub fn judge(case: &Case, order: &[Delivery], strategy: &dyn Strategy) -> Outcome {
    let run = strategy.run(order, &case.sender);
    let mut judge = Judge::new(case);
    let mut wrong: Vec<BTreeSet<String>> = Vec::with_capacity(run.steps.len());
    let mut wrong_seconds = 0;
    for (i, step) in run.steps.iter().enumerate() {
        if let Some(delivery) = step.delivery.and_then(|d| order.get(d)) {
            judge.hear(delivery);
        }
        for shown in &step.changed {
            judge.show(&shown.object, shown.view.clone());
        }
        let now = judge.wrong();
        if let (false, Some(next)) = (now.is_empty(), run.steps.get(i + 1)) {
            wrong_seconds += next.at - step.at;
        }
        wrong.push(now);
    }
    let end: Rows = run.rows(usize::MAX).into_iter().map(|(id, shown)| (id.to_owned(), shown.view.clone())).collect();
    let balances = case.balances.as_ref().map(|truth| {
        let mut balances = run.balances();
        balances.retain(|account, minor| *minor != 0 || truth.contains_key(account));
        for account in truth.keys() {
            balances.entry(account.clone()).or_insert(0);
        }
        balances
    });
    let id = |&i: &usize| order.get(i).map(|d| d.event.id.clone());
    let skipped = run.steps.iter().filter(|s| matches!(s.act, Act::Skipped(_))).filter_map(|s| s.delivery.as_ref());
    Outcome {
        name: strategy.name(),
        rule: strategy.rule(),
        matches: end == case.truth() && balances == case.balances,
        end,
        balances,
        api_calls: run.api_calls,
        skipped: skipped.filter_map(id).collect(),
        waiting: run.waiting.iter().filter_map(id).collect(),
        wrong_steps: wrong.iter().filter(|objects| !objects.is_empty()).count(),
        wrong_seconds,
        never_existed: judge.never_existed.into_iter().collect(),
        false_debt: run.owed && !case.truly_owed(),
        run,
        wrong,
    }
}

impl Case {
    /// Whether any balance was below zero at any moment of the true history.
    pub fn truly_owed(&self) -> bool {
        let mut newest: BTreeMap<&str, usize> = BTreeMap::new();
        self.sender.history.iter().enumerate().any(|(i, event)| {
            newest.insert(&event.object, i);
            let legs = newest.values().flat_map(|&i| self.sender.history[i].legs());
            stripe::balances(legs).values().any(|minor| *minor < 0)
        })
    }
}

/// Every state an object truly had, oldest first; none when deleted.
type States = Vec<Option<Arc<View>>>;

struct Judge<'a> {
    case: &'a Case,
    /// Per object its true states and the index of the newest told.
    told: BTreeMap<&'a str, (States, usize)>,
    facts: BTreeMap<&'a str, i64>,
    heard: BTreeSet<&'a str>,
    rows: Rows,
    never_existed: BTreeSet<String>,
}

impl<'a> Judge<'a> {
    fn new(case: &'a Case) -> Self {
        let (told, facts, heard) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { case, told, facts, heard, rows: Rows::new(), never_existed: BTreeSet::new() }
    }

    fn hear(&mut self, delivery: &Delivery) {
        let Some(event) = self.case.sender.history.iter().find(|e| e.id == delivery.event.id) else { return };
        if let (Change::Adds(amount), true) = (&event.change, self.heard.insert(&event.id)) {
            let total = self.facts.entry(&event.object).or_default();
            *total = total.saturating_add(*amount);
        }
        let mut places = self.case.sender.history.iter().filter(|e| e.object == event.object);
        let place = places.position(|e| e.id == event.id).unwrap_or(0);
        let told = self.told.entry(&event.object).or_insert_with(|| (self.case.states(&event.object), 0));
        told.1 = told.1.max(place);
    }

    fn show(&mut self, object: &str, view: Option<Arc<View>>) {
        let states =
            self.told.get(object).map(|(states, _)| states.clone()).unwrap_or_else(|| self.case.states(object));
        let counted = view.is_some() && view == self.facts.get(object).map(|total| total_view(*total));
        if !states.contains(&view) && !counted && view.is_some() {
            self.never_existed.insert(format!("{object} {}", super::case::brief(view.as_deref())));
        }
        self.rows.insert(object.to_owned(), view);
    }

    /// Objects that are shown older than what was told of them.
    fn wrong(&self) -> BTreeSet<String> {
        let wrong = self.told.iter().filter(|(object, (states, newest))| {
            let Some(shown) = self.rows.get(**object) else { return false };
            match self.facts.get(*object) {
                Some(total) => *shown != Some(total_view(*total)),
                None => !states[*newest..].contains(shown),
            }
        });
        wrong.map(|(object, _)| (*object).to_owned()).collect()
    }
}
