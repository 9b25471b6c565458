//! The lab's tables for people.

use unicode_width::UnicodeWidthStr;

use super::Failure;
use crate::domain::money;
use crate::lab::case::{Case, brief};
use crate::lab::compare::Outcome;
use crate::lab::orders::{Counterexample, Mark, Tally};
use crate::lab::prove::Proof;
use crate::lab::report::Report;
use crate::lab::scenario;

/// Marks shown one by one at the most.
const MARKS: usize = 120;

/// The scenarios, one per line.
pub fn list() -> Result<String, Failure> {
    let mut rows = vec![];
    for name in scenario::names() {
        let case = scenario::built_in(name).unwrap_or_else(|| Err(name.to_owned())).map_err(Failure::Usage)?;
        rows.push(vec![name.to_owned(), case.title]);
    }
    Ok(table(&["SCENARIO", "ABOUT"], &rows))
}

/// The comparison. `sampled` is the seed when there were too many orders to run all.
pub fn report(report: &Report<'_>, sampled: Option<u64>) -> String {
    let case = report.case;
    let mut text = format!("{}: {}\n", case.name, case.title);
    for line in wrap(&case.teaches, 100) {
        text.push_str(&format!("{line}\n"));
    }
    text.push('\n');
    text.push_str(&deliveries(case));
    text.push_str(&format!("\nTruth: {}\n\n", truth(case)));
    text.push_str(&outcomes(report));
    let mut notes: Vec<&str> = report.outcomes.iter().filter_map(|o| o.run.note).collect();
    notes.dedup();
    for note in notes {
        text.push_str(&format!("\nversion: {note}\n"));
    }
    text.push_str(&trace(report));
    if !report.tallies.is_empty() {
        text.push('\n');
        text.push_str(&tallies(&report.tallies, sampled));
    }
    if case.left_out > 0 {
        text.push_str(&format!("\n{} events that no rule reads were left out.\n", case.left_out));
    }
    text
}

fn deliveries(case: &Case) -> String {
    let start = case.deliveries.first().map_or(0, |d| d.at);
    let rows: Vec<Vec<String>> = case
        .deliveries
        .iter()
        .enumerate()
        .map(|(i, d)| {
            let states = case.states(&d.event.object);
            let events = case.sender.history.iter().filter(|e| e.object == d.event.object);
            let place = events.into_iter().position(|e| e.id == d.event.id).unwrap_or(0);
            let says = states.get(place).and_then(|s| s.as_deref());
            let order = format!("{} of {}", place + 1, states.len());
            vec![
                (i + 1).to_string(),
                after(d.at - start),
                d.event.id.clone(),
                d.event.object.clone(),
                order,
                brief(says),
            ]
        })
        .collect();
    table(&["#", "AFTER", "DELIVERED", "OBJECT", "HAPPENED", "SAYS"], &rows)
}

fn truth(case: &Case) -> String {
    let rows = case.truth().into_iter().map(|(id, view)| format!("{id} {}", brief(view.as_deref())));
    let balances = case.balances.iter().flatten().map(|(account, minor)| balance(account, *minor));
    rows.chain(balances).collect::<Vec<_>>().join("; ")
}

/// What differs from the truth, or nothing.
fn differences(case: &Case, outcome: &Outcome) -> String {
    let truth = case.truth();
    let wrong = truth.iter().filter(|(id, view)| outcome.end.get(*id) != Some(*view)).map(|(id, _)| {
        let shown = outcome.end.get(id);
        format!("{id} {}", shown.map_or_else(|| "never shown".to_owned(), |view| brief(view.as_deref())))
    });
    let balances = outcome.balances.iter().flatten();
    let off = balances.filter(|(account, minor)| case.balances.as_ref().and_then(|b| b.get(*account)) != Some(*minor));
    wrong.chain(off.map(|(account, minor)| balance(account, *minor))).collect::<Vec<_>>().join("; ")
}

fn balance(account: &str, minor: i64) -> String {
    let (owner, currency) = account.rsplit_once(' ').unwrap_or((account, ""));
    format!("{owner} has {}", money::show(currency, minor))
}

fn outcomes(report: &Report<'_>) -> String {
    let rows: Vec<Vec<String>> = report
        .outcomes
        .iter()
        .map(|o| {
            let result = if o.matches { "right" } else { "WRONG" };
            let wrong = match (o.wrong_steps, o.wrong_seconds) {
                (0, _) => "-".to_owned(),
                (steps, seconds) => {
                    let stays = o.wrong.last().is_some_and(|w| !w.is_empty());
                    let steps = format!("{steps} step{}", if steps == 1 { "" } else { "s" });
                    if stays { format!("{steps}, and stays wrong") } else { format!("{steps}, {}", after(seconds)) }
                }
            };
            let mut shows = differences(report.case, o);
            if !o.waiting.is_empty() {
                shows = format!("{shows}{}{} waits", if shows.is_empty() { "" } else { "; " }, o.waiting.join(", "));
            }
            let dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
            vec![
                o.name.to_owned(),
                result.to_owned(),
                o.api_calls.to_string(),
                dash(o.skipped.join(" ")),
                wrong,
                dash(shows),
            ]
        })
        .collect();
    table(&["STRATEGY", "END", "CALLS", "LEFT OUT", "WRONG ON THE WAY", "SHOWS AT THE END"], &rows)
}

fn trace(report: &Report<'_>) -> String {
    let Some(queue) = report.outcomes.iter().find(|o| !o.run.trace.is_empty()) else { return String::new() };
    let id = |i: Option<usize>| {
        let delivery = i.and_then(|i| report.case.deliveries.get(i));
        delivery.map_or_else(|| "nothing free".to_owned(), |d| d.event.id.clone())
    };
    let rows: Vec<Vec<String>> =
        queue.run.trace.iter().enumerate().map(|(n, r)| vec![(n + 1).to_string(), id(r.a), id(r.b)]).collect();
    format!("\nThe queue's two workers, one message of an object in flight:\n{}", table(&["STEP", "A", "B"], &rows))
}

fn tallies(tallies: &[Tally], sampled: Option<u64>) -> String {
    let total = tallies.first().map_or(0, |t| t.marks.len());
    let mut text = match sampled {
        Some(seed) => format!("{total} orders, sampled with seed {seed} (too many for all)\n"),
        None => format!("{total} orders\n"),
    };
    let rows: Vec<Vec<String>> = tallies
        .iter()
        .map(|t| {
            vec![
                t.name.to_owned(),
                t.count(|m| m.right).to_string(),
                t.count(|m| m.went_back).to_string(),
                t.count(|m| m.waits || m.late).to_string(),
                if total <= MARKS { t.marks.iter().map(glyph).collect() } else { String::new() },
            ]
        })
        .collect();
    text.push_str(&table(&["STRATEGY", "RIGHT", "WENT BACK", "WAITED", "● right  × wrong  … waits"], &rows));
    for t in tallies {
        if let Some(c) = &t.counterexample {
            text.push_str(&format!("{}: {}\n", t.name, counterexample(c)));
        }
    }
    text
}

/// One order in one character.
fn glyph(mark: &Mark) -> char {
    match mark {
        Mark { right: false, .. } => '×',
        Mark { waits: true, .. } | Mark { late: true, .. } => '…',
        _ => '●',
    }
}

fn counterexample(c: &Counterexample) -> String {
    format!("delivered {} it shows {} as {}; true is {}", c.deliveries.join(", "), c.object, c.shown, c.truth)
}

/// The proof run.
pub fn proof(proof: &Proof) -> String {
    let mut text = format!(
        "{} orders of {} random histories ({} with a debt), repeats among them, seed {}\n",
        proof.orders, proof.histories, proof.owed, proof.seed
    );
    let rows: Vec<Vec<String>> = proof
        .records
        .iter()
        .map(|r| {
            let shortest = r.counterexample.as_ref().map_or_else(|| "-".to_owned(), counterexample);
            vec![r.name.to_owned(), r.differs.to_string(), r.waiting.to_string(), shortest]
        })
        .collect();
    text.push_str(&table(&["STRATEGY", "DIFFERS", "WAITING", "SHORTEST COUNTEREXAMPLE"], &rows));
    text
}

/// Seconds as a person says them.
fn after(seconds: i64) -> String {
    match seconds {
        0 => "0s".to_owned(),
        s if s % 86_400 == 0 => format!("{}d", s / 86_400),
        s if s > 86_400 => format!("{}d {}h", s / 86_400, s % 86_400 / 3_600),
        s if s >= 3_600 => format!("{}h {}m", s / 3_600, s % 3_600 / 60),
        s if s >= 60 => format!("{}m {}s", s / 60, s % 60),
        s => format!("{s}s"),
    }
}

/// Columns two blanks apart, the last one open.
fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = heads.iter().map(|h| h.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let heads = heads.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    std::iter::once(&heads).chain(rows).map(line).collect()
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
