//! `status`: payouts, balances, inbox counts and what is stuck, as text or as the contract's one JSON object.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::options::{Common, Settings, existing};
use super::output::{self, clean, day};
use crate::domain::money::show;
use crate::domain::outcome::State;
use crate::store::read::{PayoutCursor, Reader};
use crate::store::view::{BalanceRow, Direction, EventRow, Filter, Page, PayoutRow, PayoutSort};

const PAGE: usize = 500;

/// Prints the status.
pub fn run(common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    let reader = open(&settings)?;
    if common.json { output::object(&json(&reader)?) } else { text(&reader) }
}

/// Opens a database for reading.
pub fn open(settings: &Settings) -> Result<Reader, Failure> {
    existing(&settings.database)?;
    Reader::open(&settings.database, settings.live).map_err(failed)
}

/// A store's failure as a command's.
pub fn failed(error: crate::store::error::StoreError) -> Failure {
    Failure::Environment(error.to_string())
}

#[derive(Serialize)]
struct StuckRow {
    id: String,
    r#type: String,
    object: String,
    account: String,
    attempts: i64,
    error: Option<String>,
    needs: Value,
}

/// The contract's object.
pub fn json(reader: &Reader) -> Result<Value, Failure> {
    let payouts: Vec<Value> = all_payouts(reader)?
        .into_iter()
        .map(|p| {
            json!({
                "id": p.id, "account": p.account, "amount": p.amount, "currency": p.currency, "status": p.status,
                "posted": p.posted, "arrival_date": p.arrival_date, "failure_code": p.failure_code, "events": p.events,
            })
        })
        .collect();
    let balances: Vec<Value> = all_balances(reader)?
        .into_iter()
        .map(|b| {
            json!({
                "account": b.account, "currency": b.currency, "available": b.available, "owed": b.owed,
                "projected": b.projected, "in_flight": b.in_flight, "paid_out": b.paid_out, "returned": b.returned,
            })
        })
        .collect();
    let stuck: Vec<StuckRow> = stuck(reader)?
        .into_iter()
        .map(|e| StuckRow {
            needs: needs(&e),
            id: e.id,
            r#type: e.kind,
            object: e.object,
            account: e.account,
            attempts: e.attempts,
            error: e.reason,
        })
        .collect();
    let mode = if reader.is_live() { "live" } else { "test" };
    let transfers = reader.transfer_counts().map_err(failed)?;
    let transfers: Map<String, Value> = transfers.into_iter().map(|(s, n)| (s.to_string(), n.into())).collect();
    let mut status = json!({
        "mode": mode, "payouts": payouts, "balances": balances, "inbox": Value::Object(counts(reader)?), "stuck": stuck,
    });
    if !transfers.is_empty() {
        status["transfers"] = Value::Object(transfers);
    }
    Ok(status)
}

/// What a row lacks, as JSON.
pub fn needs(row: &EventRow) -> Value {
    row.needs
        .as_ref()
        .map_or(Value::Null, |n| json!({ "account": n.account, "currency": n.currency, "amount": n.amount }))
}

fn counts(reader: &Reader) -> Result<Map<String, Value>, Failure> {
    let inbox = reader.summary().map_err(failed)?.inbox;
    Ok(State::ALL.into_iter().map(|state| (state.to_string(), inbox.of(state).into())).collect())
}

fn all_payouts(reader: &Reader) -> Result<Vec<PayoutRow>, Failure> {
    let mut all: Vec<PayoutRow> = Vec::new();
    loop {
        let cursor = all.last().map(|row| PayoutCursor::of(row, PayoutSort::LastEvent));
        let page = Page { cursor, before: false, limit: PAGE };
        let sort = (PayoutSort::LastEvent, Direction::Descending);
        let rows = reader.payouts(&Filter::default(), sort.0, sort.1, &page).map_err(failed)?;
        let last = rows.len() < PAGE;
        all.extend(rows);
        if last {
            return Ok(all);
        }
    }
}

fn all_balances(reader: &Reader) -> Result<Vec<BalanceRow>, Failure> {
    let mut all: Vec<BalanceRow> = Vec::new();
    loop {
        let cursor = all.last().map(|row| (row.account.clone(), row.currency.clone()));
        let rows = reader.balances(&Filter::default(), &Page { cursor, before: false, limit: PAGE }).map_err(failed)?;
        let last = rows.len() < PAGE;
        all.extend(rows);
        if last {
            return Ok(all);
        }
    }
}

/// All stuck rows.
pub fn stuck(reader: &Reader) -> Result<Vec<EventRow>, Failure> {
    let mut all: Vec<EventRow> = Vec::new();
    let filter = Filter { states: vec![State::Stuck.to_string()], ..Filter::default() };
    loop {
        let cursor = all.last().map(|row| (State::Stuck, row.seq));
        let rows = reader.inbox(&filter, &Page { cursor, before: false, limit: PAGE }).map_err(failed)?;
        let last = rows.len() < PAGE;
        all.extend(rows);
        if last {
            return Ok(all);
        }
    }
}

/// For a person.
pub fn text(reader: &Reader) -> Result<(), Failure> {
    let summary = reader.summary().map_err(failed)?;
    let mut out = format!("{} mode\n", if reader.is_live() { "LIVE" } else { "test" });
    let by_status: Vec<String> =
        summary.payouts_by_status.iter().filter(|(_, n)| *n > 0).map(|(s, n)| format!("{n} {s}")).collect();
    out.push_str(&format!("\n{} payouts  {}\n", summary.payouts, by_status.join(", ")));
    let page = Page { cursor: None, before: false, limit: 20 };
    let rows =
        reader.payouts(&Filter::default(), PayoutSort::LastEvent, Direction::Descending, &page).map_err(failed)?;
    for p in &rows {
        let arrives = p.arrival_date.map(|d| format!("  arrives {}", day(d))).unwrap_or_default();
        let failure = p.failure_code.as_ref().map(|c| format!("  {}", clean(c))).unwrap_or_default();
        let unposted = if p.posted { "" } else { "  unposted" };
        let money = show(&p.currency, p.amount);
        out.push_str(&format!(
            "  {:<10} {money:>20}  {}  {}{arrives}{failure}{unposted}\n",
            p.status,
            clean(&p.id),
            clean(&p.account)
        ));
    }
    if summary.payouts > 20 {
        out.push_str("  … `payout-ledger payouts` lists all\n");
    }
    out.push_str("\nbalances\n");
    for b in all_balances(reader)? {
        let owed = if b.owed > 0 { format!("  owes {}", show(&b.currency, b.owed)) } else { String::new() };
        let waiting =
            if b.waiting == 0 { String::new() } else { format!("  waiting {}", show(&b.currency, b.waiting)) };
        let available = show(&b.currency, b.available);
        out.push_str(&format!("  {:<24} {available:>20}{owed}{waiting}\n", clean(&b.account)));
    }
    let counts: Vec<String> = State::ALL
        .into_iter()
        .map(|s| (s, summary.inbox.of(s)))
        .filter(|(_, n)| *n > 0)
        .map(|(s, n)| format!("{n} {s}"))
        .collect();
    out.push_str(&format!("\ninbox  {}\n", if counts.is_empty() { "empty".to_owned() } else { counts.join(", ") }));
    for e in stuck(reader)?.iter().take(20) {
        let why = clean(e.reason.as_deref().unwrap_or(""));
        out.push_str(&format!("  stuck  {}  {}  {}  {why}\n", clean(&e.id), clean(&e.kind), clean(&e.object)));
    }
    let transfers = reader.transfer_counts().map_err(failed)?;
    if !transfers.is_empty() {
        let counts: Vec<String> = transfers.iter().map(|(state, n)| format!("{n} {state}")).collect();
        out.push_str(&format!("\ntransfers  {}\n", counts.join(", ")));
    }
    output::line(out.trim_end())
}
