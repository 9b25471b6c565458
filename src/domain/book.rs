//! The port through which the rules read and write: implemented on SQLite and in memory. One book is one mode (R10).

use super::details::{Details, SnapshotKey};
use super::guard::{Account, Balance, Needs};
use super::leg::{Leg, Posted};
use super::money::Currency;
use super::outcome::Outcome;
use super::owner::Owner;
use super::payout::Status;
use super::retry::MAX_ATTEMPTS;

/// What is known of a payout.
#[derive(Debug, Clone, PartialEq)]
pub struct PayoutRecord {
    /// `po_…`.
    pub id: String,
    /// Whose balance it moves.
    pub owner: Owner,
    /// Minor units as Stripe writes them.
    pub amount: i64,
    /// Its currency.
    pub currency: Currency,
    /// What Stripe says (R3).
    pub status: Status,
    /// Whether money comes in.
    pub debit: bool,
    /// Whether the journal holds every leg its status implies.
    pub posted: bool,
    /// Two different details in one second (R6).
    pub ambiguous: bool,
    /// R6.
    pub details: Details,
    /// Where the details come from.
    pub details_key: SnapshotKey,
}

/// An event whose money waits, or that is stuck for funds.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocked {
    /// Arrival number.
    pub seq: i64,
    /// The object whose legs wait; one blocked row per object.
    pub object: String,
    /// Orders snapshots of the object; its `created` also orders the retries.
    pub key: SnapshotKey,
    /// Whether the object is a payout.
    pub payout: bool,
    /// Failed tries so far.
    pub attempts: i64,
    /// Unix milliseconds of the next try; `None` when stuck.
    pub next_ms: Option<i64>,
    /// What it lacked at the last try.
    pub needs: Needs,
    /// The legs it wants to post.
    pub legs: Vec<Leg>,
}

impl Blocked {
    /// Whether its attempts are used up, so that only `funds` is guarded (R5).
    pub fn is_released(&self) -> bool {
        self.attempts >= MAX_ATTEMPTS
    }

    /// The order of retries: Stripe's second, then arrival.
    pub fn order(&self) -> (i64, i64) {
        (self.key.created, self.seq)
    }
}

/// The storage that the rules need. Every method acts on the book's one mode.
pub trait Book {
    /// What can go wrong underneath. The rules pass it on and decide nothing from it.
    type Error;

    /// The payout of that id.
    fn payout(&mut self, id: &str) -> Result<Option<PayoutRecord>, Self::Error>;
    /// Creates or changes a payout.
    fn save_payout(&mut self, payout: &PayoutRecord, before: Option<&PayoutRecord>) -> Result<(), Self::Error>;
    /// Marks that a payout's legs are all in the journal.
    fn mark_posted(&mut self, id: &str) -> Result<(), Self::Error>;
    /// A balance; zero when there is none.
    fn balance(&mut self, account: &Account) -> Result<Balance, Self::Error>;
    /// The legs of an object that are in the journal.
    fn posted(&mut self, object: &str) -> Result<Vec<Posted>, Self::Error>;
    /// Appends legs and moves their balances. The caller has checked the guard. `event` is none for an opening balance.
    fn post(&mut self, event: Option<i64>, object: &str, legs: &[Leg], now_ms: i64) -> Result<(), Self::Error>;
    /// Whether a blocked row would debit this account.
    fn is_wanted(&mut self, account: &Account) -> Result<bool, Self::Error>;
    /// The object's blocked row.
    fn blocked(&mut self, object: &str) -> Result<Option<Blocked>, Self::Error>;
    /// Stores a blocked row's new state: its legs, its needs, its attempts. `failed` records one more failed try.
    /// When the inbox row itself is not stored yet, the caller stores it with the same outcome.
    fn block(&mut self, row: &Blocked, outcome: &Outcome, failed: bool, now_ms: i64) -> Result<(), Self::Error>;
    /// Ends a blocked row: its legs leave the waiting list, its inbox row gets the outcome.
    fn unblock(&mut self, row: &Blocked, outcome: &Outcome, now_ms: i64) -> Result<(), Self::Error>;
    /// The oldest blocked row whose recorded need is on this account and is covered:
    /// by `strict` while it has attempts left, by `released` when it has none. Minor units.
    fn next_covered(&mut self, account: &Account, strict: i64, released: i64) -> Result<Option<Blocked>, Self::Error>;
    /// Waiting rows due at `now_ms`, oldest first.
    fn due(&mut self, now_ms: i64) -> Result<Vec<i64>, Self::Error>;
    /// A blocked row by arrival number; `None` when it is not blocked any more.
    fn blocked_row(&mut self, seq: i64) -> Result<Option<Blocked>, Self::Error>;
    /// All blocked rows, oldest first.
    fn all_blocked(&mut self) -> Result<Vec<Blocked>, Self::Error>;
}
