//! A refund is a claim on the charge's owner once Stripe has taken the money; a failed or canceled one gives it back.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Implied, Snapshot, Why, is_a, positive, reference, wire};
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
    #[serde(default, borrow)]
    charge: Option<&'a RawValue>,
    #[serde(default, borrow)]
    balance_transaction: Option<&'a RawValue>,
    #[serde(default, borrow)]
    failure_balance_transaction: Option<&'a RawValue>,
}

pub(super) fn read(context: &Context<'_>, raw: &RawValue) -> Implied {
    let refund: Wire<'_> = wire("refund", raw)?;
    is_a(&refund.object, "refund")?;
    if !context.refund_events && reference(refund.charge).is_some() {
        return Err(Why::Nothing("this API version has no refund events of its own: charge.refunded posts it"));
    }
    let currency = Currency::parse(&refund.currency)?;
    let amount = positive("refund", refund.amount.0)?;
    let taken = reference(refund.balance_transaction).is_some();
    let given_back = reference(refund.failure_balance_transaction).is_some();
    let status = refund.status.unwrap_or_else(|| "succeeded".to_owned());
    // A refund that failed before any money moved (it waited for funds) has no balance transaction of either kind.
    let (rank, out, back) = match status.as_str() {
        "failed" => (4, true, true),
        "canceled" => (3, taken || given_back, true),
        "succeeded" => (2, true, false),
        _ => (1, taken, false),
    };
    if !out {
        return Err(Why::Nothing("no balance transaction yet: no money moves"));
    }
    let claims = || Side::Claims(context.owner.clone());
    let mut legs = vec![Leg::once("out", claims(), Side::External, amount, currency)];
    if back {
        legs.push(Leg::once("back", Side::External, claims(), amount, currency));
    }
    Ok(Snapshot { object: refund.id.into_owned(), rank, status: Some(status), amount, currency, legs, payout: None })
}
