//! Short ways to write events as Stripe sends them.

use payout_ledger::domain::event::{Event, parse};
use payout_ledger::stripe::simulate::Envelope;
use payout_ledger::stripe::simulate::objects::{self, Payout};
use serde_json::Value;

/// An event's body. `account` empty is the platform's own.
pub fn body(id: &str, kind: &str, account: &str, created: i64, object: Value) -> String {
    let account = Some(account).filter(|a| !a.is_empty());
    Envelope { id, kind, account, created }.body(object, None)
}

fn event(id: &str, kind: &str, account: &str, created: i64, object: Value) -> Event {
    parse(body(id, kind, account, created, object).as_bytes()).unwrap()
}

/// A captured charge on the platform.
pub fn charge(id: &str, amount: i64, at: i64) -> Event {
    event(&format!("evt_{id}"), "charge.succeeded", "", at, objects::charge(id, amount, "usd", at))
}

/// A transfer to the seller, with the parts reversed so far.
pub fn transfer(id: &str, amount: i64, at: i64, reversed: &[i64]) -> Event {
    let kind = if reversed.is_empty() { "transfer.created" } else { "transfer.reversed" };
    let object = objects::transfer(id, amount, "usd", at, "acct_seller", reversed);
    event(&format!("evt_{id}_{}", reversed.len()), kind, "", at, object)
}

/// A refund on the platform.
pub fn refund(id: &str, amount: i64, at: i64, status: &str) -> Event {
    let kind = if status == "succeeded" { "refund.created" } else { "refund.failed" };
    event(&format!("evt_{id}_{status}"), kind, "", at, objects::refund(id, amount, "usd", at, "ch_any", status))
}

/// An application fee from the seller to the platform.
pub fn fee(id: &str, amount: i64, at: i64, refunded: &[i64]) -> Event {
    let kind = if refunded.is_empty() { "application_fee.created" } else { "application_fee.refunded" };
    let object = objects::application_fee(id, amount, "usd", at, "acct_seller", refunded);
    event(&format!("evt_{id}_{}", refunded.len()), kind, "", at, object)
}

/// A payout in a state; `account` empty is the platform's.
pub fn payout(id: &str, account: &str, amount: i64, status: &str, at: i64) -> Event {
    let object = Payout::new(id, amount, "usd", 0).with_status(status, None).json();
    event(&format!("evt_{id}_{status}_{at}"), &format!("payout.{status}"), account, at, object)
}
