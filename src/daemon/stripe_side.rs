//! The Stripe side beside a running daemon: one thread with its own runtime, so that neither the receiver nor the writer
//! ever waits for the API. Its state is shared for the header; keys and timers tell it what to do.

mod attention;
mod child;
mod work;

use std::path::PathBuf;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::alert_webhook::AlertWebhook;
use super::confirm::{self, Confirmed};
use super::delivery::{Changes, Queue};
use super::secrets::Secrets;
use super::side_error::SideError;
use crate::domain::retry::Profile;
use crate::store::side::Side;
use crate::stripe::budget::Usage;
use crate::stripe::cli::Cli;
use crate::stripe::client::Client;
use crate::stripe::listen::ListenStatus;

/// What the Stripe side is to do.
#[derive(Debug)]
pub struct Options {
    /// The daemon's database.
    pub database: PathBuf,
    /// R10.
    pub live: bool,
    /// The API, when there is a key.
    pub client: Option<Client>,
    /// What is read again on receipt.
    pub confirm: confirm::Mode,
    /// Backfill at once.
    pub backfill_at_start: bool,
    /// How often to reconcile by itself.
    pub reconcile_every: Option<Duration>,
    /// Days after its arrival date before a payout is overdue.
    pub grace_days: i64,
    /// Seconds without deliveries, while Stripe has newer events, before the receiver counts as silent.
    pub silent_after: i64,
    /// R5's gaps, for opening balances.
    pub profile: Profile,
    /// Who acts, for the audit.
    pub who: String,
    /// Where alerts go.
    pub alert_webhook: Option<AlertWebhook>,
    /// The Stripe CLI, when it is to run from the start or on demand.
    pub cli: Option<Cli>,
    /// Whether it runs from the start.
    pub listen_at_start: bool,
    /// The daemon's own URL, where the CLI forwards to.
    pub endpoint: String,
    /// Where the CLI's signing secret goes.
    pub secrets: Secrets,
}

/// How a piece of work stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Progress {
    /// Never done.
    #[default]
    Idle,
    /// Going on.
    Running,
    /// Done at this unix millisecond; the text says what it brought.
    Done(i64, String),
    /// Failed at this unix millisecond; the text says what to do.
    Failed(i64, String),
}

/// Everything the screen shows of the Stripe side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// What may be shown of the key: `rk_test_…`.
    pub key: Option<&'static str>,
    /// Why the API is not used although it was asked for.
    pub trouble: Option<String>,
    /// Whether charges are read for their fees; without it balances are gross.
    pub fees: bool,
    /// The CLI child; none when it is off.
    pub listen: Option<ListenStatus>,
    /// Backfill.
    pub backfill: Progress,
    /// Reconcile.
    pub reconcile: Progress,
    /// Opening balances.
    pub openings: Progress,
    /// Accounts and currencies that lack money and were never opened (R8).
    pub unopened: i64,
    /// Fetches on receipt.
    pub confirmed: Confirmed,
    /// Open findings.
    pub findings: usize,
    /// Open alerts nobody acknowledged.
    pub alerts: i64,
    /// Reads since the start.
    pub usage: Option<Usage>,
    /// Reads in this calendar month, commands included; Stripe allows at least 10,000 in 30 days.
    pub reads_this_month: u64,
    /// Why the last alert was not posted.
    pub webhook: Option<String>,
}

/// What a person asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Key B.
    Backfill,
    /// Key C; with repair.
    Reconcile {
        /// Whether differences are mended through the ordinary rules.
        repair: bool,
    },
    /// Key O: opening balances from Stripe's own, wherever there is none yet (R8).
    OpenBalances,
    /// Key L: start or stop the CLI child.
    ToggleListen,
}

/// The running thread. Stop it before the daemon: it holds a clone of the daemon's queue.
#[derive(Debug)]
pub struct StripeSide {
    commands: Option<mpsc::UnboundedSender<Command>>,
    status: watch::Receiver<Status>,
    thread: Option<JoinHandle<()>>,
}

impl StripeSide {
    /// Starts the thread.
    pub fn start(mut options: Options, queue: Queue, changes: Changes) -> Result<Self, SideError> {
        let side = Side::open(&options.database, options.live)?;
        let mut first = Status::default();
        if let Some(client) = options.client.take_if(|c| c.is_live() != options.live) {
            let (theirs, ours) = if client.is_live() { ("live", "test") } else { ("test", "live") };
            first.trouble = Some(format!("the API key is a {theirs} key and this is {ours} mode: give a {ours} key"));
        }
        first.key = options.client.as_ref().map(|c| c.key().shown());
        first.fees = options.client.is_some() && options.confirm == confirm::Mode::Fetch;
        first.alerts = side.unseen_alerts()?;
        first.findings = side.open_findings()?;
        if options.client.is_some() {
            confirm::begin(&side)?;
        }
        AlertWebhook::begin(&side, options.alert_webhook.is_some(), super::now_ms())?;
        let (commands, asked) = mpsc::unbounded_channel();
        let (tell, status) = watch::channel(first);
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => {
                    let work = Rc::new(work::Work::new(options, side, queue, changes, tell));
                    tokio::task::LocalSet::new().block_on(&runtime, work::run(work, asked));
                }
                Err(error) => tracing::error!(%error, "the Stripe side cannot start"),
            }
        };
        let thread = std::thread::Builder::new().name("stripe side".to_owned()).spawn(run).map_err(|e| {
            SideError::Store(crate::store::error::StoreError::Open {
                path: PathBuf::new(),
                why: format!("no thread: {e}"),
            })
        })?;
        Ok(Self { commands: Some(commands), status, thread: Some(thread) })
    }

    /// State now.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Follows the state; ends when the thread does.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Asks for something; what it brings shows in the status.
    pub fn ask(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // The thread ends only when it is told to.
            let _ = commands.send(command);
        }
    }

    /// Ends the work and the CLI child, and waits for both. Nothing is half done: what was fetched is on disk or was not asked for.
    pub fn stop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the Stripe side's thread had panicked");
        }
    }
}

impl Drop for StripeSide {
    fn drop(&mut self) {
        self.stop();
    }
}
