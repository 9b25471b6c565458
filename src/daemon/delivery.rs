//! What passes from the receiver to the writer, and the signal that passes on to the screen.

use std::sync::mpsc::{SyncSender, TrySendError};

use tokio::sync::{oneshot, watch};

use crate::store::writer::{Answer, Arrival};

/// How many deliveries may wait for the writer. One more is answered 503, so that the sender tries again.
pub const QUEUE: usize = 4_096;

/// One accepted delivery on its way to the writer.
#[derive(Debug)]
pub struct Delivery {
    /// What came.
    pub arrival: Arrival,
    /// Answered once it is on disk. Dropped without an answer: nothing was stored (503).
    pub reply: oneshot::Sender<Answer>,
}

/// The receiver's end of the queue.
#[derive(Debug, Clone)]
pub struct Queue(pub SyncSender<Delivery>);

impl Queue {
    /// Hands an arrival over and gives the promise of its answer; `None` when the queue is full or the writer is gone.
    pub fn hand_over(&self, arrival: Arrival) -> Option<oneshot::Receiver<Answer>> {
        let (reply, answer) = oneshot::channel();
        match self.0.try_send(Delivery { arrival, reply }) {
            Ok(()) => Some(answer),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => None,
        }
    }
}

/// "Something changed": a number that grows with every commit. Screens wait on it.
#[derive(Debug, Clone)]
pub struct Changes(watch::Sender<u64>);

impl Default for Changes {
    fn default() -> Self {
        Self(watch::channel(0).0)
    }
}

impl Changes {
    /// Says that something changed.
    pub fn publish(&self) {
        self.0.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// Waits for changes from now on.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
