//! The one way into the inbox for what we fetch ourselves: the same writer that deliveries go through.

use std::future::Future;
use std::time::{Duration, Instant};

use super::delivery::Queue;
use crate::store::error::StoreError;
use crate::store::writer::{Answer, Arrival, Writer};

/// How many bodies were new, and how many were known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// New events.
    pub stored: usize,
    /// Events that were in the inbox already.
    pub known: usize,
    /// Bodies that are no events.
    pub refused: usize,
}

impl Taken {
    /// Counts answers.
    pub fn count(answers: &[Answer]) -> Self {
        let mut taken = Self::default();
        for answer in answers {
            match answer {
                Answer::Stored { .. } => taken.stored += 1,
                Answer::Repeat { .. } => taken.known += 1,
                Answer::Refused(_) => taken.refused += 1,
            }
        }
        taken
    }
}

/// Takes bodies in the order given. `Ok` means that all of them are on disk.
pub trait Intake {
    /// Stores and applies `bodies`.
    fn take(&mut self, bodies: Vec<Vec<u8>>) -> impl Future<Output = Result<Taken, StoreError>>;
}

/// A command without a daemon writes by itself.
impl Intake for Writer {
    async fn take(&mut self, bodies: Vec<Vec<u8>>) -> Result<Taken, StoreError> {
        let now_ms = chrono::Utc::now().timestamp_millis();
        let batch: Vec<Arrival> = bodies.into_iter().map(|body| Arrival::new(body, now_ms)).collect();
        Ok(Taken::count(&self.ingest(&batch)?))
    }
}

/// How long a full queue or a failing store is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Beside a running daemon: through its queue, as deliveries go.
impl Intake for Queue {
    async fn take(&mut self, bodies: Vec<Vec<u8>>) -> Result<Taken, StoreError> {
        let now_ms = super::now_ms();
        let mut promises = Vec::with_capacity(bodies.len());
        for body in bodies {
            let arrival = Arrival::new(body, now_ms);
            let began = Instant::now();
            let promise = loop {
                match self.hand_over(arrival.clone()) {
                    Some(promise) => break promise,
                    None if began.elapsed() > PATIENCE => return Err(StoreError::Busy),
                    None => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            };
            promises.push(promise);
        }
        let mut answers = Vec::with_capacity(promises.len());
        for promise in promises {
            answers.push(promise.await.map_err(|_| StoreError::Busy)?);
        }
        Ok(Taken::count(&answers))
    }
}
