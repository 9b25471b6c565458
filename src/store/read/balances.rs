//! Balances by account and currency.

use rusqlite::Row;

use super::Reader;
use super::sql::Query;
use crate::store::error::StoreError;
use crate::store::view::{BalanceRow, Filter, Page};

const SELECT: &str = "SELECT key, account, currency, funds, claims, waiting, in_flight, paid_out, returned, opened,
    competing FROM balances";

fn read(row: &Row<'_>) -> rusqlite::Result<BalanceRow> {
    let (funds, claims, waiting): (i64, i64, i64) = (row.get(3)?, row.get(4)?, row.get(5)?);
    let posted = funds.saturating_add(claims);
    Ok(BalanceRow {
        key: row.get(0)?,
        account: row.get(1)?,
        currency: row.get(2)?,
        available: posted.max(0),
        owed: posted.saturating_neg().max(0),
        posted,
        waiting,
        projected: posted.saturating_add(waiting),
        in_flight: row.get(6)?,
        paid_out: row.get(7)?,
        returned: row.get(8)?,
        opened: row.get(9)?,
        competing: row.get(10)?,
    })
}

impl Reader {
    /// A page of balances in the order of account and currency. The cursor is the (account, currency) of a row.
    pub fn balances(&self, filter: &Filter, page: &Page<(String, String)>) -> Result<Vec<BalanceRow>, StoreError> {
        let mut query = Query::new(SELECT);
        query.with("livemode = ?", [self.live.into()]);
        let (compare, order) = super::sql::walk(page.before);
        if let Some((account, currency)) = &page.cursor {
            let condition = format!("(account, currency) {compare} (?, ?)");
            query.with(&condition, [account.clone().into(), currency.clone().into()]);
        }
        query.equals("account", filter.account.as_ref()).equals("currency", filter.currency.as_ref());
        query.contains(&["account", "currency"], filter.text.as_ref());
        let mut rows = query.rows(&self.conn, &format!("account {order}, currency {order}"), page.limit, read)?;
        if page.before {
            rows.reverse();
        }
        Ok(rows)
    }

    /// One balance.
    pub fn balance(&self, account: &str, currency: &str) -> Result<Option<BalanceRow>, StoreError> {
        let mut query = Query::new(SELECT);
        let values = [self.live.into(), account.to_owned().into(), currency.to_owned().into()];
        query.with("livemode = ? AND account = ? AND currency = ?", values);
        Ok(query.rows(&self.conn, "key", 1, read)?.pop())
    }
}
