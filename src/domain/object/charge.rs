//! A captured charge comes in gross. Refunds post by their own objects, except for API versions that lack `refund.*`.
//! A charge that was fetched with its balance transaction expanded also posts Stripe's fee and the settled currency.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Implied, Snapshot, Why, is_a, part, positive, reference, wire};
use crate::domain::event::{Context, Minor};
use crate::domain::leg::{Leg, Side};
use crate::domain::money::Currency;
use crate::domain::owner::Owner;

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    object: Cow<'a, str>,
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
    #[serde(default, borrow)]
    balance_transaction: Option<&'a RawValue>,
}

/// What really entered the balance (Stripe: Balance Transaction object).
#[derive(Deserialize)]
struct Settled {
    amount: Minor,
    currency: String,
    #[serde(default)]
    fee_details: Vec<Fee>,
}

#[derive(Deserialize)]
struct Fee {
    amount: Minor,
    currency: String,
    #[serde(rename = "type")]
    kind: String,
}

pub(super) fn read(context: &Context<'_>, raw: &RawValue) -> Implied {
    let charge: Wire<'_> = wire("charge", raw)?;
    is_a(&charge.object, "charge")?;
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
    if let Some(settled) = charge.balance_transaction.filter(|raw| raw.get().starts_with('{')) {
        legs.extend(settled_legs(&context.owner, captured, currency, &wire("balance transaction", settled)?)?);
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

/// Stripe's own fees, and for a charge in a foreign currency the exchange: out in the charge's, in with what settled.
/// The application fee is left out: `application_fee.created` posts it.
fn settled_legs(owner: &Owner, captured: i64, currency: Currency, settled: &Settled) -> Result<Vec<Leg>, Why> {
    let claims = || Side::Claims(owner.clone());
    let into = Currency::parse(&settled.currency)?;
    let mut legs = Vec::new();
    if into != currency {
        let amount = positive("balance transaction", settled.amount.0)?;
        legs.push(Leg::once("exchanged", claims(), Side::External, captured, currency));
        legs.push(Leg::once("settled", Side::External, Side::Funds(owner.clone()), amount, into));
    }
    let mut fees = 0_i64;
    for fee in settled.fee_details.iter().filter(|f| f.kind != "application_fee") {
        if Currency::parse(&fee.currency)? != into {
            return Err(Why::Problem(format!("a fee in {} on a balance in {into}", fee.currency)));
        }
        fees = fees.checked_add(fee.amount.0).ok_or_else(|| "the fees are out of range".to_owned())?;
    }
    if fees > 0 {
        legs.push(Leg::once("fee", claims(), Side::External, fees, into));
    }
    Ok(legs)
}

#[cfg(test)]
mod tests {
    use crate::domain::event::{Content, parse};
    use crate::domain::leg;

    fn legs(transaction: &str) -> Result<String, String> {
        let body = format!(
            r#"{{"id":"evt_1","type":"charge.updated","created":1,"livemode":false,"account":"acct_s","data":{{"object":{{
            "id":"ch_1","object":"charge","amount":1000,"currency":"eur","status":"succeeded","captured":true,
            "balance_transaction":{transaction}}}}}}}"#
        );
        match parse(body.as_bytes()).unwrap().content {
            Content::Snapshot(snapshot) => Ok(leg::summary(&snapshot.legs)),
            Content::Problem(why) => Err(why),
            other @ Content::Ignored(_) => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_expanded_balance_transaction_posts_fee_and_settled_currency() {
        let gross = "captured 10.00 EUR external → acct_s";
        assert_eq!(legs("null").unwrap(), gross);
        assert_eq!(legs(r#""txn_1""#).unwrap(), gross);
        let fees = r#"[{"amount":59,"currency":"eur","type":"stripe_fee"},{"amount":5,"currency":"eur","type":"tax"},
            {"amount":100,"currency":"eur","type":"application_fee"}]"#;
        let same = format!(r#"{{"id":"txn_1","amount":1000,"currency":"eur","fee":164,"fee_details":{fees}}}"#);
        assert_eq!(legs(&same).unwrap(), format!("{gross}; fee 0.64 EUR acct_s → external"));
        let foreign = r#"{"id":"txn_1","amount":1090,"currency":"usd","fee_details":[{"amount":62,"currency":"usd","type":"stripe_fee"}]}"#;
        assert_eq!(
            legs(foreign).unwrap(),
            format!(
                "{gross}; exchanged 10.00 EUR acct_s → external; settled 10.90 USD external → acct_s; \
                 fee 0.62 USD acct_s → external"
            )
        );
        let odd =
            r#"{"amount":1000,"currency":"eur","fee_details":[{"amount":1,"currency":"usd","type":"stripe_fee"}]}"#;
        assert!(legs(odd).unwrap_err().contains("a fee in usd"));
    }
}
