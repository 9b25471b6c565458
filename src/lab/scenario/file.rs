//! The scenario file: what may stand in it and how it becomes a case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use crate::domain::event;
use crate::domain::strategy::{Change, Delivery, Event, Sender, View};
use crate::lab::case::Case;
use crate::stripe::simulate::Envelope;
use crate::stripe::simulate::objects::{self, DisputeMoney, Payout};

/// Second 0 of a scenario, unix seconds.
const START: i64 = 1_790_000_000;
const DAY: i64 = 86_400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    title: String,
    teaches: String,
    /// The way the states take, first to last, for objects without a version.
    #[serde(default)]
    states: Vec<String>,
    /// The true balances at the end, minor units per `OWNER currency`.
    balances: Option<BTreeMap<String, i64>>,
    #[serde(rename = "event")]
    events: Vec<EventEntry>,
    #[serde(rename = "delivery")]
    deliveries: Vec<DeliveryEntry>,
}

/// One event, in true order. With `type` it is one of Stripe's and the engine reads it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventEntry {
    id: String,
    object: String,
    /// Seconds after the scenario's start.
    created: i64,
    version: Option<i64>,
    status: Option<String>,
    /// Further fields of the row.
    #[serde(default)]
    with: BTreeMap<String, Scalar>,
    /// A fact: minor units added to the object's total.
    adds: Option<i64>,
    #[serde(default)]
    deleted: bool,
    #[serde(rename = "type")]
    kind: Option<String>,
    account: Option<String>,
    amount: Option<i64>,
    currency: Option<String>,
    /// A transfer's destination or an application fee's payer.
    seller: Option<String>,
    /// What came back so far of a transfer or an application fee, oldest first.
    #[serde(default)]
    parts: Vec<i64>,
    failure_code: Option<String>,
    /// A payout's expected day, in days after the start.
    arrives: Option<i64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Number(i64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveryEntry {
    event: String,
    /// Seconds after the scenario's start.
    at: i64,
    #[serde(default)]
    stalls: bool,
}

/// Reads the text strictly. The error names the line.
pub fn parse(text: &str) -> Result<File, String> {
    toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(1, |span| text.bytes().take(span.start).filter(|b| *b == b'\n').count() + 1);
        format!("line {line}: {}", e.message().lines().next().unwrap_or("not readable"))
    })
}

impl File {
    pub fn into_case(self, name: &str) -> Result<Case, String> {
        let mut born: BTreeMap<&str, i64> = BTreeMap::new();
        let mut history = Vec::new();
        let mut known: BTreeMap<&str, Option<Arc<Event>>> = BTreeMap::new();
        for entry in &self.events {
            let first = *born.entry(&entry.object).or_insert(entry.created);
            let event = self.event(entry, first).map_err(|why| format!("event {}: {why}", entry.id))?.map(Arc::new);
            history.extend(event.clone());
            if known.insert(&entry.id, event).is_some() {
                return Err(format!("event {} stands there twice: an id names one event", entry.id));
            }
        }
        let (mut deliveries, mut left_out, mut delivered) = (Vec::new(), 0, BTreeSet::new());
        let mut last = i64::MIN;
        for entry in &self.deliveries {
            let Some(event) = known.get(entry.event.as_str()) else {
                return Err(format!("a delivery names the event {}, which is not in the file", entry.event));
            };
            let at = START.saturating_add(entry.at);
            if at < last {
                return Err(format!(
                    "the delivery of {} at {} is earlier than the one before it",
                    entry.event, entry.at
                ));
            }
            last = at;
            delivered.insert(entry.event.as_str());
            match event {
                Some(event) => deliveries.push(Delivery { event: event.clone(), at, stalls: entry.stalls }),
                None => left_out += 1,
            }
        }
        if let Some(lost) = self.events.iter().find(|e| !delivered.contains(e.id.as_str())) {
            return Err(format!("the event {} is never delivered", lost.id));
        }
        let sender = Sender { history };
        let name = name.to_owned();
        Ok(Case {
            name,
            title: self.title,
            teaches: self.teaches,
            sender,
            deliveries,
            balances: self.balances,
            left_out,
        })
    }

    fn event(&self, entry: &EventEntry, born: i64) -> Result<Option<Event>, String> {
        if entry.kind.is_some() {
            return entry.stripe(born);
        }
        let change = match (&entry.status, entry.adds, entry.deleted) {
            (Some(status), None, false) => Change::Snapshot(Arc::new(entry.view(status))),
            (None, Some(amount), false) => Change::Adds(amount),
            (None, None, true) => Change::Gone,
            _ => return Err("give exactly one of status, adds, deleted, type".to_owned()),
        };
        let rank = match &entry.status {
            Some(status) if !self.states.is_empty() => {
                let at = self.states.iter().position(|s| s == status);
                let at = at.ok_or_else(|| format!("its status {status:?} is not in states"))?;
                Some(i64::try_from(at).unwrap_or(i64::MAX))
            }
            _ => None,
        };
        let (id, object) = (entry.id.clone(), entry.object.clone());
        let created = START.saturating_add(entry.created);
        Ok(Some(Event { id, object, created, version: entry.version, rank, change, stripe: None }))
    }
}

impl EventEntry {
    fn view(&self, status: &str) -> View {
        let mut view = View::from([("status".to_owned(), status.into())]);
        if let Some(version) = self.version {
            view.insert("version".to_owned(), version.into());
        }
        for (field, value) in &self.with {
            let value = match value {
                Scalar::Text(text) => text.as_str().into(),
                Scalar::Number(number) => (*number).into(),
            };
            view.insert(field.clone(), value);
        }
        view
    }

    /// Stripe's event, by way of its JSON, so that the engine reads what it would read from the wire.
    fn stripe(&self, born: i64) -> Result<Option<Event>, String> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let amount = self.amount.ok_or("an event with a type needs an amount")?;
        let currency = self.currency.as_deref().ok_or("an event with a type needs a currency")?;
        let seller = || self.seller.as_deref().ok_or("it needs a seller");
        let born = START.saturating_add(born);
        let (id, word) = (self.object.as_str(), kind.rsplit('.').next().unwrap_or_default());
        let status = |default: &str| self.status.clone().unwrap_or_else(|| default.to_owned());
        let object = match kind.split('.').next().unwrap_or_default() {
            "payout" => {
                let word = match word {
                    "created" => "pending".to_owned(),
                    "updated" => self.status.clone().ok_or("payout.updated needs a status")?,
                    word => word.to_owned(),
                };
                let mut payout =
                    Payout::new(id, amount, currency, born).with_status(&word, self.failure_code.as_deref());
                if let Some(days) = self.arrives {
                    payout.arrival_date = START - START % DAY + days * DAY;
                }
                payout.json()
            }
            "transfer" => objects::transfer(id, amount, currency, born, seller()?, &self.parts),
            "application_fee" => objects::application_fee(id, amount, currency, born, seller()?, &self.parts),
            "refund" => objects::refund(id, amount, currency, born, "ch_simulated", &status("succeeded")),
            "topup" => objects::topup(id, amount, currency, born, word),
            "charge" if kind.starts_with("charge.dispute.") => {
                let money = match word {
                    "funds_withdrawn" => DisputeMoney::Withdrawn,
                    "funds_reinstated" => DisputeMoney::Reinstated,
                    _ => DisputeMoney::None,
                };
                objects::dispute(id, amount, 0, currency, born, "ch_simulated", money)
            }
            "charge" => objects::charge(id, amount, currency, born),
            _ => return Err(format!("the type {kind:?} is not one that the lab can make")),
        };
        let created = START.saturating_add(self.created);
        let body = Envelope { id: &self.id, kind, account: self.account.as_deref(), created }.body(object, None);
        let event = event::parse(body.as_bytes()).map_err(|e| e.to_string())?;
        match &event.content {
            event::Content::Problem(why) => Err(why.clone()),
            _ => Ok(Event::from_stripe(event)),
        }
    }
}
