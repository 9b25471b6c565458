//! `lab`: the same deliveries under every strategy, as text or JSON; `lab prove`: random histories against their true end.

mod text;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::failure::Failure;
use crate::domain::engine::Rules;
use crate::lab::case::Case;
use crate::lab::orders::{ALL_UP_TO, Wanted};
use crate::lab::report::{self, Report};
use crate::lab::{guards, log, prove, scenario};

/// Compare what each way to handle events makes of deliveries out of order.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct LabArgs {
    #[command(subcommand)]
    command: Option<LabCommand>,
    /// A scenario's name, a scenario file (.toml), a log of Stripe events, or what `events --json` prints. `-` reads standard input.
    #[arg(default_value = "subscription")]
    source: String,
    /// Only this strategy.
    #[arg(long)]
    strategy: Option<String>,
    /// Run other orders of the deliveries too: `all`, or so many by --seed.
    #[arg(long, value_name = "all|N", value_parser = parse_orders)]
    orders: Option<Orders>,
    /// The seed of sampled orders: the same seed, the same orders.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Switch off one of our own rules, to see why it is there.
    #[arg(long, value_name = "RULE")]
    without: Vec<Rule>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
    /// Name the scenarios.
    #[arg(long)]
    list: bool,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Try random valid histories in random orders, with repeats, against their true end.
    Prove(ProveArgs),
    /// Try every fault against every guard of outgoing transfers switched off in turn.
    Guards(GuardsArgs),
}

#[derive(Debug, Args)]
struct GuardsArgs {
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ProveArgs {
    /// How many orders.
    #[arg(long, default_value_t = 1_000)]
    orders: usize,
    /// The same seed, the same run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Switch off one of our own rules.
    #[arg(long, value_name = "RULE")]
    without: Vec<Rule>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Orders {
    All,
    Count(usize),
}

fn parse_orders(text: &str) -> Result<Orders, String> {
    match text {
        "all" => Ok(Orders::All),
        number => match number.parse() {
            Ok(count @ 1..) => Ok(Orders::Count(count)),
            _ => Err("give `all` or a number from 1".to_owned()),
        },
    }
}

/// A rule of ours that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// Post every leg a snapshot implies.
    SnapshotLegs,
    /// A credit retries at once what waits for it.
    CreditWakeup,
    /// What waits is tried together.
    JointTry,
    /// Details come from the greatest snapshot.
    GreatestDetails,
}

fn rules(without: &[Rule]) -> Rules {
    Rules {
        snapshot_legs: !without.contains(&Rule::SnapshotLegs),
        credit_wakeup: !without.contains(&Rule::CreditWakeup),
        joint_try: !without.contains(&Rule::JointTry),
        greatest_details: !without.contains(&Rule::GreatestDetails),
    }
}

/// Runs the command. A comparison always ends well; `prove` fails when ours differs or leaves something waiting.
pub fn run(args: &LabArgs, out: &mut dyn Write) -> Result<(), Failure> {
    match &args.command {
        Some(LabCommand::Prove(prove)) => run_prove(prove, out),
        Some(LabCommand::Guards(args)) => run_guards(args, out),
        None if args.list => print(out, &text::list()?),
        None => compare(args, out),
    }
}

fn compare(args: &LabArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let known: Vec<&str> = report::strategies(Rules::default()).iter().map(|s| s.name()).collect();
    if let Some(name) = args.strategy.as_deref().filter(|name| !known.contains(name)) {
        return Err(Failure::Usage(format!("no strategy is called {name}; there are {}", known.join(", "))));
    }
    let case = load(&args.source)?;
    let wanted = args.orders.map(|orders| match orders {
        Orders::All => Wanted::All(64, args.seed),
        Orders::Count(count) => Wanted::Sample(count, args.seed),
    });
    let report = Report::new(&case, rules(&args.without), args.strategy.as_deref(), wanted);
    if args.json {
        return print(out, &format!("{}\n", report.json()));
    }
    let sampled = matches!(args.orders, Some(Orders::All)) && case.deliveries.len() > ALL_UP_TO;
    print(out, &text::report(&report, sampled.then_some(args.seed)))
}

fn run_prove(args: &ProveArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let proof = prove::prove(args.orders, args.seed, &report::strategies(rules(&args.without)), |_| true);
    let text = if args.json { format!("{}\n", report::proof_json(&proof)) } else { text::proof(&proof) };
    print(out, &text)?;
    match proof.records.iter().find(|r| r.name == "state_machine") {
        Some(ours) if ours.differs + ours.waiting > 0 => {
            Err(Failure::Found(format!("ours differs in {} and waits in {} orders", ours.differs, ours.waiting)))
        }
        _ => Ok(()),
    }
}

fn run_guards(args: &GuardsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let table = guards::table().map_err(Failure::Environment)?;
    print(out, &if args.json { format!("{}\n", table.json()) } else { guards::text(&table) })
}

/// A scenario by name, else a file.
fn load(source: &str) -> Result<Case, Failure> {
    if let Some(case) = scenario::built_in(source) {
        return case.map_err(Failure::Usage);
    }
    let text = if source == "-" {
        std::io::read_to_string(std::io::stdin()).map_err(|e| Failure::Environment(format!("standard input: {e}")))?
    } else {
        std::fs::read(PathBuf::from(source)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(|e| {
            let names = scenario::names().collect::<Vec<_>>().join(", ");
            match e.kind() {
                ErrorKind::NotFound => Failure::Usage(format!("{source} is neither a file nor a scenario ({names})")),
                _ => Failure::Environment(format!("{source}: {e}")),
            }
        })?
    };
    let read = if source.ends_with(".toml") { scenario::read(source, &text) } else { log::read(source, &text) };
    read.map_err(Failure::Usage)
}

fn print(out: &mut dyn Write, text: &str) -> Result<(), Failure> {
    match out.write_all(text.as_bytes()) {
        // A reader that has seen enough (`| head`) is no failure.
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::Environment(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
