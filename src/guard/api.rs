//! What the worker needs of Stripe, as a port, and the API client behind it.

use std::future::Future;
use std::time::Duration;

use serde::Deserialize;

use crate::domain::transfer::answer::{Failure, Outcome, read};
use crate::domain::transfer::lookup::Seen;
use crate::domain::transfer::order::Order;
use crate::store::transfers::Told;
use crate::stripe::answer::Answer;
use crate::stripe::client::Client;
use crate::stripe::error::{ApiError, ErrorKind};
use crate::stripe::transfer::{NewTransfer, Transfer};

/// A lookup without a whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupError {
    /// The facts, for the history.
    pub told: Told,
    /// Whether it may go away by itself.
    pub passing: bool,
    /// One line.
    pub why: String,
}

/// The two calls that guarded transfers stand on.
pub trait TransferApi: Send + Sync {
    /// Every transfer of a group, all pages, or an error: never a part.
    fn list(&self, group: &str) -> impl Future<Output = Result<Vec<Seen>, LookupError>> + Send;
    /// One POST, sent once.
    fn create(&self, order: &Order, key: &str) -> impl Future<Output = (Outcome, Told)> + Send;
    /// After this long a request counts as unanswered; claims are longer.
    fn timeout(&self) -> Duration;
    /// The mode of its key.
    fn is_live(&self) -> bool;
}

impl TransferApi for Client {
    async fn list(&self, group: &str) -> Result<Vec<Seen>, LookupError> {
        match self.transfers_in_group(group).await {
            Ok(found) => Ok(found.into_iter().map(seen).collect()),
            Err(error) => {
                // A cut or foreign answer is no reason to give up: only Stripe's own refusal is.
                let refused = matches!(
                    error.kind,
                    ErrorKind::Unauthorized | ErrorKind::Forbidden { .. } | ErrorKind::Invalid { .. }
                );
                Err(LookupError { told: told_by(&error), passing: !refused, why: error.line() })
            }
        }
    }

    async fn create(&self, order: &Order, key: &str) -> (Outcome, Told) {
        let new = NewTransfer {
            amount: order.amount,
            currency: order.currency.to_string(),
            destination: order.destination.clone(),
            transfer_group: order.order_ref.clone(),
            source_transaction: order.source_transaction.clone(),
            description: order.description.clone(),
        };
        match self.create_transfer(&new, key).await {
            Ok(answer) => read_answer(answer),
            Err(error) => {
                let left = !matches!(error.kind, ErrorKind::Network { sent: false } | ErrorKind::Invalid { .. });
                let failure =
                    Failure { status: error.status, kind: "", from_stripe: false, replayed: error.replayed, left };
                (read(failure, &error.line()), told_by(&error))
            }
        }
    }

    fn timeout(&self) -> Duration {
        Client::timeout(self)
    }

    fn is_live(&self) -> bool {
        Client::is_live(self)
    }
}

#[derive(Deserialize)]
struct Envelope {
    error: Kind,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type", default)]
    kind: String,
}

fn read_answer(answer: Answer) -> (Outcome, Told) {
    let told = Told { status: Some(answer.status), request_id: answer.request_id.clone(), replayed: answer.replayed };
    let replayed = answer.replayed;
    if (200..300).contains(&answer.status) {
        return match answer.json::<Transfer>() {
            Ok(transfer) => (Outcome::Created(seen(transfer)), told),
            Err(error) => (Outcome::Unknown { why: error.line(), replayed: false }, told),
        };
    }
    let envelope = serde_json::from_slice::<Envelope>(&answer.body).ok();
    let kind = envelope.as_ref().map_or("", |e| e.error.kind.as_str());
    let failure = Failure { status: Some(answer.status), kind, from_stripe: envelope.is_some(), replayed, left: true };
    let why = answer.ok().err().map_or_else(String::new, |error| error.line());
    (read(failure, &why), told)
}

fn told_by(error: &ApiError) -> Told {
    Told { status: error.status, request_id: error.request_id.clone(), replayed: error.replayed }
}

/// A transfer as the rules compare it.
pub(super) fn seen(transfer: Transfer) -> Seen {
    Seen {
        id: transfer.id,
        amount: transfer.amount,
        amount_reversed: if transfer.reversed { transfer.amount } else { transfer.amount_reversed },
        currency: transfer.currency,
        destination: transfer.destination,
        group: transfer.transfer_group,
        live: transfer.livemode,
    }
}
