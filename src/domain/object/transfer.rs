//! A transfer moves the platform's funds to a connected account; its reversals are a claim on that account.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Implied, Snapshot, account, is_a, part, positive, wire};
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
    #[serde(default)]
    amount_reversed: Option<Minor>,
    #[serde(borrow)]
    currency: Cow<'a, str>,
    #[serde(borrow)]
    destination: Option<&'a RawValue>,
}

pub(super) fn read(context: &Context<'_>, raw: &RawValue) -> Implied {
    let transfer: Wire<'_> = wire("transfer", raw)?;
    is_a(&transfer.object, "transfer")?;
    let currency = Currency::parse(&transfer.currency)?;
    let amount = positive("transfer", transfer.amount.0)?;
    let reversed = part("transfer", "amount_reversed", transfer.amount_reversed.unwrap_or_default().0, amount)?;
    let (from, to) = (context.owner.clone(), account("transfer", transfer.destination)?);
    let mut legs = vec![Leg::once("out", Side::Funds(from.clone()), Side::Funds(to.clone()), amount, currency)];
    if reversed > 0 {
        legs.push(Leg::cumulative("reversed", Side::Claims(to), Side::Funds(from), reversed, currency));
    }
    Ok(Snapshot {
        object: transfer.id.into_owned(),
        rank: reversed,
        status: None,
        amount,
        currency,
        legs,
        payout: None,
    })
}
