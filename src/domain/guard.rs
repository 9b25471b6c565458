//! R4 and R5: what a posting may do to a balance, and what it lacks when it may not.

use std::collections::BTreeMap;

use super::leg::{Leg, Side};
use super::money::Currency;
use super::owner::Owner;

/// One owner's balance in one currency. `funds` is never below zero, `claims` never above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// Credits, transfers, payouts. Minor units.
    pub funds: i64,
    /// Refunds, disputes, reversals, fees. Minor units, zero or negative.
    pub claims: i64,
}

impl Balance {
    /// funds + claims; what the owner really has (negative: owes).
    pub fn total(self) -> i64 {
        self.funds.saturating_add(self.claims)
    }

    /// Adds a change; `None` beyond 64 bits.
    pub fn plus(self, change: Self) -> Option<Self> {
        let after =
            Self { funds: self.funds.checked_add(change.funds)?, claims: self.claims.checked_add(change.claims)? };
        after.funds.checked_add(after.claims).map(|_| after)
    }

    /// Whether both stored sides stand where they must.
    pub fn is_legal(self) -> bool {
        self.funds >= 0 && self.claims <= 0
    }
}

/// Whose balance, in which currency.
pub type Account = (Owner, Currency);

/// The net change of a set of legs per balance.
pub type Changes = BTreeMap<Account, Balance>;

/// Sums legs per balance. `Err` when the sum leaves 64 bits.
pub fn net<'a>(legs: impl IntoIterator<Item = &'a Leg>) -> Result<Changes, String> {
    let mut changes = Changes::new();
    for leg in legs {
        for (side, amount) in [(&leg.from, -leg.amount), (&leg.to, leg.amount)] {
            let Some(owner) = side.owner() else { continue };
            let change = changes.entry((owner.clone(), leg.currency)).or_default();
            let part = match side {
                Side::Claims(_) => Balance { funds: 0, claims: amount },
                _ => Balance { funds: amount, claims: 0 },
            };
            *change = change.plus(part).ok_or_else(|| "the amounts add up beyond 64 bits".to_owned())?;
        }
    }
    Ok(changes)
}

/// How strict the guard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Attempts left: any net debit needs funds + claims >= 0 afterwards. Ordinary disorder never shows a debt.
    Strict,
    /// Attempts used up: only `funds` must stay at or above zero. A real debt is shown as a debt.
    Released,
}

/// What a refused posting lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// In which balance.
    pub account: Account,
    /// Minor units lacking now, greater than zero.
    pub lacking: i64,
    /// The whole net debit of the posting there: once the balance covers this, a retry can go. Minor units.
    pub debit: i64,
}

/// Why a posting cannot go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Money is missing.
    Needs(Needs),
    /// No retry can mend it.
    Broken(String),
}

/// Checks one balance's change.
pub fn check(account: &Account, before: Balance, change: Balance, mode: Mode) -> Result<Balance, Refusal> {
    let broken = |why: &str| Refusal::Broken(format!("{why} ({} {})", account.0, account.1));
    let after = before.plus(change).ok_or_else(|| broken("the balance would leave 64 bits"))?;
    let needs = |lacking, debit| Refusal::Needs(Needs { account: account.clone(), lacking, debit });
    if mode == Mode::Strict && change.total() < 0 && after.total() < 0 {
        return Err(needs(-after.total(), -change.total()));
    }
    if after.funds < 0 {
        return Err(needs(-after.funds, -change.funds));
    }
    if after.claims > 0 {
        return Err(broken("claims would be above zero: something is given back that was never taken"));
    }
    Ok(after)
}

/// The alert about a debt (R5). `total` is below zero.
pub fn owed(account: &Account, total: i64) -> String {
    format!("owed: {} now owes {}", account.0, account.1.money(total.saturating_neg()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        (Owner::platform(), Currency::parse("usd").unwrap())
    }

    #[test]
    fn strict_counts_claims_released_only_funds() {
        let before = Balance { funds: 100, claims: -40 };
        let payout = Balance { funds: -100, claims: 0 };
        let refusal = check(&account(), before, payout, Mode::Strict).unwrap_err();
        assert_eq!(refusal, Refusal::Needs(Needs { account: account(), lacking: 40, debit: 100 }));
        assert_eq!(check(&account(), before, payout, Mode::Released), Ok(Balance { funds: 0, claims: -40 }));
        let refund = Balance { funds: 0, claims: -90 };
        assert!(check(&account(), before, refund, Mode::Strict).is_err());
        assert_eq!(check(&account(), before, refund, Mode::Released).unwrap().total(), -30);
    }

    #[test]
    fn credits_always_go_and_nothing_wraps() {
        let owes = Balance { funds: 0, claims: -40 };
        assert!(check(&account(), owes, Balance { funds: 10, claims: 0 }, Mode::Strict).is_ok());
        let full = Balance { funds: i64::MAX, claims: 0 };
        assert!(matches!(check(&account(), full, full, Mode::Strict), Err(Refusal::Broken(_))));
        let back = Balance { funds: 0, claims: 5 };
        assert!(matches!(check(&account(), Balance::default(), back, Mode::Strict), Err(Refusal::Broken(_))));
    }
}
