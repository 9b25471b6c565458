//! The worker in a thread of its own, beside the daemon.

use std::io;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use super::worker::{Settings, Step, System, Worker};
use crate::store::error::StoreError;
use crate::store::transfers::Transfers;
use crate::stripe::client::Client;

/// How often the queue is looked at: orders come from other processes too.
const POLL: Duration = Duration::from_secs(1);

/// The rest after the database refused something.
const AFTER_ERROR: Duration = Duration::from_secs(5);

/// How often old job names are forgotten.
const FORGET: Duration = Duration::from_secs(3_600);

/// A running worker; dropping it ends it after the request in flight.
#[derive(Debug)]
pub struct Guard {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    /// Starts it. `Err` is one line that says what to do.
    pub fn start(database: &Path, client: Client, settings: Settings) -> Result<Self, String> {
        let store = Transfers::open(database, client.is_live()).map_err(|e| e.to_string())?;
        let worker = Worker::new(store, client, System, settings)?;
        let thread_failed = |e: io::Error| format!("cannot start a thread: {e}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(thread_failed)?;
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("transfers".to_owned())
            .spawn(move || runtime.block_on(run(worker, stopped)))
            .map_err(thread_failed)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the transfers' thread had panicked");
        }
    }
}

async fn run(worker: Worker<Client>, mut stopped: watch::Receiver<bool>) {
    let mut forgotten: Option<std::time::Instant> = None;
    while !*stopped.borrow() {
        let rest = match pass(&worker, &stopped).await {
            Ok(()) => POLL,
            Err(error) => {
                tracing::error!(%error, "outgoing transfers rest");
                AFTER_ERROR
            }
        };
        if forgotten.is_none_or(|at| at.elapsed() > FORGET) {
            forgotten = Some(std::time::Instant::now());
            if let Err(error) = worker.forget_jobs() {
                tracing::warn!(%error, "old job names were kept");
            }
        }
        let _ = tokio::time::timeout(rest, stopped.changed()).await;
    }
}

/// Everything that is due, until somebody stops us.
async fn pass(worker: &Worker<Client>, stopped: &watch::Receiver<bool>) -> Result<(), StoreError> {
    worker.read_events()?;
    while !*stopped.borrow() {
        if worker.step(None).await? == Step::Idle {
            break;
        }
    }
    Ok(())
}
