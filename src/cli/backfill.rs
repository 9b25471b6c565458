//! `backfill`: missed events from Stripe's own list. Works beside a running daemon.

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::inbox::writer;
use super::options::Common;
use super::output;
use super::serve::runtime;
use super::status::failed;
use super::stripe::{Skipped, count_reads, owners, required_client};
use crate::daemon::backfill::{Filled, backfill};
use crate::store::schema;
use crate::store::side::Side;

/// Options of `backfill`.
#[derive(Debug, Args)]
pub struct BackfillArgs {
    /// Fetch this many days again instead of going on from the last event seen; Stripe keeps 30
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=30))]
    days: Option<i64>,
    /// Only this account (`platform` or acct_…); repeatable [default: every account seen here]
    #[arg(long)]
    account: Vec<String>,
}

/// Runs the command.
pub fn run(args: &BackfillArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    let client = required_client(&settings)?;
    schema::open(&settings.database).map(drop).map_err(failed)?;
    let mut writer = writer(&settings)?;
    let side = Side::open(&settings.database, settings.live).map_err(failed)?;
    let now = chrono::Utc::now().timestamp();
    let since = args.days.map(|days| now - days * 86_400);
    let mut skipped = Skipped::default();
    let runtime = runtime()?;
    for owner in owners(&side, &args.account)? {
        match runtime.block_on(backfill(&client, &side, &mut writer, &owner, since, now)) {
            Ok(filled) => print(&filled, common.json)?,
            Err(error) => skipped.note(&owner, &error)?,
        }
    }
    count_reads(&side, &client)?;
    skipped.end()
}

fn print(filled: &Filled, as_json: bool) -> Result<(), Failure> {
    let (owner, taken) = (&filled.owner, filled.taken);
    if as_json {
        return output::line(
            &json!({
                "account": owner.as_str(), "new": taken.stored, "known": taken.known, "refused": taken.refused,
                "since": filled.since, "too_old": filled.too_old,
            })
            .to_string(),
        );
    }
    let since = output::time(filled.since.saturating_mul(1000));
    output::line(&format!("{owner}: {} new events, {} known, since {since}", taken.stored, taken.known))?;
    if filled.too_old {
        output::line(&format!(
            "{owner}: what is older than 30 days cannot be had from Stripe: run reconcile --repair"
        ))?;
    }
    Ok(())
}
