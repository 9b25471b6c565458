//! An application fee is a claim on the seller that becomes the platform's funds; its refunds go the other way.

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
    #[serde(borrow)]
    account: Option<&'a RawValue>,
    amount: Minor,
    #[serde(default)]
    amount_refunded: Option<Minor>,
    #[serde(borrow)]
    currency: Cow<'a, str>,
}

pub(super) fn read(context: &Context<'_>, raw: &RawValue) -> Implied {
    let fee: Wire<'_> = wire("application fee", raw)?;
    is_a(&fee.object, "application_fee")?;
    let currency = Currency::parse(&fee.currency)?;
    let amount = positive("application fee", fee.amount.0)?;
    let refunded = part("application fee", "amount_refunded", fee.amount_refunded.unwrap_or_default().0, amount)?;
    let (seller, platform) = (account("application fee", fee.account)?, context.owner.clone());
    let mut legs =
        vec![Leg::once("fee", Side::Claims(seller.clone()), Side::Funds(platform.clone()), amount, currency)];
    if refunded > 0 {
        legs.push(Leg::cumulative("fee_refunded", Side::Claims(platform), Side::Claims(seller), refunded, currency));
    }
    Ok(Snapshot { object: fee.id.into_owned(), rank: refunded, status: None, amount, currency, legs, payout: None })
}
