//! `transfer`: pay an order once and never again. Create, retry, cancel, import, list, show, send.

mod read;
mod show;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::options::{Common, Settings, duration, existing, user};
use super::output::{self, Format};
use super::status::failed;
use super::stripe;
use crate::daemon::now_ms;
use crate::domain::transfer::intent::State;
use crate::domain::transfer::order::{Draft, Order};
use crate::domain::transfer::person::Retried;
use crate::guard::run::Guard;
use crate::guard::worker::{self, Step, System, Worker};
use crate::store::act::Actor;
use crate::store::transfers::{Created, TransferRow, Transfers};
use crate::stripe::client::Client;

/// How long a command waits for an order to come to rest.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options of `transfer`.
#[derive(Debug, Args)]
pub struct TransferArgs {
    #[command(subcommand)]
    command: TransferCommand,
}

#[derive(Debug, Subcommand)]
enum TransferCommand {
    /// Pay an order; asking twice is one order
    Create {
        #[command(flatten)]
        order: OrderArgs,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Try an order again; a new key only after a definite failure, a lookup always first
    Retry {
        /// The order's name
        order: String,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Give an order up before anything was sent
    Cancel {
        /// The order's name
        order: String,
        /// Why, for the audit
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Orders from a file, CSV or JSON lines: all or none
    Import {
        /// The file, or `-` for standard input. Fields: order, amount, currency, destination, source_transaction, description
        file: PathBuf,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Send everything that is due
    Send,
    /// Orders, newest first
    List {
        /// A state; repeatable
        #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(State::ALL.map(State::as_str)))]
        state: Vec<String>,
        /// Part of an order, a destination, a transfer or a reason
        #[arg(long)]
        text: Option<String>,
        /// Rows at the most
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Comma-separated values
        #[arg(long, conflicts_with = "json")]
        csv: bool,
    },
    /// One order: what we know and from whom, every attempt, the events about its transfer
    Show {
        /// The order's name
        order: String,
    },
}

#[derive(Debug, Args)]
struct OrderArgs {
    /// The order's name: unique, and the transfer_group at Stripe
    #[arg(long)]
    order: String,
    /// In the currency's smallest unit: 1250 is 12.50 usd
    #[arg(long, allow_hyphen_values = true)]
    amount: String,
    /// A currency code
    #[arg(long)]
    currency: String,
    /// The connected account (acct_…)
    #[arg(long)]
    destination: String,
    /// The charge that funds it (ch_…)
    #[arg(long)]
    source_transaction: Option<String>,
    /// Free text for Stripe's Dashboard
    #[arg(long)]
    description: Option<String>,
}

#[derive(Debug, Args)]
struct HowArgs {
    /// Only put it in the queue; a running `serve` with an API key sends it
    #[arg(long)]
    queue: bool,
    /// Live mode: the amount once more (for a file the sum of all amounts)
    #[arg(long, value_name = "AMOUNT")]
    confirm_amount: Option<i64>,
}

/// Runs the command.
pub fn run(args: &TransferArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    match &args.command {
        TransferCommand::Create { order, how } => create(order, how, common, &settings),
        TransferCommand::Retry { order, how } => retry(order, how, common, &settings),
        TransferCommand::Cancel { order, reason } => {
            existing(&settings.database)?;
            let who = user();
            let actor = Actor { who: &who, reason, now_ms: now_ms() };
            let row = open(&settings)?.cancel(order, &actor).map_err(failed)?.map_err(Failure::Found)?;
            show::line(&row, common.json)
        }
        TransferCommand::Import { file, how } => import(file, how, common, &settings),
        TransferCommand::Send => {
            existing(&settings.database)?;
            let worker = worker(&settings)?;
            let store = worker.store();
            let worked = send(&worker, None, &mut |order| match store.find(order).map_err(failed)? {
                Some(row) => show::line(&row, common.json),
                None => Ok(()),
            })?;
            if worked == 0 && !common.json { output::line("nothing is due") } else { Ok(()) }
        }
        TransferCommand::List { state, text, limit, csv } => {
            show::list(&settings, state, text.as_ref(), *limit, Format::choose(common.json, *csv))
        }
        TransferCommand::Show { order } => show::one(&settings, order, common.json),
    }
}

fn create(args: &OrderArgs, how: &HowArgs, common: &Common, settings: &Settings) -> Result<(), Failure> {
    let draft = Draft {
        order_ref: args.order.clone(),
        amount: args.amount.clone(),
        currency: args.currency.clone(),
        destination: args.destination.clone(),
        source_transaction: args.source_transaction.clone(),
        description: args.description.clone(),
    };
    let order = draft.check().map_err(Failure::Usage)?;
    let client = sender(how, settings)?;
    confirm(how, settings, order.amount, &order.currency.money(order.amount))?;
    let store = open(settings)?;
    let who = user();
    let actor = Actor { who: &who, reason: "", now_ms: now_ms() };
    let row = match store.create(&order, &actor).map_err(failed)? {
        Created::New(row) => row,
        Created::Same(row) => {
            eprintln!("payout-ledger: order {} is known with the same fields: it is {}", args.order, row.intent.state);
            row
        }
        Created::Differs(why) => return Err(Failure::Usage(why)),
    };
    finish(store, client, &[row], common.json)
}

fn retry(order: &str, how: &HowArgs, common: &Common, settings: &Settings) -> Result<(), Failure> {
    existing(&settings.database)?;
    let store = open(settings)?;
    let missing = || Failure::Usage(format!("there is no order {order}; `transfer list` shows what there is"));
    let seen = store.find(order).map_err(failed)?.ok_or_else(missing)?;
    let client = sender(how, settings)?;
    confirm(how, settings, seen.order.amount, &seen.order.currency.money(seen.order.amount))?;
    let who = user();
    let actor = Actor { who: &who, reason: "", now_ms: now_ms() };
    // The version that was on the screen: a second press of the same key finds it raised and changes nothing.
    let (row, retried) =
        store.retry(order, Some(seen.intent.version), &actor).map_err(failed)?.map_err(Failure::Found)?;
    let shown = crate::guard::tell::Shown::new(&row);
    match retried {
        Retried::NewKey => eprintln!("payout-ledger: order {order}: a new key, {}", shown.idempotency_key),
        Retried::SameKey => eprintln!("payout-ledger: order {order}: looks first, then the same key"),
        Retried::Nudged => eprintln!("payout-ledger: order {order}: is in the queue already as {}; due now", shown.job),
    }
    finish(store, client, &[row], common.json)
}

fn import(file: &Path, how: &HowArgs, common: &Common, settings: &Settings) -> Result<(), Failure> {
    let orders: Vec<(u64, Order)> = read::orders(file)?;
    let sum = orders.iter().try_fold(0i64, |sum, (_, order)| sum.checked_add(order.amount));
    let sum = sum.ok_or_else(|| Failure::Usage("the amounts add up beyond 64 bits".to_owned()))?;
    let client = sender(how, settings)?;
    confirm(how, settings, sum, &format!("{} orders, amounts adding up to {sum}", orders.len()))?;
    let store = open(settings)?;
    let who = user();
    let actor = Actor { who: &who, reason: "", now_ms: now_ms() };
    let (lines, orders): (Vec<u64>, Vec<Order>) = orders.into_iter().unzip();
    let created = match store.import(&orders, &actor).map_err(failed)? {
        Ok(created) => created,
        Err((n, why)) => {
            let line = lines.get(n).copied().unwrap_or_default();
            return Err(Failure::Usage(format!("line {line}: {why}; nothing was imported")));
        }
    };
    let new: Vec<TransferRow> =
        created.iter().filter_map(|c| if let Created::New(row) = c { Some(row.clone()) } else { None }).collect();
    eprintln!("payout-ledger: {} new orders, {} known", new.len(), created.len() - new.len());
    finish(store, client, &new, common.json)
}

fn open(settings: &Settings) -> Result<Transfers, Failure> {
    Transfers::open(&settings.database, settings.live).map_err(failed)
}

/// Options of the worker beside a daemon.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Transfers")]
pub struct BesideArgs {
    /// How long the queue remembers a finished transfer's job and refuses a second one (1h, 7d) [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    job_retention: Option<Duration>,
}

impl BesideArgs {
    /// Starts the worker, when there is an API key.
    pub fn start(&self, settings: &Settings) -> Result<Option<Guard>, Failure> {
        if stripe::key(settings)?.is_none() {
            return Ok(None);
        }
        let client = stripe::required_client(settings)?;
        let mut how = worker::Settings::default();
        how.job_retention = self.job_retention.unwrap_or(how.job_retention);
        Guard::start(&settings.database, client, how).map(Some).map_err(Failure::Environment)
    }
}

/// The client, asked for before anything is stored; none when only the queue is wanted.
fn sender(how: &HowArgs, settings: &Settings) -> Result<Option<Client>, Failure> {
    if how.queue {
        return Ok(None);
    }
    stripe::required_client(settings).map(Some).map_err(|failure| match failure {
        Failure::Usage(text) => Failure::Usage(format!("{text} (--queue leaves the sending to a running `serve`)")),
        other => other,
    })
}

fn worker(settings: &Settings) -> Result<Worker<Client>, Failure> {
    let client = stripe::required_client(settings)?;
    Worker::new(open(settings)?, client, System, worker::Settings::default()).map_err(Failure::Usage)
}

/// Live money: the amount typed again, by option or by hand.
fn confirm(how: &HowArgs, settings: &Settings, amount: i64, money: &str) -> Result<(), Failure> {
    if !settings.live {
        return Ok(());
    }
    let typed = match how.confirm_amount {
        Some(typed) => Some(typed),
        None if io::stdin().is_terminal() => {
            let mut out = io::stderr().lock();
            let asked = write!(out, "LIVE: {money}. Type the amount again ({amount} in smallest units): ");
            output::finish(asked.and_then(|()| out.flush()))?;
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map_err(|e| Failure::Environment(e.to_string()))?;
            line.trim().parse().ok()
        }
        None => None,
    };
    match typed {
        Some(typed) if typed == amount => Ok(()),
        Some(typed) => {
            Err(Failure::Usage(format!("the amount typed again is {typed}, not {amount}: nothing was done")))
        }
        None => Err(Failure::Usage(format!("live money: add --confirm-amount {amount} ({money}); nothing was done"))),
    }
}

/// Sends the orders when there is a client, prints them, and fails when one of them needs a person.
fn finish(store: Transfers, client: Option<Client>, rows: &[TransferRow], json: bool) -> Result<(), Failure> {
    let Some(client) = client else {
        return rows.iter().try_for_each(|row| show::line(row, json));
    };
    let worker = Worker::new(store, client, System, worker::Settings::default()).map_err(Failure::Usage)?;
    let mut waiting = Vec::new();
    for row in rows {
        let order = &row.order.order_ref;
        send(&worker, Some(order), &mut |_| Ok(()))?;
        let row = worker.store().find(order).map_err(failed)?.unwrap_or_else(|| row.clone());
        show::line(&row, json)?;
        if !row.intent.state.is_paid() {
            waiting.push(row);
        }
    }
    match waiting.first() {
        None => Ok(()),
        Some(row) => {
            let order = &row.order.order_ref;
            let advice = crate::guard::tell::advice(row).unwrap_or_else(|| "a worker comes back to it".to_owned());
            let more = if waiting.len() > 1 { format!(" (and {} more)", waiting.len() - 1) } else { String::new() };
            Err(Failure::Found(format!("order {order} is {}{more}: {advice}", row.intent.state)))
        }
    }
}

/// Works until nothing is due within the patience of a person. Returns how often something was done.
fn send(
    worker: &Worker<Client>,
    only: Option<&str>,
    done: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    let runtime = super::serve::runtime()?;
    let started = Instant::now();
    let mut worked = 0;
    worker.read_events().map_err(failed)?;
    loop {
        match runtime.block_on(worker.step(only)).map_err(failed)? {
            Step::Worked { order_ref, .. } => {
                worked += 1;
                done(&order_ref)?;
            }
            Step::Stopped => return Ok(worked),
            Step::Idle => {
                let Some(order) = only else { return Ok(worked) };
                let Some(intent) = worker.store().find(order).map_err(failed)?.map(|row| row.intent) else {
                    return Ok(worked);
                };
                // Somebody else may be at it: then the look is for their answer.
                let rest = intent.next_ms.map_or(0, |due| (due - now_ms()).max(0));
                let rest = Duration::from_millis(u64::try_from(rest).unwrap_or(0));
                if !intent.state.is_working() || started.elapsed() + rest > PATIENCE {
                    return Ok(worked);
                }
                std::thread::sleep(rest.clamp(Duration::from_millis(20), Duration::from_millis(500)));
            }
        }
    }
}
