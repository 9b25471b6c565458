//! A dispute moves money by its balance transactions: withdrawn (a claim on the owner), later perhaps reinstated.

use std::borrow::Cow;

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
    id: String,
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
    let mut legs = Vec::new();
    for transaction in dispute.balance_transactions.iter().flatten() {
        let currency = Currency::parse(&transaction.currency)?;
        let net = transaction.net.unwrap_or(transaction.amount).0;
        let (from, to) = if net < 0 { (claims(), Side::External) } else { (Side::External, claims()) };
        if net != 0 {
            legs.push(Leg::once(&transaction.id, from, to, net.abs(), currency));
        }
    }
    if legs.is_empty() {
        legs.push(Leg::once("withdrawn", claims(), Side::External, amount, currency));
        if context.kind.ends_with("funds_reinstated") {
            legs.push(Leg::once("reinstated", Side::External, claims(), amount, currency));
        }
    }
    Ok(Snapshot {
        object: dispute.id.into_owned(),
        rank: i64::try_from(legs.len()).unwrap_or(i64::MAX),
        status: dispute.status,
        amount,
        currency,
        legs,
        payout: None,
    })
}
