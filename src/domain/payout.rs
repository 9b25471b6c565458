//! R3: the states of a payout and what a snapshot may do to them.

use std::fmt;

/// A payout's status. Stripe's field is a free string: what is not listed here is an error, never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Created, not yet with the bank. The money has left the owner's balance.
    Pending,
    /// Submitted to the bank.
    InTransit,
    /// Expected to be at the bank. Not final: the bank may return it.
    Paid,
    /// Refused or returned by the bank; the money is back.
    Failed,
    /// Canceled while pending; the money is back.
    Canceled,
}

impl Status {
    /// All states in rank order; `failed` and `canceled` share the last rank.
    pub const ALL: [Self; 5] = [Self::Pending, Self::InTransit, Self::Paid, Self::Failed, Self::Canceled];

    /// Stripe's word, or `None` for one this program does not know.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// Stripe's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InTransit => "in_transit",
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Place on the way: 0 to 3.
    pub fn rank(self) -> i64 {
        match self {
            Self::Pending => 0,
            Self::InTransit => 1,
            Self::Paid => 2,
            Self::Failed | Self::Canceled => 3,
        }
    }

    /// Whether `to` is a later state on a legal path from `self`.
    pub fn leads_to(self, to: Self) -> bool {
        match self {
            Self::Pending => to != Self::Pending,
            Self::InTransit => matches!(to, Self::Paid | Self::Failed | Self::Canceled),
            Self::Paid => to == Self::Failed,
            Self::Failed | Self::Canceled => false,
        }
    }

    /// Whether the money is back with its owner.
    pub fn is_returned(self) -> bool {
        matches!(self, Self::Failed | Self::Canceled)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a snapshot in state `to` means for a payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The first event of this payout, whatever its state.
    Create,
    /// A later state.
    Forward,
    /// The state it already has: only details may change.
    Same,
    /// An earlier state: old news.
    Stale,
    /// Neither can lead to the other (paid and canceled, failed and canceled): a person decides.
    Contradiction,
}

/// R3's table.
pub fn verdict(from: Option<Status>, to: Status) -> Verdict {
    match from {
        None => Verdict::Create,
        Some(from) if from == to => Verdict::Same,
        Some(from) if from.leads_to(to) => Verdict::Forward,
        Some(from) if to.leads_to(from) => Verdict::Stale,
        Some(_) => Verdict::Contradiction,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table() {
        use Status::*;
        use Verdict::*;
        let table = [
            (Pending, [Same, Forward, Forward, Forward, Forward]),
            (InTransit, [Stale, Same, Forward, Forward, Forward]),
            (Paid, [Stale, Stale, Same, Forward, Contradiction]),
            (Failed, [Stale, Stale, Stale, Same, Contradiction]),
            (Canceled, [Stale, Stale, Contradiction, Contradiction, Same]),
        ];
        for (from, row) in table {
            for (to, want) in Status::ALL.into_iter().zip(row) {
                assert_eq!(verdict(Some(from), to), want, "{from} -> {to}");
            }
        }
        assert_eq!(verdict(None, Paid), Create);
    }
}
