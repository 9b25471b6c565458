//! Alerts, for the list on the screen.

use super::Reader;
use crate::store::alerts::{self, AlertRow};
use crate::store::error::StoreError;

impl Reader {
    /// Alerts, unseen ones first, newest first, at most `limit`.
    pub fn alerts(&self, limit: usize) -> Result<Vec<AlertRow>, StoreError> {
        Ok(alerts::list(&self.conn, self.live, limit)?)
    }
}
