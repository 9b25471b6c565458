//! The inbox states and what an event came to.

use std::fmt;

use super::guard::Needs;

/// Where an inbox row stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Stored, not yet looked at.
    Received,
    /// Its money waits for funds; will be tried again.
    Waiting,
    /// Waits for a person.
    Stuck,
    /// Did its work.
    Applied,
    /// Old news, nothing new, or closed by a newer snapshot.
    Skipped,
    /// No rule for it, or the other mode.
    Ignored,
    /// Put aside by a person.
    Dismissed,
}

impl State {
    /// All states, in the order of their stored numbers.
    pub const ALL: [Self; 7] =
        [Self::Received, Self::Waiting, Self::Stuck, Self::Applied, Self::Skipped, Self::Ignored, Self::Dismissed];

    /// The word shown and typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Waiting => "waiting",
            Self::Stuck => "stuck",
            Self::Applied => "applied",
            Self::Skipped => "skipped",
            Self::Ignored => "ignored",
            Self::Dismissed => "dismissed",
        }
    }

    /// The state a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// The stored number.
    pub fn code(self) -> i64 {
        self as i64
    }

    /// The state a stored number means.
    pub fn from_code(code: i64) -> Option<Self> {
        usize::try_from(code).ok().and_then(|n| Self::ALL.get(n).copied())
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an event came to, once looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Where the row stands now.
    pub state: State,
    /// Why, where it needs saying.
    pub reason: Option<String>,
    /// What it changed, in one line.
    pub effect: Option<String>,
    /// Tries used.
    pub attempts: i64,
    /// When the next try is due, unix milliseconds; set exactly when it waits.
    pub next_ms: Option<i64>,
    /// What it lacks.
    pub needs: Option<Needs>,
}

impl Outcome {
    /// A final state with its reason and effect.
    pub fn settled(state: State, reason: Option<String>, effect: Option<String>) -> Self {
        Self { state, reason, effect, attempts: 0, next_ms: None, needs: None }
    }

    /// Old news or nothing new.
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self::settled(State::Skipped, Some(reason.into()), None)
    }

    /// No rule.
    pub fn ignored(reason: impl Into<String>) -> Self {
        Self::settled(State::Ignored, Some(reason.into()), None)
    }

    /// A person decides: no retry can mend it.
    pub fn stuck(reason: impl Into<String>) -> Self {
        Self { attempts: 1, ..Self::settled(State::Stuck, Some(reason.into()), None) }
    }
}
