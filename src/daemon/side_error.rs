//! What can stop work on the Stripe side: the API or our own store.

use crate::store::error::StoreError;
use crate::stripe::error::{ApiError, ErrorKind};

/// One clear line either way.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// The API refused or failed.
    #[error("{0}")]
    Api(#[from] ApiError),
    /// Our database.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl SideError {
    /// Whether every other account would fail the same way, so that going on makes no sense.
    pub fn concerns_all(&self) -> bool {
        match self {
            Self::Store(_) => true,
            Self::Api(error) => !matches!(
                error.kind,
                ErrorKind::Forbidden { .. } | ErrorKind::NotFound | ErrorKind::Invalid { .. } | ErrorKind::Conflict
            ),
        }
    }
}
