//! The user's own deliveries as a case: a log of Stripe events in order of arrival, or the rows of `events --json`.
//!
//! Nobody has told us the truth here, so it is taken from the log: of each object the snapshot that is furthest on its way,
//! then the newest. That is the same for every order of the same lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::case::Case;
use crate::domain::event::{self, Content};
use crate::domain::payout::Status;
use crate::domain::strategy::{Change, Delivery, Event, Sender, View, stripe};
use crate::store::view::EventRow;

/// A row as `events --json` prints it. Only what the lab needs.
#[derive(Deserialize)]
struct Row {
    id: String,
    object: String,
    created: i64,
    status: Option<String>,
    #[serde(default)]
    first_ms: i64,
    #[serde(default)]
    last_ms: i64,
    #[serde(default = "once")]
    deliveries: i64,
}

fn once() -> i64 {
    1
}

/// Reads a log. Lines that are no JSON objects are passed over, as `stripe listen` prints some. The error says what to do.
pub fn read(name: &str, text: &str) -> Result<Case, String> {
    let mut deliveries = Vec::new();
    let (mut left_out, mut stripe_events) = (0, false);
    let values = values(text);
    for value in &values {
        if value.get("data").is_some() {
            stripe_events = true;
            let event =
                event::parse(value.to_string().as_bytes()).ok().filter(|e| !matches!(e.content, Content::Problem(_)));
            match event.and_then(Event::from_stripe) {
                Some(event) => deliveries.push((None, Arc::new(event))),
                None => left_out += 1,
            }
        } else if let Ok(row) = Row::deserialize(value) {
            match row_event(&row).map(Arc::new) {
                Some(event) => {
                    deliveries.push((Some(row.first_ms), event.clone()));
                    if row.deliveries > 1 {
                        deliveries.push((Some(row.last_ms.max(row.first_ms)), event));
                    }
                }
                None => left_out += 1,
            }
        }
    }
    if deliveries.is_empty() {
        return Err(format!(
            "{name}: no events that the lab can compare ({} read); give Stripe events one per line, or what `payout-ledger events --json` prints",
            values.len()
        ));
    }
    deliveries.sort_by_key(|(ms, _)| ms.unwrap_or(0));
    Ok(case(name, deliveries, left_out, stripe_events))
}

/// What really arrived, as the database keeps it: each delivery's unix milliseconds and body. None where no rule reads any.
pub fn arrivals(name: &str, mut arrived: Vec<(i64, Vec<u8>)>) -> Option<Case> {
    arrived.sort_by_key(|(ms, _)| *ms);
    let read = |body: &[u8]| Event::from_stripe(event::parse(body).ok()?);
    let total = arrived.len();
    let deliveries: Vec<_> =
        arrived.into_iter().filter_map(|(ms, body)| Some((Some(ms), Arc::new(read(&body)?)))).collect();
    let left_out = total - deliveries.len();
    (!deliveries.is_empty()).then(|| case(name, deliveries, left_out, true))
}

/// A payout's events as the timeline has them. Its times are milliseconds, so that short disorder is measured too.
pub fn timeline(rows: &[EventRow]) -> Option<Case> {
    let mut arrived: Vec<(Option<i64>, Arc<Event>)> = Vec::new();
    for row in rows {
        let (id, object, status) = (row.id.clone(), row.object.clone(), row.status.clone());
        let (created, first_ms, last_ms, deliveries) = (row.created, row.first_ms, row.last_ms, row.deliveries);
        let Some(event) = row_event(&Row { id, object, created, status, first_ms, last_ms, deliveries }) else {
            continue;
        };
        let event = Arc::new(event);
        if deliveries > 1 {
            arrived.push((Some(last_ms.saturating_mul(1_000)), event.clone()));
        }
        arrived.push((Some(first_ms.saturating_mul(1_000)), event));
    }
    arrived.sort_by_key(|(ms, _)| *ms);
    (!arrived.is_empty()).then(|| case("timeline", arrived, 0, false))
}

fn case(name: &str, arrived: Vec<(Option<i64>, Arc<Event>)>, left_out: usize, stripe_events: bool) -> Case {
    let mut at = i64::MIN;
    let deliveries: Vec<Delivery> = arrived
        .into_iter()
        .map(|(ms, event)| {
            at = at.max(ms.map_or(event.created, |ms| ms / 1_000));
            Delivery { event, at, stalls: false }
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut history: Vec<Arc<Event>> =
        deliveries.iter().filter(|d| seen.insert(d.event.id.as_str())).map(|d| d.event.clone()).collect();
    history.sort_by(|a, b| (a.rank, a.created, &a.id).cmp(&(b.rank, b.created, &b.id)));
    let newest: BTreeMap<&str, &Arc<Event>> = history.iter().map(|e| (e.object.as_str(), e)).collect();
    let balances = stripe_events.then(|| stripe::balances(newest.values().flat_map(|e| e.legs())));
    Case {
        name: name.to_owned(),
        title: "your own deliveries".to_owned(),
        teaches: "The truth here is taken from the log itself: of each object the snapshot furthest on its way, then the newest.".to_owned(),
        sender: Sender { history },
        deliveries,
        balances,
        left_out,
    }
}

fn row_event(row: &Row) -> Option<Event> {
    let status = row.status.as_deref()?;
    let view = View::from([("status".to_owned(), status.into())]);
    Some(Event {
        id: row.id.clone(),
        object: row.object.clone(),
        created: row.created,
        version: None,
        rank: Status::parse(status).map(Status::rank),
        change: Change::Snapshot(Arc::new(view)),
        stripe: None,
    })
}

/// All JSON objects of a text: one object, an array, a list object, or lines with anything between them.
fn values(text: &str) -> Vec<Value> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(values)) => return values,
        Ok(mut value) => {
            return match value.get_mut("data").map(Value::take) {
                Some(Value::Array(values)) => values,
                Some(data) => {
                    value["data"] = data;
                    vec![value]
                }
                None => vec![value],
            };
        }
        Err(_) => {}
    }
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with('{'));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::case::brief;
    use crate::lab::history::{self, Shape};
    use crate::lab::rng::Rng;

    #[test]
    fn a_log_of_stripe_events_among_noise() {
        let history = history::generate(&mut Rng::new(11), Shape { events: 10, may_owe: false, noise: true });
        let mut lines = vec!["Ready! You are using Stripe API Version".to_owned()];
        lines.extend(history.events.iter().rev().map(|e| e.body.clone()));
        lines.push("2026-11-06 10:42:07   --> payout.paid [evt_x]".to_owned());
        let case = read("log", &lines.join("\n")).unwrap();
        let truth = case.truth();
        for (id, payout) in &history.payouts {
            assert!(brief(truth[id].as_deref()).starts_with(&payout.status), "{id}");
        }
        let true_balances: BTreeMap<String, i64> =
            history.balances.iter().map(|((o, c), minor)| (format!("{o} {c}"), *minor)).collect();
        let mut balances = case.balances.unwrap();
        balances.retain(|_, minor| *minor != 0);
        assert_eq!(balances, true_balances);
        let list = format!("{{\"object\":\"list\",\"data\":[{}]}}", history.events[0].body);
        assert_eq!(read("list", &list).unwrap().deliveries.len(), 1);
    }

    #[test]
    fn rows_of_the_event_list_newest_first() {
        let rows = r#"{"id":"evt_b","type":"payout.paid","object":"po_1","status":"paid","created":20,"first_ms":1000,"last_ms":9000,"deliveries":2}
{"id":"evt_a","type":"payout.created","object":"po_1","status":"pending","created":10,"first_ms":3000,"last_ms":3000,"deliveries":1}
{"id":"evt_c","type":"charge.succeeded","object":"ch_1","status":null,"created":10,"first_ms":3000,"last_ms":3000,"deliveries":1}"#;
        let case = read("rows", rows).unwrap();
        let ids: Vec<_> = case.deliveries.iter().map(|d| d.event.id.as_str()).collect();
        assert_eq!(ids, ["evt_b", "evt_a", "evt_b"]);
        assert_eq!((brief(case.truth()["po_1"].as_deref()), case.left_out), ("paid".to_owned(), 1));
        assert!(read("none", "hello\n").unwrap_err().contains("events --json"));
    }
}
