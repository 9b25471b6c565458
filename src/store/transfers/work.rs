//! What the worker writes: the claim, the POST before it leaves, what came back, and what events tell.

use rusqlite::{OptionalExtension, params};

use super::row::{self, TransferRow, What};
use super::{Line, Transfers, by_key, find, write};
use crate::domain::transfer::answer::Outcome;
use crate::domain::transfer::backoff::Backoff;
use crate::domain::transfer::claim::{Lease, Refusal};
use crate::domain::transfer::lookup::{Looked, Seen, Wanted};
use crate::store::error::StoreError;

/// The facts of an answer, for the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// HTTP status, when there was one.
    pub status: Option<u16>,
    /// Stripe's `Request-Id`.
    pub request_id: Option<String>,
    /// `Idempotent-Replayed`.
    pub replayed: bool,
}

/// A POST that is written down and may leave now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The order as it stands.
    pub row: TransferRow,
    /// The history's number of the POST.
    pub post: i64,
}

/// Who works, when, and by which rules.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// The worker's name.
    pub who: &'a str,
    /// Unix milliseconds.
    pub now_ms: i64,
    /// How long claims last.
    pub lease: Lease,
    /// How long failures rest.
    pub backoff: Backoff,
    /// Any number, for the jitter.
    pub random: u64,
}

fn wanted(row: &TransferRow) -> Wanted<'_> {
    Wanted { order: &row.order, live: row.live }
}

impl Transfers {
    /// Claims the order that has been due longest; only `order_ref` when one is named. Committed when it returns.
    pub fn claim(&self, only: Option<&str>, work: Work<'_>) -> Result<Option<TransferRow>, StoreError> {
        // Looking costs no write lock: an idle queue is looked at every second.
        if self.next_due()?.is_none_or(|due| due > work.now_ms) {
            return Ok(None);
        }
        self.transact(|tx| {
            let sql = format!(
                "{} WHERE key = (SELECT key FROM (
                     SELECT key, next_ms AS at FROM transfer_orders
                     WHERE livemode = ?1 AND next_ms <= ?2 AND (?3 IS NULL OR order_ref = ?3)
                     UNION ALL
                     SELECT key, claim_until_ms FROM transfer_orders
                     WHERE livemode = ?1 AND claim_until_ms <= ?2 AND (?3 IS NULL OR order_ref = ?3))
                 ORDER BY at, key LIMIT 1)",
                row::SELECT
            );
            let found =
                tx.prepare_cached(&sql)?.query_row(params![self.live, work.now_ms, only], row::read).optional()?;
            let Some(before) = found else { return Ok(None) };
            let Ok(intent) = before.intent.claimed(work.who, work.now_ms, work.lease) else { return Ok(None) };
            match &before.intent.claim {
                Some(old) => {
                    let detail = format!("the claim of {} ran out", old.by);
                    let line = Line::new(What::Takeover, work.who, work.now_ms, &detail);
                    if let Some(dead) = intent.given_up(work.backoff) {
                        write(tx, &before, &dead, line)?;
                        return Ok(None);
                    }
                    write(tx, &before, &intent, line)?;
                }
                None => super::update(tx, &before, &intent, work.now_ms)?,
            }
            Ok(Some(TransferRow { intent, changed_ms: work.now_ms, ..before }))
        })
    }

    /// After a whole lookup: settles the order when Stripe has something. [`Looked::Create`] means a POST may be prepared.
    pub fn looked(&self, claimed: &TransferRow, found: &[Seen], work: Work<'_>) -> Result<Looked, StoreError> {
        self.transact(|tx| {
            let before = by_key(tx, claimed.key)?;
            let looked = before.intent.looked(wanted(&before), claimed.intent.fence, found);
            if let Looked::Settled(intent) = &looked {
                let detail = intent.reason.clone().unwrap_or_default();
                write(tx, &before, intent, Line::new(What::Lookup, work.who, work.now_ms, &detail))?;
            }
            Ok(looked)
        })
    }

    /// After a lookup without a whole answer.
    pub fn lookup_failed(
        &self,
        claimed: &TransferRow,
        told: &Told,
        passing: bool,
        why: &str,
        work: Work<'_>,
    ) -> Result<(), StoreError> {
        self.transact(|tx| {
            let before = by_key(tx, claimed.key)?;
            let (fence, backoff) = (claimed.intent.fence, work.backoff);
            let after = before.intent.lookup_failed(fence, passing, why, work.now_ms, backoff, work.random);
            let Some(intent) = after else { return Ok(()) };
            let line = Line { told: Some(told), ..Line::new(What::Lookup, work.who, work.now_ms, why) };
            write(tx, &before, &intent, line).map(|_| ())
        })
    }

    /// Writes the POST down. Only after this has returned may it leave. `looked_ms` is when the lookup began.
    pub fn posting(
        &self,
        claimed: &TransferRow,
        looked_ms: i64,
        work: Work<'_>,
    ) -> Result<Result<Posted, Refusal>, StoreError> {
        self.transact(|tx| {
            let before = by_key(tx, claimed.key)?;
            let intent = match before.intent.posting(claimed.intent.fence, looked_ms, work.now_ms, work.lease) {
                Ok(intent) => intent,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let line = Line::new(What::Post, work.who, work.now_ms, "looked up: Stripe has no transfer of this order");
            let post = write(tx, &before, &intent, line)?;
            Ok(Ok(Posted { row: TransferRow { intent, ..before }, post }))
        })
    }

    /// Writes down how a POST ended; the history gets it even when the claim is somebody else's by now.
    pub fn answered(
        &self,
        posted: &Posted,
        outcome: &Outcome,
        told: &Told,
        work: Work<'_>,
    ) -> Result<TransferRow, StoreError> {
        self.transact(|tx| {
            let before = by_key(tx, posted.row.key)?;
            let fence = posted.row.intent.fence;
            let after = before.intent.answered(wanted(&before), fence, outcome, work.now_ms, work.backoff, work.random);
            let late = after.is_none();
            let intent = after.unwrap_or_else(|| before.intent.clone());
            let detail = match (outcome, late) {
                (Outcome::Created(seen), false) => format!("Stripe made {}", seen.id),
                (Outcome::Created(seen), true) => format!("Stripe made {}, which was known", seen.id),
                (_, true) => format!("too late to count: {}", told_in_words(outcome)),
                _ => told_in_words(outcome).to_owned(),
            };
            let line = Line {
                post: Some(posted.post),
                told: Some(told),
                ..Line::new(What::Answer, work.who, work.now_ms, &detail)
            };
            write(tx, &before, &intent, line)?;
            Ok(TransferRow { intent, changed_ms: work.now_ms, ..before })
        })
    }

    /// Guard 5: what an event says about a transfer. Returns whether it changed anything.
    pub fn told_by_event(&self, seen: &Seen, now_ms: i64) -> Result<bool, StoreError> {
        self.transact(|tx| {
            let by_group = match &seen.group {
                Some(group) => find(tx, self.live, group)?,
                None => None,
            };
            let before = match by_group {
                Some(row) => Some(row),
                None => {
                    let sql = format!("{} WHERE livemode = ?1 AND transfer = ?2", row::SELECT);
                    tx.prepare_cached(&sql)?.query_row(params![self.live, seen.id], row::read).optional()?
                }
            };
            let Some(before) = before else { return Ok(false) };
            let Some(intent) = before.intent.event(wanted(&before), seen) else { return Ok(false) };
            let detail = intent.reason.clone().unwrap_or_default();
            write(tx, &before, &intent, Line::new(What::Event, "event", now_ms, &detail))?;
            Ok(true)
        })
    }
}

fn told_in_words(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Created(seen) => &seen.id,
        Outcome::Refused { why, .. }
        | Outcome::KeyReused { why }
        | Outcome::NotDone { why }
        | Outcome::Unknown { why, .. } => why,
    }
}
