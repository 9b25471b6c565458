//! Reading for screens and commands: indexed queries on a connection of its own, a page at a time by key.
//!
//! No reader scans the inbox. A text filter has no index: it looks at the [`SEARCH_DEPTH`] rows next in order.

mod balances;
mod events;
mod inbox;
mod journal;
mod payouts;
mod side;
mod sql;
mod summary;
mod transfers;

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::error::StoreError;
use super::schema;

pub use payouts::PayoutCursor;
pub use transfers::TransferDetail;

/// How many rows a text filter looks at.
pub const SEARCH_DEPTH: i64 = 50_000;

/// A read-only view of one mode.
pub struct Reader {
    conn: Connection,
    live: bool,
    version: i64,
}

impl Reader {
    /// Opens a database that exists.
    pub fn open(path: &Path, live: bool) -> Result<Self, StoreError> {
        let conn = schema::open_read_only(path)?;
        conn.set_prepared_statement_cache_capacity(128);
        Ok(Self { conn, live, version: -1 })
    }

    /// Whether anybody committed anything since the last call. The first call says yes.
    pub fn changed(&mut self) -> Result<bool, StoreError> {
        let version: i64 = self.conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        let changed = version != self.version;
        self.version = version;
        Ok(changed)
    }

    /// Which mode it reads.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// An event's body as it was received; none when it was pruned.
    pub fn body(&self, seq: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let mut statement = self.conn.prepare_cached("SELECT body FROM payloads WHERE seq = ?1")?;
        Ok(statement.query_row(params![seq], |row| row.get(0)).optional()?)
    }
}
