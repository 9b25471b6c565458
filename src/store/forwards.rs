//! What the chaos proxy passed on, and how it was answered.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use super::error::StoreError;
use super::schema;

/// One run of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its number.
    pub id: i64,
    /// Unix milliseconds.
    pub started_ms: i64,
    /// Where deliveries went.
    pub target: String,
    /// Replays the mischief.
    pub seed: String,
    /// The mischief.
    pub settings: String,
}

/// One delivery passed on, or dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Forward {
    /// `evt_…`.
    pub event: String,
    /// The n-th delivery of the run, from 0.
    pub arrival: i64,
    /// 0, or 1 for the double.
    pub copy: i64,
    /// The place in which it was sent, from 0; none when it was dropped.
    pub nth: Option<i64>,
    /// Unix milliseconds.
    pub sent_ms: Option<i64>,
    /// The answer's status; none when there was no answer.
    pub status: Option<u16>,
    /// Milliseconds until the answer.
    pub took_ms: Option<i64>,
    /// The answer's first line, why there was none, what was done to the signature.
    pub note: String,
    /// Stripe's header as it came.
    #[serde(skip)]
    pub signature: Option<String>,
}

impl Forward {
    /// Sent, and not answered with 2xx.
    pub fn has_failed(&self) -> bool {
        self.nth.is_some() && !self.status.is_some_and(|s| (200..300).contains(&s))
    }
}

/// A connection for the proxy: the writer never waits for it.
pub struct Forwards(Connection);

impl Forwards {
    /// Opens the database once more.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let conn = schema::open(path)?;
        // A checkpoint here would hold the writer up.
        conn.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(Self(conn))
    }

    /// Begins a run.
    pub fn begin(&self, started_ms: i64, target: &str, seed: u64, settings: &str) -> Result<i64, StoreError> {
        let sql = "INSERT INTO chaos_runs (started_ms, target, seed, settings) VALUES (?1, ?2, ?3, ?4)";
        self.0.execute(sql, params![started_ms, target, seed.to_string(), settings])?;
        Ok(self.0.last_insert_rowid())
    }

    /// Keeps what became of deliveries, all of them or none.
    pub fn add(&mut self, run: i64, forwards: &[Forward]) -> Result<(), StoreError> {
        let tx = self.0.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut insert = tx.prepare_cached(
                "INSERT INTO forwards (run, event, arrival, copy, nth, sent_ms, status, took_ms, note, signature)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?;
            for f in forwards {
                let values = params![
                    run,
                    f.event,
                    f.arrival,
                    f.copy,
                    f.nth,
                    f.sent_ms,
                    f.status,
                    f.took_ms,
                    f.note,
                    f.signature
                ];
                insert.execute(values)?;
            }
        }
        tx.commit()?;
        Ok(())
    }

    /// A run by its number, or the newest.
    pub fn run(&self, id: Option<i64>) -> Result<Option<Run>, StoreError> {
        let sql = "SELECT id, started_ms, target, seed, settings FROM chaos_runs
                   WHERE ?1 IS NULL OR id = ?1 ORDER BY id DESC LIMIT 1";
        let row = self.0.prepare_cached(sql)?.query_row(params![id], |row| {
            Ok(Run {
                id: row.get(0)?,
                started_ms: row.get(1)?,
                target: row.get(2)?,
                seed: row.get(3)?,
                settings: row.get(4)?,
            })
        });
        Ok(row.optional()?)
    }

    /// What a run did, in the order in which it was sent; what was dropped comes last.
    pub fn of(&self, run: i64) -> Result<Vec<Forward>, StoreError> {
        let sql = "SELECT event, arrival, copy, nth, sent_ms, status, took_ms, note, signature FROM forwards
                   WHERE run = ?1 ORDER BY nth IS NULL, nth, arrival";
        let mut statement = self.0.prepare_cached(sql)?;
        let rows = statement.query_map(params![run], |row| {
            Ok(Forward {
                event: row.get(0)?,
                arrival: row.get(1)?,
                copy: row.get(2)?,
                nth: row.get(3)?,
                sent_ms: row.get(4)?,
                status: row.get(5)?,
                took_ms: row.get(6)?,
                note: row.get(7)?,
                signature: row.get(8)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The body of an event as it was received; none when it was pruned.
    pub fn body(&self, event: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT p.body FROM events e JOIN payloads p ON p.seq = e.seq WHERE e.id = ?1";
        Ok(self.0.prepare_cached(sql)?.query_row(params![event], |row| row.get(0)).optional()?)
    }
}
