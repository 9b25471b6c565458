//! A whole comparison: every strategy on the order of arrival and, if wanted, on many orders. Its JSON is the contract's.

use serde_json::{Map, Value, json};

use super::case::{Case, Rows};
use super::compare::{Outcome, judge};
use super::orders::{self, Counterexample, Tally, Wanted};
use super::prove::Proof;
use crate::domain::engine::Rules;
use crate::domain::strategy::{self, Strategy};

/// Every strategy, then the variants.
pub fn strategies(rules: Rules) -> Vec<Box<dyn Strategy + Send + Sync>> {
    strategy::all(rules).into_iter().chain(strategy::variants()).collect()
}

/// A case under every strategy.
pub struct Report<'a> {
    /// The case.
    pub case: &'a Case,
    /// On the order of arrival: the strategies, then the variants.
    pub outcomes: Vec<Outcome>,
    /// Under many orders, in the same sequence; empty when not wanted.
    pub tallies: Vec<Tally>,
}

impl<'a> Report<'a> {
    /// Compares. `only` keeps one strategy.
    pub fn new(case: &'a Case, rules: Rules, only: Option<&str>, wanted: Option<Wanted>) -> Self {
        let mut strategies = strategies(rules);
        strategies.retain(|s| only.is_none_or(|name| s.name() == name));
        let outcomes = strategies.iter().map(|s| judge(case, &case.deliveries, s.as_ref())).collect();
        let tallies = wanted.map(|wanted| orders::tally(case, &orders::orders(case, wanted), &strategies));
        Self { case, outcomes, tallies: tallies.unwrap_or_default() }
    }

    /// The contract's JSON object.
    pub fn json(&self) -> Value {
        let case = self.case;
        let variants: Vec<&str> = strategy::variants().iter().map(|s| s.name()).collect();
        let entry = |outcome: &Outcome| self.strategy_json(outcome);
        let (beside, compared): (Vec<_>, Vec<_>) = self.outcomes.iter().partition(|o| variants.contains(&o.name));
        let trace = self.outcomes.iter().find(|o| !o.run.trace.is_empty()).map_or_else(Vec::new, |outcome| {
            let id = |i: Option<usize>| i.and_then(|i| case.deliveries.get(i)).map(|d| d.event.id.as_str());
            let rounds = outcome.run.trace.iter().enumerate();
            rounds.map(|(n, round)| json!({ "step": n + 1, "a": id(round.a), "b": id(round.b) })).collect()
        });
        let start = case.deliveries.first().map_or(0, |d| d.at);
        let deliveries = case.deliveries.iter().map(|d| {
            json!({ "id": d.event.id, "object": d.event.object, "created": d.event.created, "after_seconds": d.at - start })
        });
        let mut report = json!({
            "scenario": case.name,
            "title": case.title,
            "truth": rows_json(&case.truth()),
            "deliveries": deliveries.collect::<Vec<_>>(),
            "strategies": compared.into_iter().map(entry).collect::<Vec<_>>(),
            "variants": beside.into_iter().map(entry).collect::<Vec<_>>(),
            "queue_trace": trace,
            "left_out": case.left_out,
        });
        if let Some(balances) = &case.balances {
            report["true_balances"] = json!(balances);
        }
        report
    }

    fn strategy_json(&self, outcome: &Outcome) -> Value {
        let mut entry = json!({
            "name": outcome.name,
            "rule": outcome.rule,
            "end": rows_json(&outcome.end),
            "matches_truth": outcome.matches,
            "api_calls": outcome.api_calls,
            "skipped": outcome.skipped,
            "waiting": outcome.waiting,
            "wrong_steps": outcome.wrong_steps,
            "wrong_seconds": outcome.wrong_seconds,
            "never_existed": outcome.never_existed,
            "note": outcome.run.note,
        });
        if let Some(balances) = &outcome.balances {
            entry["balances"] = json!(balances);
        }
        if let Some(tally) = self.tallies.iter().find(|t| t.name == outcome.name) {
            entry["orders"] = json!({
                "total": tally.marks.len(),
                "right": tally.count(|m| m.right),
                "went_back": tally.count(|m| m.went_back),
                "waiting": tally.count(|m| m.waits),
                "late": tally.count(|m| m.late),
                "counterexample": tally.counterexample.as_ref().map(counterexample_json),
            });
        }
        entry
    }
}

/// The proof run as JSON.
pub fn proof_json(proof: &Proof) -> Value {
    let records = proof.records.iter().map(|r| {
        json!({ "name": r.name, "differs": r.differs, "waiting": r.waiting,
                "counterexample": r.counterexample.as_ref().map(counterexample_json) })
    });
    json!({ "orders": proof.orders, "histories": proof.histories, "histories_with_debt": proof.owed,
            "seed": proof.seed, "strategies": records.collect::<Vec<_>>() })
}

fn counterexample_json(c: &Counterexample) -> Value {
    json!({ "deliveries": c.deliveries, "object": c.object, "shown": c.shown, "truth": c.truth })
}

fn rows_json(rows: &Rows) -> Value {
    let rows = rows.iter().map(|(id, view)| (id.clone(), view.as_deref().map_or(Value::Null, |v| json!(v))));
    Value::Object(rows.collect::<Map<_, _>>())
}
