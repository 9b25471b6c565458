//! The real `stripe listen` forwards 500 events from a small Stripe of ours to the real binary, out of order as it does.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use payout_ledger::stripe::cli;
use payout_ledger::stripe::simulate::objects::{self, Payout};
use serde_json::Value;

use crate::support::bodies::body;
use crate::support::program::{Serve, status, verified};
use crate::support::small_stripe::SmallStripe;

const PAYOUTS: i64 = 100;

/// The CLI's path; none (and said aloud) where it is not installed, unless it must be.
pub fn stripe_cli() -> Option<std::path::PathBuf> {
    match cli::find() {
        Ok(program) => Some(program),
        Err(problem) if std::env::var_os("STRIPE_CLI_REQUIRED").is_some() => panic!("{problem}"),
        Err(_) => {
            eprintln!("SKIPPED: the Stripe CLI is not installed; `.ci/run` brings it");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_events_through_the_real_cli_end_right() {
    let Some(program) = stripe_cli() else { return };
    let stripe = SmallStripe::default();
    let _client = stripe.client().await;
    let host = stripe.held().host.clone();
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("ledger.db");
    let serve = Serve::start(&database, "whsec_small_stripe", &["--sweep-interval", "100ms"]);
    let mut listen = Command::new(program)
        .args(["listen", "--skip-update", "--all-snapshot", "--api-key", "sk_test_small", "--api-base"])
        .arg(format!("http://{host}"))
        .args(["--forward-to", &format!("http://{}/webhook", serve.addr)])
        .env_clear()
        .env("HOME", dir.path())
        .env("STRIPE_CLI_TELEMETRY_OPTOUT", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait(|| stripe.sockets.is_open()).await;
    let mut sent = 0;
    let mut send = |id: String, kind: &str, account: &str, at: i64, object: Value| {
        stripe.happen(&id, at, &body(&id, kind, account, at, object));
        sent += 1;
    };
    for n in 0..PAYOUTS {
        let (at, seller) = (1_760_000_000 + n, format!("acct_seller{}", n % 7));
        send(format!("evt_{n}a"), "charge.succeeded", "", at, objects::charge(&format!("ch_{n}"), 5_000, "usd", at));
        let transfer = objects::transfer(&format!("tr_{n}"), 4_000, "usd", at, &seller, &[]);
        send(format!("evt_{n}b"), "transfer.created", "", at, transfer);
        let payout = Payout::new(&format!("po_{n}"), 3_000, "usd", at);
        let end = if n % 5 == 0 { "failed" } else { "paid" };
        for (suffix, status) in [("c", "pending"), ("d", "in_transit"), ("e", end)] {
            let object = payout.with_status(status, None).json();
            send(format!("evt_{n}{suffix}"), &format!("payout.{status}"), &seller, at, object);
        }
    }
    assert_eq!(sent, 500);
    let stored = || {
        let inbox = status(&database)["inbox"].clone();
        inbox.as_object().unwrap().values().filter_map(Value::as_i64).sum::<i64>()
    };
    wait(|| stored() == 500).await;
    listen.kill().unwrap();
    listen.wait().unwrap();
    wait(|| status(&database)["inbox"]["waiting"] == 0).await;
    assert!(serve.stop(), "it ends well");
    let status = status(&database);
    assert_eq!((status["inbox"]["stuck"].clone(), status["stuck"].clone()), (0.into(), Value::Array(vec![])));
    let payouts = status["payouts"].as_array().unwrap();
    assert_eq!(payouts.len(), 100);
    for payout in payouts {
        let n: i64 = payout["id"].as_str().unwrap()[3..].parse().unwrap();
        assert_eq!(payout["status"], if n % 5 == 0 { "failed" } else { "paid" }, "{payout}");
        assert_eq!((payout["posted"].clone(), payout["events"].clone()), (true.into(), 3.into()), "{payout}");
    }
    let total: i64 = status["balances"].as_array().unwrap().iter().map(|b| b["available"].as_i64().unwrap()).sum();
    assert_eq!(total, 100 * 5_000 - 80 * 3_000);
    verified(&database);
}

async fn wait(mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "it takes too long");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
