//! What deserves a person's attention even when nobody looks at the screen.

use std::fmt;

use super::payout::Status;

/// Why a person should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlertKind {
    /// The bank refused a payout.
    Failed,
    /// A payout was paid and came back.
    Returned,
    /// A payout should have arrived days ago.
    Overdue,
    /// An event waits for a person.
    Stuck,
    /// Stripe's record and ours differ.
    Finding,
    /// A balance at Stripe is below zero.
    Negative,
    /// Stripe has newer events and none of them came.
    Silent,
}

impl AlertKind {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Failed, Self::Returned, Self::Overdue, Self::Stuck, Self::Finding, Self::Negative, Self::Silent];

    /// The stored and shown word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Returned => "returned",
            Self::Overdue => "overdue",
            Self::Stuck => "stuck",
            Self::Finding => "finding",
            Self::Negative => "negative",
            Self::Silent => "silent",
        }
    }

    /// The kind a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == word)
    }
}

impl fmt::Display for AlertKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One reason to look. The same kind and object is raised once while it lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Why.
    pub kind: AlertKind,
    /// `po_…`, `evt_…`, `balance CODE`, or a word.
    pub object: String,
    /// `platform` or `acct_…`.
    pub account: String,
    /// One line for a person.
    pub text: String,
}

const DAY: i64 = 86_400;

/// What a failed payout is: refused at once, or paid and returned. Order does not matter: `was_paid` says whether any
/// event ever showed it paid.
pub fn failure(status: Status, was_paid: bool) -> Option<AlertKind> {
    match (status, was_paid) {
        (Status::Failed, true) => Some(AlertKind::Returned),
        (Status::Failed, false) => Some(AlertKind::Failed),
        _ => None,
    }
}

/// How many whole days a payout is late beyond `grace_days`; `None` while it is not. `arrival_date` is midnight UTC of the
/// expected day (Stripe: Payout object), so it is late once that whole day and the grace have passed.
pub fn overdue(status: Status, arrival_date: Option<i64>, now: i64, grace_days: i64) -> Option<i64> {
    if !matches!(status, Status::Pending | Status::InTransit) {
        return None;
    }
    let due = arrival_date?.checked_add(grace_days.checked_add(1)?.checked_mul(DAY)?)?;
    (now >= due).then(|| (now - due) / DAY + 1)
}

/// Whether events stopped coming: Stripe has one newer than any of ours, and it is older than `limit` seconds.
/// All times are unix seconds of Stripe's clock.
pub fn silent(newest_there: Option<i64>, newest_here: Option<i64>, now: i64, limit: i64) -> bool {
    newest_there.is_some_and(|there| newest_here.is_none_or(|here| there > here) && now.saturating_sub(there) > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_payout_is_refused_or_returned() {
        assert_eq!(failure(Status::Failed, false), Some(AlertKind::Failed));
        assert_eq!(failure(Status::Failed, true), Some(AlertKind::Returned));
        assert_eq!(failure(Status::Canceled, true), None);
    }

    #[test]
    fn overdue_counts_from_the_end_of_the_day_and_the_grace() {
        let arrival = Some(10 * DAY);
        for (now, days) in [
            (10 * DAY, None),
            (12 * DAY - 1, None),
            (13 * DAY - 1, None),
            (13 * DAY, Some(1)),
            (14 * DAY - 1, Some(1)),
            (14 * DAY, Some(2)),
        ] {
            assert_eq!(overdue(Status::InTransit, arrival, now, 2), days, "{now}");
        }
        assert_eq!(overdue(Status::Paid, arrival, 99 * DAY, 2), None);
        assert_eq!(overdue(Status::Pending, None, 99 * DAY, 2), None);
        assert_eq!(overdue(Status::Pending, Some(i64::MAX), 99 * DAY, 2), None);
    }

    #[test]
    fn silence_needs_a_newer_event_at_stripe() {
        assert!(silent(Some(100), Some(99), 701, 600));
        assert!(silent(Some(100), None, 701, 600));
        assert!(!silent(Some(100), Some(99), 700, 600));
        assert!(!silent(Some(100), Some(100), 9_999, 600));
        assert!(!silent(None, None, 9_999, 600));
    }

    #[test]
    fn words_are_read_back() {
        assert!(AlertKind::ALL.into_iter().all(|k| AlertKind::parse(k.as_str()) == Some(k)));
    }
}
