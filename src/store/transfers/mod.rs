//! Outgoing transfers: every change reads the order's row, decides by `domain::transfer` and writes row and history in one
//! transaction, so that no two processes ever decide on the same facts.

mod person;
pub mod row;
mod work;

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

pub use person::{Created, Pressed};
pub use row::{HistoryRow, TransferRow, What};
pub use work::{Posted, Told, Work};

use super::error::StoreError;
use super::{marks, schema};
use crate::domain::transfer::intent::{Intent, Phase};
use crate::domain::transfer::key::job_id;

/// A connection for the outgoing transfers of one mode. Any number of processes may hold one.
#[derive(Debug)]
pub struct Transfers {
    conn: Mutex<Connection>,
    live: bool,
}

/// A line for the history, as far as the caller knows it.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    what: What,
    who: &'a str,
    at_ms: i64,
    post: Option<i64>,
    told: Option<&'a Told>,
    detail: &'a str,
}

impl<'a> Line<'a> {
    fn new(what: What, who: &'a str, at_ms: i64, detail: &'a str) -> Self {
        Self { what, who, at_ms, post: None, told: None, detail }
    }
}

impl Transfers {
    /// Opens the database once more.
    pub fn open(path: &Path, live: bool) -> Result<Self, StoreError> {
        let conn = schema::open(path)?;
        conn.set_prepared_statement_cache_capacity(64);
        // A checkpoint here would hold the writer up; without a daemon the last connection to close does it.
        conn.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(Self { conn: Mutex::new(conn), live })
    }

    /// Which mode (R10).
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// One transaction that no other writer can enter; nothing is kept after `Err`.
    fn transact<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut conn = self.conn();
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&tx)?;
        tx.commit()?;
        Ok(result)
    }

    /// Reads without taking the write lock.
    fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// An order by its name.
    pub fn find(&self, order_ref: &str) -> Result<Option<TransferRow>, StoreError> {
        find(&self.conn(), self.live, order_ref)
    }

    /// When the next order is due or a claim runs out, unix milliseconds.
    pub fn next_due(&self) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT min(at) FROM (
                       SELECT min(next_ms) AS at FROM transfer_orders WHERE livemode = ?1 AND next_ms IS NOT NULL
                       UNION ALL
                       SELECT min(claim_until_ms) FROM transfer_orders WHERE livemode = ?1 AND claim_until_ms IS NOT NULL)";
        Ok(self.conn().prepare_cached(sql)?.query_row(params![self.live], |row| row.get(0))?)
    }

    /// Forgets the names of jobs that finished before `before_ms`. Guard 4 is a window; guards 1 and 2 are not.
    pub fn forget_jobs(&self, before_ms: i64) -> Result<usize, StoreError> {
        let sql = "DELETE FROM transfer_jobs WHERE finished_ms IS NOT NULL AND finished_ms < ?1";
        self.transact(|tx| Ok(tx.prepare_cached(sql)?.execute(params![before_ms])?))
    }

    /// Up to which arrival number events were looked through.
    pub fn events_seen(&self) -> Result<i64, StoreError> {
        Ok(marks::get(&self.conn(), &self.mark())?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// Remembers it.
    pub fn set_events_seen(&self, seq: i64) -> Result<(), StoreError> {
        self.transact(|tx| Ok(marks::set(tx, &self.mark(), &seq.to_string())?))
    }

    /// The bodies of transfer events of this mode after an arrival number, at most `limit` events looked at.
    /// The number is how far it got.
    pub fn events_after(&self, seq: i64, limit: i64) -> Result<(Vec<Vec<u8>>, i64), StoreError> {
        let conn = self.conn();
        let sql = "SELECT max(seq) FROM (SELECT seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2)";
        let last: Option<i64> = conn.prepare_cached(sql)?.query_row(params![seq, limit], |row| row.get(0))?;
        let Some(last) = last else { return Ok((Vec::new(), seq)) };
        let mut statement = conn.prepare_cached(
            "SELECT body FROM events JOIN payloads USING (seq)
             WHERE seq > ?1 AND seq <= ?2 AND livemode = ?3 AND type GLOB 'transfer.*' AND account = 'platform' ORDER BY seq",
        )?;
        let bodies = statement.query_map(params![seq, last, self.live], |row| row.get(0))?;
        Ok((bodies.collect::<Result<_, _>>()?, last))
    }

    fn mark(&self) -> String {
        format!("{}:transfer-events-seen", if self.live { "live" } else { "test" })
    }
}

fn find(conn: &Connection, live: bool, order_ref: &str) -> Result<Option<TransferRow>, StoreError> {
    let sql = format!("{} WHERE livemode = ?1 AND order_ref = ?2", row::SELECT);
    Ok(conn.prepare_cached(&sql)?.query_row(params![live, order_ref], row::read).optional()?)
}

fn by_key(conn: &Connection, key: i64) -> Result<TransferRow, StoreError> {
    let sql = format!("{} WHERE key = ?1", row::SELECT);
    Ok(conn.prepare_cached(&sql)?.query_row(params![key], row::read)?)
}

/// Writes a changed intent, the queue's memory and a line of history. Returns the line's number.
fn write(tx: &Transaction<'_>, before: &TransferRow, after: &Intent, line: Line<'_>) -> Result<i64, StoreError> {
    update(tx, before, after, line.at_ms)?;
    append(tx, before.key, after, line)
}

fn update(tx: &Transaction<'_>, before: &TransferRow, after: &Intent, now_ms: i64) -> Result<(), StoreError> {
    if let Some(what) = after.unsound() {
        return Err(StoreError::damaged(format!("the transfer of order {}: {what}", before.order.order_ref)));
    }
    if *after != before.intent {
        let claim = after.claim.as_ref();
        let phase = claim.map(|c| match c.phase {
            Phase::Looking => "looking",
            Phase::Posting => "posting",
        });
        tx.prepare_cached(
            "UPDATE transfer_orders SET changed_ms = ?2, state = ?3, version = ?4, doubt = ?5, spent = ?6, tries = ?7,
                 next_ms = ?8, fence = ?9, claim_by = ?10, claim_phase = ?11, claim_until_ms = ?12, key_first_ms = ?13,
                 transfer = ?14, known_from = ?15, reason = ?16 WHERE key = ?1",
        )?
        .execute(params![
            before.key,
            now_ms,
            after.state.as_str(),
            after.version,
            after.doubt,
            after.spent,
            after.tries,
            after.next_ms,
            after.fence,
            claim.map(|c| c.by.as_str()),
            phase,
            claim.map(|c| c.until_ms),
            after.key_first_ms,
            after.transfer,
            after.known_from.map(|s| s.as_str()),
            after.reason,
        ])?;
    }
    remember_job(tx, before, after, now_ms)
}

/// The queue's memory: a working order has a queued job of its version, any other a finished one.
fn remember_job(tx: &Transaction<'_>, row: &TransferRow, after: &Intent, now_ms: i64) -> Result<(), StoreError> {
    let finished = (!after.state.is_working()).then_some(now_ms);
    if finished.is_some() && !row.intent.state.is_working() {
        return Ok(());
    }
    tx.prepare_cached(
        "INSERT INTO transfer_jobs (id, order_key, queued_ms, finished_ms) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET finished_ms = excluded.finished_ms",
    )?
    .execute(params![job_id(row.live, &row.order.order_ref, after.version), row.key, now_ms, finished])?;
    Ok(())
}

fn append(tx: &Transaction<'_>, key: i64, after: &Intent, line: Line<'_>) -> Result<i64, StoreError> {
    let told = line.told;
    tx.prepare_cached(
        "INSERT INTO transfer_history (order_key, at_ms, who, what, version, post, status, request_id, replayed, transfer,
             state, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        key,
        line.at_ms,
        line.who,
        line.what.as_str(),
        after.version,
        line.post,
        told.and_then(|t| t.status),
        told.and_then(|t| t.request_id.as_deref()),
        told.is_some_and(|t| t.replayed),
        after.transfer,
        after.state.as_str(),
        line.detail,
    ])?;
    Ok(tx.last_insert_rowid())
}

#[cfg(test)]
mod tests;
