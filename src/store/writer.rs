//! The one writer: stores what came in and applies it in the same transaction (R1, R2), sweeps, and lets a person act.
//!
//! Many events share a commit. If one of them cannot be applied, the group is rolled back and played again with a
//! savepoint for each, so that the others lose nothing.

use rusqlite::{Connection, params};

use super::book::SqlBook;
use super::cache::Cache;
use super::counters;
use super::error::StoreError;
use crate::domain::engine::Engine;
use crate::domain::event::{Content, Event, NotAnEvent};
use crate::domain::outcome::{Outcome, State};
use crate::domain::retry::Profile;

/// One delivery on its way into the inbox.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The bytes as they were signed.
    pub body: Vec<u8>,
    /// What they say.
    pub event: Result<Event, NotAnEvent>,
    /// When they came, unix milliseconds.
    pub received_ms: i64,
}

impl Arrival {
    /// Reads a body.
    pub fn new(body: Vec<u8>, received_ms: i64) -> Self {
        let event = crate::domain::event::parse(&body);
        Self { body, event, received_ms }
    }
}

/// What became of a delivery. Everything but `Refused` is a promise: it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A new event.
    Stored {
        /// Its arrival number.
        seq: i64,
    },
    /// An event that is known already: counted.
    Repeat {
        /// Its arrival number.
        seq: i64,
    },
    /// No event at all; nothing stored. The text says why.
    Refused(&'static str),
}

/// The one write connection with its memory.
pub struct Writer {
    conn: Connection,
    engine: Engine,
    cache: Cache,
    /// The database's version for other connections' writes, when the cache was right.
    version: i64,
    stale: bool,
    next_seq: i64,
}

impl Writer {
    /// Takes over an open connection of this schema.
    pub fn new(conn: Connection, live: bool, profile: Profile) -> Result<Self, StoreError> {
        conn.set_prepared_statement_cache_capacity(128);
        let engine = Engine::new(live, profile);
        let mut writer = Self { conn, engine, cache: Cache::default(), version: -1, stale: true, next_seq: 0 };
        writer.transact(|_, _| Ok(()))?;
        Ok(writer)
    }

    /// Which mode's events it takes (R10).
    pub fn is_live(&self) -> bool {
        self.engine.live
    }

    /// The connection, for the checkpoints.
    pub fn connection(&self) -> &Connection {
        &self.conn
    }

    /// Stores and applies deliveries, all in one commit. After `Ok` every answer holds; after `Err` nothing was stored.
    pub fn ingest(&mut self, batch: &[Arrival]) -> Result<Vec<Answer>, StoreError> {
        let whole = self.transact(|engine, inbox| batch.iter().map(|arrival| inbox.take(engine, arrival)).collect());
        match whole {
            Err(error) if error.concerns_one_event() => self.ingest_one_by_one(batch),
            other => other,
        }
    }

    /// The careful way: a savepoint each. An event that cannot be applied is stored as received, with the reason.
    fn ingest_one_by_one(&mut self, batch: &[Arrival]) -> Result<Vec<Answer>, StoreError> {
        self.transact(|engine, inbox| {
            let mut answers = Vec::with_capacity(batch.len());
            for arrival in batch {
                inbox.conn.execute_batch("SAVEPOINT one")?;
                let answer =
                    inbox.take(engine, arrival).and_then(|answer| inbox.cache.flush(inbox.conn).map(|()| answer));
                let answer = match answer {
                    Ok(answer) => answer,
                    Err(error) if error.concerns_one_event() => {
                        inbox.conn.execute_batch("ROLLBACK TO one")?;
                        *inbox.cache = Cache::load(inbox.conn, inbox.live)?;
                        tracing::error!(%error, "an event could not be applied; it is stored as received");
                        inbox.keep(arrival, &format!("could not be applied: {error}"))?
                    }
                    Err(error) => return Err(error),
                };
                inbox.conn.execute_batch("RELEASE one")?;
                answers.push(answer);
            }
            Ok(answers)
        })
    }

    /// R5's sweep. Returns whether anything was posted.
    pub fn sweep(&mut self, now_ms: i64) -> Result<bool, StoreError> {
        self.transact(|engine, inbox| {
            let moved = inbox.look_at_received(engine, now_ms)?;
            Ok(engine.sweep(&mut inbox.book(0, false, now_ms), now_ms)? || moved)
        })
    }

    /// Whether a sweep at `now_ms` has something to do. Cheap: asked on every tick.
    pub fn is_due(&self, now_ms: i64) -> Result<bool, StoreError> {
        if self.engine.is_joint_due() && self.cache.open.len() > 1 {
            return Ok(true);
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE state = 1 AND next_ms <= ?1)
                       OR EXISTS (SELECT 1 FROM events WHERE state = 0)";
        Ok(self.conn.prepare_cached(sql)?.query_row(params![now_ms], |row| row.get(0))?)
    }

    /// Runs one transaction. Whatever fails rolls back whole, memory included.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&mut Engine, &mut Inbox<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        let done = self.work_inside(work);
        if done.is_err() {
            self.stale = true;
            self.engine.joint_again();
            if !self.conn.is_autocommit() {
                self.conn.execute_batch("ROLLBACK")?;
            }
        }
        done
    }

    fn work_inside<T>(
        &mut self,
        work: impl FnOnce(&mut Engine, &mut Inbox<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let version: i64 = self.conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if self.stale || version != self.version {
            self.cache = Cache::load(&self.conn, self.engine.live)?;
            self.next_seq = self
                .conn
                .prepare_cached("SELECT coalesce(max(seq), 0) + 1 FROM events")?
                .query_row([], |row| row.get(0))?;
            self.version = version;
            self.stale = false;
            self.engine.joint_again();
        }
        let mut inbox =
            Inbox { conn: &self.conn, cache: &mut self.cache, live: self.engine.live, next_seq: &mut self.next_seq };
        let done = work(&mut self.engine, &mut inbox)?;
        self.cache.flush(&self.conn)?;
        self.conn.execute_batch("COMMIT")?;
        Ok(done)
    }

    /// Runs a transaction and takes it back: what would happen.
    pub(super) fn rehearse<T>(
        &mut self,
        work: impl FnOnce(&mut Engine, &mut Inbox<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut seen = None;
        let done = self.transact(|engine, inbox| {
            seen = Some(work(engine, inbox)?);
            Err::<(), _>(StoreError::Rehearsed)
        });
        match (done, seen) {
            (Err(StoreError::Rehearsed), Some(seen)) => Ok(seen),
            (Err(error), _) => Err(error),
            (Ok(()), _) => Err(StoreError::Rehearsed),
        }
    }
}

/// The inbox inside one transaction.
pub(super) struct Inbox<'a> {
    pub conn: &'a Connection,
    pub cache: &'a mut Cache,
    pub live: bool,
    next_seq: &'a mut i64,
}

impl Inbox<'_> {
    /// The rules' view of this transaction while it looks at event `seq`.
    pub fn book(&mut self, seq: i64, fresh: bool, now_ms: i64) -> SqlBook<'_> {
        SqlBook { conn: self.conn, cache: self.cache, live: self.live, seq, fresh, counted: false, now_ms }
    }

    fn take(&mut self, engine: &mut Engine, arrival: &Arrival) -> Result<Answer, StoreError> {
        let event = match &arrival.event {
            Ok(event) => event,
            Err(NotAnEvent(why)) => return Ok(Answer::Refused(why)),
        };
        let now_ms = arrival.received_ms;
        if let Some(seq) = self.repeated(&event.id, now_ms)? {
            return Ok(Answer::Repeat { seq });
        }
        let seq = *self.next_seq;
        let mut book = self.book(seq, true, now_ms);
        let outcome = engine.receive(&mut book, seq, event, now_ms)?;
        let counted = book.counted;
        self.insert(seq, event, &arrival.body, &outcome, now_ms)?;
        if !counted && event.kind.starts_with("payout.") {
            let sql = "UPDATE payouts SET events = events + 1, last_seq = ?3, last_ms = max(last_ms, ?4)
                       WHERE livemode = ?1 AND id = ?2";
            let live = event.livemode.unwrap_or(self.live);
            self.conn.prepare_cached(sql)?.execute(params![live, event.object, seq, now_ms])?;
        }
        Ok(Answer::Stored { seq })
    }

    /// Stores an event that could not be looked at.
    fn keep(&mut self, arrival: &Arrival, reason: &str) -> Result<Answer, StoreError> {
        let event = match &arrival.event {
            Ok(event) => event,
            Err(NotAnEvent(why)) => return Ok(Answer::Refused(why)),
        };
        let seq = *self.next_seq;
        let outcome = Outcome::settled(State::Received, Some(reason.to_owned()), None);
        self.insert(seq, event, &arrival.body, &outcome, arrival.received_ms)?;
        Ok(Answer::Stored { seq })
    }

    /// R1: a repeated id counts a delivery and changes nothing else, even with other bytes.
    fn repeated(&self, id: &str, now_ms: i64) -> Result<Option<i64>, StoreError> {
        let mut statement = self.conn.prepare_cached("SELECT seq FROM events WHERE id = ?1")?;
        let mut rows = statement.query(params![id])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let seq: i64 = row.get(0)?;
        let sql = "UPDATE events SET deliveries = deliveries + 1, last_ms = max(last_ms, ?2) WHERE seq = ?1";
        self.conn.prepare_cached(sql)?.execute(params![seq, now_ms])?;
        Ok(Some(seq))
    }

    fn insert(
        &mut self,
        seq: i64,
        event: &Event,
        body: &[u8],
        outcome: &Outcome,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let live = event.livemode.unwrap_or(self.live);
        let snapshot = match &event.content {
            Content::Snapshot(snapshot) => Some(snapshot),
            _ => None,
        };
        let needs = outcome.needs.as_ref();
        let mut statement = self.conn.prepare_cached(
            "INSERT INTO events (seq, id, livemode, type, account, object, rank, status, amount, currency, created,
               first_ms, last_ms, state, reason, attempts, next_ms, needs_account, needs_currency, needs_amount,
               needs_debit, effect, settled_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
               ?12)",
        )?;
        statement.execute(params![
            seq,
            event.id,
            live,
            event.kind,
            event.account,
            event.object,
            snapshot.map_or(0, |s| s.rank),
            snapshot.and_then(|s| s.status.as_deref()),
            snapshot.map(|s| s.amount),
            snapshot.map(|s| s.currency.as_str().to_owned()),
            event.created,
            now_ms,
            outcome.state.code(),
            outcome.reason,
            outcome.attempts,
            outcome.next_ms,
            needs.map(|n| n.account.0.as_str()),
            needs.map(|n| n.account.1.as_str().to_owned()),
            needs.map(|n| n.lacking),
            needs.map(|n| n.debit),
            outcome.effect
        ])?;
        let sql = "INSERT INTO payloads (seq, body) VALUES (?1, ?2)";
        self.conn.prepare_cached(sql)?.execute(params![seq, body])?;
        self.cache.count(live, counters::event(outcome.state), 1);
        *self.next_seq = seq + 1;
        Ok(())
    }

    /// Looks at rows that were only stored.
    fn look_at_received(&mut self, engine: &mut Engine, now_ms: i64) -> Result<bool, StoreError> {
        let sql = "SELECT seq FROM events WHERE state = 0 AND livemode = ?1 ORDER BY seq LIMIT 1000";
        let mut statement = self.conn.prepare_cached(sql)?;
        let seqs: Vec<i64> = statement.query_map(params![self.live], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for seq in &seqs {
            self.conn.execute_batch("SAVEPOINT look")?;
            let looked = self.look_again(engine, *seq, now_ms).and_then(|_| self.cache.flush(self.conn));
            if let Err(error) = looked {
                if !error.concerns_one_event() {
                    return Err(error);
                }
                self.conn.execute_batch("ROLLBACK TO look")?;
                *self.cache = Cache::load(self.conn, self.live)?;
            }
            self.conn.execute_batch("RELEASE look")?;
        }
        Ok(!seqs.is_empty())
    }

    /// Looks at a stored event again, from its body. `None` when its body was pruned.
    pub fn look_again(&mut self, engine: &mut Engine, seq: i64, now_ms: i64) -> Result<Option<Outcome>, StoreError> {
        let sql = "SELECT p.body, e.state FROM payloads p JOIN events e USING (seq) WHERE seq = ?1";
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params![seq])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let before = State::from_code(row.get(1)?).unwrap_or(State::Received);
        let Ok(event) = crate::domain::event::parse(&row.get::<_, Vec<u8>>(0)?) else { return Ok(None) };
        let mut book = self.book(seq, false, now_ms);
        let outcome = engine.receive(&mut book, seq, &event, now_ms)?;
        book.write(seq, &outcome, now_ms)?;
        self.recount(before, outcome.state);
        Ok(Some(outcome))
    }

    /// Moves a row that was not open from one count to another.
    pub fn recount(&mut self, before: State, after: State) {
        self.cache.count(self.live, counters::event(before), -1);
        self.cache.count(self.live, counters::event(after), 1);
    }
}
