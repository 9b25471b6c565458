//! The rules' storage port on SQLite: one transaction of the writer, one mode.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::cache::{Cache, Open, account};
use super::counters;
use super::error::StoreError;
use super::legs;
use crate::domain::book::{Blocked, Book, PayoutRecord};
use crate::domain::details::{Details, SnapshotKey};
use crate::domain::guard::{self, Account, Balance, Needs};
use crate::domain::leg::{Leg, Posted, Side};
use crate::domain::outcome::{Outcome, State};
use crate::domain::payout::Status;
use crate::domain::retry::MAX_ATTEMPTS;

/// A book over one open transaction.
pub(super) struct SqlBook<'a> {
    pub conn: &'a Connection,
    pub cache: &'a mut Cache,
    pub live: bool,
    /// The event being looked at; 0 during a sweep.
    pub seq: i64,
    /// Whether that event is new, so that its payout counts it.
    pub fresh: bool,
    /// Whether its payout was saved and so has counted it.
    pub counted: bool,
    pub now_ms: i64,
}

impl SqlBook<'_> {
    fn load(&self, seq: i64) -> Result<Option<Blocked>, StoreError> {
        let mut statement = self.conn.prepare_cached(
            "SELECT object, rank, created, id, type, attempts, next_ms, needs_account, needs_currency, needs_amount,
                    needs_debit
             FROM events WHERE seq = ?1 AND livemode = ?2 AND state IN (1, 2) AND needs_account IS NOT NULL",
        )?;
        let mut rows = statement.query(params![seq, self.live])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(Blocked {
            seq,
            object: row.get(0)?,
            key: SnapshotKey { rank: row.get(1)?, created: row.get(2)?, event: row.get(3)? },
            payout: row.get::<_, String>(4)?.starts_with("payout."),
            attempts: row.get(5)?,
            next_ms: row.get(6)?,
            needs: Needs {
                account: account(row.get(7)?, &row.get::<_, String>(8)?)?,
                lacking: row.get(9)?,
                debit: row.get(10)?,
            },
            legs: legs::pending(self.conn, seq)?,
        }))
    }

    /// Adds a blocked row's net to the figures of the balances it touches; `sign` -1 takes it away.
    fn weigh(&mut self, legs: &[Leg], sign: i64) -> Result<(), StoreError> {
        for (account, change) in guard::net(legs).map_err(StoreError::damaged)? {
            let entry = self.cache.change(self.conn, self.live, &account)?;
            entry.waiting = entry.waiting.saturating_add(sign.saturating_mul(change.total()));
            if change.total() < 0 {
                entry.competing += sign;
            }
        }
        Ok(())
    }

    /// Writes an outcome to an inbox row, if it is stored already. The effect is added to what it did before.
    pub fn write(&mut self, seq: i64, outcome: &Outcome, now_ms: i64) -> Result<(), StoreError> {
        let needs = outcome.needs.as_ref();
        let mut statement = self.conn.prepare_cached(
            "UPDATE events SET state = ?2, reason = ?3, effect = CASE
                 WHEN ?4 IS NULL THEN effect WHEN effect IS NULL OR instr(effect, ?4) > 0 THEN ?4
                 ELSE effect || '; ' || ?4 END,
               attempts = ?5, next_ms = ?6, needs_account = ?7, needs_currency = ?8, needs_amount = ?9,
               needs_debit = ?10, settled_ms = ?11 WHERE seq = ?1",
        )?;
        statement.execute(params![
            seq,
            outcome.state.code(),
            outcome.reason,
            outcome.effect,
            outcome.attempts,
            outcome.next_ms,
            needs.map(|n| n.account.0.as_str()),
            needs.map(|n| n.account.1.as_str().to_owned()),
            needs.map(|n| n.lacking),
            needs.map(|n| n.debit),
            now_ms
        ])?;
        Ok(())
    }
}

impl Book for SqlBook<'_> {
    type Error = StoreError;

    fn payout(&mut self, id: &str) -> Result<Option<PayoutRecord>, StoreError> {
        let mut statement = self.conn.prepare_cached(
            "SELECT account, amount, currency, status, debit, posted, ambiguous, details, details_created, details_event,
                    details_rank
             FROM payouts WHERE livemode = ?1 AND id = ?2",
        )?;
        let mut rows = statement.query(params![self.live, id])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let (owner, currency) = account(row.get(0)?, &row.get::<_, String>(2)?)?;
        let word: String = row.get(3)?;
        let status = Status::parse(&word).ok_or_else(|| StoreError::damaged(format!("payout status {word:?}")))?;
        let key = SnapshotKey { rank: row.get(10)?, created: row.get(8)?, event: row.get(9)? };
        Ok(Some(PayoutRecord {
            id: id.to_owned(),
            owner,
            amount: row.get(1)?,
            currency,
            status,
            debit: row.get(4)?,
            posted: row.get(5)?,
            ambiguous: row.get(6)?,
            details: Details::stored(&row.get::<_, String>(7)?),
            details_key: key,
        }))
    }

    fn save_payout(&mut self, payout: &PayoutRecord, before: Option<&PayoutRecord>) -> Result<(), StoreError> {
        let account = (payout.owner.clone(), payout.currency);
        if before.map(|b| b.status) != Some(payout.status) {
            if let Some(before) = before {
                self.cache.count(self.live, counters::payout(before.status), -1);
            }
            self.cache.count(self.live, counters::payout(payout.status), 1);
            let entry = self.cache.change(self.conn, self.live, &account)?;
            if let Some(before) = before {
                let figure = entry.position(before.status);
                *figure = figure.saturating_sub(before.amount);
            }
            let figure = entry.position(payout.status);
            *figure = figure.saturating_add(payout.amount);
        }
        let counts = i64::from(self.fresh && !self.counted);
        self.counted = true;
        let sql = if before.is_none() {
            "INSERT INTO payouts (livemode, id, account, amount, currency, status, debit, posted, ambiguous, details,
               details_rank, details_created, details_event, arrival_date, failure_code, last_seq, last_ms, events)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
               ?18 + (SELECT count(*) FROM events WHERE object = ?2 AND object <> '' AND livemode = ?1 AND type GLOB 'payout.*'))"
        } else {
            "UPDATE payouts SET account = ?3, amount = ?4, currency = ?5, status = ?6, debit = ?7, posted = ?8,
               ambiguous = ?9, details = ?10, details_rank = ?11, details_created = ?12, details_event = ?13,
               arrival_date = ?14, failure_code = ?15, last_seq = max(last_seq, ?16), last_ms = max(last_ms, ?17),
               events = events + ?18
             WHERE livemode = ?1 AND id = ?2"
        };
        self.conn.prepare_cached(sql)?.execute(params![
            self.live,
            payout.id,
            payout.owner.as_str(),
            payout.amount,
            payout.currency.as_str(),
            payout.status.as_str(),
            payout.debit,
            payout.posted,
            payout.ambiguous,
            payout.details.to_json(),
            payout.details_key.rank,
            payout.details_key.created,
            payout.details_key.event,
            payout.details.arrival_date().unwrap_or(0),
            payout.details.get("failure_code"),
            self.seq,
            self.now_ms,
            counts
        ])?;
        Ok(())
    }

    fn mark_posted(&mut self, id: &str) -> Result<(), StoreError> {
        let sql = "UPDATE payouts SET posted = 1 WHERE livemode = ?1 AND id = ?2";
        self.conn.prepare_cached(sql)?.execute(params![self.live, id])?;
        Ok(())
    }

    fn balance(&mut self, account: &Account) -> Result<Balance, StoreError> {
        Ok(self.cache.balance(self.conn, self.live, account)?.map(|e| e.balance).unwrap_or_default())
    }

    fn posted(&mut self, object: &str) -> Result<Vec<Posted>, StoreError> {
        let sql = "SELECT leg, upto, amount FROM journal WHERE livemode = ?1 AND object = ?2";
        let mut statement = self.conn.prepare_cached(sql)?;
        let read = |row: &Row<'_>| Ok(Posted { name: row.get(0)?, upto: row.get(1)?, amount: row.get(2)? });
        Ok(statement.query_map(params![self.live, object], read)?.collect::<Result<_, _>>()?)
    }

    fn post(&mut self, event: Option<i64>, object: &str, legs: &[Leg], now_ms: i64) -> Result<(), StoreError> {
        for leg in legs {
            let mut keys = [None, None];
            for (key, (side, amount)) in keys.iter_mut().zip([(&leg.from, -leg.amount), (&leg.to, leg.amount)]) {
                let Some(owner) = side.owner() else { continue };
                let entry = self.cache.change(self.conn, self.live, &(owner.clone(), leg.currency))?;
                let change = match side {
                    Side::Claims(_) => Balance { funds: 0, claims: amount },
                    _ => Balance { funds: amount, claims: 0 },
                };
                entry.balance = entry
                    .balance
                    .plus(change)
                    .ok_or_else(|| StoreError::damaged("a balance would leave 64 bits".to_owned()))?;
                entry.opened |= leg.name == "opening";
                *key = Some(entry.key);
            }
            let mut statement = self.conn.prepare_cached(
                "INSERT INTO journal (livemode, object, leg, upto, event, debit, debit_class, credit, credit_class,
                   amount, currency, posted_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?;
            statement.execute(params![
                self.live,
                object,
                leg.name,
                leg.upto,
                event,
                keys[0],
                legs::class_code(&leg.from),
                keys[1],
                legs::class_code(&leg.to),
                leg.amount,
                leg.currency.as_str(),
                now_ms
            ])?;
        }
        Ok(())
    }

    fn is_wanted(&mut self, account: &Account) -> Result<bool, StoreError> {
        if self.cache.open.is_empty() {
            return Ok(false);
        }
        Ok(self.cache.balance(self.conn, self.live, account)?.is_some_and(|e| e.competing > 0))
    }

    fn blocked(&mut self, object: &str) -> Result<Option<Blocked>, StoreError> {
        match self.cache.open.get(object) {
            Some(open) => self.load(open.seq),
            None => Ok(None),
        }
    }

    fn block(&mut self, row: &Blocked, outcome: &Outcome, failed: bool, now_ms: i64) -> Result<(), StoreError> {
        let before = self.cache.open.get(&row.object).filter(|open| open.seq == row.seq).map(|open| open.state);
        match before {
            None => {
                legs::store_pending(self.conn, row.seq, &row.legs)?;
                self.weigh(&row.legs, 1)?;
            }
            Some(state) => {
                self.cache.count(self.live, counters::event(state), -1);
                self.cache.count(self.live, counters::event(outcome.state), 1);
            }
        }
        let open = Open { seq: row.seq, state: outcome.state, needs: row.needs.account.clone() };
        self.cache.opened(row.object.clone(), open);
        if failed {
            let sql = "INSERT INTO tries (seq, at_ms) VALUES (?1, ?2)";
            self.conn.prepare_cached(sql)?.execute(params![row.seq, now_ms])?;
        }
        self.write(row.seq, outcome, now_ms)
    }

    fn unblock(&mut self, row: &Blocked, outcome: &Outcome, now_ms: i64) -> Result<(), StoreError> {
        legs::forget_pending(self.conn, row.seq)?;
        self.weigh(&row.legs, -1)?;
        if let Some(open) = self.cache.closed(&row.object) {
            self.cache.count(self.live, counters::event(open.state), -1);
            self.cache.count(self.live, counters::event(outcome.state), 1);
        }
        let attempts = if outcome.state == State::Skipped { row.attempts } else { outcome.attempts };
        self.write(row.seq, &Outcome { attempts, ..outcome.clone() }, now_ms)
    }

    fn next_covered(&mut self, account: &Account, strict: i64, released: i64) -> Result<Option<Blocked>, StoreError> {
        if !self.cache.needs.contains_key(account) {
            return Ok(None);
        }
        let mut statement = self.conn.prepare_cached(
            "SELECT seq FROM events
             WHERE state IN (1, 2) AND livemode = ?1 AND needs_account = ?2 AND needs_currency = ?3
               AND needs_debit <= ?6 AND needs_debit <= iif(attempts < ?4, ?5, ?7)
             ORDER BY created, seq LIMIT 1",
        )?;
        let (owner, currency) = (account.0.as_str(), account.1);
        let most = strict.max(released);
        let values = params![self.live, owner, currency.as_str(), MAX_ATTEMPTS, strict, most, released];
        match statement.query_row(values, |row| row.get(0)).optional()? {
            Some(seq) => self.load(seq),
            None => Ok(None),
        }
    }

    fn due(&mut self, now_ms: i64) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT seq FROM events WHERE state = 1 AND livemode = ?1 AND next_ms <= ?2 ORDER BY created, seq";
        let mut statement = self.conn.prepare_cached(sql)?;
        Ok(statement.query_map(params![self.live, now_ms], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    fn blocked_row(&mut self, seq: i64) -> Result<Option<Blocked>, StoreError> {
        self.load(seq)
    }

    fn all_blocked(&mut self) -> Result<Vec<Blocked>, StoreError> {
        let mut seqs: Vec<i64> = self.cache.open.values().map(|open| open.seq).collect();
        seqs.sort_unstable();
        let mut rows = Vec::with_capacity(seqs.len());
        for seq in seqs {
            rows.extend(self.load(seq)?);
        }
        Ok(rows)
    }
}
