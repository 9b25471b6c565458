//! One daemon per database: a lock file beside it, held for as long as the process lives.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::error::StoreError;

/// Held while a daemon runs. The system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "held, not read")] File);

impl Lock {
    /// Takes the lock, or says which process has it.
    pub fn take(database: &Path) -> Result<Self, StoreError> {
        let path = lock_path(database);
        let failed = |e: std::io::Error| StoreError::Open { path: path.clone(), why: e.to_string() };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            let pid = text.trim().parse().unwrap_or(0);
            return Err(StoreError::Locked { path: database.to_owned(), pid });
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self(file))
    }
}

fn lock_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-lock");
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_was_first() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("ledger.db");
        let first = Lock::take(&database).unwrap();
        match Lock::take(&database) {
            Err(StoreError::Locked { pid, .. }) => assert_eq!(pid, std::process::id()),
            other => panic!("{other:?}"),
        }
        drop(first);
        Lock::take(&database).unwrap();
    }
}
