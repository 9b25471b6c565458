//! A ledger with its writer and the Stripe side's own connection, in a folder of its own.

use std::path::PathBuf;

use payout_ledger::domain::retry::Profile;
use payout_ledger::store::schema;
use payout_ledger::store::side::Side;
use payout_ledger::store::writer::{Arrival, Writer};

pub struct Bench {
    dir: tempfile::TempDir,
    pub writer: Writer,
    pub side: Side,
}

impl Bench {
    pub fn new() -> Self {
        let dir = super::memory_dir();
        let path = dir.path().join("ledger.db");
        let conn = schema::open(&path).unwrap();
        conn.execute_batch("PRAGMA synchronous = OFF").unwrap();
        let writer = Writer::new(conn, false, Profile::default()).unwrap();
        let side = Side::open(&path, false).unwrap();
        Self { dir, writer, side }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("ledger.db")
    }

    /// A delivery that came at the unix millisecond 1.
    pub fn deliver(&mut self, body: &str) {
        self.writer.ingest(&[Arrival::new(body.as_bytes().to_vec(), 1)]).unwrap();
    }

    /// The first column of every row, as text.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        let conn = schema::open_read_only(&self.path()).unwrap();
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    pub fn ids(&self) -> Vec<String> {
        self.rows("SELECT id FROM events ORDER BY seq")
    }

    /// Everything the end is judged by.
    pub fn end(&self) -> Vec<String> {
        [
            "SELECT id || status || amount || posted || details || coalesce(arrival_date, '') FROM payouts ORDER BY id",
            "SELECT account || currency || (funds + claims) || ' ' || waiting FROM balances ORDER BY account, currency",
            "SELECT object || leg || max(upto) || ' ' || sum(amount) FROM journal GROUP BY object, leg ORDER BY object, leg",
        ]
        .iter()
        .flat_map(|sql| self.rows(sql))
        .collect()
    }
}
