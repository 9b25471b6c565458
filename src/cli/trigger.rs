//! `trigger`: signed, linked, simulated events posted to our own or any endpoint. `stripe trigger` knows of payouts only
//! created and updated.

use std::io::Write;
use std::path::Path;

use clap::Args;
use secrecy::SecretString;

use super::failure::Failure;
use crate::domain::owner::{Owner, PLATFORM};
use crate::domain::payout::Status;
use crate::store::read::Reader;
use crate::stripe::post::Endpoint;
use crate::stripe::signature::Secret;
use crate::stripe::simulate::sequence::{KINDS, Simulated, Wanted, sequence};

/// Post simulated events, signed as Stripe signs them.
#[derive(Debug, Args)]
pub struct TriggerArgs {
    /// What happens: payout.paid, payout.failed, payout.canceled, payout.returned (by the bank, after it was paid), …
    /// The events before it come too.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(KINDS))]
    event: String,
    /// The connected account, acct_…; without it the platform's own.
    #[arg(long)]
    account: Option<String>,
    /// Minor units; negative for a payout that debits the bank.
    #[arg(long, default_value_t = 1_100, allow_negative_numbers = true)]
    amount: i64,
    /// Lower-case code.
    #[arg(long, default_value = "usd")]
    currency: String,
    /// Why the payout fails, for instance account_closed.
    #[arg(long, value_name = "CODE")]
    failure_code: Option<String>,
    /// Go on with this payout instead of making one. What the database knows of it is used.
    #[arg(long, value_name = "ID")]
    payout: Option<String>,
    /// Send the charge that funds the payout first.
    #[arg(long)]
    fund: bool,
    /// Where to.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:4242/webhook")]
    to: String,
    /// Send without a signature.
    #[arg(long)]
    unsigned: bool,
    /// Write the bodies, one per line, and send nothing.
    #[arg(long)]
    print: bool,
    /// One JSON object per event sent.
    #[arg(long)]
    json: bool,
}

/// Runs the command. Fails with exit code 1 when an answer is not 2xx, 3 when there is none.
pub fn run(
    args: &TriggerArgs,
    database: &Path,
    secret: Option<&SecretString>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let events = events(args, database)?;
    if args.print {
        return events.iter().try_for_each(|event| line(out, &event.body));
    }
    let secret = match secret {
        _ if args.unsigned => None,
        Some(text) => Some(Secret::new(text).map_err(|e| Failure::Usage(e.to_owned()))?),
        None => {
            let what = "no signing secret: give --secret with the whsec_… that the endpoint checks with, or --unsigned";
            return Err(Failure::Usage(what.to_owned()));
        }
    };
    let endpoint = Endpoint::new(&args.to).map_err(Failure::Usage)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::Environment(format!("no runtime: {e}")))?;
    let mut refused = 0;
    for event in &events {
        let body = event.body.clone().into_bytes();
        let signature = secret.as_ref().map(|s| s.sign(chrono::Utc::now().timestamp(), &body));
        let sent = runtime.block_on(endpoint.post(body, signature.as_deref()));
        if args.json {
            let row = serde_json::json!({ "id": event.id, "type": event.kind, "object": event.object,
                                          "status": sent.status, "answer": sent.text, "took_ms": sent.took_ms });
            line(out, &row.to_string())?;
        } else {
            line(out, &format!("{:32} {}  {}  {sent}", event.kind, event.object, event.id))?;
        }
        if sent.status.is_none() {
            let why =
                format!("{} does not answer: {}; start `payout-ledger serve`, or give --to", endpoint.url(), sent.text);
            return Err(Failure::Environment(why));
        }
        refused += usize::from(!sent.is_ok());
    }
    match refused {
        0 => Ok(()),
        n => Err(Failure::Found(format!("{n} of {} events were not accepted", events.len()))),
    }
}

fn events(args: &TriggerArgs, database: &Path) -> Result<Vec<Simulated>, Failure> {
    if let Some(account) = &args.account {
        Owner::connected(account).map_err(Failure::Usage)?;
    }
    crate::domain::money::Currency::parse(&args.currency).map_err(Failure::Usage)?;
    if args.payout.is_some() && !args.event.starts_with("payout.") {
        return Err(Failure::Usage(format!("--payout goes with payout events, not with {}", args.event)));
    }
    // Simulated events are test events, so only the test side of the database is asked.
    let reader = args.payout.as_ref().and_then(|_| Reader::open(database, false).ok());
    let known = match (&reader, &args.payout) {
        (Some(reader), Some(id)) => reader.payout(id).map_err(|e| Failure::Environment(e.to_string()))?,
        _ => None,
    };
    let tag = tag();
    let mut wanted = Wanted {
        kind: &args.event,
        account: args.account.as_deref(),
        amount: args.amount,
        currency: &args.currency,
        failure_code: args.failure_code.as_deref(),
        payout: args.payout.as_deref().map(|id| (id, None)),
        fund: args.fund,
        tag: &tag,
        now: chrono::Utc::now().timestamp(),
    };
    if let Some(row) = &known {
        wanted.account = Some(row.account.as_str()).filter(|a| *a != PLATFORM);
        wanted.amount = row.amount;
        wanted.currency = &row.currency;
        wanted.payout = Some((row.id.as_str(), Status::parse(&row.status)));
    }
    sequence(&wanted).map_err(Failure::Usage)
}

/// Letters that make the ids of one run unlike those of any other.
fn tag() -> String {
    let mut random = [0u8; 6];
    // Without randomness the clock alone has to tell runs apart.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random);
    let random: String = random.iter().map(|b| format!("{b:02x}")).collect();
    format!("{:x}{random}", chrono::Utc::now().timestamp_millis())
}

fn line(out: &mut dyn Write, text: &str) -> Result<(), Failure> {
    writeln!(out, "{text}").map_err(|e| Failure::Environment(format!("standard output: {e}")))
}
