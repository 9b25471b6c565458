//! Moves the write-ahead log into the database beside the writer, so that no commit waits for it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::store::error::StoreError;
use crate::store::schema;

/// From this size of the log on, it is moved while work goes on (4,000 pages).
const WORTH_IT: u64 = 4_000 * 4_096;
/// From this size on the writer moves it itself: the log never grows beyond (64,000 pages).
const HARD_CAP: u64 = 64_000 * 4_096;

enum Order {
    /// Move what can be moved without making anybody wait.
    Passive,
    /// Nothing else is going on: move all and give the disk space back.
    Truncate,
}

/// The checkpoint thread.
pub(super) struct Checkpoints {
    log: PathBuf,
    orders: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    /// Starts the thread on a connection of its own.
    pub fn start(database: &Path) -> Result<Self, StoreError> {
        let conn = schema::open(database)?;
        let (orders, inbox) = mpsc::sync_channel(1);
        let run = move || {
            while let Ok(order) = inbox.recv() {
                let mode = if matches!(order, Order::Truncate) { "TRUNCATE" } else { "PASSIVE" };
                checkpoint(&conn, mode);
            }
        };
        let thread = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(run);
        let thread = thread.map_err(|e| StoreError::Open { path: database.to_owned(), why: e.to_string() })?;
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Ok(Self { log: log.into(), orders: Some(orders), thread: Some(thread) })
    }

    /// Called by the writer after each commit.
    pub fn after_commit(&self, writer: &Connection) {
        let size = self.log_size();
        if size > HARD_CAP {
            checkpoint(writer, "PASSIVE");
        } else if size > WORTH_IT {
            self.order(Order::Passive);
        }
    }

    /// Called by the writer when it has nothing to do.
    pub fn when_idle(&self) {
        if self.log_size() > WORTH_IT {
            self.order(Order::Truncate);
        }
    }

    fn log_size(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |m| m.len())
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // A full channel means that the thread is at it already.
            let _ = orders.try_send(order);
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn checkpoint(conn: &Connection, mode: &str) {
    if let Err(error) = conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())) {
        tracing::warn!(%error, "checkpoint");
    }
}
