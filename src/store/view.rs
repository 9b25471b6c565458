//! What a reader hands out: plain rows for screens and commands. Text from payloads is raw here;
//! whoever shows it cleans it first.

use serde::Serialize;

use crate::domain::outcome::State;

/// A count of inbox rows per state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InboxCounts {
    /// Stored, not yet looked at.
    pub received: i64,
    /// Its money waits for funds; will be tried again.
    pub waiting: i64,
    /// Waits for a person.
    pub stuck: i64,
    /// Did its work.
    pub applied: i64,
    /// Old news, or closed by a newer snapshot.
    pub skipped: i64,
    /// No rule for it, or the other mode.
    pub ignored: i64,
    /// Put aside by a person.
    pub dismissed: i64,
}

impl InboxCounts {
    /// The count of one state.
    pub fn of(&self, state: State) -> i64 {
        match state {
            State::Received => self.received,
            State::Waiting => self.waiting,
            State::Stuck => self.stuck,
            State::Applied => self.applied,
            State::Skipped => self.skipped,
            State::Ignored => self.ignored,
            State::Dismissed => self.dismissed,
        }
    }
}

/// What a blocked posting lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// `platform` or `acct_…`.
    pub account: String,
    /// Lower-case code.
    pub currency: String,
    /// Minor units still lacking, greater than zero.
    pub amount: i64,
}

/// One payout in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PayoutRow {
    /// Row key: stable while the row lives.
    #[serde(skip)]
    pub key: i64,
    /// `po_…`.
    pub id: String,
    /// `platform` or `acct_…`.
    pub account: String,
    /// Minor units; negative for a bank debit.
    pub amount: i64,
    /// Lower-case code.
    pub currency: String,
    /// Stripe's word.
    pub status: String,
    /// Whether every leg its status implies is in the journal.
    pub posted: bool,
    /// Two different details in one second (R6).
    pub ambiguous: bool,
    /// Midnight UTC of the day, unix seconds.
    pub arrival_date: Option<i64>,
    /// Stripe's failure code.
    pub failure_code: Option<String>,
    /// Distinct events seen.
    pub events: i64,
    /// Arrival number of its newest event.
    pub last_seq: i64,
    /// When its newest event arrived, unix milliseconds.
    pub last_ms: i64,
}

/// One row of the inbox or the event list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventRow {
    /// Arrival number, the row key.
    pub seq: i64,
    /// `evt_…`.
    pub id: String,
    /// `payout.paid`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// `platform` or `acct_…`.
    pub account: String,
    /// `po_…`, `tr_…`; empty when unreadable.
    pub object: String,
    /// The status, when the object is a payout.
    pub status: Option<String>,
    /// Minor units of the object, when it has an amount.
    pub amount: Option<i64>,
    /// Lower-case code.
    pub currency: Option<String>,
    /// Stripe's time, unix seconds.
    pub created: i64,
    /// First delivery, unix milliseconds.
    pub first_ms: i64,
    /// Newest delivery, unix milliseconds.
    pub last_ms: i64,
    /// How often it was delivered.
    pub deliveries: i64,
    /// One of the inbox states, as a word.
    pub state: String,
    /// Why it is in that state.
    pub reason: Option<String>,
    /// Tries used.
    pub attempts: i64,
    /// When the next try is due, unix milliseconds.
    pub next_ms: Option<i64>,
    /// What it lacks.
    pub needs: Option<Needs>,
    /// What it changed, in one line.
    pub effect: Option<String>,
    /// When it reached its state, unix milliseconds.
    pub settled_ms: Option<i64>,
}

/// One posted leg.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalRow {
    /// Journal number, the row key.
    pub id: i64,
    /// The object the leg belongs to.
    pub object: String,
    /// The leg's name: `out`, `back`, `reversed`, …
    pub leg: String,
    /// For a cumulative leg the value reached, else 0.
    pub upto: i64,
    /// The event that posted it; none for an opening balance.
    pub event: Option<String>,
    /// Owner debited, or `external`.
    pub from: String,
    /// `funds`, `claims` or `external`.
    pub from_class: String,
    /// Owner credited, or `external`.
    pub to: String,
    /// `funds`, `claims` or `external`.
    pub to_class: String,
    /// Minor units, greater than zero.
    pub amount: i64,
    /// Lower-case code.
    pub currency: String,
    /// Unix milliseconds.
    pub posted_ms: i64,
}

/// One balance: an account in one currency. All amounts are minor units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BalanceRow {
    /// Row key: stable while the row lives.
    #[serde(skip)]
    pub key: i64,
    /// `platform` or `acct_…`.
    pub account: String,
    /// Lower-case code.
    pub currency: String,
    /// max(0, funds + claims).
    pub available: i64,
    /// max(0, -(funds + claims)).
    pub owed: i64,
    /// funds + claims.
    pub posted: i64,
    /// Net of everything that waits or is stuck.
    pub waiting: i64,
    /// posted + waiting: never depends on order.
    pub projected: i64,
    /// Payouts pending or in transit.
    pub in_flight: i64,
    /// Payouts paid.
    pub paid_out: i64,
    /// Payouts failed or canceled.
    pub returned: i64,
    /// Whether an opening balance was posted.
    pub opened: bool,
    /// How many waiting or stuck rows want this balance.
    pub competing: i64,
}

/// One thing a person did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditRow {
    /// Row key.
    pub id: i64,
    /// Unix milliseconds.
    pub at_ms: i64,
    /// Who: the operating system's user name.
    pub who: String,
    /// `retry`, `dismiss`, `restore`, `open-balance`.
    pub action: String,
    /// Event or account it was done to.
    pub target: String,
    /// The object behind the target.
    pub object: String,
    /// The reason given.
    pub reason: String,
    /// State before.
    pub before: String,
    /// State after.
    pub after: String,
}

/// A payout with all that a detail pane shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayoutDetail {
    /// The list row.
    pub row: PayoutRow,
    /// R6 details, in the order shown: label and text. Absent ones are left out.
    pub details: Vec<(String, String)>,
    /// The event the details come from.
    pub details_event: String,
    /// Its events in arrival order.
    pub timeline: Vec<EventRow>,
    /// Its legs, oldest first.
    pub legs: Vec<JournalRow>,
    /// What people did to it.
    pub audit: Vec<AuditRow>,
    /// The owner's balance in the payout's currency.
    pub balance: Option<BalanceRow>,
}

/// An inbox row with all that the "why" pane shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxDetail {
    /// The list row.
    pub row: EventRow,
    /// The legs it wants to post.
    pub wants: Vec<JournalRow>,
    /// The balance it lacks money in.
    pub balance: Option<BalanceRow>,
    /// Other waiting or stuck rows that debit the same balance, oldest first.
    pub competitors: Vec<EventRow>,
    /// Waiting or stuck rows that would credit it.
    pub would_help: Vec<EventRow>,
    /// When each try was made, unix milliseconds, oldest first.
    pub tries: Vec<i64>,
    /// What people did to it.
    pub audit: Vec<AuditRow>,
}

/// Everything the header and the tab line show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Inbox rows per state, this mode.
    pub inbox: InboxCounts,
    /// Payouts in all, this mode.
    pub payouts: i64,
    /// Payouts per status word.
    pub payouts_by_status: Vec<(String, i64)>,
    /// Events in all.
    pub events: i64,
    /// Events of the other mode, kept as ignored.
    pub other_mode: i64,
    /// When the newest delivery came in, unix milliseconds.
    pub last_event_ms: Option<i64>,
    /// Open alerts that nobody has acknowledged.
    pub alerts: i64,
    /// Outgoing transfers that wait for a person.
    pub transfers_need_person: i64,
}

/// Which way a page is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Newest or greatest first.
    #[default]
    Descending,
    /// Oldest or smallest first.
    Ascending,
}

/// What a payout list may be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PayoutSort {
    /// Its newest event.
    #[default]
    LastEvent,
    /// Amount in minor units.
    Amount,
    /// Arrival date.
    Arrival,
}

/// Filters a list understands. `None` and empty mean "any".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// A payout's status or an event's state; several are "any of".
    pub states: Vec<String>,
    /// `platform` or `acct_…`, exact.
    pub account: Option<String>,
    /// Lower-case code.
    pub currency: Option<String>,
    /// Event type: exact, or a prefix with a trailing `*` (`payout.*`).
    pub kind: Option<String>,
    /// Object id, exact.
    pub object: Option<String>,
    /// Part of an id, an account, a type or a reason.
    pub text: Option<String>,
}

/// A page request by key: at most `limit` rows after (or, when `before` is set, before) the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<C> {
    /// Where to go on; `None` starts at the top.
    pub cursor: Option<C>,
    /// Walk towards the top instead.
    pub before: bool,
    /// Rows at the most.
    pub limit: usize,
}
