//! The journal and the audit, newest first.

use rusqlite::Row;

use super::Reader;
use super::sql::Query;
use crate::store::error::StoreError;
use crate::store::legs::class;
use crate::store::view::{AuditRow, Filter, JournalRow, Page};

/// Rows of one object at the most: far more than any object has, so that a flood cannot fill a detail pane.
pub(super) const MOST: usize = 500;

const SELECT: &str = "SELECT j.id AS id, j.object AS object, j.leg AS leg, j.upto, e.id AS event, d.account AS debited,
    j.debit_class, c.account AS credited, j.credit_class, j.amount, j.currency AS currency, j.posted_ms
    FROM journal j LEFT JOIN events e ON e.seq = j.event LEFT JOIN balances d ON d.key = j.debit
    LEFT JOIN balances c ON c.key = j.credit";

fn read(row: &Row<'_>) -> rusqlite::Result<JournalRow> {
    let side = |account: Option<String>| account.unwrap_or_else(|| "external".to_owned());
    Ok(JournalRow {
        id: row.get(0)?,
        object: row.get(1)?,
        leg: row.get(2)?,
        upto: row.get(3)?,
        event: row.get(4)?,
        from: side(row.get(5)?),
        from_class: class(row.get(6)?).as_str().to_owned(),
        to: side(row.get(7)?),
        to_class: class(row.get(8)?).as_str().to_owned(),
        amount: row.get(9)?,
        currency: row.get(10)?,
        posted_ms: row.get(11)?,
    })
}

impl Reader {
    /// A page of the journal, newest first.
    pub fn journal(&self, filter: &Filter, page: &Page<i64>) -> Result<Vec<JournalRow>, StoreError> {
        let order = if page.before { "j.id ASC" } else { "j.id DESC" };
        // Each balance's legs are in order in its own index; a set of balances would have to be sorted.
        let sides: Vec<(&str, Option<i64>)> = match &filter.account {
            None => vec![("", None)],
            Some(account) => {
                let keys = self.balance_keys(account, filter.currency.as_ref())?;
                keys.into_iter().flat_map(|key| [("j.debit", Some(key)), ("j.credit", Some(key))]).collect()
            }
        };
        let mut rows = Vec::new();
        for (side, key) in &sides {
            let mut query = Query::new(SELECT);
            query.with("j.livemode = ?", [self.live.into()]);
            if let Some(id) = page.cursor {
                query.with(if page.before { "j.id > ?" } else { "j.id < ?" }, [id.into()]);
            }
            if let Some(key) = key {
                query.with(&format!("{side} = ?"), [(*key).into()]);
            }
            query.equals("j.object", filter.object.as_ref()).equals("j.currency", filter.currency.as_ref());
            query.contains(&["object", "leg", "event", "debited", "credited"], filter.text.as_ref());
            rows.extend(query.rows(&self.conn, order, page.limit, read)?);
        }
        if sides.len() > 1 {
            rows.sort_by_key(|row: &JournalRow| if page.before { row.id } else { -row.id });
            rows.dedup_by_key(|row| row.id);
            rows.truncate(page.limit);
        }
        if page.before {
            rows.reverse();
        }
        Ok(rows)
    }

    /// The rows of an account's balances, in one currency or in all.
    fn balance_keys(&self, account: &str, currency: Option<&String>) -> Result<Vec<i64>, StoreError> {
        let mut query = Query::new("SELECT key FROM balances");
        query.with("livemode = ? AND account = ?", [self.live.into(), account.to_owned().into()]);
        query.equals("currency", currency);
        query.rows(&self.conn, "key", MOST, |row| row.get(0))
    }

    /// An object's legs, oldest first.
    pub fn legs_of(&self, object: &str) -> Result<Vec<JournalRow>, StoreError> {
        let mut query = Query::new(SELECT);
        query.with("j.livemode = ? AND j.object = ?", [self.live.into(), object.to_owned().into()]);
        query.rows(&self.conn, "j.id", MOST, read)
    }

    /// What people did, newest first.
    pub fn audit(&self, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        let mut query = Query::new(AUDIT);
        query.with("livemode = ?", [self.live.into()]);
        query.rows(&self.conn, "id DESC", limit, read_audit)
    }

    /// What people did to one object, oldest first.
    pub(super) fn audit_of(&self, object: &str, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        let mut query = Query::new(AUDIT);
        query.with("object = ? AND object <> ''", [object.to_owned().into()]);
        query.with("livemode = ?", [self.live.into()]);
        query.rows(&self.conn, "id", limit, read_audit)
    }
}

const AUDIT: &str = "SELECT id, at_ms, who, action, target, object, reason, state_before, state_after FROM audit";

fn read_audit(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        id: row.get(0)?,
        at_ms: row.get(1)?,
        who: row.get(2)?,
        action: row.get(3)?,
        target: row.get(4)?,
        object: row.get(5)?,
        reason: row.get(6)?,
        before: row.get(7)?,
        after: row.get(8)?,
    })
}
