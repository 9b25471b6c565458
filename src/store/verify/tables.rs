//! The audit's first half: figures against the rows they are figures of.

use rusqlite::Connection;

use super::Audit;
use crate::domain::outcome::State;
use crate::store::counters;
use crate::store::error::StoreError;

/// What must hold, and a query for the rows where it does not.
const CHECKS: [(&str, &str); 13] = [
    (
        "a balance is not the sum of its legs",
        "WITH sides AS (
           SELECT debit AS key, debit_class AS class, -amount AS amount FROM journal WHERE debit IS NOT NULL
           UNION ALL SELECT credit, credit_class, amount FROM journal WHERE credit IS NOT NULL),
         sums AS (SELECT key, sum(iif(class = 0, amount, 0)) AS funds, sum(iif(class = 1, amount, 0)) AS claims
                  FROM sides GROUP BY key)
         SELECT b.account || ' ' || b.currency || ' has ' || b.funds || ' and ' || b.claims || ', its legs say '
                || ifnull(s.funds, 0) || ' and ' || ifnull(s.claims, 0)
         FROM balances b LEFT JOIN sums s USING (key)
         WHERE b.funds <> ifnull(s.funds, 0) OR b.claims <> ifnull(s.claims, 0)",
    ),
    (
        "a balance is on the wrong side of zero",
        "SELECT account || ' ' || currency FROM balances WHERE funds < 0 OR claims > 0",
    ),
    (
        "a leg is in the journal twice",
        "SELECT object || ' ' || leg FROM journal GROUP BY livemode, object, leg, upto HAVING count(*) > 1",
    ),
    (
        "waiting money is not the sum of what waits",
        "WITH sides AS (
           SELECT e.livemode, p.debit_account AS account, p.currency, -p.amount AS amount
             FROM pending_legs p JOIN events e USING (seq) WHERE p.debit_account IS NOT NULL
           UNION ALL SELECT e.livemode, p.credit_account, p.currency, p.amount
             FROM pending_legs p JOIN events e USING (seq) WHERE p.credit_account IS NOT NULL),
         sums AS (SELECT livemode, account, currency, sum(amount) AS waiting FROM sides GROUP BY 1, 2, 3)
         SELECT b.account || ' ' || b.currency || ' says ' || b.waiting || ', its rows say ' || ifnull(s.waiting, 0)
         FROM balances b LEFT JOIN sums s USING (livemode, account, currency)
         WHERE b.waiting <> ifnull(s.waiting, 0)",
    ),
    (
        "the number of those who compete is wrong",
        "WITH sides AS (
           SELECT e.seq, e.livemode, p.debit_account AS account, p.currency, -p.amount AS amount
             FROM pending_legs p JOIN events e USING (seq) WHERE p.debit_account IS NOT NULL
           UNION ALL SELECT e.seq, e.livemode, p.credit_account, p.currency, p.amount
             FROM pending_legs p JOIN events e USING (seq) WHERE p.credit_account IS NOT NULL),
         each AS (SELECT seq, livemode, account, currency, sum(amount) AS net FROM sides GROUP BY 1, 2, 3, 4),
         counts AS (SELECT livemode, account, currency, count(*) AS n FROM each WHERE net < 0 GROUP BY 1, 2, 3)
         SELECT b.account || ' ' || b.currency || ' says ' || b.competing || ', its rows say ' || ifnull(c.n, 0)
         FROM balances b LEFT JOIN counts c USING (livemode, account, currency)
         WHERE b.competing <> ifnull(c.n, 0)",
    ),
    (
        "a payout figure is not the sum of its payouts",
        "WITH sums AS (SELECT livemode, account, currency,
             sum(iif(status IN ('pending', 'in_transit'), amount, 0)) AS in_flight,
             sum(iif(status = 'paid', amount, 0)) AS paid_out,
             sum(iif(status IN ('failed', 'canceled'), amount, 0)) AS returned
           FROM payouts GROUP BY 1, 2, 3)
         SELECT b.account || ' ' || b.currency FROM balances b LEFT JOIN sums s USING (livemode, account, currency)
         WHERE b.in_flight <> ifnull(s.in_flight, 0) OR b.paid_out <> ifnull(s.paid_out, 0)
            OR b.returned <> ifnull(s.returned, 0)",
    ),
    (
        "legs wait for an event that does not wait",
        "SELECT DISTINCT e.id FROM pending_legs p JOIN events e USING (seq)
         WHERE e.state NOT IN (1, 2) OR e.needs_account IS NULL",
    ),
    (
        "an event waits for money without legs",
        "SELECT e.id FROM events e WHERE e.state IN (1, 2) AND e.needs_account IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM pending_legs p WHERE p.seq = e.seq)",
    ),
    (
        "two events of one object wait",
        "SELECT object FROM events WHERE state IN (1, 2) AND needs_account IS NOT NULL
         GROUP BY livemode, object HAVING count(*) > 1",
    ),
    (
        "a posted payout lacks a leg",
        "SELECT p.id FROM payouts p WHERE p.posted AND p.amount <> 0 AND (
           (NOT p.debit AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.livemode = p.livemode AND j.object = p.id AND j.leg = 'out'))
           OR (p.status IN ('failed', 'canceled') AND NOT p.debit
               AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.livemode = p.livemode AND j.object = p.id AND j.leg = 'back'))
           OR (p.debit AND p.status IN ('paid', 'failed')
               AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.livemode = p.livemode AND j.object = p.id AND j.leg = 'in')))",
    ),
    (
        "a payout's number of events is wrong",
        "SELECT p.id || ' says ' || p.events FROM payouts p WHERE p.events <> (
           SELECT count(*) FROM events e WHERE e.object = p.id AND e.object <> '' AND e.livemode = p.livemode AND e.type GLOB 'payout.*')",
    ),
    (
        "a leg's event is not here",
        "SELECT j.object || ' ' || j.leg FROM journal j WHERE j.event IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = j.event)",
    ),
    ("a reference points nowhere", "SELECT \"table\" || ' row ' || ifnull(rowid, '') FROM pragma_foreign_key_check"),
];

/// Runs every check.
pub(super) fn check(conn: &Connection, audit: &mut Audit) -> Result<(), StoreError> {
    let intact: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if intact != "ok" {
        audit.broken.push(format!("the database file is damaged: {intact}"));
    }
    for (what, sql) in CHECKS {
        audit.rows(conn, what, sql)?;
    }
    counted(conn, audit)
}

/// The counters against the rows.
fn counted(conn: &Connection, audit: &mut Audit) -> Result<(), StoreError> {
    let mut names: Vec<(String, String)> = State::ALL
        .into_iter()
        .map(|s| (counters::event(s).to_owned(), format!("events WHERE state = {}", s.code())))
        .collect();
    names.extend(
        crate::domain::payout::Status::ALL
            .into_iter()
            .map(|s| (counters::payout(s).to_owned(), format!("payouts WHERE status = '{s}'"))),
    );
    for (name, rows) in names {
        for live in [0, 1] {
            let said: i64 = conn.query_row(
                "SELECT ifnull(sum(n), 0) FROM counters WHERE name = ?1 AND livemode = ?2",
                rusqlite::params![name, live],
                |row| row.get(0),
            )?;
            let sql = format!("SELECT count(*) FROM {rows} AND livemode = ?1");
            let real: i64 = conn.query_row(&sql, [live], |row| row.get(0))?;
            if said != real {
                audit.broken.push(format!("the counter {name} says {said}, there are {real}"));
            }
        }
    }
    Ok(())
}
