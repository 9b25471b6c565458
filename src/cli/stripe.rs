//! What the commands of the Stripe side share: the client that the options describe, and the thread beside a daemon.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::options::{Settings, duration, user};
use super::status::failed;
use crate::daemon::alert_webhook::AlertWebhook;
use crate::daemon::confirm::Mode;
use crate::daemon::side_error::SideError;
use crate::daemon::start::Daemon;
use crate::daemon::stripe_side::{Options, StripeSide};
use crate::domain::owner::Owner;
use crate::store::side::Side;
use crate::stripe::cli::{self, Cli, CliProblem};
use crate::stripe::client::{self, Client};
use crate::stripe::key::ApiKey;

/// Options of what runs beside a daemon.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Stripe")]
pub struct StripeArgs {
    /// Run `stripe listen` as a child and take its signing secret
    #[arg(long)]
    listen: bool,
    /// Do not fetch missed events at the start
    #[arg(long)]
    no_backfill: bool,
    /// What is read again from the API when an event comes [default: payload]
    #[arg(long, value_enum, value_name = "WHAT")]
    confirm: Option<Confirm>,
    /// Compare with Stripe's record this often (10m, 1h); without it on demand only
    #[arg(long, value_name = "TIME", value_parser = duration)]
    reconcile_every: Option<Duration>,
    /// Reads of Stripe's API per second at the most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    reads_per_second: u32,
    /// Days after its arrival date before a payout counts as overdue
    #[arg(long, value_name = "DAYS", default_value_t = 2, value_parser = clap::value_parser!(i64).range(0..=365))]
    overdue_after: i64,
    /// How long nothing may come, while Stripe has newer events, before that is an alert
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    silent_after: Duration,
    /// Post each alert as JSON to this address
    #[arg(long, value_name = "URL")]
    alert_webhook: Option<String>,
}

/// `--confirm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Confirm {
    /// Only what the payload cannot settle: thin events, two details in one second
    Payload,
    /// Every object a money rule is about, and with charges their fees
    Fetch,
}

impl StripeArgs {
    /// Whether a secret will come by itself.
    pub fn listens(&self) -> bool {
        self.listen
    }

    /// Starts the Stripe side beside a daemon. Stop it before the daemon.
    pub fn start(&self, settings: &Settings, daemon: &Daemon) -> Result<StripeSide, Failure> {
        let alert_webhook = self.alert_webhook.as_deref().map(AlertWebhook::new).transpose().map_err(Failure::Usage)?;
        let key = key(settings)?;
        let client = key.clone().map(|key| connect(settings, key, self.reads_per_second)).transpose()?;
        let cli = match cli::find() {
            Ok(program) => Some(Cli { program, key, api_base: settings.api_base.clone(), live: settings.live }),
            Err(problem @ CliProblem::NotInstalled) if self.listen => return Err(environment(&problem)),
            Err(_) => None,
        };
        let queue = daemon.pipeline.queue().ok_or_else(|| Failure::Environment("the daemon has stopped".to_owned()))?;
        let options = Options {
            database: settings.database.clone(),
            live: settings.live,
            backfill_at_start: client.is_some() && !self.no_backfill,
            client,
            confirm: if self.confirm == Some(Confirm::Fetch) { Mode::Fetch } else { Mode::Payload },
            reconcile_every: self.reconcile_every,
            grace_days: self.overdue_after,
            silent_after: i64::try_from(self.silent_after.as_secs()).unwrap_or(i64::MAX),
            profile: settings.profile,
            who: user(),
            alert_webhook,
            cli,
            listen_at_start: self.listen,
            endpoint: daemon.endpoint(),
            secrets: daemon.secrets.clone(),
        };
        StripeSide::start(options, queue, daemon.pipeline.changes.clone()).map_err(|e| environment(&e))
    }
}

/// The key, when one is given.
pub fn key(settings: &Settings) -> Result<Option<ApiKey>, Failure> {
    ApiKey::find(settings.api_key_file.as_deref()).map_err(Failure::Usage)
}

fn connect(settings: &Settings, key: ApiKey, reads_per_second: u32) -> Result<Client, Failure> {
    let settings = client::Settings { base: settings.api_base.clone(), reads_per_second, ..client::Settings::new(key) };
    Client::new(settings).map_err(Failure::Usage)
}

/// A client for a command that is nothing without one. The key's mode must be ours (R10).
pub fn required_client(settings: &Settings) -> Result<Client, Failure> {
    let missing = || Failure::Usage("this needs an API key: set STRIPE_API_KEY or --api-key-file".to_owned());
    let key = key(settings)?.ok_or_else(missing)?;
    if key.is_live() != settings.live {
        let (theirs, ours) = if key.is_live() { ("live", "test") } else { ("test", "live") };
        let text =
            format!("the API key is a {theirs} key and this is {ours} mode: give a {ours} key, or --mode {theirs}");
        return Err(Failure::Usage(text));
    }
    connect(settings, key, 20)
}

/// Adds a command's reads to the month's count.
pub fn count_reads(side: &Side, client: &Client) -> Result<(), Failure> {
    side.add_reads(&crate::daemon::this_month(), client.usage().reads).map(drop).map_err(failed)
}

/// The accounts that a command is to look at: those named, else all that are known here.
pub fn owners(side: &Side, named: &[String]) -> Result<Vec<Owner>, Failure> {
    if named.is_empty() {
        return side.owners().map_err(failed);
    }
    named.iter().map(|name| Owner::parse(name).map_err(Failure::Usage)).collect()
}

/// A failure of the surroundings.
pub fn environment(error: &impl std::fmt::Display) -> Failure {
    Failure::Environment(error.to_string())
}

/// Accounts that could not be read while others could: said on standard error, and the exit code tells.
#[derive(Debug, Default)]
pub struct Skipped(usize);

impl Skipped {
    /// Notes a failure of one account; returns it when every other account would fail the same way.
    pub fn note(&mut self, owner: &Owner, error: &SideError) -> Result<(), Failure> {
        if error.concerns_all() {
            return Err(environment(error));
        }
        eprintln!("payout-ledger: {owner}: {}", super::output::clean(&error.to_string()));
        self.0 += 1;
        Ok(())
    }

    /// Exit code 3 when any account was left out.
    pub fn end(self) -> Result<(), Failure> {
        match self.0 {
            0 => Ok(()),
            n => Err(Failure::Environment(format!("{n} accounts could not be read, see above"))),
        }
    }
}
