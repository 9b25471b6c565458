//! The command line: one file per command, one shape for options, output and errors.

pub mod alerts;
pub mod backfill;
pub mod chaos;
pub mod completions;
pub mod demo;
pub mod doctor;
pub mod duration;
pub mod failure;
pub mod forward;
pub mod import;
pub mod inbox;
pub mod lab;
pub mod list;
pub mod monitor;
pub mod open_balance;
pub mod options;
pub mod output;
pub mod reconcile;
pub mod serve;
pub mod status;
pub mod stripe;
pub mod transfer;
pub mod trigger;
pub mod verify;
pub mod wait_for;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use failure::Failure;
use options::Common;

/// A terminal monitor for Stripe payouts: whatever order events come in, the end is the same, nothing is lost, and you
/// can see it.
#[derive(Debug, Parser)]
#[command(name = "payout-ledger", version, max_term_width = 110, args_conflicts_with_subcommands = false)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    monitor: monitor::MonitorArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play scenarios through real HTTP on a throw-away database
    Demo(demo::DemoArgs),
    /// Receive and apply without a screen
    Serve(serve::ServeArgs),
    /// Payouts, balances, inbox counts and what is stuck
    Status,
    /// List events, newest first
    Events(list::EventsArgs),
    /// List payouts, newest first
    Payouts(list::PayoutsArgs),
    /// List balances by account and currency
    Balances(list::BalancesArgs),
    /// List posted legs, newest first
    Journal(list::JournalArgs),
    /// See and settle what waits or is stuck
    Inbox(inbox::InboxArgs),
    /// Open an account's balance with the money it had before
    OpenBalance(open_balance::OpenArgs),
    /// Take events from a file: JSON, JSON lines, a list, or what `stripe listen` printed
    Import(import::ImportArgs),
    /// Pay orders once and never again
    Transfer(transfer::TransferArgs),
    /// Compare what each way to handle events makes of deliveries out of order
    Lab(lab::LabArgs),
    /// Post simulated events, signed as Stripe signs them
    Trigger(trigger::TriggerArgs),
    /// Wait until a payout has a state, for scripts
    WaitFor(wait_for::WaitForArgs),
    /// What the chaos proxy passed on, and sending it again
    Chaos(chaos::ChaosArgs),
    /// Fetch missed events from Stripe's own list
    Backfill(backfill::BackfillArgs),
    /// Compare payouts, transfers and balances with Stripe's record
    Reconcile(reconcile::ReconcileArgs),
    /// What deserves a look: failed, returned and overdue payouts, stuck events, findings
    Alerts(alerts::AlertsArgs),
    /// Look at secret, key, port, database, clock and Stripe CLI, and say what mends each fault
    Doctor,
    /// Audit every invariant from the raw tables
    Verify(verify::VerifyArgs),
    /// Print a completion script
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    Man,
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("payout-ledger: {}", output::clean(&failure.to_string()));
            failure.exit_code()
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let common = &cli.common;
    let Some(command) = &cli.command else {
        return monitor::run(&cli.monitor, common);
    };
    logging(common);
    match command {
        Command::Demo(args) => demo::run(args, common),
        Command::Serve(args) => serve::run(args, common),
        Command::Status => status::run(common),
        Command::Events(args) => list::events(args, common),
        Command::Payouts(args) => list::payouts(args, common),
        Command::Balances(args) => list::balances(args, common),
        Command::Journal(args) => list::journal(args, common),
        Command::Inbox(args) => inbox::run(args, common),
        Command::OpenBalance(args) => open_balance::run(args, common),
        Command::Import(args) => import::run(args, common),
        Command::Transfer(args) => transfer::run(args, common),
        Command::Lab(args) => lab::run(args, &mut std::io::stdout().lock()),
        Command::Trigger(args) => {
            let settings = common.settings()?;
            trigger::run(args, &settings.database, settings.secrets.first(), &mut std::io::stdout().lock())
        }
        Command::WaitFor(args) => {
            let settings = common.settings()?;
            wait_for::run(args, &settings.database, settings.live, &mut std::io::stdout().lock())
        }
        Command::Chaos(args) => chaos::run(args, common),
        Command::Backfill(args) => backfill::run(args, common),
        Command::Reconcile(args) => reconcile::run(args, common),
        Command::Alerts(args) => alerts::run(args, common),
        Command::Doctor => doctor::run(common),
        Command::Verify(args) => verify::run(args, common),
        Command::Completions(args) => completions::run(args, Cli::command()),
        Command::Man => completions::man(Cli::command()),
    }
}

/// Warnings and errors go to standard error; more with -v.
fn logging(common: &Common) {
    let level = match common.verbose {
        0 => "error",
        1 => "payout_ledger=info",
        _ => "payout_ledger=trace",
    };
    let filter = tracing_subscriber::EnvFilter::try_new(level).unwrap_or_default();
    let _ =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).try_init();
}
