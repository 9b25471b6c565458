//! Stripe's own events as the strategies see them: a payout by its state and details, anything else by the legs it implies.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Change, Event, View};
use crate::domain::details::Details;
use crate::domain::event::{self, Content};
use crate::domain::leg::{Leg, Side};
use crate::domain::object::Snapshot;

impl Event {
    /// None where no money rule reads the event: it would change no row.
    pub fn from_stripe(event: event::Event) -> Option<Self> {
        let Content::Snapshot(snapshot) = &event.content else { return None };
        Some(Self {
            id: event.id.clone(),
            object: snapshot.object.clone(),
            created: event.created,
            version: None,
            rank: Some(snapshot.rank),
            change: Change::Snapshot(Arc::new(view(snapshot))),
            stripe: Some(Arc::new(event)),
        })
    }

    /// What the event's snapshot implies for the ledger.
    pub fn legs(&self) -> &[Leg] {
        match self.stripe.as_deref().map(|e| &e.content) {
            Some(Content::Snapshot(snapshot)) => &snapshot.legs,
            _ => &[],
        }
    }
}

fn view(snapshot: &Snapshot) -> View {
    match &snapshot.payout {
        Some(payout) => payout_view(payout.status.as_str(), &payout.details),
        None => legs_view(&snapshot.legs),
    }
}

/// A payout's row.
pub fn payout_view(status: &str, details: &Details) -> View {
    let mut view = View::from([("status".to_owned(), status.into())]);
    if let Some(day) = details.arrival_date() {
        view.insert("arrival_date".to_owned(), day.into());
    }
    if let Some(code) = details.get("failure_code") {
        view.insert("failure_code".to_owned(), code.into());
    }
    view
}

/// The row of anything else: minor units per leg.
pub fn legs_view<'a>(legs: impl IntoIterator<Item = &'a Leg>) -> View {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for leg in legs {
        let sum = sums.entry(leg.name.as_str()).or_default();
        *sum = sum.saturating_add(leg.amount);
    }
    sums.into_iter().map(|(name, sum)| (name.to_owned(), sum.into())).collect()
}

/// What legs come to: minor units per `OWNER currency`, zero ones too.
pub fn balances<'a>(legs: impl IntoIterator<Item = &'a Leg>) -> BTreeMap<String, i64> {
    let mut balances: BTreeMap<String, i64> = BTreeMap::new();
    for leg in legs {
        for (side, amount) in [(&leg.from, -leg.amount), (&leg.to, leg.amount)] {
            if let Side::Funds(owner) | Side::Claims(owner) = side {
                let balance = balances.entry(format!("{owner} {}", leg.currency)).or_default();
                *balance = balance.saturating_add(amount);
            }
        }
    }
    balances
}
