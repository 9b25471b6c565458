//! Events: a page of the list, an object's own in order of arrival, and one by its id.

use rusqlite::Row;

use super::sql::{Query, walk};
use super::{Reader, journal};
use crate::domain::outcome::State;
use crate::store::error::StoreError;
use crate::store::view::{Direction, EventRow, Filter, Needs, Page};

pub(super) const SELECT: &str =
    "SELECT seq, id, type, account, object, status, amount, currency, created, first_ms, last_ms,
    deliveries, state, reason, attempts, next_ms, needs_account, needs_currency, needs_amount, effect, settled_ms
    FROM events";

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    let needs = match (row.get(16)?, row.get(17)?, row.get(18)?) {
        (Some(account), Some(currency), Some(amount)) => Some(Needs { account, currency, amount }),
        _ => None,
    };
    Ok(EventRow {
        seq: row.get(0)?,
        id: row.get(1)?,
        kind: row.get(2)?,
        account: row.get(3)?,
        object: row.get(4)?,
        status: row.get(5)?,
        amount: row.get(6)?,
        currency: row.get(7)?,
        created: row.get(8)?,
        first_ms: row.get(9)?,
        last_ms: row.get(10)?,
        deliveries: row.get(11)?,
        state: State::from_code(row.get(12)?).map_or("unknown", State::as_str).to_owned(),
        reason: row.get(13)?,
        attempts: row.get(14)?,
        next_ms: row.get(15)?,
        needs,
        effect: row.get(19)?,
        settled_ms: row.get(20)?,
    })
}

/// The filters that are no states.
pub(super) fn narrow(query: &mut Query, filter: &Filter) {
    query.equals("account", filter.account.as_ref()).equals("currency", filter.currency.as_ref());
    if let Some(object) = &filter.object {
        // The index has only rows with an object; the planner must see that these are such.
        query.with("object = ? AND object <> ''", [object.clone().into()]);
    }
    if let Some(kind) = &filter.kind {
        match kind.strip_suffix('*') {
            Some(prefix) => query.with("substr(type, 1, ?) = ?", [length(prefix).into(), prefix.to_owned().into()]),
            None => query.with("type = ?", [kind.clone().into()]),
        };
    }
    query.contains(&["id", "type", "account", "object", "reason"], filter.text.as_ref());
}

fn length(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

/// The states asked for. Numbers are written out, so that the partial indexes fit.
pub(super) fn states(filter: &Filter) -> Vec<State> {
    filter.states.iter().filter_map(|word| State::parse(word)).collect()
}

/// A condition that lets the partial index of the rarer states be used: its own words must stand in the query.
pub(super) fn in_state(state: State) -> String {
    match state {
        State::Received | State::Applied => format!("state = {}", state.code()),
        _ => format!("state IN (1, 2, 4, 5, 6) AND state = {}", state.code()),
    }
}

impl Reader {
    /// A page of events by arrival number, both modes. Rows come in the asked order also when read backwards.
    pub fn events(&self, filter: &Filter, direction: Direction, page: &Page<i64>) -> Result<Vec<EventRow>, StoreError> {
        let (compare, order) = walk((direction == Direction::Descending) != page.before);
        let states = states(filter);
        let mut rows = Vec::new();
        let asked: Vec<Option<State>> =
            if states.is_empty() { vec![None] } else { states.into_iter().map(Some).collect() };
        let several = asked.len() > 1;
        for state in asked {
            let mut query = Query::new(SELECT);
            if let Some(state) = state {
                query.only(in_state(state));
            }
            if let Some(seq) = page.cursor {
                query.with(&format!("seq {compare} ?"), [seq.into()]);
            }
            narrow(&mut query, filter);
            rows.extend(query.rows(&self.conn, &format!("seq {order}"), page.limit, read)?);
        }
        if several {
            rows.sort_by_key(|row| if order == "DESC" { -row.seq } else { row.seq });
            rows.truncate(page.limit);
        }
        if page.before {
            rows.reverse();
        }
        Ok(rows)
    }

    /// An object's events of this mode in order of arrival.
    pub fn events_of(&self, object: &str) -> Result<Vec<EventRow>, StoreError> {
        let mut query = Query::new(SELECT);
        query.with("object = ? AND object <> ''", [object.to_owned().into()]);
        query.with("livemode = ?", [self.live.into()]);
        query.rows(&self.conn, "seq", journal::MOST, read)
    }

    /// One event by its id, or by the beginning of it when only one begins so.
    pub fn event(&self, id: &str) -> Result<Option<EventRow>, StoreError> {
        let mut query = Query::new(SELECT);
        query.with("id = ?", [id.to_owned().into()]);
        if let Some(row) = query.rows(&self.conn, "seq", 1, read)?.pop() {
            return Ok(Some(row));
        }
        if id.len() < 5 {
            return Ok(None);
        }
        let mut query = Query::new(SELECT);
        query.with("id >= ? AND id < ?", [id.to_owned().into(), format!("{id}\u{10ffff}").into()]);
        let mut rows = query.rows(&self.conn, "id", 2, read)?;
        Ok(if rows.len() == 1 { rows.pop() } else { None })
    }

    /// One event by its arrival number.
    pub fn event_by_seq(&self, seq: i64) -> Result<Option<EventRow>, StoreError> {
        let mut query = Query::new(SELECT);
        query.with("seq = ?", [seq.into()]);
        Ok(query.rows(&self.conn, "seq", 1, read)?.pop())
    }

    /// What waited and then went by itself, newest first.
    pub fn recently_settled(&self, limit: usize) -> Result<Vec<EventRow>, StoreError> {
        let mut query = Query::new(SELECT);
        query.only("state = 3 AND attempts > 0").with("livemode = ?", [self.live.into()]);
        query.rows(&self.conn, "settled_ms DESC", limit, read)
    }
}
