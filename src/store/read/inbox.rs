//! The inbox: what needs a person first, and everything the "why" pane says about one row.

use rusqlite::params;

use super::sql::Query;
use super::{Reader, events, journal};
use crate::domain::outcome::State;
use crate::store::error::StoreError;
use crate::store::legs;
use crate::store::view::{EventRow, Filter, InboxDetail, JournalRow, Page};

/// The order of the inbox: a person first, then what waits, then the rest.
const ORDER: [State; 7] =
    [State::Stuck, State::Waiting, State::Received, State::Dismissed, State::Skipped, State::Ignored, State::Applied];

impl Reader {
    /// A page of the inbox: the asked states (none: stuck and waiting), each newest first. The cursor is a row of the
    /// page before.
    pub fn inbox(&self, filter: &Filter, page: &Page<(State, i64)>) -> Result<Vec<EventRow>, StoreError> {
        let mut asked = events::states(filter);
        if asked.is_empty() {
            asked = vec![State::Stuck, State::Waiting];
        }
        let mut order: Vec<State> = ORDER.into_iter().filter(|s| asked.contains(s)).collect();
        if page.before {
            order.reverse();
        }
        let start = page.cursor.and_then(|(state, _)| order.iter().position(|s| *s == state)).unwrap_or(0);
        let mut rows: Vec<EventRow> = Vec::new();
        for (i, state) in order.into_iter().enumerate().skip(start) {
            let left = page.limit.saturating_sub(rows.len());
            if left == 0 {
                break;
            }
            let mut query = Query::new(events::SELECT);
            query.only(events::in_state(state)).with("livemode = ?", [self.live.into()]);
            if let Some((_, seq)) = page.cursor.filter(|_| i == start) {
                query.with(if page.before { "seq > ?" } else { "seq < ?" }, [seq.into()]);
            }
            events::narrow(&mut query, filter);
            let direction = if page.before { "seq ASC" } else { "seq DESC" };
            rows.extend(query.rows(&self.conn, direction, left, events::read)?);
        }
        if page.before {
            rows.reverse();
        }
        Ok(rows)
    }

    /// Why a row is where it is, what would help it, and who competes.
    pub fn inbox_detail(&self, seq: i64) -> Result<Option<InboxDetail>, StoreError> {
        let Some(row) = self.event_by_seq(seq)? else { return Ok(None) };
        let (mut balance, mut competitors, mut would_help) = (None, Vec::new(), Vec::new());
        if let Some(needs) = &row.needs {
            balance = self.balance(&needs.account, &needs.currency)?;
            competitors = self.wanting("debit_account", &needs.account, &needs.currency, seq)?;
            would_help = self.wanting("credit_account", &needs.account, &needs.currency, seq)?;
        }
        let sql = "SELECT at_ms FROM tries WHERE seq = ?1 ORDER BY id";
        let mut statement = self.conn.prepare_cached(sql)?;
        let tries = statement.query_map(params![seq], |r| r.get(0))?.collect::<Result<_, _>>()?;
        Ok(Some(InboxDetail {
            wants: self.wants(&row)?,
            balance,
            competitors,
            would_help,
            tries,
            audit: self.audit_of(&row.object, journal::MOST)?,
            row,
        }))
    }

    /// Blocked rows that would debit a balance, oldest first.
    pub fn competing(&self, account: &str, currency: &str) -> Result<Vec<EventRow>, StoreError> {
        self.wanting("debit_account", account, currency, 0)
    }

    /// Other blocked rows with a leg on this side of this balance, oldest first.
    fn wanting(&self, side: &str, account: &str, currency: &str, but: i64) -> Result<Vec<EventRow>, StoreError> {
        let mut query = Query::new(events::SELECT);
        query.with(
            &format!("seq IN (SELECT seq FROM pending_legs WHERE {side} = ? AND currency = ?)"),
            [account.to_owned().into(), currency.to_owned().into()],
        );
        query.with("seq <> ?", [but.into()]).with("livemode = ?", [self.live.into()]);
        query.rows(&self.conn, "created, seq", journal::MOST, events::read)
    }

    fn wants(&self, row: &EventRow) -> Result<Vec<JournalRow>, StoreError> {
        let class = |side: &crate::domain::leg::Side| side.class().as_str().to_owned();
        let legs = legs::pending(&self.conn, row.seq)?;
        Ok((0_i64..)
            .zip(legs)
            .map(|(n, leg)| JournalRow {
                id: n,
                object: row.object.clone(),
                from: leg.from.label().to_owned(),
                from_class: class(&leg.from),
                to: leg.to.label().to_owned(),
                to_class: class(&leg.to),
                leg: leg.name,
                upto: leg.upto,
                event: Some(row.id.clone()),
                amount: leg.amount,
                currency: leg.currency.to_string(),
                posted_ms: 0,
            })
            .collect())
    }
}
