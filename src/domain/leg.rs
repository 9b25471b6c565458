//! R4: a leg is one double-entry posting with a key of its own; the journal is a growing set of legs.

use super::money::Currency;
use super::owner::Owner;

/// The stored accounts of one owner and currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Credits, transfers and payouts; never below zero.
    Funds,
    /// Refunds, disputes, reversals and fees; never above zero.
    Claims,
    /// Banks and cards: the only account free on both sides.
    External,
}

impl Class {
    /// The stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Funds => "funds",
            Self::Claims => "claims",
            Self::External => "external",
        }
    }

    /// The class a stored word names.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Funds, Self::Claims, Self::External].into_iter().find(|c| c.as_str() == text)
    }
}

/// One side of a leg. `External` has no owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// An owner's funds.
    Funds(Owner),
    /// An owner's claims.
    Claims(Owner),
    /// Outside Stripe.
    External,
}

impl Side {
    /// Its class.
    pub fn class(&self) -> Class {
        match self {
            Self::Funds(_) => Class::Funds,
            Self::Claims(_) => Class::Claims,
            Self::External => Class::External,
        }
    }

    /// Its owner; none outside Stripe.
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Funds(o) | Self::Claims(o) => Some(o),
            Self::External => None,
        }
    }

    /// Rebuilds a stored side.
    pub fn stored(class: Class, owner: String) -> Self {
        match class {
            Class::Funds => Self::Funds(Owner::stored(owner)),
            Class::Claims => Self::Claims(Owner::stored(owner)),
            Class::External => Self::External,
        }
    }

    /// The word for a person: the owner, or `external`.
    pub fn label(&self) -> &str {
        self.owner().map_or("external", Owner::as_str)
    }
}

/// A movement of money. `amount` is positive minor units, leaves `from` and enters `to`, so each leg sums to zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// The key within its object: `out`, `back`, `in`, `reversed`, … or a balance transaction's id.
    pub name: String,
    /// Zero for a leg that is posted once. For a cumulative field (R7) the value reached with this leg: such a leg
    /// is posted in pieces, each up to the greatest value seen so far.
    pub upto: i64,
    /// The side debited.
    pub from: Side,
    /// The side credited.
    pub to: Side,
    /// Minor units, greater than zero.
    pub amount: i64,
    /// The currency of both sides.
    pub currency: Currency,
}

impl Leg {
    /// A leg that is posted once.
    pub fn once(name: &str, from: Side, to: Side, amount: i64, currency: Currency) -> Self {
        Self { name: name.to_owned(), upto: 0, from, to, amount, currency }
    }

    /// A leg of a cumulative field whose value is now `total`.
    pub fn cumulative(name: &str, from: Side, to: Side, total: i64, currency: Currency) -> Self {
        Self { name: name.to_owned(), upto: total, from, to, amount: total, currency }
    }

    /// One line for a person, for instance `out 12.50 USD platform → external`.
    pub fn summary(&self) -> String {
        format!("{} {} {} → {}", self.name, self.currency.money(self.amount), self.from.label(), self.to.label())
    }
}

/// The key of a posted leg as the journal knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// [`Leg::name`].
    pub name: String,
    /// [`Leg::upto`].
    pub upto: i64,
    /// Minor units.
    pub amount: i64,
}

/// R4: the legs a snapshot implies and the journal lacks. Cumulative legs shrink to the part not yet posted.
/// `Err` when a leg was posted once with another amount: two snapshots contradict each other.
pub fn missing(implied: &[Leg], posted: &[Posted]) -> Result<Vec<Leg>, String> {
    let mut legs = Vec::new();
    for leg in implied {
        let before = posted.iter().filter(|p| p.name == leg.name).max_by_key(|p| p.upto);
        match before {
            None => legs.push(leg.clone()),
            Some(p) if leg.upto > p.upto => legs.push(Leg { amount: leg.upto - p.upto, ..leg.clone() }),
            Some(p) if leg.upto == 0 && p.amount != leg.amount => {
                let (had, now) = (leg.currency.money(p.amount), leg.currency.money(leg.amount));
                return Err(format!("contradiction: {} was posted with {had}, this says {now}", leg.name));
            }
            Some(_) => {}
        }
    }
    Ok(legs)
}

/// What was posted, in one line, for the inbox's "what it did".
pub fn summary(legs: &[Leg]) -> String {
    legs.iter().map(Leg::summary).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_journal_lacks() {
        let usd = Currency::parse("usd").unwrap();
        let s = Owner::connected("acct_s").unwrap();
        let legs = [
            Leg::once("out", Side::Funds(Owner::platform()), Side::Funds(s.clone()), 100, usd),
            Leg::cumulative("reversed", Side::Claims(s), Side::Funds(Owner::platform()), 70, usd),
        ];
        let posted = |name: &str, upto, amount| Posted { name: name.into(), upto, amount };
        assert_eq!(missing(&legs, &[]).unwrap().len(), 2);
        let rest = missing(&legs, &[posted("out", 0, 100), posted("reversed", 40, 40)]).unwrap();
        assert_eq!(rest.len(), 1);
        assert_eq!((rest[0].amount, rest[0].upto), (30, 70));
        assert!(missing(&legs, &[posted("out", 0, 100), posted("reversed", 70, 30)]).unwrap().is_empty());
        assert!(missing(&legs, &[posted("out", 0, 90)]).unwrap_err().starts_with("contradiction"));
    }
}
