//! Small facts that outlive a run: watermarks, cursors, counts.

use rusqlite::{Connection, OptionalExtension, params};

/// The value of a mark.
pub fn get(conn: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT value FROM meta WHERE name = ?1")?.query_row(params![name], |row| row.get(0)).optional()
}

/// Sets a mark.
pub fn set(conn: &Connection, name: &str, value: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2")?
        .execute(params![name, value])
        .map(|_| ())
}

/// Forgets a mark.
pub fn forget(conn: &Connection, name: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM meta WHERE name = ?1")?.execute(params![name]).map(|_| ())
}
