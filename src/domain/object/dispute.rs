//! A dispute moves money by its balance transactions: withdrawn (a claim on the owner), later perhaps reinstated.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Implied, Snapshot, is_a, positive, wire};
use crate::domain::event::{Context, Minor};
use crate::domain::leg::{Leg, Side};
use crate::domain::money::Currency;

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    object: Cow<'a, str>,
    amount: Minor,
    #[serde(borrow)]
    currency: Cow<'a, str>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    balance_transactions: Option<Vec<Transaction>>,
}

#[derive(Deserialize)]
struct Transaction {
    #[serde(default)]
    net: Option<Minor>,
    amount: Minor,
    currency: String,
}

pub(super) fn read(context: &Context<'_>, raw: &RawValue) -> Implied {
    let dispute: Wire<'_> = wire("dispute", raw)?;
    is_a(&dispute.object, "dispute")?;
    let currency = Currency::parse(&dispute.currency)?;
    let amount = positive("dispute", dispute.amount.0)?;
    let claims = || Side::Claims(context.owner.clone());
    // What was taken and what came back so far, per currency: both only grow, so a snapshot that lists fewer
    // transactions (or none, then the dispute's own amount stands in) posts nothing twice.
    let mut sums: BTreeMap<(bool, Currency), i64> = BTreeMap::new();
    let transactions = dispute.balance_transactions.unwrap_or_default();
    for transaction in &transactions {
        let net = transaction.net.unwrap_or(transaction.amount).0;
        let sum = sums.entry((net < 0, Currency::parse(&transaction.currency)?)).or_default();
        *sum =
            sum.checked_add(net.abs()).ok_or_else(|| "the dispute's transactions add up beyond 64 bits".to_owned())?;
    }
    if transactions.is_empty() {
        sums.insert((true, currency), amount);
        if context.kind.ends_with("funds_reinstated") {
            sums.insert((false, currency), amount);
        }
    }
    // Taken before given back.
    let legs = sums.into_iter().rev().filter(|(_, total)| *total > 0).map(|((taken, currency), total)| {
        let (name, from, to) =
            if taken { ("withdrawn", claims(), Side::External) } else { ("reinstated", Side::External, claims()) };
        Leg::cumulative(name, from, to, total, currency)
    });
    let legs: Vec<Leg> = legs.collect();
    Ok(Snapshot {
        object: dispute.id.into_owned(),
        rank: i64::try_from(transactions.len().max(legs.len())).unwrap_or(i64::MAX),
        status: dispute.status,
        amount,
        currency,
        legs,
        payout: None,
    })
}
