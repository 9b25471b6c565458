//! `serve`: the daemon without a screen. Its first line on standard output says where it listens.

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use super::failure::Failure;
use super::options::{Common, Settings};
use super::output;
use super::stripe::StripeArgs;
use crate::daemon::pipeline;
use crate::daemon::receiver::Accepted;
use crate::daemon::secrets::Secrets;
use crate::daemon::start::{Daemon, Options, StartError};
use crate::daemon::stripe_side::Status;

/// Options of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    stripe: StripeArgs,
    #[command(flatten)]
    transfers: super::transfer::BesideArgs,
    #[command(flatten)]
    forward: super::forward::ForwardArgs,
}

/// Runs until SIGINT or SIGTERM, then finishes what it accepted.
pub fn run(args: &ServeArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    let runtime = runtime()?;
    let (chaos, tap) = args.forward.start(&settings)?;
    let mut daemon = start(&settings, common.allow_unsigned, tap)?;
    let mut side = args.stripe.start(&settings, &daemon)?;
    let transfers = args.transfers.start(&settings)?;
    if daemon.secrets.is_empty() && !common.allow_unsigned && !args.stripe.listens() {
        eprintln!(
            "payout-ledger: no signing secret: every delivery is refused; set STRIPE_WEBHOOK_SECRET to the whsec_… that \
             `stripe listen` prints"
        );
    }
    output::line(&format!("listening on {}", daemon.endpoint()))?;
    let broken = runtime.block_on(async {
        tokio::select! {
            broken = until_told_or_broken(&daemon) => broken,
            () = say_listen_states(side.watch()) => Ok(true),
        }
    })?;
    drop(transfers);
    side.stop();
    daemon.stop();
    drop(chaos);
    if broken {
        Err(Failure::Environment("a thread of the daemon stopped; see the log above".to_owned()))
    } else {
        Ok(())
    }
}

/// Starts the daemon that the settings describe.
pub fn start(
    settings: &Settings,
    allow_unsigned: bool,
    tap: Option<mpsc::Sender<Accepted>>,
) -> Result<Daemon, Failure> {
    let secrets = Secrets::default();
    for secret in &settings.secrets {
        secrets.add(secret).map_err(|why| Failure::Usage(why.to_owned()))?;
    }
    let options = Options {
        addr: settings.addr,
        pipeline: pipeline::Options {
            database: settings.database.clone(),
            live: settings.live,
            profile: settings.profile,
            sweep_every: settings.sweep_every,
        },
        secrets,
        allow_unsigned,
        tap,
    };
    Daemon::start(options).map_err(|error| match error {
        StartError::Unsigned(_) => Failure::Usage(error.to_string()),
        other => Failure::Environment(other.to_string()),
    })
}

/// A runtime for the waiting that a command itself does.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|e| Failure::Environment(format!("cannot start: {e}")))
}

/// Says on standard error how the listening child does, once per change.
async fn say_listen_states(mut status: watch::Receiver<Status>) {
    let mut last = None;
    loop {
        let state = status.borrow_and_update().listen.as_ref().map(|l| l.state.clone());
        if state != last {
            if let Some(state) = &state {
                eprintln!("payout-ledger: stripe listen: {}", output::clean(&state.to_string()));
            }
            last = state;
        }
        if status.changed().await.is_err() {
            return;
        }
    }
}

async fn until_told_or_broken(daemon: &Daemon) -> Result<bool, Failure> {
    let failed = |e: std::io::Error| Failure::Environment(format!("cannot wait for signals: {e}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    loop {
        tokio::select! {
            _ = interrupt.recv() => return Ok(false),
            _ = terminate.recv() => return Ok(false),
            () = tokio::time::sleep(std::time::Duration::from_secs(1)) => {
                if daemon.is_broken() {
                    return Ok(true);
                }
            }
        }
    }
}
