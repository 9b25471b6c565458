//! A case: what truly happened, what arrived and when, and what must be on the screen at the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::strategy::{Change, Delivery, Event, Sender, View};

/// What a reader sees of each object; none when it is deleted.
pub type Rows = BTreeMap<String, Option<Arc<View>>>;

/// Something to compare strategies on.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The name on the command line.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// What one learns from it, in a sentence or two.
    pub teaches: String,
    /// What happened, in true order.
    pub sender: Sender,
    /// What arrived, in order of arrival.
    pub deliveries: Vec<Delivery>,
    /// The balances at the end, minor units per `OWNER currency`; none where no money is involved.
    pub balances: Option<BTreeMap<String, i64>>,
    /// Deliveries left out because no rule reads them.
    pub left_out: usize,
}

impl Case {
    /// The objects as they truly are at the end.
    pub fn truth(&self) -> Rows {
        self.sender.history.iter().map(|e| (e.object.clone(), self.states(&e.object).pop().flatten())).collect()
    }

    /// Every state that the object truly had, oldest first; none when deleted.
    pub fn states(&self, object: &str) -> Vec<Option<Arc<View>>> {
        let mut total = 0i64;
        let events = self.sender.history.iter().filter(|e| e.object == object);
        let states = events.map(|event| match &event.change {
            Change::Snapshot(view) => Some(view.clone()),
            Change::Gone => None,
            Change::Adds(amount) => {
                total = total.saturating_add(*amount);
                Some(total_view(total))
            }
        });
        states.collect()
    }

    /// The same deliveries in another order: `order` holds indices. The times stay with the places, but nothing arrives
    /// before it has happened.
    pub fn arranged(&self, order: &[usize]) -> Vec<Delivery> {
        let mut at = i64::MIN;
        let places = order.iter().zip(&self.deliveries);
        let arranged = places.filter_map(|(&i, place)| {
            let event = self.deliveries.get(i)?.event.clone();
            at = at.max(place.at).max(event.created);
            Some(Delivery { event, at, stalls: place.stalls })
        });
        arranged.collect()
    }

    /// The newest event of each object.
    pub fn newest(&self) -> BTreeMap<&str, &Arc<Event>> {
        self.sender.history.iter().map(|e| (e.object.as_str(), e)).collect()
    }
}

/// The row of facts that add up.
pub fn total_view(total: i64) -> Arc<View> {
    Arc::new(View::from([("total".to_owned(), total.into())]))
}

/// `active/pro/v3`: a row in a few characters, its status first.
pub fn brief(view: Option<&View>) -> String {
    let Some(view) = view else { return "deleted".to_owned() };
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut parts: Vec<String> = view.get("status").map(text).into_iter().collect();
    for (field, value) in view.iter().filter(|(field, _)| *field != "status") {
        parts.push(match field.as_str() {
            "version" => format!("v{}", text(value)),
            "arrival_date" => format!("arrives {}", day(value.as_i64().unwrap_or_default())),
            _ if value.is_string() => text(value),
            field => format!("{field} {}", text(value)),
        });
    }
    parts.join("/")
}

fn day(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0).map_or_else(|| seconds.to_string(), |t| t.format("%b %d").to_string())
}
