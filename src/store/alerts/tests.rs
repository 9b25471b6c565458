//! Alerts are raised once, cleared by themselves and acknowledged once.

use super::*;

const DAY_MS: i64 = 86_400_000;

fn database() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    for sql in [
        include_str!("../../../assets/schema/0001_monitor.sql"),
        include_str!("../../../assets/schema/0004_stripe_side.sql"),
    ] {
        conn.execute_batch(sql).unwrap();
    }
    conn
}

fn event(conn: &Connection, id: &str, object: &str, status: &str, state: i64) {
    conn.execute(
        "INSERT INTO events (id, livemode, type, account, object, status, created, first_ms, last_ms, state, reason)
         VALUES (?1, 0, 'payout.x', 'acct_s', ?2, ?3, 1, 1, 1, ?4, 'why')",
        params![id, object, status, state],
    )
    .unwrap();
}

fn payout(conn: &Connection, id: &str, status: &str, arrival: Option<i64>, seq: i64) {
    conn.execute(
        "INSERT INTO payouts (livemode, id, account, amount, currency, status, posted, debit, details, details_rank,
           details_created, details_event, arrival_date, failure_code, events, last_seq, last_ms)
         VALUES (0, ?1, 'acct_s', 1999, 'usd', ?2, 1, 0, '{}', 0, 1, 'e', coalesce(?3, 0), 'no_account', 1, ?4, 1)",
        params![id, status, arrival, seq],
    )
    .unwrap();
}

fn run(conn: &mut Connection, now_ms: i64) -> usize {
    scan(conn, Scan { live: false, now_ms, grace_days: Some(2) }).unwrap()
}

fn texts(conn: &Connection) -> Vec<String> {
    let rows = list(conn, false, 99).unwrap();
    let open = rows.into_iter().filter(|r| r.cleared_ms.is_none());
    open.map(|r| format!("{} {}: {}", r.alert.kind, r.alert.object, r.alert.text)).collect()
}

#[test]
fn each_reason_is_raised_once_and_clears_itself() {
    let mut conn = database();
    event(&conn, "evt_1", "po_returned", "paid", 3);
    event(&conn, "evt_2", "po_returned", "failed", 3);
    event(&conn, "evt_3", "po_x", "odd", 2);
    payout(&conn, "po_returned", "failed", None, 2);
    payout(&conn, "po_refused", "failed", None, 3);
    payout(&conn, "po_late", "in_transit", Some(86_400), 4);
    payout(&conn, "po_soon", "in_transit", Some(20 * 86_400), 5);
    assert_eq!(run(&mut conn, 10 * DAY_MS), 4);
    assert_eq!(
        texts(&conn),
        [
            "stuck evt_3: payout.x waits for a person: why",
            "overdue po_late: a payout of 19.99 USD should have arrived 9 days ago",
            "failed po_refused: a payout of 19.99 USD was refused by the bank: no_account",
            "returned po_returned: a payout of 19.99 USD was paid and came back: no_account",
        ]
    );
    assert_eq!(run(&mut conn, 11 * DAY_MS), 0, "open ones are not raised again");
    conn.execute("UPDATE payouts SET status = 'paid' WHERE id = 'po_late'", []).unwrap();
    conn.execute("UPDATE events SET state = 6 WHERE id = 'evt_3'", []).unwrap();
    assert_eq!(run(&mut conn, 12 * DAY_MS), 0);
    assert_eq!(texts(&conn).len(), 2);
    assert_eq!(unseen(&conn, false).unwrap(), 2);
}

#[test]
fn acknowledging_is_audited_and_happens_once() {
    let mut conn = database();
    payout(&conn, "po_1", "failed", None, 1);
    run(&mut conn, 1);
    let id = list(&conn, false, 1).unwrap()[0].id;
    assert!(acknowledge(&mut conn, id, "ann", 7).unwrap());
    assert!(!acknowledge(&mut conn, id, "ben", 8).unwrap());
    assert_eq!(unseen(&conn, false).unwrap(), 0);
    let (who, object): (String, String) =
        conn.query_row("SELECT who, object FROM audit", [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
    assert_eq!((who.as_str(), object.as_str()), ("ann", "po_1"));
}

#[test]
fn what_was_posted_is_not_posted_again() {
    let mut conn = database();
    payout(&conn, "po_1", "failed", None, 1);
    payout(&conn, "po_2", "failed", None, 2);
    run(&mut conn, 1);
    let first = next_unposted(&conn).unwrap().unwrap();
    mark_posted(&conn, first.id, 2).unwrap();
    let second = next_unposted(&conn).unwrap().unwrap();
    assert_eq!(second.alert.object, "po_2");
    mark_posted(&conn, second.id, 3).unwrap();
    assert!(next_unposted(&conn).unwrap().is_none());
}
