//! `wait-for`: for scripts, until a payout has a state.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;

use super::duration;
use super::failure::Failure;
use crate::domain::payout::Status;
use crate::store::read::Reader;
use crate::store::view::PayoutRow;

/// How often a database that nobody has created yet, or that did not change, is looked at.
const PAUSE: Duration = Duration::from_millis(25);

/// Wait until a payout has a state; exit code 1 when the time is up.
#[derive(Debug, Args)]
pub struct WaitForArgs {
    /// po_…
    payout: String,
    /// pending, in_transit, paid, failed or canceled.
    #[arg(value_parser = parse_status)]
    state: Status,
    /// How long: 200ms, 5s, 2m.
    #[arg(long, default_value = "30s", value_parser = duration::parse)]
    timeout: Duration,
    /// Wait until its money is in the ledger too.
    #[arg(long)]
    posted: bool,
}

fn parse_status(text: &str) -> Result<Status, String> {
    let words = Status::ALL.map(Status::as_str).join(", ");
    Status::parse(text).ok_or_else(|| format!("a payout is never {text:?}; it can be {words}"))
}

/// Runs the command.
pub fn run(args: &WaitForArgs, database: &Path, live: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let began = Instant::now();
    let mut reader: Option<Reader> = None;
    let mut seen: Option<PayoutRow> = None;
    loop {
        if reader.is_none() && database.exists() {
            reader = Reader::open(database, live).ok();
        }
        if let Some(reader) = &mut reader {
            let environment = |e: crate::store::error::StoreError| Failure::Environment(e.to_string());
            if reader.changed().map_err(environment)? {
                seen = reader.payout(&args.payout).map_err(environment)?;
            }
        }
        let status = seen.as_ref().and_then(|row| Status::parse(&row.status));
        let posted = seen.as_ref().is_some_and(|row| row.posted);
        if status == Some(args.state) && (posted || !args.posted) {
            return writeln!(out, "{} {}", args.payout, args.state)
                .map_err(|e| Failure::Environment(format!("standard output: {e}")));
        }
        if let Some(now) = status
            && now != args.state
            && !now.leads_to(args.state)
        {
            return Err(Failure::Found(format!("{} is {now}: it cannot become {} any more", args.payout, args.state)));
        }
        if began.elapsed() >= args.timeout {
            let now = match status {
                Some(now) if now == args.state => format!("{now}, but its money is not in the ledger"),
                Some(now) => now.to_string(),
                None => "not known".to_owned(),
            };
            return Err(Failure::Found(format!("{} is {now} after {:?}", args.payout, args.timeout)));
        }
        std::thread::sleep(PAUSE.min(args.timeout.saturating_sub(began.elapsed())));
    }
}
