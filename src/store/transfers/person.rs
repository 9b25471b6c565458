//! What people do: make orders, one or a file of them, retry and cancel. Each deed is in the audit (R9).

use rusqlite::{Transaction, params};

use super::row::{TransferRow, What};
use super::{Line, Transfers, append, by_key, find, remember_job, write};
use crate::domain::transfer::intent::Intent;
use crate::domain::transfer::order::Order;
use crate::domain::transfer::person::Retried;
use crate::store::act::{self, Actor, Entry};
use crate::store::error::StoreError;

/// What asking for an order came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// It is in the queue.
    New(TransferRow),
    /// The same order with the same fields is known: nothing changed.
    Same(TransferRow),
    /// An order of this name has other fields: nothing changed. The text is one line for the person.
    Differs(String),
}

/// What pressing a key came to. The inner `Err` is one line for the person; then nothing changed.
pub type Pressed<T> = Result<Result<T, String>, StoreError>;

impl Transfers {
    /// Guard 1: one row per order. Pressing twice is one order.
    pub fn create(&self, order: &Order, actor: &Actor<'_>) -> Result<Created, StoreError> {
        self.transact(|tx| self.create_in(tx, order, actor))
    }

    /// Many orders, all or none. The inner `Err` is the place in the list (from 0) and one line.
    pub fn import(
        &self,
        orders: &[Order],
        actor: &Actor<'_>,
    ) -> Result<Result<Vec<Created>, (usize, String)>, StoreError> {
        let mut refused = None;
        let result = self.transact(|tx| {
            let mut made = Vec::with_capacity(orders.len());
            for (n, order) in orders.iter().enumerate() {
                match self.create_in(tx, order, actor)? {
                    Created::Differs(why) => {
                        refused = Some((n, why));
                        return Err(StoreError::Rehearsed);
                    }
                    created => made.push(created),
                }
            }
            Ok(made)
        });
        match (result, refused) {
            (Err(StoreError::Rehearsed), Some(refused)) => Ok(Err(refused)),
            (result, _) => result.map(Ok),
        }
    }

    fn create_in(&self, tx: &Transaction<'_>, order: &Order, actor: &Actor<'_>) -> Result<Created, StoreError> {
        if let Some(known) = find(tx, self.live, &order.order_ref)? {
            return Ok(match known.order.difference(order) {
                None => Created::Same(known),
                Some(what) => Created::Differs(format!(
                    "order {} exists with {what}; an order never changes: use another name",
                    order.order_ref
                )),
            });
        }
        let intent = Intent::new(actor.now_ms);
        tx.prepare_cached(
            "INSERT INTO transfer_orders (livemode, order_ref, amount, currency, destination, source_transaction, description,
                 created_ms, created_by, changed_ms, state, next_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?8, ?10, ?11)",
        )?
        .execute(params![
            self.live,
            order.order_ref,
            order.amount,
            order.currency.as_str(),
            order.destination,
            order.source_transaction,
            order.description,
            actor.now_ms,
            actor.who,
            intent.state.as_str(),
            intent.next_ms,
        ])?;
        let row = by_key(tx, tx.last_insert_rowid())?;
        remember_job(tx, &row, &intent, actor.now_ms)?;
        append(tx, row.key, &intent, Line::new(What::Created, actor.who, actor.now_ms, actor.reason))?;
        self.audit(tx, "transfer-create", &row, "", &intent, actor)?;
        Ok(Created::New(row))
    }

    /// Guard 3's only way to a new key. `version` is the one the person saw; `None` is the one that stands.
    pub fn retry(&self, order_ref: &str, version: Option<i64>, actor: &Actor<'_>) -> Pressed<(TransferRow, Retried)> {
        self.press(order_ref, "transfer-retry", What::Retry, actor, |row| {
            row.intent.retried(version.unwrap_or(row.intent.version), actor.now_ms)
        })
    }

    /// Gives an order up before anything was sent.
    pub fn cancel(&self, order_ref: &str, actor: &Actor<'_>) -> Pressed<TransferRow> {
        let reason = if actor.reason.is_empty() { "canceled by hand" } else { actor.reason };
        let canceled = self.press(order_ref, "transfer-cancel", What::Cancel, actor, |row| {
            row.intent.canceled(reason).map(|intent| (intent, ()))
        })?;
        Ok(canceled.map(|(row, ())| row))
    }

    fn press<T>(
        &self,
        order_ref: &str,
        action: &str,
        what: What,
        actor: &Actor<'_>,
        decide: impl FnOnce(&TransferRow) -> Result<(Intent, T), String>,
    ) -> Pressed<(TransferRow, T)> {
        self.transact(|tx| {
            let Some(before) = find(tx, self.live, order_ref)? else {
                return Ok(Err(format!("there is no order {order_ref}; `transfer list` shows what there is")));
            };
            let (intent, result) = match decide(&before) {
                Ok(decided) => decided,
                Err(why) => return Ok(Err(format!("order {order_ref}: {why}"))),
            };
            write(tx, &before, &intent, Line::new(what, actor.who, actor.now_ms, actor.reason))?;
            self.audit(tx, action, &before, before.intent.state.as_str(), &intent, actor)?;
            Ok(Ok((TransferRow { intent, changed_ms: actor.now_ms, ..before }, result)))
        })
    }

    fn audit(
        &self,
        tx: &Transaction<'_>,
        action: &str,
        row: &TransferRow,
        before: &str,
        after: &Intent,
        actor: &Actor<'_>,
    ) -> Result<(), StoreError> {
        let after_text = format!("{} v{}", after.state, after.version);
        let object = after.transfer.as_deref().unwrap_or_default();
        let entry = Entry { action, target: &row.order.order_ref, object, before, after: &after_text };
        act::audit(tx, self.live, actor, entry)
    }
}
