//! The one way into the inbox for what we fetch ourselves: the same writer that deliveries go through.

use std::future::Future;

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
