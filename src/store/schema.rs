//! Opening a database: its settings, its versions, and who it belongs to.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;

/// "PayL", so that no other program's database is taken for ours.
const APPLICATION_ID: i64 = 0x5061_794c;

/// Every step of the schema, oldest first. A database of schema N lacks the steps after the Nth.
const STEPS: &[&str] = &[
    include_str!("../../assets/schema/0001_monitor.sql"),
    include_str!("../../assets/schema/0002_transfers.sql"),
    include_str!("../../assets/schema/0004_stripe_side.sql"),
    include_str!("../../assets/schema/0003_forwards.sql"),
];

/// Opens for writing; creates and upgrades as needed. The folder is the user's own, the file too.
pub fn open(path: &Path) -> Result<Connection, StoreError> {
    create_private(path).map_err(|e| StoreError::Open { path: path.to_owned(), why: e.to_string() })?;
    let mut conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    check_owner(&conn, path)?;
    write_ahead(&conn)?;
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         PRAGMA cache_size = -32768; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 16000;",
    )?;
    upgrade(&mut conn, path)?;
    Ok(conn)
}

/// Switches a new file to write-ahead logging. SQLite does not wait for another process that is switching too, so we do.
fn write_ahead(conn: &Connection) -> Result<(), StoreError> {
    let mut tries = 0;
    loop {
        match conn.execute_batch("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;").map_err(StoreError::from) {
            Err(StoreError::Busy) if tries < 200 => std::thread::sleep(std::time::Duration::from_millis(25)),
            result => return result,
        }
        tries += 1;
    }
}

/// Opens for reading, of a database that exists and has our schema.
pub fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    check_owner(&conn, path)?;
    conn.execute_batch(
        "PRAGMA cache_size = -4096; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA query_only = ON;",
    )?;
    let found = version(&conn)?;
    let known = known();
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    Ok(conn)
}

/// How many steps this program knows.
fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let failed = |e: rusqlite::Error| StoreError::Open { path: path.to_owned(), why: e.to_string() };
    let conn = Connection::open_with_flags(path, flags).map_err(failed)?;
    conn.busy_timeout(std::time::Duration::from_millis(5_000))?;
    Ok(conn)
}

/// Creates the database's folder, the user's own.
pub fn create_folder(folder: &Path) -> Result<(), StoreError> {
    private_folder(folder).map_err(|e| StoreError::Open { path: folder.to_owned(), why: e.to_string() })
}

fn private_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn create_private(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(|_| ())
}

fn version(conn: &Connection) -> Result<i64, StoreError> {
    Ok(conn.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// A file with tables but without our mark is somebody else's.
fn check_owner(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let not_ours = || StoreError::NotOurs { path: path.to_owned() };
    let number = |sql: &str| match conn.query_row(sql, [], |row| row.get::<_, i64>(0)) {
        Ok(number) => Ok(number),
        Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => Err(not_ours()),
        Err(e) => Err(e.into()),
    };
    // In this order: a process that is creating it commits tables and mark together.
    let tables = number("SELECT count(*) FROM sqlite_master")?;
    let id = number("PRAGMA application_id")?;
    if id == APPLICATION_ID || (id == 0 && tables == 0) { Ok(()) } else { Err(not_ours()) }
}

fn upgrade(conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let known = known();
    loop {
        let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let found = version(&tx)?;
        if found > known {
            return Err(StoreError::Newer { path: path.to_owned(), found, known });
        }
        let Some(step) = usize::try_from(found).ok().and_then(|n| STEPS.get(n)) else { return Ok(()) };
        tx.execute_batch(step)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", found + 1)?;
        tx.commit()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_upgraded_once_and_guarded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/own/ledger.db");
        let conn = open(&path).unwrap();
        assert_eq!(version(&conn).unwrap(), known());
        let mode: String = conn.query_row("PRAGMA journal_mode", [], |r| r.get(0)).unwrap();
        let sync: i64 = conn.query_row("PRAGMA synchronous", [], |r| r.get(0)).unwrap();
        assert_eq!((mode.as_str(), sync), ("wal", 2));
        conn.pragma_update(None, "user_version", known() + 1).unwrap();
        drop(conn);
        assert!(matches!(open(&path), Err(StoreError::Newer { .. })));
        assert!(matches!(open_read_only(&path), Err(StoreError::Newer { .. })));
    }

    #[test]
    fn many_may_create_it_at_once() {
        for _ in 0..10 {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("ledger.db");
            std::thread::scope(|scope| {
                let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&path).map(|_| ()))).collect();
                opening.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
            });
        }
    }

    #[test]
    fn somebody_elses_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("other.db");
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
        assert!(matches!(open(&other), Err(StoreError::NotOurs { .. })));
        let text = dir.path().join("notes.txt");
        fs::write(&text, "these are notes, not a database, and they stay as they are").unwrap();
        assert!(matches!(open(&text), Err(StoreError::NotOurs { .. })));
    }
}
