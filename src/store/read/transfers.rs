//! Outgoing transfers for screens and commands.

use rusqlite::params;

use super::Reader;
use super::sql::{Query, walk};
use crate::domain::transfer::intent::State;
use crate::store::error::StoreError;
use crate::store::transfers::row::{HISTORY, SELECT, read, read_history};
use crate::store::transfers::{HistoryRow, TransferRow};
use crate::store::view::{EventRow, Filter, JournalRow, Page};

/// An order's transfer with everything known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferDetail {
    /// The list row.
    pub row: TransferRow,
    /// Oldest first.
    pub history: Vec<HistoryRow>,
    /// The events about the transfer, in order of arrival.
    pub events: Vec<EventRow>,
    /// What those events posted: each leg once.
    pub legs: Vec<JournalRow>,
}

impl Reader {
    /// A page of orders, newest first. Filters: states, account (the destination), currency, text.
    pub fn transfers(&self, filter: &Filter, page: &Page<i64>) -> Result<Vec<TransferRow>, StoreError> {
        let (compare, order) = walk(!page.before);
        let mut query = Query::new(SELECT);
        query.with("livemode = ?", [self.live.into()]);
        let states: Vec<State> = filter.states.iter().filter_map(|word| State::parse(word)).collect();
        if !filter.states.is_empty() {
            // The words are our own, so they may be written out.
            let words: Vec<String> = states.iter().map(|state| format!("'{state}'")).collect();
            query.only(format!("state IN ({})", words.join(", ")));
        }
        query.equals("destination", filter.account.as_ref()).equals("currency", filter.currency.as_ref());
        if let Some(key) = page.cursor {
            query.with(&format!("key {compare} ?"), [key.into()]);
        }
        query.contains(&["order_ref", "destination", "transfer", "reason"], filter.text.as_ref());
        let mut rows = query.rows(&self.conn, &format!("key {order}"), page.limit, read)?;
        if page.before {
            rows.reverse();
        }
        Ok(rows)
    }

    /// An order by its row key.
    pub fn transfer_by_key(&self, key: i64) -> Result<Option<TransferRow>, StoreError> {
        let mut query = Query::new(SELECT);
        query.with("key = ?", [key.into()]).with("livemode = ?", [self.live.into()]);
        Ok(query.rows(&self.conn, "key", 1, read)?.pop())
    }

    /// An order by its name, with its history, the events about its transfer and the legs they posted.
    pub fn transfer_detail(&self, order_ref: &str) -> Result<Option<TransferDetail>, StoreError> {
        let mut query = Query::new(SELECT);
        query.with("livemode = ?", [self.live.into()]).with("order_ref = ?", [order_ref.to_owned().into()]);
        let Some(row) = query.rows(&self.conn, "key", 1, read)?.pop() else { return Ok(None) };
        let mut history = Query::new(HISTORY);
        history.with("order_key = ?", [row.key.into()]);
        let history = history.rows(&self.conn, "id", 1_000, read_history)?;
        let (events, legs) = match &row.intent.transfer {
            Some(id) => (self.events_of(id)?, self.legs_of(id)?),
            None => (Vec::new(), Vec::new()),
        };
        Ok(Some(TransferDetail { row, history, events, legs }))
    }

    /// How many orders stand in each state; states without any are left out.
    pub fn transfer_counts(&self) -> Result<Vec<(State, i64)>, StoreError> {
        let sql = "SELECT state, n FROM transfer_counts WHERE livemode = ?1 AND n > 0";
        let mut statement = self.conn.prepare_cached(sql)?;
        let rows = statement
            .query_map(params![self.live], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().filter_map(|(word, n)| State::parse(&word).map(|state| (state, n))).collect())
    }
}
