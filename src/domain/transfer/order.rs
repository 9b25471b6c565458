//! An order to pay: what a person or a file asks for, checked before anything is stored.

use super::currencies::{check_amount, known};
use crate::domain::money::Currency;
use crate::domain::owner::Owner;

/// The longest order reference: the key made of it must stay below Stripe's 255 characters.
const LONGEST_REF: usize = 200;

/// A checked order. Its fields never change once stored: other fields are another order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The order's name: unique per mode, and the transfer's `transfer_group` at Stripe.
    pub order_ref: String,
    /// Minor units, greater than zero.
    pub amount: i64,
    /// Lower-case code.
    pub currency: Currency,
    /// The connected account, `acct_…`.
    pub destination: String,
    /// The charge that funds it, `ch_…` or `py_…`.
    pub source_transaction: Option<String>,
    /// Free text for Stripe's Dashboard.
    pub description: Option<String>,
}

/// An order as typed: every field still text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// See [`Order::order_ref`].
    pub order_ref: String,
    /// Digits, minor units.
    pub amount: String,
    /// Three letters.
    pub currency: String,
    /// `acct_…`.
    pub destination: String,
    /// `ch_…` or `py_…`; empty is none.
    pub source_transaction: Option<String>,
    /// Empty is none.
    pub description: Option<String>,
}

impl Draft {
    /// Checks everything. `Err` is one line that names the field and says what to do.
    pub fn check(self) -> Result<Order, String> {
        check_ref(&self.order_ref)?;
        let currency = known(&self.currency)?;
        let amount = whole_number(&self.amount)?;
        check_amount(currency, amount)?;
        Owner::connected(&self.destination)
            .map_err(|_| format!("the destination {:?} is not a connected account (acct_…)", self.destination))?;
        let source_transaction = self.source_transaction.filter(|s| !s.is_empty());
        if let Some(source) = &source_transaction {
            check_source(source)?;
        }
        let description = self.description.filter(|d| !d.is_empty());
        if description.as_ref().is_some_and(|d| d.len() > 1_000 || d.chars().any(char::is_control)) {
            return Err("the description must be at most 1,000 bytes without control characters".to_owned());
        }
        let Self { order_ref, destination, .. } = self;
        Ok(Order { order_ref, amount, currency, destination, source_transaction, description })
    }
}

impl Order {
    /// The first field in which two orders of the same name differ, for the refusal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let or_none = |v: &Option<String>| v.clone().unwrap_or_else(|| "none".to_owned());
        let pairs = [
            ("amount", self.amount.to_string(), other.amount.to_string()),
            ("currency", self.currency.to_string(), other.currency.to_string()),
            ("destination", self.destination.clone(), other.destination.clone()),
            ("source transaction", or_none(&self.source_transaction), or_none(&other.source_transaction)),
            ("description", or_none(&self.description), or_none(&other.description)),
        ];
        let (field, here, there) = pairs.into_iter().find(|(_, a, b)| a != b)?;
        Some(format!("{field} {here}, not {there}"))
    }
}

fn check_ref(order_ref: &str) -> Result<(), String> {
    if order_ref.is_empty() {
        return Err("an order needs a name: --order".to_owned());
    }
    // It travels in a header and as transfer_group: what a header cannot carry would change on the way.
    if order_ref.len() > LONGEST_REF || !order_ref.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "the order {order_ref:?} must be at most {LONGEST_REF} ASCII letters, digits or signs without spaces"
        ));
    }
    Ok(())
}

/// Only digits: `12.50`, `1e3` and `1,000` are refused, because guessing the unit is how people pay a hundredfold.
fn whole_number(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "the amount {text:?} must be a whole number of the currency's smallest unit (1250 for 12.50 usd)"
        ));
    }
    text.parse().map_err(|_| format!("the amount {text} is too large"))
}

fn check_source(source: &str) -> Result<(), String> {
    let tail = source.strip_prefix("ch_").or_else(|| source.strip_prefix("py_")).unwrap_or_default();
    if !tail.is_empty() && source.len() <= 255 && tail.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        Ok(())
    } else {
        Err(format!("the source transaction {source:?} is not a charge (ch_… or py_…)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Draft {
        Draft {
            order_ref: "order-7".into(),
            amount: "1250".into(),
            currency: "usd".into(),
            destination: "acct_9seller".into(),
            ..Draft::default()
        }
    }

    #[test]
    fn each_bad_field_is_named() {
        assert!(draft().check().is_ok());
        type Change = fn(&mut Draft);
        let cases: [(Change, &str); 12] = [
            (|d| d.order_ref.clear(), "--order"),
            (|d| d.order_ref = "a b".into(), "without spaces"),
            (|d| d.order_ref = "x".repeat(201), "at most 200"),
            (|d| d.amount = "12.50".into(), "smallest unit"),
            (|d| d.amount = "0".into(), "greater than zero"),
            (|d| d.amount = "-1250".into(), "greater than zero"),
            (|d| d.amount = "99999999999999999999".into(), "too large"),
            (|d| d.currency = "dollar".into(), "three-letter"),
            (|d| d.currency = "zzz".into(), "none that Stripe"),
            (|d| d.destination = "acct_".into(), "connected account"),
            (|d| d.source_transaction = Some("tr_1".into()), "not a charge"),
            (|d| d.description = Some("a\u{1b}[2J".into()), "control characters"),
        ];
        for (change, says) in cases {
            let mut bad = draft();
            change(&mut bad);
            let error = bad.check().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_first_difference_is_told() {
        let one = draft().check().unwrap();
        let two = Draft { amount: "1300".into(), ..draft() }.check().unwrap();
        assert_eq!(one.difference(&two).unwrap(), "amount 1250, not 1300");
        assert_eq!(one.difference(&one.clone()), None);
    }
}
