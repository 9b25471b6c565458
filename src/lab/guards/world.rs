//! One order, its record, its queue, its workers and Stripe: every step a worker can take, with each guard on or off.
//! What a worker decides is decided by the functions of `domain::transfer`, the ones the real worker calls.

use std::collections::BTreeMap;

use super::stripe::Stripe;
use super::{Fault, Guards, How, Key};
use crate::domain::transfer::backoff::Backoff;
use crate::domain::transfer::claim::{Lease, Refusal};
use crate::domain::transfer::intent::Intent;
use crate::domain::transfer::key::{idempotency_key, job_id};
use crate::domain::transfer::lookup::{Looked, Seen, Wanted};
use crate::domain::transfer::order::Order;
use crate::domain::transfer::person::Retried;

const LEASE: Lease = Lease { ms: 70_000 };
const TIMEOUT_MS: i64 = 30_000;
const BACKOFF: Backoff = Backoff { base_ms: 2_000, most_ms: 600_000, tries: 4 };
/// How long the model's queue remembers a finished job.
const RETENTION_MS: i64 = 24 * 3_600_000;

/// Where a worker stands: the step it takes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Claim,
    Look,
    Prepare,
    Send,
    Answer,
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Worker {
    step: Step,
    wake_ms: i64,
    /// What it believes when the record is not consulted.
    own: Intent,
    fence: i64,
    looked_ms: i64,
    request: usize,
    job: String,
}

/// Everything that can differ between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// Our clock, unix milliseconds.
    pub now_ms: i64,
    /// Stripe.
    pub stripe: Stripe,
    /// Long and short pauses, crashes and lost answers that may still come.
    pub jumps: u8,
    naps: u8,
    crashes: u8,
    losses: u8,
    record: Option<Intent>,
    jobs: BTreeMap<String, Option<i64>>,
    events: usize,
    workers: Vec<Worker>,
    triggers: usize,
    random: u32,
    /// Which guards refused something, a bit each.
    pub acted: u8,
}

/// What never changes during a run.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The order.
    pub order: &'a Order,
    /// What its transfer looks like.
    pub ours: &'a Seen,
    /// Which guards are on.
    pub guards: Guards,
    /// What goes wrong.
    pub fault: &'a Fault,
}

impl World {
    /// The beginning: nothing at Stripe, the first triggers fired.
    pub fn new(setting: Setting<'_>, jumps: u8) -> Self {
        let fault = setting.fault;
        let mut world = Self {
            now_ms: 0,
            stripe: Stripe::new(fault.refused_first),
            jumps,
            naps: 1,
            crashes: u8::from(fault.crash),
            losses: u8::from(fault.lost),
            record: None,
            jobs: BTreeMap::new(),
            events: 0,
            workers: Vec::new(),
            triggers: 0,
            random: 0,
            acted: 0,
        };
        while fault.triggers.get(world.triggers).is_some_and(|t| t.after_ms.is_none()) {
            world.trigger(setting);
        }
        world
    }

    /// Every world that can come next; none when nothing is left to happen.
    pub fn next(&self, setting: Setting<'_>) -> Vec<Self> {
        let mut next = Vec::new();
        for n in 0..self.workers.len() {
            self.steps(n, setting, &mut next);
        }
        if next.is_empty() && self.stripe.running().is_empty() {
            return self.later(setting).into_iter().collect();
        }
        for request in self.stripe.running() {
            next.push(self.but(|w| w.stripe.execute(request, w.now_ms)));
        }
        if self.naps > 0 {
            next.push(self.but(|w| {
                w.naps -= 1;
                w.pass(LEASE.ms + 1);
            }));
        }
        if self.jumps > 0 {
            next.push(self.but(|w| {
                w.jumps -= 1;
                w.pass(25 * 3_600_000);
            }));
        }
        next
    }

    /// Nobody can go on now: time passes until somebody can, or the next trigger comes.
    fn later(&self, setting: Setting<'_>) -> Option<Self> {
        if let Some(wake) = self.workers.iter().filter(|w| w.step != Step::Gone).map(|w| w.wake_ms).min() {
            return Some(self.but(|w| w.pass((wake - w.now_ms).max(0))));
        }
        let trigger = setting.fault.triggers.get(self.triggers)?;
        Some(self.but(|w| {
            w.pass(trigger.after_ms.unwrap_or(0));
            w.trigger(setting);
        }))
    }

    /// A person presses retry after all is quiet: can it still be paid?
    pub fn press_again(&self, setting: Setting<'_>) -> Self {
        self.but(|w| {
            (w.jumps, w.naps, w.crashes, w.losses) = (0, 0, 0, 0);
            w.pass(3_600_000);
            w.press(setting);
        })
    }

    fn but(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut world = self.clone();
        change(&mut world);
        world
    }

    /// Time passes. A request at Stripe ends long before a claim runs out, so whatever runs there ends first.
    fn pass(&mut self, ms: i64) {
        self.stripe.execute_all(self.now_ms);
        self.now_ms += ms;
        let now = self.now_ms;
        self.jobs.retain(|_, done| done.is_none_or(|at| now - at < RETENTION_MS));
    }

    fn trigger(&mut self, setting: Setting<'_>) {
        let Some(trigger) = setting.fault.triggers.get(self.triggers) else { return };
        self.triggers += 1;
        if trigger.healed {
            self.stripe.refuses = false;
        }
        match trigger.how {
            How::Press => self.press(setting),
            How::Event => {
                self.events += 1;
                if setting.guards.events && self.events > 1 {
                    self.acted |= 1 << 4;
                } else {
                    self.press(setting);
                }
            }
            // Another process has taken the same job: no queue in this process can know.
            How::OtherProcess => self.work(job_id(false, &setting.order.order_ref, 0)),
        }
    }

    fn press(&mut self, setting: Setting<'_>) {
        let known = self.record.as_ref().map(|intent| intent.retried(intent.version, self.now_ms));
        let (intent, how) = match known {
            None => (Intent::new(self.now_ms), Retried::Nudged),
            Some(Ok(retried)) => retried,
            Some(Err(_)) if setting.guards.record => return self.acted |= 1,
            Some(Err(_)) => {
                let version = self.record.as_ref().map_or(0, |i| i.version);
                (Intent { version, ..Intent::new(self.now_ms) }, Retried::Nudged)
            }
        };
        let job = job_id(false, &setting.order.order_ref, intent.version);
        self.record = Some(intent);
        // The retry of a job that ended without success puts the same job back; anything else is a second job.
        if setting.guards.queue && how != Retried::SameKey && self.jobs.contains_key(&job) {
            self.acted |= 1 << 3;
            return;
        }
        self.work(job);
    }

    fn work(&mut self, job: String) {
        self.jobs.insert(job.clone(), None);
        let own = Intent::new(self.now_ms);
        self.workers.push(Worker { step: Step::Claim, wake_ms: 0, own, fence: 0, looked_ms: 0, request: 0, job });
    }

    fn steps(&self, n: usize, setting: Setting<'_>, next: &mut Vec<Self>) {
        let Some(worker) = self.workers.get(n).filter(|w| w.step != Step::Gone && w.wake_ms <= self.now_ms) else {
            return;
        };
        let waits = worker.step == Step::Answer && self.stripe.is_running(worker.request);
        if !waits {
            next.push(self.but(|w| w.step(n, setting)));
        }
        if worker.step == Step::Answer && self.losses > 0 {
            next.push(self.but(|w| {
                w.losses -= 1;
                w.answered(n, setting, true);
            }));
        }
        if worker.step != Step::Claim && self.crashes > 0 {
            next.push(self.but(|w| {
                w.crashes -= 1;
                let job = w.workers.get_mut(n).map(|me| {
                    me.step = Step::Gone;
                    me.job.clone()
                });
                job.into_iter().for_each(|job| w.work(job));
            }));
        }
    }

    fn step(&mut self, n: usize, setting: Setting<'_>) {
        let Some(me) = self.workers.get(n).cloned() else { return };
        let (now, guards) = (self.now_ms, setting.guards);
        let current = self.current(&me, guards);
        match me.step {
            Step::Claim => self.claim(n, &current),
            Step::Look => {
                let found = if guards.lookup { self.stripe.list(setting.ours) } else { Vec::new() };
                match current.looked(self.wanted(setting), me.fence, &found) {
                    Looked::Create => self.go(n, |w| (w.step, w.looked_ms) = (Step::Prepare, now)),
                    Looked::Settled(intent) => {
                        self.acted |= 1 << 1;
                        self.keep(n, intent);
                    }
                    Looked::Lost => self.go(n, |w| w.step = Step::Claim),
                }
            }
            Step::Prepare => match current.posting(me.fence, me.looked_ms, now, LEASE) {
                Ok(intent) => {
                    self.keep(n, intent);
                    self.go(n, |w| w.step = Step::Send);
                }
                Err(_) => self.lost(n),
            },
            Step::Send if guards.record && !current.may_send(me.fence, now, TIMEOUT_MS) => self.lost(n),
            Step::Send => {
                let key = match guards.key {
                    Key::Versioned => idempotency_key(&setting.order.order_ref, current.version),
                    Key::Fixed => idempotency_key(&setting.order.order_ref, 0),
                    Key::None => {
                        self.random += 1;
                        format!("random-{}", self.random)
                    }
                };
                let request = self.stripe.receive(&key, now);
                self.go(n, |w| (w.step, w.request) = (Step::Answer, request));
            }
            Step::Answer => self.answered(n, setting, false),
            Step::Gone => {}
        }
    }

    fn claim(&mut self, n: usize, current: &Intent) {
        match current.claimed("worker", self.now_ms, LEASE) {
            Ok(intent) => {
                let fence = intent.fence;
                self.keep(n, intent);
                self.go(n, |w| (w.step, w.fence) = (Step::Look, fence));
            }
            Err(Refusal::NotDue) => self.go(n, |w| w.wake_ms = current.next_ms.unwrap_or(0)),
            Err(Refusal::Claimed) => {
                self.acted |= 1;
                self.go(n, |w| w.wake_ms = current.claim.as_ref().map_or(0, |c| c.until_ms));
            }
            Err(_) => {
                self.acted |= 1;
                self.gone(n);
            }
        }
    }

    fn answered(&mut self, n: usize, setting: Setting<'_>, lost: bool) {
        let Some(me) = self.workers.get(n).cloned() else { return };
        let current = self.current(&me, setting.guards);
        let request = if lost { usize::MAX } else { me.request };
        let outcome = self.stripe.answer(request, setting.ours);
        match current.answered(self.wanted(setting), me.fence, &outcome, self.now_ms, BACKOFF, 0) {
            Some(intent) => {
                self.go(n, |w| w.step = Step::Claim);
                self.keep(n, intent);
            }
            None => self.go(n, |w| w.step = Step::Claim),
        }
    }

    fn lost(&mut self, n: usize) {
        self.acted |= 1;
        self.go(n, |w| w.step = Step::Claim);
    }

    /// What the worker goes by: the record, or only its own memory when the record is switched off.
    fn current(&self, me: &Worker, guards: Guards) -> Intent {
        match &self.record {
            Some(record) if guards.record => record.clone(),
            record => {
                let version = record.as_ref().map_or(0, |r| r.version);
                // Without the record nothing tells a worker that the order is settled or taken.
                Intent { version, ..me.own.clone() }
            }
        }
    }

    fn keep(&mut self, n: usize, intent: Intent) {
        let working = intent.state.is_working();
        self.go(n, |w| w.own = intent.clone());
        self.record = Some(intent);
        if !working {
            self.gone(n);
        }
    }

    fn go(&mut self, n: usize, change: impl FnOnce(&mut Worker)) {
        if let Some(worker) = self.workers.get_mut(n) {
            change(worker);
        }
    }

    fn gone(&mut self, n: usize) {
        let now = self.now_ms;
        if let Some(worker) = self.workers.get_mut(n) {
            worker.step = Step::Gone;
            self.jobs.insert(worker.job.clone(), Some(now));
        }
    }

    fn wanted<'a>(&self, setting: Setting<'a>) -> Wanted<'a> {
        Wanted { order: setting.order, live: false }
    }
}
