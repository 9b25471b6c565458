//! A model of Stripe with a clock: what it does with transfers and idempotency keys (Stripe: Idempotent requests).

use std::collections::BTreeMap;

use crate::domain::transfer::answer::{Failure, Outcome, read};
use crate::domain::transfer::key::KEY_KEPT_MS;
use crate::domain::transfer::lookup::Seen;

/// What a key remembers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Stored {
    /// The transfer it made, by place.
    Made(usize),
    /// A status of 400 or more.
    Failed(u16),
}

/// Where a request stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Request {
    /// Received, its key locked.
    Running,
    /// Done; status, and the transfer's place when it was made.
    Done { status: u16, made: Option<usize>, replayed: bool },
}

/// Stripe, as far as one order goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stripe {
    /// Transfers made for the order: more than one is what must never be.
    pub transfers: usize,
    /// Whether it refuses every create for good (no funds, a blocked API key).
    pub refuses: bool,
    keys: BTreeMap<String, (Stored, i64)>,
    requests: Vec<(String, Request)>,
}

impl Stripe {
    /// An empty one.
    pub fn new(refuses: bool) -> Self {
        Self { transfers: 0, refuses, keys: BTreeMap::new(), requests: Vec::new() }
    }

    /// A POST arrives. Returns its number.
    pub fn receive(&mut self, key: &str, now_ms: i64) -> usize {
        self.keys.retain(|_, (_, at)| now_ms - *at < KEY_KEPT_MS);
        let running = self.requests.iter().any(|(k, r)| k == key && *r == Request::Running);
        let state = match self.keys.get(key) {
            _ if running => Request::Done { status: 409, made: None, replayed: false },
            Some((Stored::Made(n), _)) => Request::Done { status: 200, made: Some(*n), replayed: true },
            Some((Stored::Failed(status), _)) => Request::Done { status: *status, made: None, replayed: true },
            None => Request::Running,
        };
        self.requests.push((key.to_owned(), state));
        self.requests.len() - 1
    }

    /// Whether a request is still being worked on.
    pub fn is_running(&self, request: usize) -> bool {
        self.requests.get(request).is_some_and(|(_, r)| *r == Request::Running)
    }

    /// The requests that are still being worked on.
    pub fn running(&self) -> Vec<usize> {
        (0..self.requests.len()).filter(|n| self.is_running(*n)).collect()
    }

    /// Works a request off: the money moves, or the refusal is stored.
    pub fn execute(&mut self, request: usize, now_ms: i64) {
        let Some((key, state)) = self.requests.get_mut(request).filter(|(_, r)| *r == Request::Running) else { return };
        let stored = if self.refuses {
            *state = Request::Done { status: 403, made: None, replayed: false };
            Stored::Failed(403)
        } else {
            *state = Request::Done { status: 200, made: Some(self.transfers), replayed: false };
            self.transfers += 1;
            Stored::Made(self.transfers - 1)
        };
        self.keys.insert(key.clone(), (stored, now_ms));
    }

    /// Works everything off: a request ends long before a claim runs out.
    pub fn execute_all(&mut self, now_ms: i64) {
        (0..self.requests.len()).for_each(|n| self.execute(n, now_ms));
    }

    /// The answer of a finished request, read by the program's own rules.
    pub fn answer(&self, request: usize, ours: &Seen) -> Outcome {
        match self.requests.get(request) {
            Some((_, Request::Done { made: Some(n), .. })) => Outcome::Created(seen(ours, *n)),
            Some((_, Request::Done { status, replayed, .. })) => {
                let kind = "invalid_request_error";
                let failure =
                    Failure { status: Some(*status), kind, from_stripe: true, replayed: *replayed, left: true };
                read(failure, "refused")
            }
            _ => Outcome::Unknown { why: "no answer".to_owned(), replayed: false },
        }
    }

    /// The transfers of the order's group.
    pub fn list(&self, ours: &Seen) -> Vec<Seen> {
        (0..self.transfers).map(|n| seen(ours, n)).collect()
    }
}

fn seen(ours: &Seen, n: usize) -> Seen {
    Seen { id: format!("tr_{n}"), ..ours.clone() }
}
