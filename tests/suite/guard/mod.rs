//! Guarded transfers end to end: the worker on a real database against Stripe's idempotency on loopback.

mod command;
mod crash;
mod meeting;
mod model;

mod pty;
mod race;
mod screen;
mod second_client;
mod stripe;
mod way;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use payout_ledger::domain::transfer::backoff::Backoff;
use payout_ledger::domain::transfer::intent::State;
use payout_ledger::domain::transfer::order::{Draft, Order};
use payout_ledger::guard::worker::{Point, Settings, Step, Surroundings, Worker};
use payout_ledger::lab::rng::Rng;
use payout_ledger::store::act::Actor;
use payout_ledger::store::transfers::Transfers;
use payout_ledger::store::verify::Audit;
use payout_ledger::stripe::client::Client;

use self::stripe::Stripe;

/// Longer than any claim.
const LEASE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

/// A database of its own beside a Stripe of its own.
struct Bench {
    _dir: tempfile::TempDir,
    path: PathBuf,
    stripe: Stripe,
}

/// What else happens at a point, once.
type Plan = (Point, Box<dyn FnOnce() + Send>);

/// The stand-in's clock, and a place to die at.
struct Near {
    stripe: Stripe,
    stop_at: Option<Point>,
    random: AtomicU64,
    plan: Mutex<Option<Plan>>,
}

impl Near {
    fn new(stripe: &Stripe) -> Self {
        Self { stripe: stripe.clone(), stop_at: None, random: AtomicU64::new(7), plan: Mutex::new(None) }
    }

    fn dying_at(stripe: &Stripe, point: Point) -> Self {
        Self { stop_at: Some(point), ..Self::new(stripe) }
    }

    fn doing(stripe: &Stripe, point: Point, what: impl FnOnce() + Send + 'static) -> Self {
        Self { plan: Mutex::new(Some((point, Box::new(what)))), ..Self::new(stripe) }
    }
}

impl Surroundings for Near {
    fn now_ms(&self) -> i64 {
        self.stripe.now_ms()
    }

    fn random(&self) -> u64 {
        Rng::new(self.random.fetch_add(1, Ordering::SeqCst)).draw()
    }

    fn goes_on(&self, at: Point) -> bool {
        let mut planned = self.plan.lock().unwrap();
        if planned.as_ref().is_some_and(|(point, _)| *point == at) {
            let (_, what) = planned.take().unwrap();
            drop(planned);
            what();
        }
        self.stop_at != Some(at)
    }
}

/// Every test ends with an audit of the tables.
impl Drop for Bench {
    fn drop(&mut self) {
        // A test that leaves itself out, for lack of the other client, has no database.
        if !std::thread::panicking() && self.path.exists() {
            let audit = Audit::of(&self.path, false).unwrap();
            assert_eq!(audit.broken, Vec::<String>::new());
        }
    }
}

impl Bench {
    fn new(seed: u64) -> Self {
        let dir = crate::support::memory_dir();
        let path = dir.path().join("ledger.db");
        Self { _dir: dir, path, stripe: Stripe::start(seed) }
    }

    fn store(&self) -> Transfers {
        Transfers::open(&self.path, false).unwrap()
    }

    fn create(&self, name: &str) {
        let actor = Actor { who: "ann", reason: "", now_ms: self.stripe.now_ms() };
        self.store().create(&order(name), &actor).unwrap();
    }

    fn worker(&self, near: Near) -> Worker<Client, Near> {
        worker(&self.path, near)
    }

    fn state(&self, name: &str) -> State {
        self.store().find(name).unwrap().unwrap().intent.state
    }

    /// Lets a healthy worker come back as often as it wants, time passing as it must, until nothing is left to do.
    async fn settle(&self) {
        let worker = self.worker(Near::new(&self.stripe));
        for _ in 0..200 {
            assert_ne!(worker.drain().await.unwrap(), Step::Stopped);
            match worker.store().next_due().unwrap() {
                None => return,
                Some(due) => self.stripe.pass((due - self.stripe.now_ms()).max(0)),
            }
        }
        panic!("it never settles");
    }

    /// Paid once, or waiting for a person without having been paid twice.
    fn assert_settled_once(&self, name: &str) {
        let (state, made) = (self.state(name), self.stripe.of(name));
        assert!(made.len() <= 1, "{name} was paid {} times", made.len());
        assert!(state.is_paid() || state.needs_person() || state == State::Canceled, "{name} is {state}");
        assert!(!state.is_paid() || made.len() == 1, "{name} is {state} but Stripe has nothing");
    }
}

fn worker(path: &Path, near: Near) -> Worker<Client, Near> {
    let store = Transfers::open(path, false).unwrap();
    let client = near.stripe.client();
    let backoff = Backoff { tries: 6, ..Backoff::default() };
    Worker::new(store, client, near, Settings { backoff, ..Settings::default() }).unwrap()
}

fn order(name: &str) -> Order {
    Draft {
        order_ref: name.to_owned(),
        amount: "4200".to_owned(),
        currency: "eur".to_owned(),
        destination: "acct_shopOne".to_owned(),
        ..Draft::default()
    }
    .check()
    .unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
