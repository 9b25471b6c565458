//! R7: what each Stripe object implies for the ledger. One file per object; here the routing by event type.

pub mod application_fee;
pub mod charge;
pub mod dispute;
pub mod payout;
pub mod refund;
pub mod topup;
pub mod transfer;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{Context, mend_surrogates, without_position};
use super::leg::Leg;
use super::money::Currency;
use super::owner::Owner;

/// A snapshot of an object that has a money rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// `po_…`, `tr_…`, …
    pub object: String,
    /// Place on the object's own way: of two snapshots the one with the greater (rank, created, event id) is newer.
    pub rank: i64,
    /// The object's status, where it has one.
    pub status: Option<String>,
    /// Minor units, for display.
    pub amount: i64,
    /// The object's currency.
    pub currency: Currency,
    /// R4: every leg that this snapshot implies.
    pub legs: Vec<Leg>,
    /// Set when it is a payout.
    pub payout: Option<payout::Payout>,
}

/// What reading an object gave. The text beside a reason is the object's id.
pub enum Read {
    /// A rule applies.
    Snapshot(Box<Snapshot>),
    /// No rule, or nothing moves.
    Ignored(String, String),
    /// Unreadable where a rule needs it.
    Problem(String, String),
}

/// How an object's file answers: a snapshot, or why nothing moves.
pub(super) type Implied = Result<Snapshot, Why>;

/// Why there is no snapshot.
pub(super) enum Why {
    /// Nothing moves.
    Nothing(&'static str),
    /// A person decides.
    Problem(String),
}

impl From<String> for Why {
    fn from(text: String) -> Self {
        Self::Problem(text)
    }
}

/// Routes by type (R3: the type only routes) and reads the object.
pub fn read(context: &Context<'_>, raw: &RawValue) -> Read {
    let (object, read): (&str, fn(&Context<'_>, &RawValue) -> Implied) = match context.kind {
        k if k.starts_with("payout.") => ("payout", payout::read),
        "transfer.created" | "transfer.updated" | "transfer.reversed" => ("transfer", transfer::read),
        "charge.succeeded" | "charge.captured" | "charge.updated" | "charge.refunded" => ("charge", charge::read),
        "refund.created" | "refund.updated" | "refund.failed" | "charge.refund.updated" => ("refund", refund::read),
        "charge.dispute.funds_withdrawn" | "charge.dispute.funds_reinstated" => ("dispute", dispute::read),
        "topup.succeeded" | "topup.reversed" => ("topup", topup::read),
        "application_fee.created" | "application_fee.refunded" => ("application_fee", application_fee::read),
        _ => return Read::Ignored(id_of(raw), "no rule for this type".to_owned()),
    };
    match read(context, raw) {
        Ok(snapshot) => Read::Snapshot(Box::new(snapshot)),
        Err(Why::Nothing(reason)) => Read::Ignored(id_of(raw), reason.to_owned()),
        Err(_) if object_word(raw).as_deref() != Some(object) => {
            Read::Ignored(id_of(raw), format!("data.object is not a {object}"))
        }
        Err(Why::Problem(reason)) => Read::Problem(id_of(raw), reason),
    }
}

/// Reads the fields a rule needs.
pub(super) fn wire<'a, T: Deserialize<'a>>(what: &str, raw: &'a RawValue) -> Result<T, Why> {
    serde_json::from_str(raw.get()).map_err(|e| Why::Problem(format!("unreadable {what}: {}", without_position(&e))))
}

/// Holds an object to its kind. The caller finds out what it is instead.
pub(super) fn is_a(object: &str, kind: &str) -> Result<(), Why> {
    if object == kind { Ok(()) } else { Err(Why::Problem(String::new())) }
}

/// A reference that Stripe writes as an id or as the expanded object.
pub(super) fn reference(raw: Option<&RawValue>) -> Option<String> {
    let raw = raw?;
    text(raw).or_else(|| Some(id_of(raw)).filter(|id| !id.is_empty()))
}

/// An account reference as an owner.
pub(super) fn account(what: &str, raw: Option<&RawValue>) -> Result<Owner, Why> {
    let id = reference(raw).ok_or_else(|| Why::Problem(format!("the {what} names no account")))?;
    Owner::connected(&id).map_err(Why::Problem)
}

/// A positive amount, or a problem.
pub(super) fn positive(what: &str, amount: i64) -> Result<i64, Why> {
    if amount > 0 { Ok(amount) } else { Err(Why::Problem(format!("the {what}'s amount {amount} is not positive"))) }
}

/// A cumulative part of a whole: from zero to the whole.
pub(super) fn part(what: &str, field: &str, part: i64, whole: i64) -> Result<i64, Why> {
    if (0..=whole).contains(&part) {
        Ok(part)
    } else {
        Err(Why::Problem(format!("the {what}'s {field} {part} is not between 0 and its amount {whole}")))
    }
}

/// Text of any scalar; nothing for null, containers and what cannot be read.
pub fn text(raw: &RawValue) -> Option<String> {
    match raw.get().as_bytes().first()? {
        b'"' => serde_json::from_str(raw.get()).or_else(|_| serde_json::from_str(&mend_surrogates(raw.get()))).ok(),
        b'n' | b'{' | b'[' => None,
        _ => Some(raw.get().to_owned()),
    }
}

/// The `id` of any JSON object; empty when it has none.
pub fn id_of(raw: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Id<'a> {
        #[serde(default, borrow)]
        id: Option<&'a RawValue>,
    }
    serde_json::from_str::<Id<'_>>(raw.get()).ok().and_then(|o| o.id.and_then(text)).unwrap_or_default()
}

fn object_word(raw: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Word<'a> {
        #[serde(borrow)]
        object: &'a RawValue,
    }
    serde_json::from_str::<Word<'_>>(raw.get()).ok().and_then(|o| text(o.object))
}

/// R8: the leg of an opening balance. A debt opens as a claim.
pub fn opening(account: &super::guard::Account, amount: i64) -> Vec<Leg> {
    use super::leg::Side;
    let (owner, currency) = account;
    let size = amount.checked_abs().unwrap_or(i64::MAX);
    match amount {
        0 => vec![],
        1.. => vec![Leg::once("opening", Side::External, Side::Funds(owner.clone()), size, *currency)],
        _ => vec![Leg::once("opening", Side::Claims(owner.clone()), Side::External, size, *currency)],
    }
}
