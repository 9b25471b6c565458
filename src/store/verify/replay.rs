//! The audit's second half: what the stored bodies say, applied again in Stripe's order in memory.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::Audit;
use crate::domain::event::{self, Content};
use crate::domain::guard::Account;
use crate::domain::leg::{self, Posted};
use crate::domain::memory::Monitor;
use crate::domain::outcome::State;
use crate::domain::retry::{MAX_ATTEMPTS, Profile};
use crate::store::cache::account;
use crate::store::error::StoreError;

/// Longer than any gap: at each sweep everything is due.
const LATER_MS: i64 = 1 << 40;

/// Bodies against rows, legs and statuses.
pub(super) fn check(conn: &Connection, live: bool, audit: &mut Audit) -> Result<(), StoreError> {
    let mut monitor = Monitor::new(live, Profile::default());
    for (account, amount) in openings(conn, live)? {
        if let Err(why) = monitor.open(&account, amount, 0) {
            audit.broken.push(format!("an opening balance cannot be: {why}"));
        }
    }
    let journal = journal(conn, live)?;
    let (mut mismatched, mut unposted) = (Vec::new(), Vec::new());
    let mut statement = conn.prepare(
        "SELECT e.id, e.state, p.body FROM events e JOIN payloads p USING (seq) WHERE e.livemode = ?1
         ORDER BY e.created, e.seq",
    )?;
    let mut rows = statement.query(params![live])?;
    let mut now_ms = 0;
    while let Some(row) = rows.next()? {
        let (id, state): (String, Option<State>) = (row.get(0)?, State::from_code(row.get(1)?));
        let body = row.get_ref(2)?.as_blob().unwrap_or_default();
        let parsed = event::parse(body);
        let Some(event) = parsed.ok().filter(|event| event.id == id) else {
            mismatched.push(id);
            continue;
        };
        if let (Content::Snapshot(snapshot), Some(State::Applied)) = (&event.content, state) {
            let posted = journal.get(&snapshot.object).map(Vec::as_slice).unwrap_or_default();
            if !leg::missing(&snapshot.legs, posted).is_ok_and(|legs| legs.is_empty()) {
                unposted.push(id);
            }
        }
        if state != Some(State::Dismissed) {
            now_ms += 1;
            monitor.deliver(&event, now_ms);
        }
    }
    audit.lines("a body is not the event of its row", mismatched);
    audit.lines("an applied event lacks a leg in the journal", unposted);
    // Until every attempt is used up: what is then left has no money coming.
    for _ in 0..=MAX_ATTEMPTS {
        now_ms += LATER_MS;
        monitor.sweep(now_ms);
    }
    statuses(conn, live, &monitor, audit)?;
    balances(conn, live, &monitor, audit)
}

fn openings(conn: &Connection, live: bool) -> Result<Vec<(Account, i64)>, StoreError> {
    let mut statement = conn.prepare(
        "SELECT b.account, b.currency, iif(j.credit IS NOT NULL, j.amount, -j.amount) FROM journal j
         JOIN balances b ON b.key = ifnull(j.credit, j.debit) WHERE j.livemode = ?1 AND j.leg = 'opening'",
    )?;
    let mut rows = statement.query(params![live])?;
    let mut openings = Vec::new();
    while let Some(row) = rows.next()? {
        openings.push((account(row.get(0)?, &row.get::<_, String>(1)?)?, row.get(2)?));
    }
    Ok(openings)
}

fn journal(conn: &Connection, live: bool) -> Result<BTreeMap<String, Vec<Posted>>, StoreError> {
    let mut statement = conn.prepare("SELECT object, leg, upto, amount FROM journal WHERE livemode = ?1")?;
    let mut rows = statement.query(params![live])?;
    let mut journal: BTreeMap<String, Vec<Posted>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let posted = Posted { name: row.get(1)?, upto: row.get(2)?, amount: row.get(3)? };
        journal.entry(row.get(0)?).or_default().push(posted);
    }
    Ok(journal)
}

/// A payout's status never depends on the order, unless a contradiction waits for a person.
fn statuses(conn: &Connection, live: bool, monitor: &Monitor, audit: &mut Audit) -> Result<(), StoreError> {
    let mut statement = conn.prepare(
        "SELECT id, status, EXISTS (SELECT 1 FROM events e WHERE e.object = p.id AND e.object <> '' AND e.livemode = p.livemode
           AND e.state IN (2, 6) AND e.needs_account IS NULL) FROM payouts p WHERE livemode = ?1",
    )?;
    let mut rows = statement.query(params![live])?;
    let mut wrong = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, status, disputed): (String, String, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let replayed = monitor.book.payouts.get(&id).map(|p| p.status.as_str());
        if replayed != Some(status.as_str()) && !disputed {
            wrong.push(format!("{id} is {status}, its events say {}", replayed.unwrap_or("nothing")));
        }
    }
    audit.lines("a payout's status is not what its events say", wrong);
    Ok(())
}

/// Balances may depend on the order where money is missing: then it is said, not called broken.
fn balances(conn: &Connection, live: bool, monitor: &Monitor, audit: &mut Audit) -> Result<(), StoreError> {
    let open: i64 = conn.query_row(
        "SELECT count(*) FROM events WHERE livemode = ?1 AND state IN (0, 1, 2, 6)",
        params![live],
        |row| row.get(0),
    )?;
    let mut statement = conn.prepare("SELECT account, currency, funds + claims FROM balances WHERE livemode = ?1")?;
    let mut rows = statement.query(params![live])?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let account = account(row.get(0)?, &row.get::<_, String>(1)?)?;
        let total: i64 = row.get(2)?;
        let replayed = monitor.book.balances.get(&account).copied().unwrap_or_default().total();
        if total != replayed {
            let (ours, theirs) = (account.1.money(total), account.1.money(replayed));
            lines.push(format!("{} has {ours}; in Stripe's order it would have {theirs}", account.0));
        }
    }
    if open == 0 && monitor.book.blocked.is_empty() {
        audit.lines("a balance is not what the events say", lines);
    } else {
        audit.depends.extend(lines.into_iter().map(|line| format!("depends on the order of arrival: {line}")));
    }
    Ok(())
}
