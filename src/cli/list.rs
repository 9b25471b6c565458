//! `events`, `payouts`, `balances`, `journal`: lists with filters, newest first.

use clap::Args;

use super::failure::Failure;
use super::options::Common;
use super::output::{Format, List, day, time};
use super::status::{failed, open};
use crate::domain::money::show;
use crate::domain::outcome::State;
use crate::domain::payout::Status;
use crate::store::view::{BalanceRow, Direction, EventRow, Filter, JournalRow, Page, PayoutRow, PayoutSort};

/// Filters that all lists share.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// `platform` or acct_…
    #[arg(long)]
    account: Option<String>,
    /// A currency code
    #[arg(long)]
    currency: Option<String>,
    /// An object's id (po_…, tr_…)
    #[arg(long)]
    object: Option<String>,
    /// Part of an id, an account, a type or a reason
    #[arg(long)]
    text: Option<String>,
}

impl FilterArgs {
    /// With the states asked for.
    pub fn filter(&self, states: Vec<String>) -> Filter {
        Filter {
            states,
            account: self.account.clone(),
            currency: self.currency.as_ref().map(|c| c.to_ascii_lowercase()),
            kind: None,
            object: self.object.clone(),
            text: self.text.clone(),
        }
    }
}

/// How much, and in which format.
#[derive(Debug, Clone, Args)]
pub struct ShapeArgs {
    /// Rows at the most
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Options of `events`.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// received, waiting, stuck, applied, skipped, ignored or dismissed; repeatable
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(State::ALL.map(State::as_str)))]
    state: Vec<String>,
    /// An event type, or the beginning of one with a star: `payout.*`
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Print the bodies as they were received, oldest first, one a line: `import` and `lab` read them
    #[arg(long)]
    bodies: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    shape: ShapeArgs,
}

/// Options of `payouts`.
#[derive(Debug, Args)]
pub struct PayoutsArgs {
    /// pending, in_transit, paid, failed or canceled; repeatable
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(Status::ALL.map(Status::as_str)))]
    status: Vec<String>,
    /// Sort by last-event, amount or arrival
    #[arg(long, default_value = "last-event", value_parser = ["last-event", "amount", "arrival"])]
    sort: String,
    /// Smallest or oldest first
    #[arg(long)]
    ascending: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    shape: ShapeArgs,
}

/// Options of `balances`.
#[derive(Debug, Args)]
pub struct BalancesArgs {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    shape: ShapeArgs,
}

/// Options of `journal`.
#[derive(Debug, Args)]
pub struct JournalArgs {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    shape: ShapeArgs,
}

fn page<C>(shape: &ShapeArgs) -> Page<C> {
    Page { cursor: None, before: false, limit: shape.limit }
}

/// How event rows look.
pub const EVENTS: List<'static, EventRow> = List {
    columns: &["ARRIVED", "STATE", "TYPE", "OBJECT", "ACCOUNT", "×", "WHAT IT DID", "EVENT"],
    right: &[5],
    cells: |e| {
        let did = if e.state == State::Applied.as_str() {
            e.effect.as_ref().or(e.reason.as_ref())
        } else {
            e.reason.as_ref()
        };
        vec![
            time(e.first_ms),
            e.state.clone(),
            e.kind.clone(),
            e.object.clone(),
            e.account.clone(),
            e.deliveries.to_string(),
            did.cloned().unwrap_or_default(),
            e.id.clone(),
        ]
    },
};

/// Lists events.
pub fn events(args: &EventsArgs, common: &Common) -> Result<(), Failure> {
    let reader = open(&common.settings()?)?;
    let filter = Filter { kind: args.kind.clone(), ..args.filter.filter(args.state.clone()) };
    let rows = reader.events(&filter, Direction::Descending, &page(&args.shape)).map_err(failed)?;
    if !args.bodies {
        return EVENTS.print(Format::choose(common.json, args.shape.csv), &rows);
    }
    for row in rows.iter().rev() {
        if let Some(body) = reader.body(row.seq).map_err(failed)? {
            // A body is one JSON object: line ends in it are only between its tokens.
            super::output::line(String::from_utf8_lossy(&body).replace(['\n', '\r'], " ").trim())?;
        }
    }
    Ok(())
}

/// Lists payouts.
pub fn payouts(args: &PayoutsArgs, common: &Common) -> Result<(), Failure> {
    let reader = open(&common.settings()?)?;
    let sort = match args.sort.as_str() {
        "amount" => PayoutSort::Amount,
        "arrival" => PayoutSort::Arrival,
        _ => PayoutSort::LastEvent,
    };
    let direction = if args.ascending { Direction::Ascending } else { Direction::Descending };
    let filter = args.filter.filter(args.status.clone());
    let rows = reader.payouts(&filter, sort, direction, &page(&args.shape)).map_err(failed)?;
    let list: List<'_, PayoutRow> = List {
        columns: &["STATUS", "AMOUNT", "PAYOUT", "ACCOUNT", "ARRIVES", "FAILURE", "POSTED", "EVENTS", "LAST EVENT"],
        right: &[1, 7],
        cells: |p| {
            vec![
                p.status.clone(),
                show(&p.currency, p.amount),
                p.id.clone(),
                p.account.clone(),
                p.arrival_date.map(day).unwrap_or_default(),
                p.failure_code.clone().unwrap_or_default(),
                if p.posted { "yes" } else { "unposted" }.to_owned(),
                p.events.to_string(),
                time(p.last_ms),
            ]
        },
    };
    list.print(Format::choose(common.json, args.shape.csv), &rows)
}

/// Lists balances.
pub fn balances(args: &BalancesArgs, common: &Common) -> Result<(), Failure> {
    let reader = open(&common.settings()?)?;
    let rows = reader.balances(&args.filter.filter(vec![]), &page(&args.shape)).map_err(failed)?;
    let list: List<'_, BalanceRow> = List {
        columns: &["ACCOUNT", "CUR", "AVAILABLE", "OWED", "WAITING", "PROJECTED", "IN FLIGHT", "PAID OUT", "RETURNED"],
        right: &[2, 3, 4, 5, 6, 7, 8],
        cells: |b| {
            let figures = [b.available, b.owed, b.waiting, b.projected, b.in_flight, b.paid_out, b.returned];
            let mut cells = vec![b.account.clone(), b.currency.to_ascii_uppercase()];
            cells.extend(figures.map(|n| show(&b.currency, n)));
            cells
        },
    };
    list.print(Format::choose(common.json, args.shape.csv), &rows)
}

/// Lists the journal.
pub fn journal(args: &JournalArgs, common: &Common) -> Result<(), Failure> {
    let reader = open(&common.settings()?)?;
    let rows = reader.journal(&args.filter.filter(vec![]), &page(&args.shape)).map_err(failed)?;
    let list: List<'_, JournalRow> = List {
        columns: &["POSTED", "OBJECT", "LEG", "FROM", "TO", "AMOUNT", "EVENT"],
        right: &[5],
        cells: |j| {
            let side = |owner: &str, class: &str| {
                if class == "external" { class.to_owned() } else { format!("{owner}/{class}") }
            };
            vec![
                time(j.posted_ms),
                j.object.clone(),
                j.leg.clone(),
                side(&j.from, &j.from_class),
                side(&j.to, &j.to_class),
                show(&j.currency, j.amount),
                j.event.clone().unwrap_or_default(),
            ]
        },
    };
    list.print(Format::choose(common.json, args.shape.csv), &rows)
}
