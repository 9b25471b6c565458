//! Findings of a reconcile: one open row per object and kind, refreshed while it lasts, resolved by itself, kept.

use rusqlite::types::Type;
use rusqlite::{Connection, Error, Row, params};

use crate::domain::reconcile::{Finding, FindingKind};

/// A stored finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingRow {
    /// Row key.
    pub id: i64,
    /// What differs.
    pub finding: Finding,
    /// When it was first seen, unix milliseconds.
    pub opened_ms: i64,
    /// When it was last seen.
    pub seen_ms: i64,
    /// When it was gone.
    pub resolved_ms: Option<i64>,
}

/// What recording a reconcile changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Findings that were not open before.
    pub opened: usize,
    /// Findings that were open and still are.
    pub refreshed: usize,
    /// Open findings that are gone.
    pub resolved: usize,
}

/// Records a reconcile that looked at everything of `accounts`: opens, refreshes, and resolves what is no longer so.
/// Findings of other accounts stay as they are, so a half-done reconcile resolves nothing it did not look at.
/// `fresh` objects were not judged: their findings stay too.
pub fn record(
    conn: &mut Connection,
    live: bool,
    accounts: &[String],
    found: &[Finding],
    fresh: &dyn Fn(&str) -> bool,
    now_ms: i64,
) -> rusqlite::Result<Recorded> {
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut recorded = Recorded::default();
    for f in found {
        let changed = tx.execute(
            "UPDATE findings SET here = ?5, there = ?6, unexplained = ?7, seen_ms = ?8
             WHERE livemode = ?1 AND kind = ?2 AND account = ?3 AND object = ?4 AND resolved_ms IS NULL",
            params![live, f.kind.as_str(), f.account, f.object, f.here, f.there, f.unexplained, now_ms],
        )?;
        if changed > 0 {
            recorded.refreshed += 1;
            continue;
        }
        recorded.opened += tx.execute(
            "INSERT INTO findings (livemode, kind, account, object, here, there, unexplained, opened_ms, seen_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
            params![live, f.kind.as_str(), f.account, f.object, f.here, f.there, f.unexplained, now_ms],
        )?;
    }
    for row in open(&tx, live)? {
        let f = &row.finding;
        let seen = found.iter().any(|g| (g.kind, &g.account, &g.object) == (f.kind, &f.account, &f.object));
        if !seen && accounts.contains(&f.account) && !fresh(&f.object) {
            recorded.resolved +=
                tx.execute("UPDATE findings SET resolved_ms = ?2 WHERE id = ?1", params![row.id, now_ms])?;
        }
    }
    tx.commit()?;
    Ok(recorded)
}

const COLUMNS: &str = "id, kind, object, account, here, there, unexplained, opened_ms, seen_ms, resolved_ms";

/// Open findings, oldest first.
pub fn open(conn: &Connection, live: bool) -> rusqlite::Result<Vec<FindingRow>> {
    let sql = format!("SELECT {COLUMNS} FROM findings WHERE livemode = ?1 AND resolved_ms IS NULL ORDER BY id");
    let mut statement = conn.prepare_cached(&sql)?;
    statement.query_map(params![live], read)?.collect()
}

/// All findings, open ones first, newest first, at most `limit`.
pub fn history(conn: &Connection, live: bool, limit: usize) -> rusqlite::Result<Vec<FindingRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM findings WHERE livemode = ?1 ORDER BY resolved_ms IS NOT NULL, id DESC LIMIT ?2"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    statement.query_map(params![live, limit], read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<FindingRow> {
    let word: String = row.get(1)?;
    Ok(FindingRow {
        id: row.get(0)?,
        finding: Finding {
            kind: FindingKind::parse(&word).ok_or_else(|| Error::InvalidColumnType(1, word, Type::Text))?,
            object: row.get(2)?,
            account: row.get(3)?,
            here: row.get(4)?,
            there: row.get(5)?,
            unexplained: row.get(6)?,
        },
        opened_ms: row.get(7)?,
        seen_ms: row.get(8)?,
        resolved_ms: row.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(object: &str, account: &str, here: &str) -> Finding {
        Finding {
            kind: FindingKind::StatusDiffers,
            object: object.into(),
            account: account.into(),
            here: here.into(),
            there: "paid".into(),
            unexplained: None,
        }
    }

    #[test]
    fn one_open_row_per_object_refreshed_resolved_and_kept() {
        let mut conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(include_str!("../../assets/schema/0004_stripe_side.sql")).unwrap();
        let all = ["acct_a".to_owned(), "acct_b".to_owned()];
        let none: &dyn Fn(&str) -> bool = &|_| false;
        let both = [finding("po_1", "acct_a", "pending"), finding("po_2", "acct_b", "pending")];
        let recorded = record(&mut conn, false, &all, &both, none, 1).unwrap();
        assert_eq!(recorded, Recorded { opened: 2, ..Recorded::default() });
        let recorded = record(&mut conn, false, &all, &[finding("po_1", "acct_a", "in_transit")], &|o| o == "po_2", 2);
        assert_eq!(recorded.unwrap(), Recorded { refreshed: 1, ..Recorded::default() });
        assert_eq!(record(&mut conn, false, &all[..1], &[], none, 3).unwrap().resolved, 1);
        let open = open(&conn, false).unwrap();
        assert_eq!((open.len(), open[0].finding.object.as_str()), (1, "po_2"));
        assert_eq!(record(&mut conn, false, &all, &both[..1], none, 4).unwrap().opened, 1);
        let history = history(&conn, false, 9).unwrap();
        let shape: Vec<_> = history.iter().map(|r| (r.finding.object.as_str(), r.opened_ms, r.resolved_ms)).collect();
        assert_eq!(shape, [("po_1", 4, None), ("po_2", 1, Some(4)), ("po_1", 1, Some(3))]);
        assert!(super::open(&conn, true).unwrap().is_empty());
    }
}
