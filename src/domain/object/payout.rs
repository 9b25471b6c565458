//! A payout leaves its owner's balance at creation and comes back on failed or canceled. A bank debit comes in at paid.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Implied, Snapshot, is_a, reference, wire};
use crate::domain::details::Details;
use crate::domain::event::{Context, Minor};
use crate::domain::leg::{Leg, Side};
use crate::domain::money::Currency;
use crate::domain::owner::Owner;
use crate::domain::payout::Status;

/// What R3 and R6 need beside the legs.
#[derive(Debug, Clone, PartialEq)]
pub struct Payout {
    /// Whose balance it leaves (or, for a bank debit, enters).
    pub owner: Owner,
    /// Minor units as Stripe writes them; negative for a bank debit.
    pub amount: i64,
    /// Its currency.
    pub currency: Currency,
    /// R3.
    pub status: Status,
    /// Whether the money comes in: a negative amount, or the reversal of another payout.
    pub debit: bool,
    /// R6.
    pub details: Details,
}

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
    #[serde(default, borrow)]
    original_payout: Option<&'a RawValue>,
}

pub(super) fn read(context: &Context<'_>, raw: &RawValue) -> Implied {
    let payout: Wire<'_> = wire("payout", raw)?;
    is_a(&payout.object, "payout")?;
    let currency = Currency::parse(&payout.currency)?;
    let status = Status::parse(&payout.status).ok_or_else(|| {
        format!("unknown payout status {:?}: this program does not guess what it means", payout.status)
    })?;
    let amount = payout.amount.0;
    let debit = amount < 0 || reference(payout.original_payout).is_some();
    let owner = context.owner.clone();
    Ok(Snapshot {
        object: payout.id.into_owned(),
        rank: status.rank(),
        status: Some(status.as_str().to_owned()),
        amount,
        currency,
        legs: legs(&owner, amount.abs(), currency, status, debit),
        payout: Some(Payout { owner, amount, currency, status, debit, details: Details::read(raw) }),
    })
}

/// R7. `amount` is positive minor units.
fn legs(owner: &Owner, amount: i64, currency: Currency, status: Status, debit: bool) -> Vec<Leg> {
    let funds = || Side::Funds(owner.clone());
    let leg = |name, from, to| Leg::once(name, from, to, amount, currency);
    match (debit, status) {
        _ if amount == 0 => vec![],
        (false, Status::Failed | Status::Canceled) => {
            vec![leg("out", funds(), Side::External), leg("back", Side::External, funds())]
        }
        (false, _) => vec![leg("out", funds(), Side::External)],
        (true, Status::Paid) => vec![leg("in", Side::External, funds())],
        (true, Status::Failed) => {
            vec![leg("in", Side::External, funds()), leg("back", Side::Claims(owner.clone()), Side::External)]
        }
        (true, _) => vec![],
    }
}
