//! The shapes of outgoing transfers and how their rows are read.

use rusqlite::Row;

use crate::domain::money::Currency;
use crate::domain::transfer::intent::{Claim, Intent, Phase, Source, State};
use crate::domain::transfer::order::Order;

/// One order with all we know of its transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRow {
    /// Row key: stable for ever.
    pub key: i64,
    /// Its mode.
    pub live: bool,
    /// What is to be paid.
    pub order: Order,
    /// Where it stands.
    pub intent: Intent,
    /// Unix milliseconds.
    pub created_ms: i64,
    /// Who made it.
    pub created_by: String,
    /// The last change, unix milliseconds.
    pub changed_ms: i64,
}

/// What a line of the history is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The order was made.
    Created,
    /// A claim ran out and another worker took it over.
    Takeover,
    /// Stripe's record was read.
    Lookup,
    /// A POST is about to leave.
    Post,
    /// What came back.
    Answer,
    /// A signed event changed it.
    Event,
    /// A person's retry.
    Retry,
    /// A person's cancel.
    Cancel,
}

impl What {
    const ALL: [Self; 8] =
        [Self::Created, Self::Takeover, Self::Lookup, Self::Post, Self::Answer, Self::Event, Self::Retry, Self::Cancel];

    /// The word stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Takeover => "takeover",
            Self::Lookup => "lookup",
            Self::Post => "post",
            Self::Answer => "answer",
            Self::Event => "event",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
        }
    }
}

/// One line of an order's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// Row key; for a POST the number its answer names.
    pub id: i64,
    /// Unix milliseconds.
    pub at_ms: i64,
    /// Which worker or person.
    pub who: String,
    /// What it is about.
    pub what: What,
    /// The version then.
    pub version: i64,
    /// The POST this answers.
    pub post: Option<i64>,
    /// HTTP status.
    pub status: Option<i64>,
    /// Stripe's `Request-Id`.
    pub request_id: Option<String>,
    /// `Idempotent-Replayed`.
    pub replayed: bool,
    /// `tr_…`.
    pub transfer: Option<String>,
    /// The state afterwards.
    pub state: String,
    /// In words.
    pub detail: String,
}

/// The columns that [`read`] reads.
pub(in crate::store) const SELECT: &str = "SELECT key, livemode, order_ref, amount, currency, destination,
    source_transaction, description, created_ms, created_by, changed_ms, state, version, doubt, spent, tries, next_ms, fence,
    claim_by, claim_phase, claim_until_ms, key_first_ms, transfer, known_from, reason FROM transfer_orders";

/// A word that is none of ours: the CHECKs make it impossible, so it is damage.
fn unreadable(column: usize, word: &str) -> rusqlite::Error {
    let why = format!("unexpected word {word:?}");
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, why.into())
}

/// Reads a row of [`SELECT`].
pub(in crate::store) fn read(row: &Row<'_>) -> rusqlite::Result<TransferRow> {
    let currency: String = row.get(4)?;
    let state: String = row.get(11)?;
    let until_ms: Option<i64> = row.get(20)?;
    let claim = match until_ms {
        None => None,
        Some(until_ms) => {
            let posting = row.get::<_, Option<String>>(19)?.as_deref() == Some("posting");
            let phase = if posting { Phase::Posting } else { Phase::Looking };
            Some(Claim { by: row.get::<_, Option<String>>(18)?.unwrap_or_default(), phase, until_ms })
        }
    };
    let known_from: Option<String> = row.get(23)?;
    Ok(TransferRow {
        key: row.get(0)?,
        live: row.get(1)?,
        order: Order {
            order_ref: row.get(2)?,
            amount: row.get(3)?,
            currency: Currency::parse(&currency).map_err(|_| unreadable(4, &currency))?,
            destination: row.get(5)?,
            source_transaction: row.get(6)?,
            description: row.get(7)?,
        },
        created_ms: row.get(8)?,
        created_by: row.get(9)?,
        changed_ms: row.get(10)?,
        intent: Intent {
            state: State::parse(&state).ok_or_else(|| unreadable(11, &state))?,
            version: row.get(12)?,
            doubt: row.get(13)?,
            spent: row.get(14)?,
            tries: row.get(15)?,
            next_ms: row.get(16)?,
            fence: row.get(17)?,
            claim,
            key_first_ms: row.get(21)?,
            transfer: row.get(22)?,
            known_from: known_from.as_deref().and_then(Source::parse),
            reason: row.get(24)?,
        },
    })
}

/// The columns that [`read_history`] reads.
pub(in crate::store) const HISTORY: &str = "SELECT id, at_ms, who, what, version, post, status, request_id, replayed,
    transfer, state, detail FROM transfer_history";

/// Reads a row of [`HISTORY`].
pub(in crate::store) fn read_history(row: &Row<'_>) -> rusqlite::Result<HistoryRow> {
    let what: String = row.get(3)?;
    Ok(HistoryRow {
        id: row.get(0)?,
        at_ms: row.get(1)?,
        who: row.get(2)?,
        what: What::ALL.into_iter().find(|w| w.as_str() == what).ok_or_else(|| unreadable(3, &what))?,
        version: row.get(4)?,
        post: row.get(5)?,
        status: row.get(6)?,
        request_id: row.get(7)?,
        replayed: row.get(8)?,
        transfer: row.get(9)?,
        state: row.get(10)?,
        detail: row.get(11)?,
    })
}
