//! Legs as rows: the waiting list's legs in and out of their table.

use rusqlite::{Connection, params};

use super::cache::account;
use super::error::StoreError;
use crate::domain::leg::{Class, Leg, Side};

/// The stored number of a side's class.
pub(super) fn class_code(side: &Side) -> i64 {
    side.class() as i64
}

/// The class that a stored number means.
pub(super) fn class(code: i64) -> Class {
    match code {
        0 => Class::Funds,
        1 => Class::Claims,
        _ => Class::External,
    }
}

/// Stores the legs that an event wants to post.
pub(super) fn store_pending(conn: &Connection, seq: i64, legs: &[Leg]) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO pending_legs (seq, n, leg, upto, debit_account, debit_class, credit_account, credit_class, amount,
           currency) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for (n, leg) in (0_i64..).zip(legs) {
        statement.execute(params![
            seq,
            n,
            leg.name,
            leg.upto,
            leg.from.owner().map(|o| o.as_str()),
            class_code(&leg.from),
            leg.to.owner().map(|o| o.as_str()),
            class_code(&leg.to),
            leg.amount,
            leg.currency.as_str()
        ])?;
    }
    Ok(())
}

/// The legs that an event wants to post.
pub(super) fn pending(conn: &Connection, seq: i64) -> Result<Vec<Leg>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT leg, upto, debit_account, debit_class, credit_account, credit_class, amount, currency
         FROM pending_legs WHERE seq = ?1 ORDER BY n",
    )?;
    let mut rows = statement.query(params![seq])?;
    let mut legs = Vec::new();
    while let Some(row) = rows.next()? {
        let side = |owner: Option<String>, code: i64| Side::stored(class(code), owner.unwrap_or_default());
        legs.push(Leg {
            name: row.get(0)?,
            upto: row.get(1)?,
            from: side(row.get(2)?, row.get(3)?),
            to: side(row.get(4)?, row.get(5)?),
            amount: row.get(6)?,
            currency: account(String::new(), &row.get::<_, String>(7)?)?.1,
        });
    }
    Ok(legs)
}

/// Takes an event's legs off the waiting list.
pub(super) fn forget_pending(conn: &Connection, seq: i64) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM pending_legs WHERE seq = ?1")?.execute(params![seq])?;
    Ok(())
}
