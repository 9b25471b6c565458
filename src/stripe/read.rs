//! What a reconcile reads: payouts and transfers of a window, balances, what changed just now.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::client::Client;
use super::error::{ApiError, ErrorKind};
use super::paging::Start;
use super::transfer::Transfer;
use crate::domain::money::Currency;
use crate::domain::owner::Owner;
use crate::domain::reconcile::Known;

/// An object with its bytes, so that a repair can hand on exactly what Stripe said.
#[derive(Debug, Clone)]
pub struct Listed {
    /// What a comparison needs.
    pub known: Known,
    /// The object as it came.
    pub raw: Box<RawValue>,
    /// A payout's trace id, which comes up to ten days after it was paid (Stripe: Payouts).
    pub trace_id: Option<String>,
}

#[derive(Deserialize)]
struct Payout {
    id: String,
    amount: i64,
    currency: String,
    status: String,
    #[serde(default)]
    trace_id: Option<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    #[serde(default)]
    value: Option<String>,
}

#[derive(Deserialize)]
struct Part {
    amount: i64,
    currency: String,
}

#[derive(Deserialize)]
struct Balance {
    #[serde(default)]
    available: Vec<Part>,
    #[serde(default)]
    pending: Vec<Part>,
}

#[derive(Deserialize)]
struct Event {
    created: i64,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: EventObject,
}

#[derive(Deserialize)]
struct EventObject {
    #[serde(default)]
    id: String,
}

/// The account a key belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// `acct_…`.
    pub id: String,
    /// Two-letter country.
    pub country: Option<String>,
}

impl Client {
    /// An owner's payouts created since `since`, newest first.
    pub async fn payouts_since(&self, owner: &Owner, since: i64) -> Result<Vec<Listed>, ApiError> {
        let since = since.to_string();
        let walk = self.walk(owner, "/v1/payouts", &[("created[gte]", &since)], Start::Newest);
        walk.all().await?.into_iter().map(|raw| payout(owner, raw)).collect()
    }

    /// One payout; `None` when Stripe does not know it.
    pub async fn payout(&self, owner: &Owner, id: &str) -> Result<Option<Listed>, ApiError> {
        match self.get_as::<Box<RawValue>>(owner, &format!("/v1/payouts/{id}"), &[]).await {
            Ok(raw) => payout(owner, raw).map(Some),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The platform's transfers created since `since`, newest first.
    pub async fn transfers_since(&self, since: i64) -> Result<Vec<Listed>, ApiError> {
        let (platform, since) = (Owner::platform(), since.to_string());
        let walk = self.walk(&platform, "/v1/transfers", &[("created[gte]", &since)], Start::Newest);
        let raw = walk.all().await?.into_iter();
        raw.map(|raw| {
            let t: Transfer = serde_json::from_str(raw.get()).map_err(|e| ApiError::unreadable(&e))?;
            let account = Owner::platform().to_string();
            let (reversed, amount) = (t.amount_reversed, t.amount);
            let known = Known { id: t.id, account, status: None, amount, reversed, currency: t.currency };
            Ok(Listed { known, raw, trace_id: None })
        })
        .collect()
    }

    /// Available plus pending per currency, minor units: what the events move.
    pub async fn balance(&self, owner: &Owner) -> Result<BTreeMap<Currency, i64>, ApiError> {
        let balance: Balance = self.get_as(owner, "/v1/balance", &[]).await?;
        let mut sums = BTreeMap::new();
        for part in balance.available.iter().chain(&balance.pending) {
            let currency = Currency::parse(&part.currency).map_err(|e| wrong(&e))?;
            let sum: &mut i64 = sums.entry(currency).or_default();
            *sum = sum.checked_add(part.amount).ok_or_else(|| wrong("a balance is out of range"))?;
        }
        Ok(sums)
    }

    /// Ids of the objects that any event since `since` is about.
    pub async fn changed_since(&self, owner: &Owner, since: i64) -> Result<BTreeSet<String>, ApiError> {
        let since = since.to_string();
        let walk = self.walk(owner, "/v1/events", &[("created[gte]", &since)], Start::Newest);
        let events = walk.all().await?.into_iter();
        events.map(|raw| event(&raw).map(|e| e.data.object.id)).collect()
    }

    /// When the newest event of an owner happened, unix seconds.
    pub async fn newest_event(&self, owner: &Owner) -> Result<Option<i64>, ApiError> {
        #[derive(Deserialize)]
        struct Page {
            data: Vec<Box<RawValue>>,
        }
        let page: Page = self.get_as(owner, "/v1/events", &[("limit", "1")]).await?;
        page.data.first().map(|raw| event(raw).map(|e| e.created)).transpose()
    }

    /// Whose key it is.
    pub async fn account(&self) -> Result<Account, ApiError> {
        self.get_as(&Owner::platform(), "/v1/account", &[]).await
    }
}

fn wrong(why: &str) -> ApiError {
    ApiError::without_answer(ErrorKind::NotJson, why)
}

fn event(raw: &RawValue) -> Result<Event, ApiError> {
    serde_json::from_str(raw.get()).map_err(|e| ApiError::unreadable(&e))
}

fn payout(owner: &Owner, raw: Box<RawValue>) -> Result<Listed, ApiError> {
    let p: Payout = serde_json::from_str(raw.get()).map_err(|e| ApiError::unreadable(&e))?;
    let (account, status) = (owner.to_string(), Some(p.status));
    let known = Known { id: p.id, account, status, amount: p.amount, reversed: 0, currency: p.currency };
    Ok(Listed { known, raw, trace_id: p.trace_id.and_then(|t| t.value) })
}
