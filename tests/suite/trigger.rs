//! Simulated events end to end: signed, sent, stored, applied, and waited for.

use std::path::Path;

use clap::Parser;
use payout_ledger::cli::failure::Failure;
use payout_ledger::cli::trigger::{self, TriggerArgs};
use payout_ledger::cli::wait_for::{self, WaitForArgs};
use payout_ledger::daemon::start::Daemon;
use payout_ledger::store::read::Reader;
use secrecy::SecretString;

use crate::support::daemon::{SECRET, options};
use crate::support::memory_dir;

#[derive(Parser)]
struct Trigger {
    #[command(flatten)]
    args: TriggerArgs,
}

#[derive(Parser)]
struct Wait {
    #[command(flatten)]
    args: WaitForArgs,
}

fn trigger(line: &str, database: &Path, secret: Option<&str>) -> (String, Result<(), Failure>) {
    let args = Trigger::try_parse_from(line.split_whitespace()).unwrap_or_else(|e| panic!("{e}"));
    let secret = secret.map(|text| SecretString::from(text.to_owned()));
    let mut out = Vec::new();
    let result = trigger::run(&args.args, database, secret.as_ref(), &mut out);
    (String::from_utf8(out).unwrap(), result)
}

fn wait(line: &str, database: &Path) -> Result<(), Failure> {
    let args = Wait::try_parse_from(line.split_whitespace()).unwrap_or_else(|e| panic!("{e}"));
    wait_for::run(&args.args, database, false, &mut Vec::new())
}

#[test]
fn a_payout_is_paid_and_then_returned() {
    let dir = memory_dir();
    let database = dir.path().join("ledger.db");
    let daemon = Daemon::start(options(dir.path())).unwrap();
    let to = daemon.endpoint();
    let (text, result) =
        trigger(&format!("trigger payout.paid --account acct_t --fund --json --to {to}"), &database, Some(SECRET));
    result.unwrap_or_else(|e| panic!("{e} {text}"));
    let rows: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(rows.iter().map(|r| r["status"].as_i64().unwrap()).collect::<Vec<_>>(), [200; 4]);
    let payout = rows[3]["object"].as_str().unwrap();
    wait(&format!("wait {payout} paid --posted --timeout 20s"), &database).unwrap();

    let (text, result) = trigger(
        &format!("trigger payout.returned --payout {payout} --failure-code no_account --to {to}"),
        &database,
        Some(SECRET),
    );
    assert!(result.is_ok() && text.lines().count() == 1, "only what follows is sent: {text}");
    wait(&format!("wait {payout} failed --timeout 20s"), &database).unwrap();
    let row = Reader::open(&database, false).unwrap().payout(payout).unwrap().unwrap();
    assert_eq!((row.account.as_str(), row.failure_code.as_deref()), ("acct_t", Some("no_account")));

    let gone = wait(&format!("wait {payout} paid --timeout 20s"), &database).unwrap_err();
    assert!(matches!(&gone, Failure::Found(why) if why.contains("cannot become paid")), "{gone}");
    let never = wait("wait po_never paid --timeout 30ms", &database).unwrap_err();
    assert!(matches!(&never, Failure::Found(why) if why.contains("not known")), "{never}");
    let impossible = trigger(&format!("trigger payout.paid --payout {payout} --to {to}"), &database, Some(SECRET)).1;
    assert!(matches!(impossible, Err(Failure::Usage(why)) if why.contains("cannot become paid")));
}

#[test]
fn what_cannot_be_sent_is_said_in_one_line() {
    let dir = memory_dir();
    let database = dir.path().join("ledger.db");
    let mut daemon = Daemon::start(options(dir.path())).unwrap();
    let to = daemon.endpoint();
    let refused = trigger(&format!("trigger payout.paid --to {to}"), &database, Some("whsec_another"));
    assert!(matches!(refused.1, Err(Failure::Found(_))) && refused.0.contains("400 bad signature"), "{}", refused.0);
    assert!(
        matches!(trigger("trigger payout.paid", &database, None).1, Err(Failure::Usage(why)) if why.contains("--unsigned"))
    );
    daemon.stop();
    let nobody = trigger(&format!("trigger payout.paid --to {to}"), &database, Some(SECRET)).1;
    assert!(matches!(nobody, Err(Failure::Environment(why)) if why.contains("does not answer")));
    let (text, _) = trigger("trigger topup.reversed --print", &database, None);
    assert_eq!(text.lines().count(), 3);
}
