//! `chaos`: what the chaos proxy passed on, which answers were not 2xx, and sending it again.

use clap::{Args, Subcommand};
use secrecy::SecretString;
use serde_json::json;

use super::failure::Failure;
use super::forward::{secret, signer};
use super::options::{Common, existing};
use super::output::{Format, List, line, time};
use super::{serve, status};
use crate::daemon::chaos::Sender;
use crate::daemon::now_ms;
use crate::daemon::receiver::Accepted;
use crate::store::forwards::{Forward, Forwards, Run};
use crate::stripe::post::Endpoint;

/// Options of `chaos`.
#[derive(Debug, Args)]
pub struct ChaosArgs {
    #[command(subcommand)]
    command: ChaosCommand,
    /// Another run than the newest
    #[arg(long, global = true, value_name = "N")]
    run: Option<i64>,
}

#[derive(Debug, Subcommand)]
enum ChaosCommand {
    /// Which answers were not 2xx, and the exact order delivered; exit code 1 when there were any
    Report,
    /// Send again what was not answered with 2xx
    Retry(AgainArgs),
    /// Send everything again, in exactly the order of the run
    Replay(AgainArgs),
}

#[derive(Debug, Args)]
struct AgainArgs {
    /// Another endpoint than the run's
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// The endpoint's secret, to sign anew what grew too old
    #[arg(long, value_name = "WHSEC", env = "PAYOUT_LEDGER_FORWARD_SECRET", hide_env_values = true,
        value_parser = secret)]
    forward_secret: Option<SecretString>,
}

/// Runs the command.
pub fn run(args: &ChaosArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    existing(&settings.database)?;
    let mut forwards = Forwards::open(&settings.database).map_err(status::failed)?;
    let Some(run) = forwards.run(args.run).map_err(status::failed)? else {
        let what = "nothing was passed on yet: start `payout-ledger serve --forward-to URL --chaos`";
        return Err(Failure::Usage(what.to_owned()));
    };
    let rows = forwards.of(run.id).map_err(status::failed)?;
    match &args.command {
        ChaosCommand::Report => report(&run, &rows, common.json),
        ChaosCommand::Retry(again) => {
            let failed: Vec<Forward> = newest_failures(&rows).into_iter().cloned().collect();
            send_again(&mut forwards, &run, &failed, rows.len(), again, common.json)
        }
        ChaosCommand::Replay(again) => {
            // What was retried later is no part of the order.
            let mut seen = std::collections::BTreeSet::new();
            let is_first = |f: &&Forward| f.nth.is_some() && seen.insert((f.arrival, f.copy));
            let sent: Vec<Forward> = rows.iter().filter(is_first).cloned().collect();
            let seed = run.seed.parse().unwrap_or_default();
            let target = again.to.as_deref().unwrap_or(&run.target);
            let begun = forwards.begin(now_ms(), target, seed, &format!("replay of run {}", run.id));
            let new = Run { id: begun.map_err(status::failed)?, target: target.to_owned(), ..run };
            send_again(&mut forwards, &new, &sent, 0, again, common.json)
        }
    }
}

/// Deliveries whose last sending was not answered with 2xx.
fn newest_failures(rows: &[Forward]) -> Vec<&Forward> {
    let mut newest = std::collections::BTreeMap::new();
    for row in rows.iter().filter(|row| row.nth.is_some()) {
        newest.insert((row.arrival, row.copy), row);
    }
    newest.into_values().filter(|row| row.has_failed()).collect()
}

fn report(run: &Run, rows: &[Forward], as_json: bool) -> Result<(), Failure> {
    let failed = newest_failures(rows);
    let sent: Vec<&Forward> = rows.iter().filter(|f| f.nth.is_some()).collect();
    let dropped: Vec<&str> = rows.iter().filter(|f| f.nth.is_none()).map(|f| f.event.as_str()).collect();
    if as_json {
        let row = |f: &Forward| {
            json!({ "n": f.nth.map(|n| n + 1), "event": f.event, "arrival": f.arrival + 1, "copy": f.copy,
                    "sent_ms": f.sent_ms, "status": f.status, "took_ms": f.took_ms, "note": f.note })
        };
        let object = json!({
            "run": run.id, "started_ms": run.started_ms, "target": run.target, "seed": run.seed, "chaos": run.settings,
            "sent": sent.len(), "dropped": dropped, "failed": failed.iter().map(|f| row(f)).collect::<Vec<_>>(),
            "order": sent.iter().map(|f| row(f)).collect::<Vec<_>>(),
        });
        line(&object.to_string())?;
    } else {
        line(&format!("run {} of {}, to {}", run.id, time(run.started_ms), run.target))?;
        line(&format!("chaos {}, seed {}", run.settings, run.seed))?;
        line(&format!("{} sent, {} not answered with 2xx, {} dropped", sent.len(), failed.len(), dropped.len()))?;
        let list = List {
            columns: &["N", "EVENT", "CAME", "STATUS", "TOOK", "NOTE"],
            right: &[0, 2, 4],
            cells: |f: &Forward| {
                vec![
                    f.nth.map_or("dropped".to_owned(), |n| (n + 1).to_string()),
                    if f.copy > 0 { format!("{} (double)", f.event) } else { f.event.clone() },
                    (f.arrival + 1).to_string(),
                    f.status.map_or("–".to_owned(), |s| s.to_string()),
                    f.took_ms.map_or("–".to_owned(), |ms| format!("{ms} ms")),
                    f.note.clone(),
                ]
            },
        };
        list.print(Format::choose(false, false), rows)?;
        line(&format!("the same order again: payout-ledger chaos replay --run {}", run.id))?;
    }
    match failed.len() {
        0 => Ok(()),
        n => {
            Err(Failure::Found(format!("{n} were not answered with 2xx; `payout-ledger chaos retry` sends them again")))
        }
    }
}

/// Sends one after the other, so that the order is exact, and keeps each answer.
fn send_again(
    forwards: &mut Forwards,
    run: &Run,
    rows: &[Forward],
    offset: usize,
    again: &AgainArgs,
    as_json: bool,
) -> Result<(), Failure> {
    let target = again.to.as_deref().unwrap_or(&run.target);
    let endpoint = Endpoint::new(target).map_err(Failure::Usage)?;
    let sender = Sender { endpoint, secret: signer(again.forward_secret.as_ref())? };
    let runtime = serve::runtime()?;
    let mut failed = 0;
    for (row, nth) in rows.iter().zip(i64::try_from(offset).unwrap_or(0)..) {
        let Some(body) = forwards.body(&row.event).map_err(status::failed)? else {
            return Err(Failure::Environment(format!("the body of {} was pruned: it cannot be sent again", row.event)));
        };
        let sent_ms = now_ms();
        let delivery = Accepted { body: body.into(), signature: row.signature.clone(), received_ms: sent_ms };
        let (signature, note) = sender.signature(&delivery, sent_ms.div_euclid(1_000));
        let sent = runtime.block_on(sender.endpoint.post(delivery.body.to_vec(), signature.as_deref()));
        failed += usize::from(!sent.is_ok());
        if as_json {
            let object = json!({ "event": row.event, "status": sent.status, "took_ms": sent.took_ms, "note": note });
            line(&object.to_string())?;
        } else {
            line(&format!("{}  {sent}  {note}", row.event))?;
        }
        let note = [note, sent.text].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("; ");
        let kept = Forward {
            nth: Some(nth),
            sent_ms: Some(sent_ms),
            status: sent.status,
            took_ms: Some(sent.took_ms),
            note,
            ..row.clone()
        };
        forwards.add(run.id, &[kept]).map_err(status::failed)?;
    }
    match failed {
        0 => Ok(()),
        n => Err(Failure::Found(format!("{n} of {} were not answered with 2xx", rows.len()))),
    }
}
