//! A top-up comes in when it succeeds; reversed, it is a claim on the platform.

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
    #[serde(borrow)]
    status: Cow<'a, str>,
}

pub(super) fn read(context: &Context<'_>, raw: &RawValue) -> Implied {
    let topup: Wire<'_> = wire("topup", raw)?;
    is_a(&topup.object, "topup")?;
    let currency = Currency::parse(&topup.currency)?;
    let amount = positive("topup", topup.amount.0)?;
    let owner = context.owner.clone();
    let mut legs = vec![Leg::once("in", Side::External, Side::Funds(owner.clone()), amount, currency)];
    let rank = match topup.status.as_ref() {
        "succeeded" => 0,
        "reversed" => {
            legs.push(Leg::once("reversed", Side::Claims(owner), Side::External, amount, currency));
            1
        }
        other => return Err(format!("unknown top-up status {other:?} in an event that says it moved money").into()),
    };
    let status = Some(topup.status.into_owned());
    Ok(Snapshot { object: topup.id.into_owned(), rank, status, amount, currency, legs, payout: None })
}
