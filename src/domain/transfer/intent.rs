//! Guard 1: what we know about one order's transfer. One value per order, changed by pure functions only, each change
//! written in the transaction that checked the value before.

use std::fmt;

/// Where an order's transfer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Wants to be sent; nothing at Stripe is in doubt.
    Queued,
    /// One worker has the claim and looks or posts.
    Sending,
    /// A POST may have moved the money: the same key again, after a lookup.
    Unknown,
    /// Stripe answered our POST with the transfer.
    Sent,
    /// The transfer was found at Stripe; we do not ask again.
    Adopted,
    /// Stripe refused it for good; a person's retry uses a new key.
    Rejected,
    /// Stripe holds something else under this order; a person decides.
    Conflict,
    /// Tried often enough; a person decides.
    DeadLetter,
    /// Sent, and taken back later.
    Reversed,
    /// Given up by a person before anything was sent.
    Canceled,
}

impl State {
    /// All of them, in the order of their stored numbers.
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Sending,
        Self::Unknown,
        Self::Sent,
        Self::Adopted,
        Self::Rejected,
        Self::Conflict,
        Self::DeadLetter,
        Self::Reversed,
        Self::Canceled,
    ];

    /// The word shown and typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Unknown => "unknown",
            Self::Sent => "sent",
            Self::Adopted => "adopted",
            Self::Rejected => "rejected",
            Self::Conflict => "conflict",
            Self::DeadLetter => "dead_letter",
            Self::Reversed => "reversed",
            Self::Canceled => "canceled",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// The worker will come back to it by itself.
    pub fn is_working(self) -> bool {
        matches!(self, Self::Queued | Self::Sending | Self::Unknown)
    }

    /// Stripe has the transfer.
    pub fn is_paid(self) -> bool {
        matches!(self, Self::Sent | Self::Adopted | Self::Reversed)
    }

    /// Waits for a person.
    pub fn needs_person(self) -> bool {
        matches!(self, Self::Rejected | Self::Conflict | Self::DeadLetter)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the holder of a claim is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Reading Stripe's record: nothing can have been sent.
    Looking,
    /// A POST may be on its way.
    Posting,
}

/// The right of one worker to work on one order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Who, for people.
    pub by: String,
    /// What for.
    pub phase: Phase,
    /// When it runs out, unix milliseconds.
    pub until_ms: i64,
}

/// From whom we know that the transfer exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The answer to our POST.
    Answer,
    /// A lookup by transfer group.
    Lookup,
    /// A signed event.
    Event,
}

impl Source {
    /// The word shown and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Lookup => "lookup",
            Self::Event => "event",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Answer, Self::Lookup, Self::Event].into_iter().find(|s| s.as_str() == word)
    }
}

/// The state of one order's transfer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Intent {
    /// Where it stands.
    pub state: State,
    /// Definite failures that a person retried; part of the key.
    pub version: i64,
    /// A POST with this version's key may have moved the money and nothing has settled it yet.
    pub doubt: bool,
    /// Stripe stored a definite failure under this version's key: the same key would only replay it.
    pub spent: bool,
    /// Tries since the order was made or a person retried it.
    pub tries: i64,
    /// When it is due, unix milliseconds.
    pub next_ms: Option<i64>,
    /// Number of claims so far: an answer counts only under the claim it was asked under.
    pub fence: i64,
    /// The claim in force.
    pub claim: Option<Claim>,
    /// When this version's key was first sent, as far as Stripe can still know it, unix milliseconds.
    pub key_first_ms: Option<i64>,
    /// `tr_…`.
    pub transfer: Option<String>,
    /// From whom we know it.
    pub known_from: Option<Source>,
    /// Why it stands where it stands, one line.
    pub reason: Option<String>,
}

impl Intent {
    /// A new order's, due at once.
    pub fn new(now_ms: i64) -> Self {
        Self {
            state: State::Queued,
            version: 0,
            doubt: false,
            spent: false,
            tries: 0,
            next_ms: Some(now_ms),
            fence: 0,
            claim: None,
            key_first_ms: None,
            transfer: None,
            known_from: None,
            reason: None,
        }
    }

    /// The claim number `fence`, when it is the one in force and has not run out.
    pub fn holds(&self, fence: i64, now_ms: i64) -> bool {
        self.fence == fence && self.claim.as_ref().is_some_and(|c| now_ms < c.until_ms)
    }

    /// Whether `fence` is the number of the claim in force and its holder is in this phase, run out or not.
    pub(super) fn is_at(&self, fence: i64, phase: Phase) -> bool {
        self.fence == fence && self.claim.as_ref().is_some_and(|c| c.phase == phase)
    }

    /// At rest in `state`: no claim, nothing due.
    pub(super) fn rest(&self, state: State, reason: impl Into<String>) -> Self {
        Self { state, next_ms: None, claim: None, reason: Some(reason.into()), ..self.clone() }
    }

    /// Back in the queue, due at `next_ms`: `unknown` while in doubt.
    pub(super) fn requeue(&self, next_ms: i64, reason: impl Into<String>) -> Self {
        let state = if self.doubt { State::Unknown } else { State::Queued };
        Self { state, next_ms: Some(next_ms), claim: None, reason: Some(reason.into()), ..self.clone() }
    }

    /// Stripe has it: `transfer` settles every doubt.
    pub(super) fn paid(&self, state: State, transfer: &str, source: Source, reason: impl Into<String>) -> Self {
        Self { doubt: false, transfer: Some(transfer.to_owned()), known_from: Some(source), ..self.rest(state, reason) }
    }

    /// The first broken promise of this value, none when it is sound. The tables hold the same by CHECK.
    pub fn unsound(&self) -> Option<&'static str> {
        let claimed = self.claim.is_some();
        let due = self.next_ms.is_some();
        let has_transfer = self.transfer.is_some();
        [
            (claimed != (self.state == State::Sending), "a claim without sending, or the reverse"),
            (due != matches!(self.state, State::Queued | State::Unknown), "due without queue, or the reverse"),
            (self.state.is_paid() && !has_transfer, "paid without a transfer"),
            (has_transfer && !(self.state.is_paid() || self.state == State::Conflict), "a transfer but not paid"),
            (self.state == State::Unknown && !self.doubt, "unknown without doubt"),
            (self.doubt && (self.state.is_paid() || self.state == State::Queued), "doubt where there is none"),
            (self.doubt && self.state == State::Canceled, "canceled in doubt"),
            (self.doubt && self.state == State::Rejected, "rejected in doubt"),
            (self.version < 0 || self.tries < 0 || self.fence < 0, "a count below zero"),
        ]
        .into_iter()
        .find_map(|(broken, what)| broken.then_some(what))
    }
}
