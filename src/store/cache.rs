//! What the writer keeps in memory between transactions: balances, open rows, and figures that are written at commit.
//!
//! Only the writer changes these tables, so the cache is right until somebody else writes; then it is dropped.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::error::StoreError;
use crate::domain::guard::{Account, Balance};
use crate::domain::money::Currency;
use crate::domain::outcome::State;
use crate::domain::owner::Owner;
use crate::domain::payout::Status;

/// A balance row in memory.
#[derive(Debug, Clone, Default)]
pub(super) struct BalanceEntry {
    pub key: i64,
    pub balance: Balance,
    pub waiting: i64,
    pub competing: i64,
    pub in_flight: i64,
    pub paid_out: i64,
    pub returned: i64,
    pub opened: bool,
    dirty: bool,
}

impl BalanceEntry {
    /// The figure that a payout of this status counts in.
    pub fn position(&mut self, status: Status) -> &mut i64 {
        match status {
            Status::Pending | Status::InTransit => &mut self.in_flight,
            Status::Paid => &mut self.paid_out,
            Status::Failed | Status::Canceled => &mut self.returned,
        }
    }
}

/// An open row: waiting, or stuck for funds.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub seq: i64,
    pub state: State,
    pub needs: Account,
}

/// The writer's memory of one mode.
#[derive(Debug, Default)]
pub(super) struct Cache {
    balances: HashMap<Account, BalanceEntry>,
    /// By object id.
    pub open: HashMap<String, Open>,
    /// How many open rows recorded their need on each account.
    pub needs: HashMap<Account, i64>,
    counters: HashMap<(bool, &'static str), i64>,
}

impl Cache {
    /// Reads the open rows of a mode.
    pub fn load(conn: &Connection, live: bool) -> Result<Self, StoreError> {
        let mut cache = Self::default();
        let mut statement = conn.prepare_cached(
            "SELECT object, seq, state, needs_account, needs_currency FROM events
             WHERE state IN (1, 2) AND livemode = ?1 AND needs_account IS NOT NULL",
        )?;
        let mut rows = statement.query(params![live])?;
        while let Some(row) = rows.next()? {
            let state = State::from_code(row.get(2)?).unwrap_or(State::Stuck);
            let needs = account(row.get(3)?, &row.get::<_, String>(4)?)?;
            cache.opened(row.get(0)?, Open { seq: row.get(1)?, state, needs });
        }
        Ok(cache)
    }

    /// Remembers an open row.
    pub fn opened(&mut self, object: String, open: Open) {
        *self.needs.entry(open.needs.clone()).or_default() += 1;
        if let Some(before) = self.open.insert(object, open) {
            self.released(&before.needs);
        }
    }

    /// Forgets an open row.
    pub fn closed(&mut self, object: &str) -> Option<Open> {
        let open = self.open.remove(object)?;
        self.released(&open.needs);
        Some(open)
    }

    fn released(&mut self, needs: &Account) {
        if let Some(n) = self.needs.get_mut(needs) {
            *n -= 1;
            if *n <= 0 {
                self.needs.remove(needs);
            }
        }
    }

    /// Counts a row of this name up or down.
    pub fn count(&mut self, live: bool, name: &'static str, by: i64) {
        *self.counters.entry((live, name)).or_default() += by;
    }

    /// A balance to read; `None` when it has no row.
    pub fn balance(
        &mut self,
        conn: &Connection,
        live: bool,
        account: &Account,
    ) -> Result<Option<&BalanceEntry>, StoreError> {
        if !self.balances.contains_key(account)
            && let Some(entry) = read_balance(conn, live, account)?
        {
            self.balances.insert(account.clone(), entry);
        }
        Ok(self.balances.get(account))
    }

    /// A balance to change, created when it has no row.
    pub fn change(
        &mut self,
        conn: &Connection,
        live: bool,
        account: &Account,
    ) -> Result<&mut BalanceEntry, StoreError> {
        if self.balance(conn, live, account)?.is_none() {
            let mut statement = conn.prepare_cached(
                "INSERT INTO balances (livemode, account, currency) VALUES (?1, ?2, ?3) RETURNING key",
            )?;
            let key = statement.query_row(params![live, account.0.as_str(), account.1.as_str()], |row| row.get(0))?;
            self.balances.insert(account.clone(), BalanceEntry { key, ..BalanceEntry::default() });
        }
        let entry = self.balances.entry(account.clone()).or_default();
        entry.dirty = true;
        Ok(entry)
    }

    /// Writes what changed, before a commit. Here the database's own CHECKs see the balances.
    pub fn flush(&mut self, conn: &Connection) -> Result<(), StoreError> {
        let mut statement = conn.prepare_cached(
            "UPDATE balances SET funds = ?2, claims = ?3, waiting = ?4, competing = ?5, in_flight = ?6, paid_out = ?7,
             returned = ?8, opened = ?9 WHERE key = ?1",
        )?;
        for entry in self.balances.values_mut().filter(|e| e.dirty) {
            statement.execute(params![
                entry.key,
                entry.balance.funds,
                entry.balance.claims,
                entry.waiting,
                entry.competing,
                entry.in_flight,
                entry.paid_out,
                entry.returned,
                entry.opened
            ])?;
            entry.dirty = false;
        }
        let mut statement = conn.prepare_cached(
            "INSERT INTO counters (livemode, name, n) VALUES (?1, ?2, ?3)
             ON CONFLICT (livemode, name) DO UPDATE SET n = n + excluded.n",
        )?;
        for ((live, name), by) in self.counters.drain().filter(|(_, by)| *by != 0) {
            statement.execute(params![live, name, by])?;
        }
        Ok(())
    }
}

fn read_balance(conn: &Connection, live: bool, account: &Account) -> Result<Option<BalanceEntry>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT key, funds, claims, waiting, competing, in_flight, paid_out, returned, opened FROM balances
         WHERE livemode = ?1 AND account = ?2 AND currency = ?3",
    )?;
    let mut rows = statement.query(params![live, account.0.as_str(), account.1.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(BalanceEntry {
        key: row.get(0)?,
        balance: Balance { funds: row.get(1)?, claims: row.get(2)? },
        waiting: row.get(3)?,
        competing: row.get(4)?,
        in_flight: row.get(5)?,
        paid_out: row.get(6)?,
        returned: row.get(7)?,
        opened: row.get(8)?,
        dirty: false,
    }))
}

/// An account as it is stored.
pub(super) fn account(owner: String, currency: &str) -> Result<Account, StoreError> {
    let currency = Currency::parse(currency).map_err(StoreError::damaged)?;
    Ok((Owner::stored(owner), currency))
}
