//! Payouts: a page of the list, and one with everything its detail pane shows.

use rusqlite::Row;

use super::sql::{Query, walk};
use super::{Reader, journal};
use crate::domain::details::Details;
use crate::store::error::StoreError;
use crate::store::view::{Direction, Filter, Page, PayoutDetail, PayoutRow, PayoutSort};

/// Where a page ended: the sort value and the row key of its last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayoutCursor {
    /// The value sorted by.
    pub value: i64,
    /// The row key, which decides between equal values.
    pub key: i64,
}

impl PayoutCursor {
    /// The cursor that stands on a row.
    pub fn of(row: &PayoutRow, sort: PayoutSort) -> Self {
        let value = match sort {
            PayoutSort::LastEvent => row.last_seq,
            PayoutSort::Amount => row.amount,
            PayoutSort::Arrival => row.arrival_date.unwrap_or(0),
        };
        Self { value, key: row.key }
    }
}

const SELECT: &str = "SELECT key, id, account, amount, currency, status, posted, ambiguous, arrival_date, failure_code,
    events, last_seq, last_ms FROM payouts";

fn read(row: &Row<'_>) -> rusqlite::Result<PayoutRow> {
    Ok(PayoutRow {
        key: row.get(0)?,
        id: row.get(1)?,
        account: row.get(2)?,
        amount: row.get(3)?,
        currency: row.get(4)?,
        status: row.get(5)?,
        posted: row.get(6)?,
        ambiguous: row.get(7)?,
        arrival_date: Some(row.get(8)?).filter(|day| *day != 0),
        failure_code: row.get(9)?,
        events: row.get(10)?,
        last_seq: row.get(11)?,
        last_ms: row.get(12)?,
    })
}

impl Reader {
    /// A page of payouts. Rows come in the asked order also when the page is read backwards.
    pub fn payouts(
        &self,
        filter: &Filter,
        sort: PayoutSort,
        direction: Direction,
        page: &Page<PayoutCursor>,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        let column = match sort {
            PayoutSort::LastEvent => "last_seq",
            PayoutSort::Amount => "amount",
            PayoutSort::Arrival => "arrival_date",
        };
        let (compare, order) = walk((direction == Direction::Descending) != page.before);
        let mut query = Query::new(SELECT);
        query.with("livemode = ?", [self.live.into()]);
        if let Some(PayoutCursor { value, key }) = page.cursor {
            match sort {
                PayoutSort::LastEvent => query.with(&format!("last_seq {compare} ?"), [value.into()]),
                _ => query.with(&format!("({column}, key) {compare} (?, ?)"), [value.into(), key.into()]),
            };
        }
        if !filter.states.is_empty() {
            let words: Vec<&str> = crate::domain::payout::Status::ALL
                .iter()
                .map(|s| s.as_str())
                .filter(|word| filter.states.iter().any(|s| s == word))
                .collect();
            match words.as_slice() {
                [one] => query.only(format!("status = '{one}'")),
                _ => query.only(format!("status IN ('{}')", words.join("', '"))),
            };
        }
        query.equals("account", filter.account.as_ref()).equals("currency", filter.currency.as_ref());
        query.equals("id", filter.object.as_ref());
        query.contains(&["id", "account", "failure_code"], filter.text.as_ref());
        let order = match sort {
            PayoutSort::LastEvent => format!("last_seq {order}"),
            _ => format!("{column} {order}, key {order}"),
        };
        let mut rows = query.rows(&self.conn, &order, page.limit, read)?;
        if page.before {
            rows.reverse();
        }
        Ok(rows)
    }

    /// One payout by id.
    pub fn payout(&self, id: &str) -> Result<Option<PayoutRow>, StoreError> {
        let mut query = Query::new(SELECT);
        query.with("livemode = ? AND id = ?", [self.live.into(), id.to_owned().into()]);
        Ok(query.rows(&self.conn, "key", 1, read)?.pop())
    }

    /// A payout with its timeline, legs, audit and balance.
    pub fn payout_detail(&self, id: &str) -> Result<Option<PayoutDetail>, StoreError> {
        let Some(row) = self.payout(id)? else { return Ok(None) };
        let sql = "SELECT details, details_event FROM payouts WHERE key = ?1";
        let (json, details_event): (String, String) =
            self.conn.prepare_cached(sql)?.query_row([row.key], |r| Ok((r.get(0)?, r.get(1)?)))?;
        let details = Details::stored(&json);
        let details = details.iter().map(|(label, text)| (label.to_owned(), text.to_owned())).collect();
        Ok(Some(PayoutDetail {
            details,
            details_event,
            timeline: self.events_of(id)?,
            legs: self.legs_of(id)?,
            audit: self.audit_of(id, journal::MOST)?,
            balance: self.balance(&row.account, &row.currency)?,
            row,
        }))
    }
}
