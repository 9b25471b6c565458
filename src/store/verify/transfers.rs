//! Outgoing transfers: what must hold of every order, its history and the counts.

use rusqlite::Connection;

use super::Audit;
use crate::store::error::StoreError;
use crate::store::transfers::row::{SELECT, read};

/// Each query names what is broken, one line a row.
const CHECKS: [(&str, &str); 5] = [
    (
        "one transfer, two orders",
        "SELECT transfer || ' settles ' || group_concat(order_ref, ' and ') FROM transfer_orders
         WHERE transfer IS NOT NULL AND state <> 'conflict' GROUP BY livemode, transfer HAVING count(*) > 1",
    ),
    (
        "an order whose history tells of two transfers is shown as paid",
        "SELECT order_ref FROM transfer_orders AS o WHERE state IN ('sent', 'adopted', 'reversed')
         AND (SELECT count(DISTINCT transfer) FROM transfer_history WHERE order_key = o.key) <> 1",
    ),
    (
        "a new key without a refusal of the old one",
        "SELECT DISTINCT order_ref || ' v' || h.version FROM transfer_history AS h JOIN transfer_orders AS o ON o.key = h.order_key
         WHERE h.version > 0 AND NOT EXISTS (SELECT 1 FROM transfer_history AS a WHERE a.order_key = h.order_key
             AND a.version = h.version - 1 AND a.what = 'answer' AND a.status BETWEEN 400 AND 499)",
    ),
    (
        "a POST answered twice",
        "SELECT 'history row ' || post FROM transfer_history WHERE post IS NOT NULL GROUP BY post HAVING count(*) > 1",
    ),
    (
        "counts of orders differ",
        "SELECT coalesce(c.state, s.state) || ': ' || coalesce(c.n, 0) || ' counted, ' || coalesce(s.n, 0) || ' there'
         FROM (SELECT livemode, state, n FROM transfer_counts WHERE n > 0) AS c
         FULL JOIN (SELECT livemode, state, count(*) AS n FROM transfer_orders GROUP BY livemode, state) AS s
             ON c.livemode = s.livemode AND c.state = s.state
         WHERE coalesce(c.n, 0) <> coalesce(s.n, 0)",
    ),
];

pub(super) fn check(conn: &Connection, audit: &mut Audit) -> Result<(), StoreError> {
    for (what, sql) in CHECKS {
        audit.rows(conn, what, sql)?;
    }
    let mut statement = conn.prepare(SELECT)?;
    let mut rows = statement.query([])?;
    let mut unsound = Vec::new();
    while let Some(row) = rows.next()? {
        let row = read(row)?;
        unsound.extend(row.intent.unsound().map(|what| format!("{}: {what}", row.order.order_ref)));
    }
    audit.lines("an order contradicts itself", unsound);
    Ok(())
}
