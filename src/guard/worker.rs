//! The worker: claim, look, write down, post, write down. Any number may run on one database; the claim keeps them apart.

use std::time::Duration;

use super::api::TransferApi;
use super::events;
use crate::domain::transfer::backoff::Backoff;
use crate::domain::transfer::claim::Lease;
use crate::domain::transfer::intent::State;
use crate::domain::transfer::key::idempotency_key;
use crate::domain::transfer::lookup::Looked;
use crate::store::error::StoreError;
use crate::store::transfers::{Transfers, Work};

/// Between which steps a worker stands; tests stop it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The claim is committed.
    Claimed,
    /// Stripe's record was read.
    LookedUp,
    /// The POST is written down and has not left.
    WrittenDown,
    /// Stripe answered; nothing of it is written down.
    Answered,
    /// All is written down.
    Recorded,
}

impl Point {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Claimed, Self::LookedUp, Self::WrittenDown, Self::Answered, Self::Recorded];
}

/// Clock and chance, given from outside.
pub trait Surroundings: Send + Sync {
    /// Unix milliseconds.
    fn now_ms(&self) -> i64;
    /// Any number.
    fn random(&self) -> u64;
    /// Called between steps; false ends the worker as if it had died there.
    fn goes_on(&self, _at: Point) -> bool {
        true
    }
}

/// The real ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Surroundings for System {
    fn now_ms(&self) -> i64 {
        chrono::Utc::now().timestamp_millis()
    }

    fn random(&self) -> u64 {
        let mut bytes = [0u8; 8];
        // Without randomness the rests are merely regular.
        let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
        u64::from_ne_bytes(bytes)
    }
}

/// How a worker behaves.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long failures rest.
    pub backoff: Backoff,
    /// How long the queue remembers finished jobs (guard 4, a window).
    pub job_retention: Duration,
}

impl Default for Settings {
    /// Jobs are remembered for seven days.
    fn default() -> Self {
        Self { backoff: Backoff::default(), job_retention: Duration::from_secs(7 * 86_400) }
    }
}

/// What one step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing is due.
    Idle,
    /// An order was worked on.
    Worked {
        /// Its name.
        order_ref: String,
        /// Where it stands now, as far as this worker knows.
        state: State,
    },
    /// The surroundings ended it.
    Stopped,
}

/// A worker.
pub struct Worker<A, S = System> {
    store: Transfers,
    api: A,
    surroundings: S,
    settings: Settings,
    name: String,
}

impl<A: TransferApi, S: Surroundings> Worker<A, S> {
    /// `Err` when key and database are of different modes.
    pub fn new(store: Transfers, api: A, surroundings: S, settings: Settings) -> Result<Self, String> {
        if store.is_live() != api.is_live() {
            let mode = |live: bool| if live { "live" } else { "test" };
            return Err(format!(
                "the API key is a {} key but the mode is {}: give the other key, or --mode {}",
                mode(api.is_live()),
                mode(store.is_live()),
                mode(api.is_live())
            ));
        }
        let name = format!("worker {}-{:04x}", std::process::id(), surroundings.random() & 0xffff);
        Ok(Self { store, api, surroundings, settings, name })
    }

    /// The record it works on.
    pub fn store(&self) -> &Transfers {
        &self.store
    }

    fn work(&self) -> Work<'_> {
        let timeout_ms = i64::try_from(self.api.timeout().as_millis()).unwrap_or(i64::MAX);
        Work {
            who: &self.name,
            now_ms: self.surroundings.now_ms(),
            lease: Lease::for_timeout(timeout_ms),
            backoff: self.settings.backoff,
            random: self.surroundings.random(),
        }
    }

    /// Works on one due order; only on `only` when it is named.
    pub async fn step(&self, only: Option<&str>) -> Result<Step, StoreError> {
        let Some(claimed) = self.store.claim(only, self.work())? else { return Ok(Step::Idle) };
        let order_ref = claimed.order.order_ref.clone();
        let worked = |state| Ok(Step::Worked { order_ref: order_ref.clone(), state });
        if !self.surroundings.goes_on(Point::Claimed) {
            return Ok(Step::Stopped);
        }

        let looked_ms = self.surroundings.now_ms();
        let found = match self.api.list(&order_ref).await {
            Ok(found) => found,
            Err(e) => {
                self.store.lookup_failed(&claimed, &e.told, e.passing, &e.why, self.work())?;
                return worked(self.state_of(&order_ref)?);
            }
        };
        if !self.surroundings.goes_on(Point::LookedUp) {
            return Ok(Step::Stopped);
        }
        match self.store.looked(&claimed, &found, self.work())? {
            Looked::Create => {}
            Looked::Settled(intent) => return worked(intent.state),
            Looked::Lost => return worked(self.state_of(&order_ref)?),
        }

        let Ok(posted) = self.store.posting(&claimed, looked_ms, self.work())? else {
            return worked(self.state_of(&order_ref)?);
        };
        if !self.surroundings.goes_on(Point::WrittenDown) {
            return Ok(Step::Stopped);
        }
        // The commit may have taken long, or the machine slept: then the claim is left to run out.
        let timeout_ms = i64::try_from(self.api.timeout().as_millis()).unwrap_or(i64::MAX);
        if !posted.row.intent.may_send(posted.row.intent.fence, self.surroundings.now_ms(), timeout_ms) {
            return worked(State::Sending);
        }
        let key = idempotency_key(&order_ref, posted.row.intent.version);
        let (outcome, told) = self.api.create(&posted.row.order, &key).await;
        if !self.surroundings.goes_on(Point::Answered) {
            return Ok(Step::Stopped);
        }
        let row = self.store.answered(&posted, &outcome, &told, self.work())?;
        tracing::info!(order = %order_ref, state = %row.intent.state, request = told.request_id, "transfer");
        if self.surroundings.goes_on(Point::Recorded) { worked(row.intent.state) } else { Ok(Step::Stopped) }
    }

    fn state_of(&self, order_ref: &str) -> Result<State, StoreError> {
        Ok(self.store.find(order_ref)?.map_or(State::Canceled, |row| row.intent.state))
    }

    /// Works on everything that is due, events first; returns when nothing is due any more.
    pub async fn drain(&self) -> Result<Step, StoreError> {
        self.read_events()?;
        loop {
            match self.step(None).await? {
                Step::Worked { .. } => {}
                end => return Ok(end),
            }
        }
    }

    /// Shows new transfer events to their orders. Returns how many changed.
    pub fn read_events(&self) -> Result<usize, StoreError> {
        events::read(&self.store, self.surroundings.now_ms())
    }

    /// Forgets the names of jobs that finished too long ago.
    pub fn forget_jobs(&self) -> Result<usize, StoreError> {
        let retention_ms = i64::try_from(self.settings.job_retention.as_millis()).unwrap_or(i64::MAX);
        self.store.forget_jobs(self.surroundings.now_ms().saturating_sub(retention_ms))
    }
}
