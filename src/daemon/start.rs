//! The whole daemon as one handle: lock, database, receiver, writer. Dropping it ends it cleanly.

use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, watch};

use super::pipeline::{self, Pipeline};
use super::receiver::{self, Accepted, Intake};
use super::rejections::Rejections;
use super::secrets::Secrets;
use crate::store::error::StoreError;
use crate::store::lock::Lock;

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; port 0 takes any.
    pub addr: SocketAddr,
    /// How to write.
    pub pipeline: pipeline::Options,
    /// To check deliveries with.
    pub secrets: Secrets,
    /// Take unsigned deliveries; refused unless `addr` is a loopback address.
    pub allow_unsigned: bool,
    /// Where accepted deliveries go on to.
    pub tap: Option<mpsc::Sender<Accepted>>,
}

/// Why it did not start. One line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The port.
    #[error("cannot listen on {addr}: {why}; choose another with --addr")]
    Bind {
        /// Where.
        addr: SocketAddr,
        /// The system's words.
        why: io::Error,
    },
    /// Unsigned deliveries from anywhere would let anybody write money.
    #[error("--allow-unsigned works on a loopback address only, not on {0}")]
    Unsigned(SocketAddr),
    /// Threads or the runtime.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// A running daemon.
pub struct Daemon {
    /// Where it listens.
    pub addr: SocketAddr,
    /// The writer.
    pub pipeline: Pipeline,
    /// What was refused.
    pub rejections: Rejections,
    /// The secrets in use.
    pub secrets: Secrets,
    stop: watch::Sender<bool>,
    receiver: Option<JoinHandle<()>>,
    _lock: Lock,
}

impl Daemon {
    /// Takes the lock, opens the database, listens.
    pub fn start(options: Options) -> Result<Self, StartError> {
        if options.allow_unsigned && !options.addr.ip().is_loopback() {
            return Err(StartError::Unsigned(options.addr));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Thread)?;
        let bind = runtime.block_on(receiver::bind(options.addr));
        let listeners = bind.map_err(|why| StartError::Bind { addr: options.addr, why })?;
        let addr = listeners.first().map_or(Ok(options.addr), |l| l.local_addr());
        let addr = addr.map_err(|why| StartError::Bind { addr: options.addr, why })?;
        if let Some(folder) = options.pipeline.database.parent() {
            crate::store::schema::create_folder(folder)?;
        }
        let lock = Lock::take(&options.pipeline.database)?;
        let pipeline = Pipeline::start(&options.pipeline)?;
        let (stop, stopped) = watch::channel(false);
        let rejections = Rejections::default();
        let mut receiver = None;
        if let Some(queue) = pipeline.queue() {
            let intake = Intake {
                queue,
                secrets: options.secrets.clone(),
                allow_unsigned: options.allow_unsigned,
                rejections: rejections.clone(),
                tap: options.tap,
            };
            let run = move || runtime.block_on(receiver::serve(listeners, intake, stopped));
            let thread = std::thread::Builder::new().name("receiver".to_owned()).spawn(run);
            receiver = Some(thread.map_err(StartError::Thread)?);
        }
        Ok(Self { addr, pipeline, rejections, secrets: options.secrets, stop, receiver, _lock: lock })
    }

    /// The URL to forward events to.
    pub fn endpoint(&self) -> String {
        format!("http://{}/webhook", self.addr)
    }

    /// Whether one of its threads ended although nobody stopped it.
    pub fn is_broken(&self) -> bool {
        self.pipeline.is_broken() || self.receiver.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Takes no more, finishes what it accepted, and returns when all is on disk.
    pub fn stop(&mut self) {
        self.stop.send_replace(true);
        if let Some(receiver) = self.receiver.take()
            && receiver.join().is_err()
        {
            tracing::error!("the receiver's thread had panicked");
        }
        self.pipeline.stop();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
    }
}
