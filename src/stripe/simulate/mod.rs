//! Simulated events: bodies as Stripe would send them, for `trigger`, the lab and the tests.

pub mod objects;
pub mod sequence;

use serde_json::{Value, json};

use super::client::API_VERSION;

/// The envelope around an object.
#[derive(Debug, Clone)]
pub struct Envelope<'a> {
    /// `evt_…`.
    pub id: &'a str,
    /// `payout.paid`, …
    pub kind: &'a str,
    /// The connected account the event is about; none for the platform's own.
    pub account: Option<&'a str>,
    /// Unix seconds.
    pub created: i64,
}

impl Envelope<'_> {
    /// The event's body. `previous` is Stripe's `previous_attributes`, which only `*.updated` events have.
    pub fn body(&self, object: Value, previous: Option<Value>) -> String {
        let mut event = json!({
            "id": self.id, "object": "event", "api_version": API_VERSION, "created": self.created,
            "data": { "object": object }, "livemode": false, "pending_webhooks": 1,
            "request": { "id": null, "idempotency_key": null }, "type": self.kind,
        });
        if let Some(account) = self.account {
            event["account"] = account.into();
        }
        if let Some(previous) = previous {
            event["data"]["previous_attributes"] = previous;
        }
        event.to_string()
    }
}
