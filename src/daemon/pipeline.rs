//! From the queue to the disk: starts the writer's threads and ends them when all that was accepted is stored.

use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::apply::{Apply, Health};
use super::checkpoint::Checkpoints;
use super::delivery::{Changes, Delivery, QUEUE, Queue};
use crate::domain::retry::Profile;
use crate::store::error::StoreError;
use crate::store::schema;
use crate::store::writer::Writer;

/// How to write.
#[derive(Debug, Clone)]
pub struct Options {
    /// The database file.
    pub database: PathBuf,
    /// R10.
    pub live: bool,
    /// R5's gaps.
    pub profile: Profile,
    /// How often due rows are looked for.
    pub sweep_every: Duration,
}

/// The running writer.
pub struct Pipeline {
    queue: Option<Queue>,
    thread: Option<JoinHandle<()>>,
    /// Says when something was committed.
    pub changes: Changes,
    /// How it is doing.
    pub health: Arc<Mutex<Health>>,
}

impl Pipeline {
    /// Opens the database and starts the threads.
    pub fn start(options: &Options) -> Result<Self, StoreError> {
        let conn = schema::open(&options.database)?;
        conn.pragma_update(None, "wal_autocheckpoint", 0)?;
        let writer = Writer::new(conn, options.live, options.profile)?;
        let checkpoints = Checkpoints::start(&options.database)?;
        let (changes, health) = (Changes::default(), Arc::new(Mutex::new(Health::default())));
        let (sender, receiver) = mpsc::sync_channel::<Delivery>(QUEUE);
        let apply = Apply {
            writer,
            checkpoints,
            changes: changes.clone(),
            health: health.clone(),
            sweep_every: options.sweep_every,
            clock: super::now_ms,
        };
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || apply.run(&receiver));
        let thread =
            thread.map_err(|e| StoreError::Open { path: options.database.clone(), why: format!("no thread: {e}") })?;
        Ok(Self { queue: Some(Queue(sender)), thread: Some(thread), changes, health })
    }

    /// Where deliveries go in. `None` once stopped.
    pub fn queue(&self) -> Option<Queue> {
        self.queue.clone()
    }

    /// Whether the writer's thread ended although nobody stopped it.
    pub fn is_broken(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Waits until everything handed over is stored. Every clone of the queue must be gone, or this waits for them.
    pub fn stop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer's thread had panicked");
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::writer::{Answer, Arrival};

    #[test]
    fn what_was_accepted_is_stored_before_it_stops() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            database: dir.path().join("ledger.db"),
            live: false,
            profile: Profile::default(),
            sweep_every: Duration::from_millis(50),
        };
        let mut pipeline = Pipeline::start(&options).unwrap();
        let queue = pipeline.queue().unwrap();
        let answers: Vec<_> = (0..1_000)
            .map(|n| {
                let body =
                    format!(r#"{{"id":"evt_{n}","type":"customer.created","created":1,"data":{{"object":{{}}}}}}"#);
                queue.hand_over(Arrival::new(body.into_bytes(), n)).unwrap()
            })
            .collect();
        drop(queue);
        pipeline.stop();
        for answer in answers {
            assert!(matches!(answer.blocking_recv(), Ok(Answer::Stored { .. })));
        }
        let conn = schema::open_read_only(&options.database).unwrap();
        let stored: i64 = conn.query_row("SELECT count(*) FROM events WHERE state = 5", [], |r| r.get(0)).unwrap();
        assert_eq!(stored, 1_000);
    }
}
