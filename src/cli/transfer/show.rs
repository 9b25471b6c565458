//! How orders are printed.

use serde_json::json;

use crate::cli::failure::Failure;
use crate::cli::options::Settings;
use crate::cli::output::{self, Format, List, clean, time};
use crate::cli::status::{failed, open};
use crate::domain::money;
use crate::guard::tell::{Shown, advice, attempts, guards};
use crate::store::transfers::TransferRow;
use crate::store::view::{Filter, Page};

const ORDERS: List<'static, Shown> = List {
    columns: &["STATE", "AMOUNT", "ORDER", "TO", "IDEMPOTENCY KEY", "TRANSFER", "CHANGED", "WHAT WE KNOW"],
    right: &[1],
    cells: |row| {
        vec![
            row.state.clone(),
            money::show(&row.currency, row.amount),
            row.order.clone(),
            row.destination.clone(),
            row.idempotency_key.clone(),
            row.transfer.clone().unwrap_or_else(|| "–".to_owned()),
            time(row.changed_ms),
            row.what_we_know.clone(),
        ]
    },
};

/// A page, newest first.
pub(super) fn list(
    settings: &Settings,
    states: &[String],
    text: Option<&String>,
    limit: usize,
    format: Format,
) -> Result<(), Failure> {
    let filter = Filter { states: states.to_vec(), text: text.cloned(), ..Filter::default() };
    let page = Page { cursor: None, before: false, limit };
    let rows = open(settings)?.transfers(&filter, &page).map_err(failed)?;
    let rows: Vec<Shown> = rows.iter().map(Shown::new).collect();
    ORDERS.print(format, &rows)
}

/// One order in one line.
pub(super) fn line(row: &TransferRow, json: bool) -> Result<(), Failure> {
    let shown = Shown::new(row);
    if json {
        return output::line(&json!(shown).to_string());
    }
    let money = money::show(&shown.currency, shown.amount);
    let text = format!("{}  {}  {money}  {}", shown.order, shown.state, shown.what_we_know);
    output::line(&clean(&text))
}

/// One order with everything.
pub(super) fn one(settings: &Settings, order: &str, json: bool) -> Result<(), Failure> {
    let detail = open(settings)?.transfer_detail(order).map_err(failed)?;
    let missing = || Failure::Usage(format!("there is no order {order}; `transfer list` shows what there is"));
    let detail = detail.ok_or_else(missing)?;
    let (shown, attempts) = (Shown::new(&detail.row), attempts(&detail));
    if json {
        let history: Vec<_> = detail
            .history
            .iter()
            .map(|h| json!({ "at_ms": h.at_ms, "who": h.who, "what": h.what.as_str(), "state": h.state, "detail": h.detail }))
            .collect();
        return output::object(&json!({
            "order": shown, "attempts": attempts, "history": history, "events": detail.events, "legs": detail.legs,
            "advice": advice(&detail.row),
            "guards": guards(&detail).map(|(name, what)| json!({ "guard": name, "what": what })),
        }));
    }
    let mut text = vec![
        format!("{}  {}  {}", shown.order, shown.state, money::show(&shown.currency, shown.amount)),
        format!("  to        {}", shown.destination),
        format!(
            "  we know   {}{}",
            shown.what_we_know,
            shown.known_from.map_or(String::new(), |s| format!(" (from: {s})"))
        ),
    ];
    text.extend(shown.source_transaction.iter().map(|s| format!("  source    {s}")));
    text.extend(shown.next_ms.map(|ms| format!("  next try  {}", time(ms))));
    text.extend(advice(&detail.row).map(|a| format!("  to do     {a}")));
    text.push("guards".to_owned());
    text.extend((1..).zip(guards(&detail)).map(|(n, (name, what))| format!("  {n} {name:<16} {what}")));
    text.push(format!("attempts  {}", attempts.len()));
    for a in &attempts {
        let status = a.status.map_or_else(|| "–".to_owned(), |s| s.to_string());
        let request = a.request_id.as_deref().unwrap_or("–");
        let replayed = if a.replayed { "  replayed by Stripe" } else { "" };
        text.push(format!("  {}  {}  {status}  {request}{replayed}", time(a.sent_ms), a.idempotency_key));
        text.push(format!("    {} (key first used {})", a.answer, time(a.key_first_ms)));
        text.extend(a.note.map(|note| format!("    {note}")));
    }
    text.push("history".to_owned());
    text.extend(
        detail
            .history
            .iter()
            .map(|h| format!("  {}  {}  {}  {}  {}", time(h.at_ms), h.who, h.what.as_str(), h.state, h.detail)),
    );
    text.push(format!("events about it  {}", detail.events.len()));
    text.extend(detail.events.iter().map(|e| format!("  {}  {}  {}  {}", time(e.first_ms), e.kind, e.id, e.state)));
    text.push(format!("posted in the ledger  {}", detail.legs.len()));
    text.extend(
        detail
            .legs
            .iter()
            .map(|l| format!("  {}  {} → {}  {}", l.leg, l.from, l.to, money::show(&l.currency, l.amount))),
    );
    let lines: Vec<String> = text.iter().map(|l| clean(l)).collect();
    output::line(&lines.join("\n"))
}
