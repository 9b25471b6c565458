//! What screens and commands say about an order: what we know and from whom, every attempt, and whether an error may be old.

use serde::Serialize;

use crate::domain::transfer::answer::replay_note;
use crate::domain::transfer::intent::{Intent, State};
use crate::domain::transfer::key::{idempotency_key, job_id, may_be_forgotten};
use crate::store::read::TransferDetail;
use crate::store::transfers::{HistoryRow, TransferRow, What};

/// An order as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The order's name.
    pub order: String,
    /// The state's word.
    pub state: String,
    /// Minor units.
    pub amount: i64,
    /// Lower-case code.
    pub currency: String,
    /// `acct_…`.
    pub destination: String,
    /// `ch_…` or `py_…`.
    pub source_transaction: Option<String>,
    /// Free text.
    pub description: Option<String>,
    /// Guard 3.
    pub version: i64,
    /// Guard 3's name at Stripe.
    pub idempotency_key: String,
    /// Guard 4's name in the queue.
    pub job: String,
    /// `tr_…`.
    pub transfer: Option<String>,
    /// `answer`, `lookup` or `event`.
    pub known_from: Option<&'static str>,
    /// In one line.
    pub what_we_know: String,
    /// A POST may have moved the money and nothing has settled it.
    pub in_doubt: bool,
    /// Tries since the last press.
    pub tries: i64,
    /// When it is due, unix milliseconds.
    pub next_ms: Option<i64>,
    /// When this version's key was first sent, unix milliseconds.
    pub key_first_ms: Option<i64>,
    /// Who holds the claim.
    pub claimed_by: Option<String>,
    /// Unix milliseconds.
    pub created_ms: i64,
    /// Who made it.
    pub created_by: String,
    /// Unix milliseconds.
    pub changed_ms: i64,
}

impl Shown {
    /// From a row.
    pub fn new(row: &TransferRow) -> Self {
        let TransferRow { order, intent, .. } = row;
        Self {
            order: order.order_ref.clone(),
            state: intent.state.to_string(),
            amount: order.amount,
            currency: order.currency.to_string(),
            destination: order.destination.clone(),
            source_transaction: order.source_transaction.clone(),
            description: order.description.clone(),
            version: intent.version,
            idempotency_key: idempotency_key(&order.order_ref, intent.version),
            job: job_id(row.live, &order.order_ref, intent.version),
            transfer: intent.transfer.clone(),
            known_from: intent.known_from.map(|source| source.as_str()),
            what_we_know: what_we_know(intent),
            in_doubt: intent.doubt,
            tries: intent.tries,
            next_ms: intent.next_ms,
            key_first_ms: intent.key_first_ms,
            claimed_by: intent.claim.as_ref().map(|claim| claim.by.clone()),
            created_ms: row.created_ms,
            created_by: row.created_by.clone(),
            changed_ms: row.changed_ms,
        }
    }
}

fn what_we_know(intent: &Intent) -> String {
    match (&intent.reason, intent.state) {
        (_, State::Sending) => "a worker is at it".to_owned(),
        (Some(reason), _) => reason.clone(),
        (None, _) => "waits to be sent".to_owned(),
    }
}

/// One POST with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// The key it was sent with.
    pub idempotency_key: String,
    /// When it was written down to leave, unix milliseconds.
    pub sent_ms: i64,
    /// Which worker.
    pub who: String,
    /// When the answer was written down, unix milliseconds; none when none ever was.
    pub answered_ms: Option<i64>,
    /// HTTP status.
    pub status: Option<i64>,
    /// Stripe's `Request-Id`.
    pub request_id: Option<String>,
    /// `Idempotent-Replayed`.
    pub replayed: bool,
    /// When the key was first sent, unix milliseconds.
    pub key_first_ms: i64,
    /// Whether the key was older than Stripe promises to keep one.
    pub key_may_be_forgotten: bool,
    /// What came back, in words.
    pub answer: String,
    /// Said when the error may be old.
    pub note: Option<&'static str>,
}

/// Every POST of an order, oldest first.
pub fn attempts(detail: &TransferDetail) -> Vec<Attempt> {
    let posts = || detail.history.iter().filter(|line| line.what == What::Post);
    posts().map(|post| attempt(detail, post, posts().find(|p| p.version == post.version))).collect()
}

fn attempt(detail: &TransferDetail, post: &HistoryRow, first: Option<&HistoryRow>) -> Attempt {
    let answer = detail.history.iter().find(|line| line.post == Some(post.id));
    let key_first_ms = first.map_or(post.at_ms, |p| p.at_ms);
    let failed = answer.is_some_and(|a| a.status.is_some_and(|status| status >= 400));
    let replayed = answer.is_some_and(|a| a.replayed);
    Attempt {
        idempotency_key: idempotency_key(&detail.row.order.order_ref, post.version),
        sent_ms: post.at_ms,
        who: post.who.clone(),
        answered_ms: answer.map(|a| a.at_ms),
        status: answer.and_then(|a| a.status),
        request_id: answer.and_then(|a| a.request_id.clone()),
        replayed,
        key_first_ms,
        key_may_be_forgotten: may_be_forgotten(Some(key_first_ms), post.at_ms),
        answer: answer.map_or_else(|| "no answer was written down".to_owned(), |a| a.detail.clone()),
        note: replay_note(replayed, failed, Some(key_first_ms), post.at_ms),
    }
}

/// The five guards by name, each with what it did for this order.
pub fn guards(detail: &TransferDetail) -> [(&'static str, String); 5] {
    let intent = &detail.row.intent;
    let order = &detail.row.order.order_ref;
    let count = |what: What| detail.history.iter().filter(|line| line.what == what).count();
    let (posts, takeovers) = (count(What::Post), count(What::Takeover));
    let claim = match &intent.claim {
        Some(claim) => format!("claimed by {}", claim.by),
        None if takeovers > 0 => format!("{} claims, {takeovers} taken over", intent.fence),
        None => format!("{} claims", intent.fence),
    };
    let found = |state: &str| detail.history.iter().any(|line| line.what == What::Lookup && line.state == state);
    let looked = match posts {
        _ if found("adopted") => "found and adopted".to_owned(),
        _ if found("conflict") => "found what was not ordered".to_owned(),
        0 => "no POST yet".to_owned(),
        1 => "looked before the POST".to_owned(),
        n => format!("looked before each of {n} POSTs"),
    };
    let key = idempotency_key(order, intent.version);
    let key = if intent.spent { format!("{key}: spent, a retry uses v{}", intent.version + 1) } else { key };
    let events = detail.events.iter().map(|event| event.deliveries).sum::<i64>();
    let events = match detail.legs.len() {
        0 => format!("{events} deliveries"),
        1 => format!("{events} deliveries, posted once"),
        n => format!("{events} deliveries, {n} legs, each once"),
    };
    [
        ("our record", format!("one row, {claim}")),
        ("Stripe's record", looked),
        ("key", key),
        ("queue", job_id(detail.row.live, order, intent.version)),
        ("events", events),
    ]
}

/// The advice for the state, in one line; none when there is nothing to do.
pub fn advice(row: &TransferRow) -> Option<String> {
    let order = &row.order.order_ref;
    let intent = &row.intent;
    Some(match intent.state {
        State::Rejected if intent.spent => {
            format!("mend the cause, then `transfer retry {order}`: it uses the new key v{}", intent.version + 1)
        }
        State::Rejected => {
            format!("mend the cause, then `transfer retry {order}`: the same key, Stripe stored nothing")
        }
        State::DeadLetter => format!("`transfer retry {order}` looks it up first and then uses the same key"),
        State::Conflict => "nothing more is sent; compare with the Dashboard and decide there".to_owned(),
        State::Unknown => "the worker looks it up before it tries the same key again".to_owned(),
        _ => return None,
    })
}
