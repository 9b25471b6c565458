//! A captured charge comes in gross. Refunds post by their own objects, except for API versions that lack `refund.*`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Implied, Snapshot, Why, part, positive, reference, wire};
use crate::domain::event::{Context, Minor};
use crate::domain::leg::{Leg, Side};
use crate::domain::money::Currency;

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    amount: Minor,
    #[serde(default)]
    amount_captured: Option<Minor>,
    #[serde(default)]
    amount_refunded: Option<Minor>,
    #[serde(default)]
    captured: Option<bool>,
    #[serde(borrow)]
    currency: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(default, borrow)]
    source_transfer: Option<&'a RawValue>,
}

pub(super) fn read(context: &Context<'_>, raw: &RawValue) -> Implied {
    let charge: Wire<'_> = wire("charge", raw)?;
    if reference(charge.source_transfer).is_some() && context.owner.header().is_some() {
        return Err(Why::Nothing("the mirror of a transfer: the transfer posts it"));
    }
    if charge.status != "succeeded" || charge.captured == Some(false) {
        return Err(Why::Nothing("not captured: no money moves"));
    }
    let currency = Currency::parse(&charge.currency)?;
    let amount = positive("charge", charge.amount.0)?;
    let captured = match charge.amount_captured {
        Some(Minor(n)) if n > 0 => part("charge", "amount_captured", n, amount)?,
        _ => amount,
    };
    let refunded = part("charge", "amount_refunded", charge.amount_refunded.unwrap_or_default().0, captured)?;
    let owner = context.owner.clone();
    let mut legs = vec![Leg::cumulative("captured", Side::External, Side::Funds(owner.clone()), captured, currency)];
    if !context.refund_events && refunded > 0 {
        legs.push(Leg::cumulative("refunded", Side::Claims(owner), Side::External, refunded, currency));
    }
    Ok(Snapshot {
        object: charge.id.into_owned(),
        rank: captured.saturating_add(refunded),
        status: Some(charge.status.into_owned()),
        amount: captured,
        currency,
        legs,
        payout: None,
    })
}
