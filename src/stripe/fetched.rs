//! An object read from the API, wrapped as an event of our own, so that it goes through the same rules as a delivery.
//!
//! Its id is `fetched_OBJECT_HASH`, the hash over the object's bytes: the same state fetched twice is one event.

use ring::digest;
use serde::Serialize;
use serde_json::value::RawValue;

use super::client::{API_VERSION, Client};
use super::error::{ApiError, ErrorKind};
use crate::domain::owner::Owner;

/// The beginning of the ids of wrapped objects.
pub const PREFIX: &str = "fetched_";

/// Where an object is read and which event type its rules listen to.
struct Route {
    collection: &'static str,
    kind: &'static str,
    query: &'static [(&'static str, &'static str)],
}

/// By the id's prefix; `None` for objects that no rule reads again.
fn route(object: &str) -> Option<Route> {
    let (prefix, _) = object.split_once('_')?;
    let (collection, kind, query): (_, _, &[_]) = match prefix {
        "po" => ("payouts", "payout.updated", &[]),
        "tr" => ("transfers", "transfer.updated", &[]),
        "ch" | "py" => ("charges", "charge.updated", &[("expand[]", "balance_transaction")]),
        "re" | "pyr" => ("refunds", "refund.updated", &[]),
        _ => return None,
    };
    Some(Route { collection, kind, query })
}

/// Whether [`Client::fetch_object`] knows how to read it.
pub fn can_fetch(object: &str) -> bool {
    route(object).is_some()
}

#[derive(Serialize)]
struct Envelope<'a> {
    id: &'a str,
    object: &'static str,
    api_version: &'static str,
    created: i64,
    #[serde(rename = "type")]
    kind: &'a str,
    livemode: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a str>,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    object: &'a RawValue,
}

/// The body of an event that says: this is what `owner`'s object is at `created`, Stripe's unix seconds.
/// `None` when no rule reads such an object.
pub fn wrap(owner: &Owner, object: &str, raw: &RawValue, live: bool, created: i64) -> Option<Vec<u8>> {
    let kind = route(object)?.kind;
    let hash = digest::digest(&digest::SHA256, raw.get().as_bytes());
    let hash: String = hash.as_ref().iter().take(8).map(|b| format!("{b:02x}")).collect();
    let envelope = Envelope {
        id: &format!("{PREFIX}{object}_{hash}"),
        object: "event",
        api_version: API_VERSION,
        created,
        kind,
        livemode: live,
        account: owner.header(),
        data: Data { object: raw },
    };
    serde_json::to_vec(&envelope).ok()
}

impl Client {
    /// Reads an object and wraps it. Its time is when the read began, by Stripe's clock and rounded down: an event that
    /// happened during the read is newer. `NotFound` when Stripe does not know it (simulated, deleted, other account).
    pub async fn fetch_object(&self, owner: &Owner, object: &str) -> Result<Vec<u8>, ApiError> {
        let unknown = || ApiError::without_answer(ErrorKind::NotFound, object);
        let Route { collection, query, .. } = route(object).ok_or_else(unknown)?;
        if !object.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(unknown());
        }
        let began = std::time::Instant::now();
        let answer = self.get(owner, &format!("/v1/{collection}/{object}"), query).await?;
        let took = i64::try_from(began.elapsed().as_secs()).unwrap_or(0);
        let created = answer.unix_date().map_or_else(|| chrono::Utc::now().timestamp(), |date| date - took - 1);
        let raw: Box<RawValue> = answer.json()?;
        wrap(owner, object, &raw, self.is_live(), created).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{Content, parse};

    #[test]
    fn a_wrapped_object_is_an_ordinary_event() {
        let raw = r#"{"id":"po_1","object":"payout","amount":700,"currency":"usd","status":"paid"}"#;
        let raw: Box<RawValue> = serde_json::from_str(raw).unwrap();
        let owner = Owner::connected("acct_s").unwrap();
        let body = wrap(&owner, "po_1", &raw, false, 9).unwrap();
        let event = parse(&body).unwrap();
        assert!(event.id.starts_with("fetched_po_1_") && event.id.len() == 29, "{}", event.id);
        assert_eq!((event.account.as_str(), event.created, event.livemode), ("acct_s", 9, Some(false)));
        assert!(matches!(event.content, Content::Snapshot(s) if s.object == "po_1"));
        let later = parse(&wrap(&owner, "po_1", &raw, false, 99).unwrap()).unwrap();
        assert_eq!(later.id, event.id, "the same state is one event");
        assert!(wrap(&owner, "evt_1", &raw, false, 9).is_none() && !can_fetch("po") && can_fetch("ch_1"));
    }
}
