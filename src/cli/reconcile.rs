//! `reconcile`: Stripe's record against ours. Exit code 1 while they differ.

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::inbox::writer;
use super::options::Common;
use super::output::{self, clean, time};
use super::serve::runtime;
use super::status::failed;
use super::stripe::{Skipped, count_reads, owners, required_client};
use crate::daemon::reconcile::{Window, reconcile};
use crate::domain::reconcile::Finding;
use crate::store::findings::FindingRow;
use crate::store::side::Side;

/// Options of `reconcile`.
#[derive(Debug, Args)]
pub struct ReconcileArgs {
    /// Compare payouts and transfers of this many days; open payouts are compared whatever their age
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=3650))]
    days: i64,
    /// Only this account (`platform` or acct_…); repeatable [default: every account seen here]
    #[arg(long)]
    account: Vec<String>,
    /// Bring in what is missing or differs, through the ordinary rules
    #[arg(long)]
    repair: bool,
    /// Ask nobody: print the findings kept, open ones first
    #[arg(long, conflicts_with = "repair")]
    history: bool,
}

/// Runs the command.
pub fn run(args: &ReconcileArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    super::options::existing(&settings.database)?;
    let side = Side::open(&settings.database, settings.live).map_err(failed)?;
    if args.history {
        return side.findings(1_000).map_err(failed)?.iter().try_for_each(|row| kept(row, common.json));
    }
    let client = required_client(&settings)?;
    let mut writer = if args.repair { Some(writer(&settings)?) } else { None };
    let (mut skipped, mut found, mut objects, mut mended) = (Skipped::default(), 0, 0, 0);
    let runtime = runtime()?;
    for owner in owners(&side, &args.account)? {
        let now = chrono::Utc::now().timestamp();
        let window = Window { since: now - args.days * 86_400, now };
        match runtime.block_on(reconcile(&client, &side, writer.as_mut(), &owner, window)) {
            Ok(done) => {
                done.findings.iter().try_for_each(|f| print(f, common.json))?;
                found += done.findings.len();
                objects += done.objects;
                mended += done.repaired.stored;
            }
            Err(error) => skipped.note(&owner, &error)?,
        }
    }
    count_reads(&side, &client)?;
    skipped.end()?;
    if !common.json {
        let repaired = if args.repair { format!(", mended: {mended}") } else { String::new() };
        output::line(&format!("payouts and transfers compared: {objects}, differences: {found}{repaired}"))?;
    }
    match (found, args.repair) {
        (0, _) => Ok(()),
        (n, false) => Err(Failure::Found(format!("differences: {n}; reconcile --repair brings in what can be"))),
        (n, true) => Err(Failure::Found(format!("differences that no repair can mend: {n}"))),
    }
}

fn object(f: &Finding) -> Value {
    json!({
        "kind": f.kind.as_str(), "object": f.object, "account": f.account, "here": f.here, "there": f.there,
        "unexplained": f.unexplained,
    })
}

fn print(f: &Finding, as_json: bool) -> Result<(), Failure> {
    output::line(&if as_json { object(f).to_string() } else { clean(&f.line()) })
}

fn kept(row: &FindingRow, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let mut value = object(&row.finding);
        value["opened_ms"] = row.opened_ms.into();
        value["seen_ms"] = row.seen_ms.into();
        value["resolved_ms"] = row.resolved_ms.into();
        return output::line(&value.to_string());
    }
    let state = row.resolved_ms.map_or_else(|| "open".to_owned(), |ms| format!("resolved {}", time(ms)));
    output::line(&format!("{}  {state}  {}", time(row.opened_ms), clean(&row.finding.line())))
}
