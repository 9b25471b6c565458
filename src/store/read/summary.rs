//! The figures of the header and the tabs, from the counters.

use rusqlite::OptionalExtension;

use super::Reader;
use crate::domain::payout::Status;
use crate::store::error::StoreError;
use crate::store::view::{InboxCounts, Summary};

impl Reader {
    /// Counts of this mode; events of the other mode are counted beside.
    pub fn summary(&self) -> Result<Summary, StoreError> {
        let mut summary = Summary::default();
        let mut by_status = [0_i64; Status::ALL.len()];
        let mut statement = self.conn.prepare_cached("SELECT livemode, name, n FROM counters")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (live, name, n): (bool, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            match name.split_once(':') {
                Some(("event", _)) if live != self.live => {
                    summary.other_mode += n;
                    summary.events += n;
                }
                Some(("event", state)) => {
                    summary.events += n;
                    count(&mut summary.inbox, state, n);
                }
                Some(("payout", status)) if live == self.live => {
                    summary.payouts += n;
                    if let Some(i) = Status::ALL.iter().position(|s| s.as_str() == status) {
                        by_status[i] += n;
                    }
                }
                _ => {}
            }
        }
        summary.payouts_by_status =
            Status::ALL.iter().zip(by_status).map(|(status, n)| (status.as_str().to_owned(), n)).collect();
        let sql = "SELECT first_ms FROM events ORDER BY seq DESC LIMIT 1";
        summary.last_event_ms = self.conn.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
        summary.alerts = crate::store::alerts::unseen(&self.conn, self.live)?;
        let transfers = self.transfer_counts()?;
        summary.transfers_need_person = transfers.iter().filter(|(s, _)| s.needs_person()).map(|(_, n)| n).sum();
        Ok(summary)
    }
}

fn count(counts: &mut InboxCounts, state: &str, n: i64) {
    let slot = match state {
        "received" => &mut counts.received,
        "waiting" => &mut counts.waiting,
        "stuck" => &mut counts.stuck,
        "applied" => &mut counts.applied,
        "skipped" => &mut counts.skipped,
        "ignored" => &mut counts.ignored,
        "dismissed" => &mut counts.dismissed,
        _ => return,
    };
    *slot += n;
}
