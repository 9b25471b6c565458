//! What can go wrong underneath, in words that say what to do.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// A failure of the store. Nothing of the transaction it stopped is on disk.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the write lock for longer than we wait.
    #[error("the database is busy: another process has been writing for more than five seconds; try again")]
    Busy,
    /// No room.
    #[error("the disk is full: free some space, then try again; nothing was lost")]
    Full,
    /// No permission.
    #[error("the database cannot be written: check the permissions of the file and its folder")]
    ReadOnly,
    /// The file cannot be opened.
    #[error("cannot open the database {path}: {why}")]
    Open {
        /// Which file.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// A newer program wrote it.
    #[error(
        "the database {path} was written by a newer version (schema {found}, this program knows {known}): upgrade payout-ledger"
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// Somebody else's database.
    #[error("{path} is not a Payout Ledger database: choose another file with --db")]
    NotOurs {
        /// Which file.
        path: PathBuf,
    },
    /// A daemon is running on it.
    #[error("another daemon (process {pid}) is running on {path}: stop it, or look with --attach")]
    Locked {
        /// Which database.
        path: PathBuf,
        /// Who; 0 when unknown.
        pid: u32,
    },
    /// What is stored contradicts itself.
    #[error("the database holds something that should not be there ({0}): run `payout-ledger verify`")]
    Damaged(String),
    /// A dry run was taken back, as it should be. Never leaves the store.
    #[error("the dry run was taken back")]
    Rehearsed,
    /// Anything else from SQLite.
    #[error("the database failed: {0}")]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// Something stored cannot be read as what it should be.
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// Whether one event's content caused it, so that the others of its group can go on without it.
    pub(super) fn concerns_one_event(&self) -> bool {
        match self {
            Self::Damaged(_) => true,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
            ),
            _ => false,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            _ => Self::Sqlite(error),
        }
    }
}
