//! What the Stripe side reads from the ledger and keeps beside it. Its own connection: the writer never waits for it.

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use rusqlite::{Connection, OptionalExtension, params};

use super::alerts::{self, AlertRow, Scan};
use super::error::StoreError;
use super::findings::{self, FindingRow, Recorded};
use super::marks;
use crate::domain::alert::{Alert, AlertKind};
use crate::domain::details::Details;
use crate::domain::guard::Account;
use crate::domain::money::Currency;
use crate::domain::owner::Owner;
use crate::domain::reconcile::{Finding, Known};

/// A connection for the Stripe side, of one mode.
#[derive(Debug)]
pub struct Side {
    conn: Mutex<Connection>,
    live: bool,
}

/// An event that came in, as far as fetching needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    /// Whose.
    pub account: String,
    /// `po_…`, …; empty when it has none.
    pub object: String,
    /// Stripe's unix seconds.
    pub created: i64,
    /// Whether it is a thin event, which says nothing itself.
    pub thin: bool,
    /// Whether its payout has two different details in one second (R6).
    pub tie: bool,
}

/// A balance of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OurBalance {
    /// Owner and currency.
    pub account: Account,
    /// Posted plus waiting, minor units.
    pub projected: i64,
    /// Whether an opening balance was posted.
    pub opened: bool,
}

impl Side {
    /// Opens the database once more.
    pub fn open(path: &Path, live: bool) -> Result<Self, StoreError> {
        let conn = super::schema::open(path)?;
        // A checkpoint here would hold the writer up.
        conn.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(Self { conn: Mutex::new(conn), live })
    }

    /// Which mode (R10).
    pub fn is_live(&self) -> bool {
        self.live
    }

    fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A mark of this mode.
    pub fn mark(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(marks::get(&self.conn(), &self.mark_name(name))?)
    }

    /// Sets or, with `None`, forgets a mark of this mode.
    pub fn set_mark(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let (conn, name) = (self.conn(), self.mark_name(name));
        match value {
            Some(value) => marks::set(&conn, &name, value)?,
            None => marks::forget(&conn, &name)?,
        }
        Ok(())
    }

    fn mark_name(&self, name: &str) -> String {
        format!("{}:{name}", if self.live { "live" } else { "test" })
    }

    /// Adds reads of the API to this month's count and returns it; a month is `2026-12`.
    pub fn add_reads(&self, month: &str, reads: u64) -> Result<u64, StoreError> {
        let name = format!("reads:{month}");
        let so_far: u64 = self.mark(&name)?.and_then(|v| v.parse().ok()).unwrap_or(0);
        let total = so_far.saturating_add(reads);
        if reads > 0 {
            self.set_mark(&name, Some(&total.to_string()))?;
        }
        Ok(total)
    }

    /// The trace id we know of a payout, or why there is none yet (R6).
    pub fn trace_id(&self, payout: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT details FROM payouts WHERE livemode = ?1 AND id = ?2";
        let found: Option<String> =
            self.conn().prepare_cached(sql)?.query_row(params![self.live, payout], |row| row.get(0)).optional()?;
        Ok(found.and_then(|json| Details::stored(&json).get("trace_id").map(str::to_owned)))
    }

    /// Every owner that any event or balance of this mode names, the platform first.
    pub fn owners(&self) -> Result<Vec<Owner>, StoreError> {
        let conn = self.conn();
        let mut statement = conn.prepare_cached(
            "WITH RECURSIVE seen (account) AS (
                 SELECT min(account) FROM events
                 UNION ALL
                 SELECT (SELECT min(account) FROM events WHERE account > seen.account) FROM seen
                 WHERE seen.account IS NOT NULL)
             SELECT account FROM seen WHERE account IS NOT NULL
               AND EXISTS (SELECT 1 FROM events e WHERE e.account = seen.account AND e.livemode = ?1)
             UNION SELECT account FROM balances WHERE livemode = ?1",
        )?;
        let names = statement.query_map(params![self.live], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        let mut owners = vec![Owner::platform()];
        owners.extend(names.iter().filter_map(|name| Owner::connected(name).ok()));
        Ok(owners)
    }

    /// Stripe's time of the oldest event among the first arrivals of an owner, unix seconds: since then we watch it.
    pub fn watched_since(&self, owner: &Owner) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT min(created) FROM (SELECT created FROM events WHERE account = ?1 AND livemode = ?2
                     AND id NOT GLOB 'fetched_*' ORDER BY seq LIMIT 200)";
        Ok(self.conn().prepare_cached(sql)?.query_row(params![owner.as_str(), self.live], |row| row.get(0))?)
    }

    /// Stripe's time of the newest event among the last arrivals of an owner, unix seconds.
    pub fn newest_created(&self, owner: &Owner) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT max(created) FROM (SELECT created FROM events WHERE account = ?1 AND livemode = ?2
                     AND id NOT GLOB 'fetched_*' ORDER BY seq DESC LIMIT 200)";
        Ok(self.conn().prepare_cached(sql)?.query_row(params![owner.as_str(), self.live], |row| row.get(0))?)
    }

    /// The greatest arrival number.
    pub fn last_seq(&self) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM events";
        Ok(self.conn().prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    /// The next `limit` events after an arrival number: the last one's number, and of all of them (or, without `all`, of those
    /// that their payload cannot settle) what fetching needs to know. Those we made ourselves are left out.
    pub fn came_after(&self, seq: i64, limit: i64, all: bool) -> Result<(Option<i64>, Vec<Came>), StoreError> {
        let conn = self.conn();
        let last = "SELECT max(seq) FROM (SELECT seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2)";
        let last: Option<i64> = conn.prepare_cached(last)?.query_row(params![seq, limit], |row| row.get(0))?;
        let Some(last) = last else { return Ok((None, Vec::new())) };
        let mut statement = conn.prepare_cached(
            "SELECT account, object, created, thin, tie FROM (
               SELECT seq, account, object, created, coalesce(state = 5 AND reason LIKE 'thin event%', 0) AS thin,
                 EXISTS (SELECT 1 FROM payouts p WHERE p.livemode = e.livemode AND p.id = e.object AND p.ambiguous = 1)
                   AS tie
               FROM events e WHERE seq > ?1 AND seq <= ?2 AND livemode = ?3 AND id NOT GLOB 'fetched_*')
             WHERE ?4 OR thin OR tie ORDER BY seq",
        )?;
        let rows = statement.query_map(params![seq, last, self.live, all], |row| {
            Ok(Came {
                account: row.get(0)?,
                object: row.get(1)?,
                created: row.get(2)?,
                thin: row.get(3)?,
                tie: row.get(4)?,
            })
        })?;
        Ok((Some(last), rows.collect::<Result<_, _>>()?))
    }

    /// An owner's payouts that can still change: pending, in transit, or paid with news since `since_ms`.
    pub fn open_payouts(&self, owner: &Owner, since_ms: i64) -> Result<Vec<Known>, StoreError> {
        let conn = self.conn();
        let mut statement = conn.prepare_cached(
            "SELECT id, account, status, amount, currency FROM payouts
             WHERE livemode = ?1 AND account = ?2
               AND (status IN ('pending', 'in_transit') OR (status = 'paid' AND last_ms >= ?3))",
        )?;
        let rows = statement.query_map(params![self.live, owner.as_str(), since_ms], payout)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What we have of a payout or transfer.
    pub fn known(&self, id: &str) -> Result<Option<Known>, StoreError> {
        let conn = self.conn();
        if id.starts_with("po_") {
            let sql = "SELECT id, account, status, amount, currency FROM payouts WHERE livemode = ?1 AND id = ?2";
            return Ok(conn.prepare_cached(sql)?.query_row(params![self.live, id], payout).optional()?);
        }
        // A transfer's rank is the part reversed so far.
        let sql = "SELECT account, amount, rank, currency FROM events
                   WHERE object = ?2 AND object <> '' AND livemode = ?1 AND amount IS NOT NULL AND currency IS NOT NULL
                   ORDER BY rank DESC LIMIT 1";
        let found = conn.prepare_cached(sql)?.query_row(params![self.live, id], |row| {
            Ok(Known {
                id: id.to_owned(),
                account: row.get(0)?,
                status: None,
                amount: row.get(1)?,
                reversed: row.get(2)?,
                currency: row.get(3)?,
            })
        });
        Ok(found.optional()?)
    }

    /// Whether an event of this object came since `since_ms`.
    pub fn moved_since(&self, object: &str, since_ms: i64) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE object = ?1 AND object <> '' AND first_ms >= ?2)";
        Ok(self.conn().prepare_cached(sql)?.query_row(params![object, since_ms], |row| row.get(0))?)
    }

    /// When the newest event of an owner came, unix milliseconds.
    pub fn last_arrival_ms(&self, owner: &Owner) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT first_ms FROM events WHERE account = ?1 ORDER BY seq DESC LIMIT 1";
        Ok(self.conn().prepare_cached(sql)?.query_row(params![owner.as_str()], |row| row.get(0)).optional()?)
    }

    /// An owner's balances.
    pub fn balances(&self, owner: &Owner) -> Result<Vec<OurBalance>, StoreError> {
        let conn = self.conn();
        let mut statement = conn.prepare_cached(
            "SELECT currency, funds + claims + waiting, opened FROM balances WHERE livemode = ?1 AND account = ?2",
        )?;
        let rows = statement.query_map(params![self.live, owner.as_str()], |row| {
            Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?))
        })?;
        let mut balances = Vec::new();
        for row in rows {
            let (code, projected, opened) = row?;
            let currency = Currency::parse(&code).map_err(StoreError::damaged)?;
            balances.push(OurBalance { account: (owner.clone(), currency), projected, opened });
        }
        Ok(balances)
    }

    /// How many balances lack money for an event that was tried at least twice, and were never opened (R8).
    pub fn unopened(&self) -> Result<i64, StoreError> {
        let sql = "SELECT count(*) FROM balances b WHERE livemode = ?1 AND opened = 0 AND competing > 0
                   AND EXISTS (SELECT 1 FROM events e WHERE e.livemode = b.livemode AND e.needs_account = b.account
                     AND e.needs_currency = b.currency AND e.state IN (1, 2) AND e.attempts >= 2)";
        Ok(self.conn().prepare_cached(sql)?.query_row(params![self.live], |row| row.get(0))?)
    }

    /// [`findings::record`].
    pub fn record(
        &self,
        owner: &Owner,
        found: &[Finding],
        fresh: &dyn Fn(&str) -> bool,
        now_ms: i64,
    ) -> Result<Recorded, StoreError> {
        let accounts = [owner.to_string()];
        Ok(findings::record(&mut self.conn(), self.live, &accounts, found, fresh, now_ms)?)
    }

    /// [`findings::history`].
    pub fn findings(&self, limit: usize) -> Result<Vec<FindingRow>, StoreError> {
        Ok(findings::history(&self.conn(), self.live, limit)?)
    }

    /// [`alerts::scan`].
    pub fn scan_alerts(&self, now_ms: i64, grace_days: Option<i64>) -> Result<usize, StoreError> {
        Ok(alerts::scan(&mut self.conn(), Scan { live: self.live, now_ms, grace_days })?)
    }

    /// Raises an alert while `on`, clears it otherwise.
    pub fn set_alert(&self, alert: &Alert, on: bool, now_ms: i64) -> Result<(), StoreError> {
        let conn = self.conn();
        if on {
            alerts::raise(&conn, self.live, alert, now_ms)?;
        } else {
            alerts::clear(&conn, self.live, alert.kind, &alert.account, &alert.object, now_ms)?;
        }
        Ok(())
    }

    /// Clears the alerts of a kind and account whose object is not in `still`.
    pub fn clear_others(
        &self,
        kind: AlertKind,
        account: &str,
        still: &[String],
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let conn = self.conn();
        for row in alerts::list(&conn, self.live, 10_000)? {
            let a = &row.alert;
            if a.kind == kind && a.account == account && row.cleared_ms.is_none() && !still.contains(&a.object) {
                alerts::clear(&conn, self.live, kind, account, &a.object, now_ms)?;
            }
        }
        Ok(())
    }

    /// [`alerts::list`].
    pub fn alerts(&self, limit: usize) -> Result<Vec<AlertRow>, StoreError> {
        Ok(alerts::list(&self.conn(), self.live, limit)?)
    }

    /// [`alerts::acknowledge`].
    pub fn acknowledge(&self, id: i64, who: &str, now_ms: i64) -> Result<bool, StoreError> {
        Ok(alerts::acknowledge(&mut self.conn(), id, who, now_ms)?)
    }

    /// [`alerts::unseen`].
    pub fn unseen_alerts(&self) -> Result<i64, StoreError> {
        Ok(alerts::unseen(&self.conn(), self.live)?)
    }

    /// Open findings.
    pub fn open_findings(&self) -> Result<usize, StoreError> {
        Ok(findings::open(&self.conn(), self.live)?.len())
    }

    /// [`alerts::next_unposted`].
    pub fn next_unposted(&self) -> Result<Option<AlertRow>, StoreError> {
        Ok(alerts::next_unposted(&self.conn())?)
    }

    /// [`alerts::mark_posted`].
    pub fn mark_posted(&self, id: i64, now_ms: i64) -> Result<(), StoreError> {
        Ok(alerts::mark_posted(&self.conn(), id, now_ms)?)
    }
}

fn payout(row: &rusqlite::Row<'_>) -> rusqlite::Result<Known> {
    Ok(Known {
        id: row.get(0)?,
        account: row.get(1)?,
        status: row.get(2)?,
        amount: row.get(3)?,
        reversed: 0,
        currency: row.get(4)?,
    })
}
