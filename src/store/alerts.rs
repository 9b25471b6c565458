//! Alerts: raised once while their reason lasts, cleared by themselves, acknowledged by a person, posted to a webhook.

use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Row, TransactionBehavior, params};

use crate::domain::alert::{self, Alert, AlertKind};
use crate::domain::money;
use crate::domain::payout::Status;

/// A stored alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertRow {
    /// Row key.
    pub id: i64,
    /// Why, about what, in whose account.
    pub alert: Alert,
    /// Unix milliseconds.
    pub raised_ms: i64,
    /// When its reason had passed.
    pub cleared_ms: Option<i64>,
    /// When a person had seen it.
    pub acknowledged_ms: Option<i64>,
}

/// What a scan looks at.
#[derive(Debug, Clone, Copy)]
pub struct Scan {
    /// The mode (R10).
    pub live: bool,
    /// Unix milliseconds.
    pub now_ms: i64,
    /// Days after `arrival_date` before a payout counts as overdue; `None` leaves lateness out, which only time changes.
    pub grace_days: Option<i64>,
}

/// The most alerts of one kind that one scan raises; the next scan goes on.
const BATCH: i64 = 500;

/// Raises what the monitor's own tables show and clears what has passed. Returns how many were raised. Reads first and takes
/// the write lock only when there is something to write, so that the writer is not held up for nothing.
pub fn scan(conn: &mut Connection, scan: Scan) -> rusqlite::Result<usize> {
    let (mut alerts, mark) = failed(conn, scan.live)?;
    if let Some(days) = scan.grace_days {
        alerts.extend(overdue(conn, scan, days)?);
    }
    alerts.extend(stuck(conn, scan.live)?);
    alerts.extend(findings(conn, scan.live)?);
    let passed = passed(conn, scan.live)?;
    if alerts.is_empty() && passed.is_empty() {
        return Ok(0);
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut raised = 0;
    for alert in &alerts {
        raised += raise(&tx, scan.live, alert, scan.now_ms)?;
    }
    for id in passed {
        tx.prepare_cached("UPDATE alerts SET cleared_ms = ?2 WHERE id = ?1")?.execute(params![id, scan.now_ms])?;
    }
    if let Some(seq) = mark {
        super::marks::set(&tx, &failed_mark(scan.live), &seq.to_string())?;
    }
    tx.commit()?;
    Ok(raised)
}

fn failed_mark(live: bool) -> String {
    format!("alerts_failed_{}", i64::from(live))
}

/// Open findings that have no alert yet.
fn findings(conn: &Connection, live: bool) -> rusqlite::Result<Vec<Alert>> {
    let mut statement = conn.prepare_cached(
        "SELECT f.id FROM findings f WHERE f.livemode = ?1 AND f.resolved_ms IS NULL
           AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.livemode = f.livemode AND a.kind = 'finding'
             AND a.account = f.account AND a.object = f.object AND a.cleared_ms IS NULL)",
    )?;
    let new = statement.query_map(params![live], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let open = super::findings::open(conn, live)?.into_iter().filter(|row| new.contains(&row.id));
    Ok(open
        .map(|row| Alert {
            kind: AlertKind::Finding,
            text: row.finding.line(),
            object: row.finding.object,
            account: row.finding.account,
        })
        .collect())
}

/// Failed payouts since the last scan, in the order their news came, and where the next scan goes on.
fn failed(conn: &Connection, live: bool) -> rusqlite::Result<(Vec<Alert>, Option<i64>)> {
    let from: i64 = super::marks::get(conn, &failed_mark(live))?.and_then(|v| v.parse().ok()).unwrap_or(0);
    let mut statement = conn.prepare_cached(
        "SELECT id, account, amount, currency, failure_code, last_seq,
                EXISTS (SELECT 1 FROM events e WHERE e.object = p.id AND e.object <> '' AND e.livemode = p.livemode AND e.status = 'paid')
         FROM payouts p WHERE livemode = ?1 AND status = 'failed' AND last_seq > ?2 ORDER BY last_seq LIMIT ?3",
    )?;
    let mut last = from;
    let rows = statement.query_map(params![live, from, BATCH], |row| {
        let kind = alert::failure(Status::Failed, row.get(6)?).unwrap_or(AlertKind::Failed);
        let what = if kind == AlertKind::Returned { "was paid and came back" } else { "was refused by the bank" };
        let amount = money::show(&row.get::<_, String>(3)?, row.get(2)?);
        let code: String = row.get::<_, Option<String>>(4)?.map(|c| format!(": {c}")).unwrap_or_default();
        let text = format!("a payout of {amount} {what}{code}");
        last = last.max(row.get(5)?);
        Ok(Alert { kind, object: row.get(0)?, account: row.get(1)?, text })
    })?;
    let alerts = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok((alerts, (last > from).then_some(last)))
}

fn overdue(conn: &Connection, scan: Scan, grace_days: i64) -> rusqlite::Result<Vec<Alert>> {
    let mut statement = conn.prepare_cached(
        "SELECT id, account, amount, currency, status, arrival_date FROM payouts
         WHERE livemode = ?1 AND status IN ('pending', 'in_transit') AND arrival_date BETWEEN 1 AND ?2
           AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.livemode = payouts.livemode AND a.kind = 'overdue'
             AND a.account = payouts.account AND a.object = payouts.id AND a.cleared_ms IS NULL) LIMIT ?3",
    )?;
    let now = scan.now_ms / 1000;
    let rows = statement.query_map(params![scan.live, now, BATCH], |row| {
        let status = Status::parse(&row.get::<_, String>(4)?);
        let Some(days) = status.and_then(|s| alert::overdue(s, row.get(5).ok(), now, grace_days)) else {
            return Ok(None);
        };
        let amount = money::show(&row.get::<_, String>(3)?, row.get(2)?);
        let text = format!("a payout of {amount} should have arrived {} days ago", days + grace_days);
        Ok(Some(Alert { kind: AlertKind::Overdue, object: row.get(0)?, account: row.get(1)?, text }))
    })?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Stuck rows without an alert. The second condition on the state is what lets SQLite use its partial index.
fn stuck(conn: &Connection, live: bool) -> rusqlite::Result<Vec<Alert>> {
    let mut statement = conn.prepare_cached(
        "SELECT id, account, type, coalesce(reason, '') FROM events
         WHERE state = 2 AND state IN (1, 2, 4, 5, 6) AND livemode = ?1
           AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.livemode = events.livemode AND a.kind = 'stuck'
             AND a.account = events.account AND a.object = events.id AND a.cleared_ms IS NULL)
         ORDER BY seq LIMIT ?2",
    )?;
    let rows = statement.query_map(params![live, BATCH], |row| {
        let text = format!("{} waits for a person: {}", row.get::<_, String>(2)?, row.get::<_, String>(3)?);
        Ok(Alert { kind: AlertKind::Stuck, object: row.get(0)?, account: row.get(1)?, text })
    })?;
    rows.collect()
}

/// Open alerts whose reason the tables no longer show. A failed payout stays one: a person acknowledges it.
fn passed(conn: &Connection, live: bool) -> rusqlite::Result<Vec<i64>> {
    let mut statement = conn.prepare_cached(
        "SELECT id FROM alerts a WHERE a.livemode = ?1 AND a.cleared_ms IS NULL AND CASE a.kind
           WHEN 'overdue' THEN NOT EXISTS (SELECT 1 FROM payouts p WHERE p.livemode = a.livemode AND p.id = a.object
             AND p.status IN ('pending', 'in_transit'))
           WHEN 'stuck' THEN NOT EXISTS (SELECT 1 FROM events e WHERE e.id = a.object AND e.state = 2)
           WHEN 'finding' THEN NOT EXISTS (SELECT 1 FROM findings f WHERE f.livemode = a.livemode
             AND f.account = a.account AND f.object = a.object AND f.resolved_ms IS NULL)
           ELSE 0 END",
    )?;
    statement.query_map(params![live], |row| row.get(0))?.collect()
}

/// Raises one alert unless it is open already. Returns 1 when it is new.
pub fn raise(conn: &Connection, live: bool, alert: &Alert, now_ms: i64) -> rusqlite::Result<usize> {
    conn.prepare_cached(
        "INSERT INTO alerts (livemode, kind, object, account, text, raised_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (livemode, kind, account, object) WHERE cleared_ms IS NULL DO NOTHING",
    )?
    .execute(params![live, alert.kind.as_str(), alert.object, alert.account, alert.text, now_ms])
}

/// Ends an alert whose reason has passed, if it is open.
pub fn clear(
    conn: &Connection,
    live: bool,
    kind: AlertKind,
    account: &str,
    object: &str,
    now_ms: i64,
) -> rusqlite::Result<()> {
    conn.execute(
        "UPDATE alerts SET cleared_ms = ?5
         WHERE livemode = ?1 AND kind = ?2 AND account = ?3 AND object = ?4 AND cleared_ms IS NULL",
        params![live, kind.as_str(), account, object, now_ms],
    )
    .map(|_| ())
}

const COLUMNS: &str = "id, kind, object, account, text, raised_ms, cleared_ms, acknowledged_ms";

/// Open alerts nobody has acknowledged: how many there are.
pub fn unseen(conn: &Connection, live: bool) -> rusqlite::Result<i64> {
    conn.prepare_cached(
        "SELECT count(*) FROM alerts WHERE livemode = ?1 AND cleared_ms IS NULL AND acknowledged_ms IS NULL",
    )?
    .query_row(params![live], |row| row.get(0))
}

/// Alerts, unseen ones first, newest first, at most `limit`.
pub fn list(conn: &Connection, live: bool, limit: usize) -> rusqlite::Result<Vec<AlertRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM alerts WHERE livemode = ?1
         ORDER BY (cleared_ms IS NOT NULL OR acknowledged_ms IS NOT NULL), id DESC LIMIT ?2"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    conn.prepare_cached(&sql)?.query_map(params![live, limit], read)?.collect()
}

/// A person has seen it. With the audit row that says who (R9), in one transaction. False when it was seen already.
pub fn acknowledge(conn: &mut Connection, id: i64, who: &str, now_ms: i64) -> rusqlite::Result<bool> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let sql = format!("SELECT {COLUMNS}, livemode FROM alerts WHERE id = ?1 AND acknowledged_ms IS NULL");
    let found = tx.query_row(&sql, params![id], |row| Ok((read(row)?, row.get::<_, bool>(8)?))).optional()?;
    let Some((row, live)) = found else { return Ok(false) };
    tx.execute("UPDATE alerts SET acknowledged_ms = ?2 WHERE id = ?1", params![id, now_ms])?;
    tx.execute(
        "INSERT INTO audit (livemode, at_ms, who, action, target, object, reason, state_before, state_after)
         VALUES (?1, ?2, ?3, 'acknowledge', ?4, ?5, ?6, 'open', 'acknowledged')",
        params![live, now_ms, who, format!("alert {id}"), row.alert.object, row.alert.text],
    )?;
    tx.commit()?;
    Ok(true)
}

/// The oldest alert that `--alert-webhook` does not have yet.
pub fn next_unposted(conn: &Connection) -> rusqlite::Result<Option<AlertRow>> {
    let sql = format!("SELECT {COLUMNS} FROM alerts WHERE posted_ms IS NULL ORDER BY id LIMIT 1");
    conn.prepare_cached(&sql)?.query_row([], read).optional()
}

/// Marks everything up to `id` as posted.
pub fn mark_posted(conn: &Connection, id: i64, now_ms: i64) -> rusqlite::Result<()> {
    conn.execute("UPDATE alerts SET posted_ms = ?2 WHERE id <= ?1 AND posted_ms IS NULL", params![id, now_ms])
        .map(|_| ())
}

fn read(row: &Row<'_>) -> rusqlite::Result<AlertRow> {
    let word: String = row.get(1)?;
    let kind = AlertKind::parse(&word).ok_or(Error::InvalidColumnType(1, word, Type::Text))?;
    Ok(AlertRow {
        id: row.get(0)?,
        alert: Alert { kind, object: row.get(2)?, account: row.get(3)?, text: row.get(4)? },
        raised_ms: row.get(5)?,
        cleared_ms: row.get(6)?,
        acknowledged_ms: row.get(7)?,
    })
}

#[cfg(test)]
mod tests;
