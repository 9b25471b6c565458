//! The writer's thread: takes what the receiver hands over, commits it in groups, answers, and sweeps when idle.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::checkpoint::Checkpoints;
use super::delivery::{Changes, Delivery};
use crate::store::error::StoreError;
use crate::store::writer::{Answer, Arrival, Writer};

/// Deliveries per commit at the most.
const GROUP: usize = 512;
/// A disk whose commit takes longer than this is slow: waiting a little for more deliveries pays.
const SLOW_COMMIT: Duration = Duration::from_millis(1);
/// The longest such wait.
const GATHER: Duration = Duration::from_micros(500);

/// How the writer is doing, for the screen and for health checks.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// The last failure of the store; none once a commit went through again.
    pub failure: Option<String>,
    /// Deliveries that were answered 503 because of it.
    pub unavailable: u64,
}

/// The writer thread's state.
pub(super) struct Apply {
    pub writer: Writer,
    pub checkpoints: Checkpoints,
    pub changes: Changes,
    pub health: Arc<Mutex<Health>>,
    /// How often due rows are looked for.
    pub sweep_every: Duration,
    pub clock: fn() -> i64,
}

impl Apply {
    /// Runs until every sender is gone and everything handed over is on disk.
    pub fn run(mut self, queue: &Receiver<Delivery>) {
        let tick = self.sweep_every.clamp(Duration::from_millis(20), Duration::from_secs(1));
        let (mut last_sweep, mut previous, mut commit) = (Instant::now(), 0, Duration::ZERO);
        self.sweep();
        loop {
            match queue.recv_timeout(tick) {
                Ok(first) => {
                    let group = gather(queue, first, previous, commit);
                    previous = group.len();
                    let started = Instant::now();
                    self.commit(group);
                    commit = (commit * 7 + started.elapsed()) / 8;
                }
                Err(RecvTimeoutError::Timeout) => self.checkpoints.when_idle(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if last_sweep.elapsed() >= tick {
                last_sweep = Instant::now();
                self.sweep();
            }
        }
        self.checkpoints.when_idle();
    }

    fn commit(&mut self, group: Vec<Delivery>) {
        super::rehearse_panic("writer");
        let (arrivals, replies): (Vec<Arrival>, Vec<_>) = group.into_iter().map(|d| (d.arrival, d.reply)).unzip();
        match self.writer.ingest(&arrivals) {
            Ok(answers) => {
                let news = answers.iter().any(|a| !matches!(a, Answer::Refused(_)));
                for (reply, answer) in replies.into_iter().zip(answers) {
                    // The sender may have hung up; the event is stored all the same.
                    let _ = reply.send(answer);
                }
                self.recovered();
                if news {
                    self.changes.publish();
                    self.checkpoints.after_commit(self.writer.connection());
                }
            }
            Err(error) => self.failed(&error, replies.len()),
        }
    }

    fn sweep(&mut self) {
        let now_ms = (self.clock)();
        match self.writer.is_due(now_ms) {
            Ok(false) => {}
            Ok(true) => match self.writer.sweep(now_ms) {
                Ok(_) => {
                    self.recovered();
                    self.changes.publish();
                }
                Err(error) => self.failed(&error, 0),
            },
            Err(error) => self.failed(&error, 0),
        }
    }

    fn failed(&self, error: &StoreError, unanswered: usize) {
        tracing::error!(%error, unanswered, "nothing was stored");
        if let Ok(mut health) = self.health.lock() {
            health.failure = Some(error.to_string());
            health.unavailable += unanswered as u64;
        }
        self.changes.publish();
    }

    fn recovered(&self) {
        if let Ok(mut health) = self.health.lock() {
            health.failure = None;
        }
    }
}

/// Takes what is there, up to a group. On a slow disk it waits a moment for as many as came last time: otherwise the
/// connections split into two halves that commit in turn.
fn gather(queue: &Receiver<Delivery>, first: Delivery, previous: usize, commit: Duration) -> Vec<Delivery> {
    let mut group = vec![first];
    let drain = |group: &mut Vec<Delivery>| group.extend(queue.try_iter().take(GROUP - group.len()));
    drain(&mut group);
    if commit > SLOW_COMMIT && previous >= 2 {
        let until = Instant::now() + (commit / 4).min(GATHER);
        while group.len() < previous.min(GROUP) {
            let Some(left) = until.checked_duration_since(Instant::now()) else { break };
            match queue.recv_timeout(left) {
                Ok(delivery) => group.push(delivery),
                Err(_) => break,
            }
        }
        drain(&mut group);
    }
    group
}
