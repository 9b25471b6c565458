//! Stripe's record against ours: which objects and balances differ, and how. Reports; never mends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::guard::Account;
use super::money::{self, Currency};

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Stripe has the object, we do not.
    MissingHere,
    /// We have it, Stripe does not know it (any more).
    MissingThere,
    /// Both have it, in different states.
    StatusDiffers,
    /// Both have it, with different amounts, currencies or reversed parts.
    AmountDiffers,
    /// The balances differ by money no event explains.
    BalanceDiffers,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::MissingHere, Self::MissingThere, Self::StatusDiffers, Self::AmountDiffers, Self::BalanceDiffers];

    /// The stored and shown word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingHere => "missing here",
            Self::MissingThere => "missing there",
            Self::StatusDiffers => "status differs",
            Self::AmountDiffers => "amount differs",
            Self::BalanceDiffers => "balance differs",
        }
    }

    /// The kind a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == word)
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A payout or transfer as one side has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// `po_…` or `tr_…`.
    pub id: String,
    /// `platform` or `acct_…`.
    pub account: String,
    /// The status word; none for a transfer.
    pub status: Option<String>,
    /// Minor units.
    pub amount: i64,
    /// Minor units of a transfer taken back; 0 for a payout.
    pub reversed: i64,
    /// Lower-case code.
    pub currency: String,
}

impl Known {
    fn money(&self) -> String {
        let amount = money::show(&self.currency, self.amount);
        match self.reversed {
            0 => amount,
            n => format!("{amount}, {} reversed", money::show(&self.currency, n)),
        }
    }

    fn shown(&self) -> String {
        match &self.status {
            Some(status) => format!("{status}, {}", self.money()),
            None => self.money(),
        }
    }
}

/// One difference. There is at most one open finding per object and kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What differs.
    pub kind: FindingKind,
    /// `po_…`, `tr_…`, or `balance CODE`.
    pub object: String,
    /// `platform` or `acct_…`.
    pub account: String,
    /// What we have; empty when nothing.
    pub here: String,
    /// What Stripe has; empty when nothing.
    pub there: String,
    /// Minor units that no event explains (theirs minus ours), for a balance.
    pub unexplained: Option<i64>,
}

impl Finding {
    fn of(kind: FindingKind, object: &Known, here: String, there: String) -> Self {
        Self { kind, object: object.id.clone(), account: object.account.clone(), here, there, unexplained: None }
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        let or_none = |text: &str| if text.is_empty() { "nothing".to_owned() } else { text.to_owned() };
        let head = format!("{}: {} of {}", self.kind, self.object, self.account);
        let line = format!("{head}: Stripe has {}, we have {}", or_none(&self.there), or_none(&self.here));
        match (self.unexplained, self.object.strip_prefix("balance ")) {
            (Some(amount), Some(code)) => format!("{line}; no event explains {}", money::show(code, amount)),
            _ => line,
        }
    }
}

/// Both sides of a comparison of objects.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    /// Ours: every payout that can still change or that Stripe listed, every transfer of the window.
    pub here: Vec<Known>,
    /// Stripe's: what it listed, and what was asked for by id.
    pub there: Vec<Known>,
    /// Ids of ours that Stripe was asked for by id and does not know.
    pub gone: BTreeSet<String>,
    /// Ids that changed on either side in the last minute: news may be on its way, so they are not flagged.
    pub fresh: BTreeSet<String>,
}

/// Every difference between the two sides, ordered by object. Objects of ours that Stripe was not asked about say nothing.
pub fn compare_objects(objects: &Objects) -> Vec<Finding> {
    let here: BTreeMap<&str, &Known> = objects.here.iter().map(|k| (k.id.as_str(), k)).collect();
    let there: BTreeMap<&str, &Known> = objects.there.iter().map(|k| (k.id.as_str(), k)).collect();
    let ids: BTreeSet<&str> = here.keys().chain(there.keys()).copied().collect();
    let settled = ids.into_iter().filter(|id| !objects.fresh.contains(*id));
    settled
        .filter_map(|id| difference(here.get(id).copied(), there.get(id).copied(), objects.gone.contains(id)))
        .collect()
}

fn difference(here: Option<&Known>, there: Option<&Known>, gone: bool) -> Option<Finding> {
    match (here, there) {
        (None, Some(there)) => Some(Finding::of(FindingKind::MissingHere, there, String::new(), there.shown())),
        (Some(here), None) if gone => Some(Finding::of(FindingKind::MissingThere, here, here.shown(), String::new())),
        (Some(here), Some(there)) => {
            let same_money =
                (here.amount, here.reversed, &here.currency) == (there.amount, there.reversed, &there.currency);
            if !same_money {
                return Some(Finding::of(FindingKind::AmountDiffers, here, here.money(), there.money()));
            }
            let word = |k: &Known| k.status.clone().unwrap_or_default();
            (here.status != there.status)
                .then(|| Finding::of(FindingKind::StatusDiffers, here, word(here), word(there)))
        }
        _ => None,
    }
}

/// One balance on both sides, minor units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balances {
    /// Owner and currency.
    pub account: Account,
    /// Stripe's available plus pending.
    pub there: i64,
    /// Ours, posted plus waiting: what we know, whether or not it could be posted yet.
    pub here: i64,
    /// Whether something moved it in the last minute.
    pub fresh: bool,
}

/// The balances that differ. Stripe changes balances without any event (fees, reserves), so a difference is
/// information and not always a fault.
pub fn compare_balances(balances: &[Balances]) -> Vec<Finding> {
    let differing = balances.iter().filter(|b| !b.fresh && b.there != b.here);
    differing
        .map(|b| {
            let (owner, currency): (_, &Currency) = (&b.account.0, &b.account.1);
            Finding {
                kind: FindingKind::BalanceDiffers,
                object: format!("balance {currency}"),
                account: owner.to_string(),
                here: currency.money(b.here),
                there: currency.money(b.there),
                unexplained: b.there.checked_sub(b.here),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::owner::Owner;

    fn payout(id: &str, status: &str, amount: i64) -> Known {
        let status = Some(status.to_owned());
        Known { id: id.into(), account: "acct_s".into(), status, amount, reversed: 0, currency: "usd".into() }
    }

    #[test]
    fn each_difference_has_its_kind() {
        let reversed = |n| Known { status: None, reversed: n, ..payout("tr_1", "", 500) };
        let objects = Objects {
            here: vec![
                payout("po_same", "paid", 1),
                payout("po_status", "pending", 2),
                payout("po_amount", "pending", 3),
                payout("po_gone", "pending", 4),
                payout("po_not_asked", "paid", 5),
                payout("po_fresh", "pending", 6),
                reversed(0),
            ],
            there: vec![
                payout("po_same", "paid", 1),
                payout("po_status", "failed", 2),
                payout("po_amount", "paid", 30),
                payout("po_new", "paid", 1999),
                payout("po_fresh", "paid", 6),
                reversed(200),
            ],
            gone: BTreeSet::from(["po_gone".to_owned()]),
            fresh: BTreeSet::from(["po_fresh".to_owned()]),
        };
        let lines: Vec<String> = compare_objects(&objects).iter().map(Finding::line).collect();
        assert_eq!(
            lines,
            [
                "amount differs: po_amount of acct_s: Stripe has 0.30 USD, we have 0.03 USD",
                "missing there: po_gone of acct_s: Stripe has nothing, we have pending, 0.04 USD",
                "missing here: po_new of acct_s: Stripe has paid, 19.99 USD, we have nothing",
                "status differs: po_status of acct_s: Stripe has failed, we have pending",
                "amount differs: tr_1 of acct_s: Stripe has 5.00 USD, 2.00 USD reversed, we have 5.00 USD",
            ]
        );
    }

    #[test]
    fn an_unexplained_balance_says_how_much() {
        let row = |there, here, fresh| Balances {
            account: (Owner::platform(), Currency::parse("jpy").unwrap()),
            there,
            here,
            fresh,
        };
        let found = compare_balances(&[row(5, 5, false), row(900, 1000, false), row(1, 2, true)]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].unexplained, found[0].object.as_str()), (Some(-100), "balance jpy"));
        assert!(found[0].line().ends_with("we have 1,000 JPY; no event explains -100 JPY"), "{}", found[0].line());
    }

    #[test]
    fn words_are_read_back() {
        assert!(FindingKind::ALL.into_iter().all(|k| FindingKind::parse(k.as_str()) == Some(k)));
    }
}
