//! The audit: every invariant from the raw tables, and a replay of the events in Stripe's order.

mod replay;
mod tables;
mod transfers;

use std::path::Path;

use rusqlite::Connection;

use super::error::StoreError;
use super::schema;

/// What an audit found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// Events looked at.
    pub events: i64,
    /// Legs in the journal.
    pub legs: i64,
    /// One line for each broken invariant.
    pub broken: Vec<String>,
    /// Where the answer depends on the order of arrival: money covers one and the rest never came (R5).
    pub depends: Vec<String>,
}

/// Lines of one kind at the most; the rest is counted.
const NAMED: usize = 20;

impl Audit {
    /// Audits a database in one read transaction, so that a running daemon does not disturb it.
    pub fn of(path: &Path, live: bool) -> Result<Self, StoreError> {
        let conn = schema::open_read_only(path)?;
        conn.execute_batch("BEGIN")?;
        let mut audit = Self {
            events: conn.query_row("SELECT count(*) FROM events", [], |r| r.get(0))?,
            legs: conn.query_row("SELECT count(*) FROM journal", [], |r| r.get(0))?,
            ..Self::default()
        };
        tables::check(&conn, &mut audit)?;
        transfers::check(&conn, &mut audit)?;
        replay::check(&conn, live, &mut audit)?;
        Ok(audit)
    }

    /// Runs a query whose every row is a line about something broken.
    fn rows(&mut self, conn: &Connection, what: &str, sql: &str) -> Result<(), StoreError> {
        let mut statement = conn.prepare(sql)?;
        let lines: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        self.lines(what, lines);
        Ok(())
    }

    fn lines(&mut self, what: &str, lines: Vec<String>) {
        let rest = lines.len().saturating_sub(NAMED);
        self.broken.extend(lines.into_iter().take(NAMED).map(|line| format!("{what}: {line}")));
        if rest > 0 {
            self.broken.push(format!("{what}: and {rest} more"));
        }
    }
}
