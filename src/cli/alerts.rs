//! `alerts`: what deserves a look, and saying that it was looked at.

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::options::{Common, existing, user};
use super::output::{self, clean, time};
use super::status::failed;
use crate::daemon::now_ms;
use crate::store::alerts::AlertRow;
use crate::store::side::Side;

/// Options of `alerts`.
#[derive(Debug, Args)]
pub struct AlertsArgs {
    /// Acknowledge these alerts by number; repeatable
    #[arg(long, value_name = "N")]
    ack: Vec<i64>,
    /// Acknowledge every open alert
    #[arg(long, conflicts_with = "ack")]
    ack_all: bool,
    /// Cleared and acknowledged ones too
    #[arg(long)]
    all: bool,
    /// Rows at the most
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

/// Runs the command.
pub fn run(args: &AlertsArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    existing(&settings.database)?;
    let side = Side::open(&settings.database, settings.live).map_err(failed)?;
    // A running daemon does this by itself; without one the list would be old.
    side.scan_alerts(now_ms(), None).map_err(failed)?;
    let limit = if args.ack_all { usize::MAX } else { args.limit };
    let open = |row: &AlertRow| row.cleared_ms.is_none() && row.acknowledged_ms.is_none();
    let rows = side.alerts(limit).map_err(failed)?;
    let ids: Vec<i64> =
        if args.ack_all { rows.iter().filter(|r| open(r)).map(|r| r.id).collect() } else { args.ack.clone() };
    if args.ack_all || !ids.is_empty() {
        return acknowledge(&side, &ids);
    }
    rows.iter().filter(|row| args.all || open(row)).try_for_each(|row| print(row, common.json))
}

fn acknowledge(side: &Side, ids: &[i64]) -> Result<(), Failure> {
    let mut done = 0;
    for id in ids {
        match side.acknowledge(*id, &user(), now_ms()).map_err(failed)? {
            true => done += 1,
            false => {
                return Err(Failure::Usage(format!("there is no open alert {id}: `payout-ledger alerts` lists them")));
            }
        }
    }
    output::line(&format!("{done} acknowledged"))
}

fn print(row: &AlertRow, as_json: bool) -> Result<(), Failure> {
    let a = &row.alert;
    if as_json {
        return output::line(
            &json!({
                "id": row.id, "kind": a.kind.as_str(), "object": a.object, "account": a.account, "text": a.text,
                "raised_ms": row.raised_ms, "cleared_ms": row.cleared_ms, "acknowledged_ms": row.acknowledged_ms,
            })
            .to_string(),
        );
    }
    let state = match (row.cleared_ms, row.acknowledged_ms) {
        (Some(_), _) => "cleared",
        (_, Some(_)) => "acknowledged",
        _ => "open",
    };
    let raised = time(row.raised_ms);
    output::line(&clean(&format!(
        "{:>5}  {raised}  {state:<12}  {:<9} {}  {}  {}",
        row.id, a.kind, a.object, a.account, a.text
    )))
}
