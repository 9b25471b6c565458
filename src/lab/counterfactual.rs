//! What the other strategies would have shown for the deliveries that really came, and for how long it would have been wrong.

use super::compare::judge;
use super::log;
use crate::domain::engine::Rules;
use crate::domain::strategy;
use crate::store::view::EventRow;

/// The strategies that need nothing but the deliveries, and what people call them.
const OTHERS: [(&str, &str); 3] = [
    ("arrival_order", "last write wins"),
    ("created_compare_skip_ties", "newest created"),
    ("created_compare_apply_ties", "newest created, ties too"),
];

/// One line per strategy that would have been wrong on the way or now. `timeline` is a payout's events.
pub fn lines(timeline: &[EventRow]) -> Vec<String> {
    let Some(case) = log::timeline(timeline) else { return Vec::new() };
    let strategies = strategy::all(Rules::default());
    let others =
        OTHERS.iter().filter_map(|(name, called)| Some((strategies.iter().find(|s| s.name() == *name)?, called)));
    let lines = others.filter_map(|(strategy, called)| {
        let outcome = judge(&case, &case.deliveries, strategy.as_ref());
        if outcome.wrong_steps == 0 {
            return None;
        }
        let status = |view: &strategy::View| view.get("status").and_then(|s| s.as_str()).unwrap_or("?").to_owned();
        let shown = outcome.run.steps.iter().zip(&outcome.wrong).flat_map(|(step, wrong)| {
            let mark = if wrong.is_empty() { "" } else { " ≠" };
            step.changed.iter().filter_map(move |row| Some(format!("{}{mark}", status(row.view.as_ref()?))))
        });
        let path = shown.collect::<Vec<_>>().join(" → ");
        // The case counts in milliseconds here.
        let long = format!("{}.{} s", outcome.wrong_seconds / 1_000, outcome.wrong_seconds % 1_000 / 100);
        let end = if outcome.wrong.last().is_some_and(|w| !w.is_empty()) { ", and now" } else { "" };
        Some(format!("{called} wrong for {long}{end}: {path}"))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seq: i64, status: &str, created: i64, first_ms: i64) -> EventRow {
        EventRow {
            seq,
            id: format!("evt_{seq}"),
            kind: "payout.updated".into(),
            account: "platform".into(),
            object: "po_1".into(),
            status: Some(status.into()),
            amount: Some(1_000),
            currency: Some("usd".into()),
            created,
            first_ms,
            last_ms: first_ms,
            deliveries: 1,
            state: "applied".into(),
            reason: None,
            attempts: 0,
            next_ms: None,
            needs: None,
            effect: None,
            settled_ms: None,
        }
    }

    #[test]
    fn wrong_on_the_way_and_wrong_now() {
        let rows = [row(1, "paid", 30, 7_000), row(2, "pending", 10, 7_100), row(3, "failed", 40, 9_900)];
        assert_eq!(lines(&rows), ["last write wins wrong for 2.8 s: paid → pending ≠ → failed"]);
        assert_eq!(lines(&rows[..2]), ["last write wins wrong for 0.0 s, and now: paid → pending ≠"]);
        let tie = [row(1, "paid", 30, 1_000), row(2, "failed", 30, 2_000)];
        assert_eq!(lines(&tie), ["newest created wrong for 0.0 s, and now: paid"]);
        assert!(lines(&rows[..1]).is_empty() && lines(&[]).is_empty());
    }
}
