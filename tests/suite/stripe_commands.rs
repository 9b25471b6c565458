//! The commands of the Stripe side, as a person or a script runs them, against a small Stripe.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::real_cli::stripe_cli;
use crate::support::processes_with_argument;
use crate::support::small_stripe::{Fault, SmallStripe};

fn event(id: &str, object: &str, status: &str, created: i64) -> String {
    format!(
        r#"{{"id":"{id}","object":"event","type":"payout.{status}","created":{created},"livemode":false,"data":{{"object":{}}}}}"#,
        payout(object, status)
    )
}

fn payout(id: &str, status: &str) -> String {
    format!(r#"{{"id":"{id}","object":"payout","amount":500,"currency":"usd","status":"{status}"}}"#)
}

struct Bench {
    stripe: SmallStripe,
    dir: tempfile::TempDir,
}

impl Bench {
    /// Two events an hour ago, and a payout of which no event tells.
    async fn new() -> Self {
        let stripe = SmallStripe::default();
        let _client = stripe.client().await;
        let hour_ago = chrono::Utc::now().timestamp() - 3_600;
        stripe.push("", "/v1/events", "evt_1", hour_ago, &event("evt_1", "po_1", "pending", hour_ago));
        stripe.push("", "/v1/events", "evt_2", hour_ago + 1, &event("evt_2", "po_1", "paid", hour_ago + 1));
        stripe.push("", "/v1/payouts", "po_1", hour_ago, &payout("po_1", "paid"));
        stripe.push("", "/v1/payouts", "po_2", hour_ago, &payout("po_2", "in_transit"));
        stripe.object("", "/v1/balance", r#"{"available":[{"amount":-1000,"currency":"usd"}]}"#);
        stripe.object("", "/v1/account", r#"{"id":"acct_small","country":"DE"}"#);
        Self { stripe, dir: crate::support::memory_dir() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_payout-ledger"));
        let base = format!("http://{}", self.stripe.held().host);
        command.args(args).args(["--api-base", &base]).arg("--db").arg(self.dir.path().join("ledger.db"));
        command.env("STRIPE_API_KEY", "rk_test_abcDEF123456").env("HOME", self.dir.path());
        command.env_remove("STRIPE_WEBHOOK_SECRET").env("XDG_CONFIG_HOME", self.dir.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        tokio::task::block_in_place(|| self.command(args).output().unwrap())
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backfill_then_reconcile_then_repair() {
    let bench = Bench::new().await;
    let filled = bench.run(&["backfill", "--json"]);
    let line: Value = serde_json::from_str(&out(&filled)).unwrap_or_else(|_| panic!("{}", errors(&filled)));
    assert_eq!((&line["account"], &line["new"], filled.status.code()), (&"platform".into(), &2.into(), Some(0)));
    let again = bench.run(&["backfill"]);
    assert!(out(&again).starts_with("platform: 0 new events, 2 known, since "), "{}", out(&again));

    let compared = bench.run(&["reconcile"]);
    assert_eq!(compared.status.code(), Some(1), "{}", errors(&compared));
    // What came a moment ago is not judged; the payout without an event is.
    assert_eq!(
        out(&compared),
        "missing here: po_2 of platform: Stripe has in_transit, 5.00 USD, we have nothing\n\
         payouts and transfers compared: 2, differences: 1\n"
    );
    let repaired = bench.run(&["reconcile", "--repair"]);
    assert_eq!(
        (repaired.status.code(), out(&repaired).contains("mended: 1")),
        (Some(0), true),
        "{}",
        errors(&repaired)
    );
    let status: Value = serde_json::from_str(&out(&bench.run(&["status", "--json"]))).unwrap();
    assert_eq!(status["payouts"].as_array().unwrap().len(), 2);
    let history = bench.run(&["reconcile", "--history", "--json"]);
    let finding: Value = serde_json::from_str(&out(&history)).unwrap();
    assert!(finding["kind"] == "missing here" && finding["resolved_ms"].is_i64());
    assert_eq!(bench.run(&["verify"]).status.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_opening_balance_from_stripe_explains_what_came_before() {
    let bench = Bench::new().await;
    bench.run(&["backfill"]);
    let opened = bench.run(&["open-balance", "--from-stripe"]);
    // Stripe has -10.00 after a payout of 5.00: -5.00 before it.
    assert_eq!(opened.status.code(), Some(0), "{}", errors(&opened));
    assert!(out(&opened).contains("5.00"), "{}", out(&opened));
    let status: Value = serde_json::from_str(&out(&bench.run(&["status", "--json"]))).unwrap();
    assert_eq!(
        (&status["balances"][0]["projected"], &status["balances"][0]["account"]),
        (&(-1000).into(), &"platform".into())
    );
    let again = bench.run(&["open-balance", "--from-stripe"]);
    assert_eq!(
        (again.status.code(), out(&again)),
        (Some(0), "nothing to open: every balance is opened or equal\n".into())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alerts_are_listed_and_acknowledged_once() {
    let bench = Bench::new().await;
    bench.run(&["backfill"]);
    bench.run(&["reconcile"]);
    let listed = out(&bench.run(&["alerts", "--json"]));
    let rows: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&Value> = rows.iter().map(|row| &row["kind"]).collect();
    assert_eq!(kinds, ["finding", "negative"], "{listed}");
    assert_eq!(rows[1]["text"], "the balance at Stripe is -10.00 USD");
    let id = rows[1]["id"].to_string();
    assert_eq!(out(&bench.run(&["alerts", "--ack", &id])), "1 acknowledged\n");
    assert_eq!(bench.run(&["alerts", "--ack", &id]).status.code(), Some(2));
    assert_eq!(out(&bench.run(&["alerts"])).lines().count(), 1);
    assert_eq!(out(&bench.run(&["alerts", "--ack-all"])), "1 acknowledged\n");
    assert!(out(&bench.run(&["alerts", "--all"])).contains("acknowledged"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fault_is_one_clear_line() {
    let bench = Bench::new().await;
    let key = |key: &str, args: &[&str]| {
        tokio::task::block_in_place(|| bench.command(args).env("STRIPE_API_KEY", key).output().unwrap())
    };
    for (output, code, word) in [
        (key("", &["backfill"]), 2, "this needs an API key"),
        (key("rk_live_abcDEF123456", &["backfill"]), 2, "is a live key and this is test mode"),
        (key("pk_test_abcDEF123456", &["backfill"]), 2, "publishable key"),
        (bench.run(&["backfill", "--account", "nobody"]), 2, "acct_"),
        (bench.run(&["serve", "--alert-webhook", "nowhere", "--addr", "127.0.0.1:0"]), 2, "http or https"),
    ] {
        let text = errors(&output);
        assert_eq!((output.status.code(), text.lines().count()), (Some(code), 1), "{text}");
        assert!(text.contains(word) && !text.contains("abcDEF"), "{text}");
    }
    bench.stripe.held().refused.insert(("acct_other".into(), "/v1/events".into()), 403);
    let forbidden = bench.run(&["backfill", "--account", "platform", "--account", "acct_other"]);
    assert_eq!((forbidden.status.code(), out(&forbidden).lines().count()), (Some(3), 1), "{}", errors(&forbidden));
    assert!(errors(&forbidden).contains("acct_other"), "{}", errors(&forbidden));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_names_the_missing_permission_and_the_account() {
    let bench = Bench::new().await;
    bench.run(&["backfill"]);
    bench.stripe.held().refused.insert((String::new(), "/v1/transfers".into()), 403);
    let checked = bench.run(&["doctor", "--json", "--addr", "127.0.0.1:0"]);
    let report: Value = serde_json::from_str(&out(&checked)).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let of =
        |name: &str| checks.iter().filter(|c| c["name"] == name).map(|c| c["text"].to_string()).collect::<Vec<_>>();
    assert!(of("api").iter().any(|t| t.contains("may not read Transfers")), "{report}");
    assert!(of("account")[0].contains("acct_small (DE)") && of("secret")[0].contains("none"), "{report}");
    assert!(of("reads")[0].starts_with("\"1 reads of Stripe's API"), "{report}");
    assert_eq!(checked.status.code(), Some(1), "no secret is bad");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_is_in_no_output_log_or_file() {
    let bench = Bench::new().await;
    bench.stripe.held().faults.extend([Fault::Status(429), Fault::Cut]);
    let mut seen = Vec::new();
    for args in [&["backfill", "-vv"][..], &["reconcile", "-vv", "--repair"], &["doctor", "-vv"]] {
        let output = bench.run(args);
        seen.extend([output.stdout, output.stderr]);
    }
    for file in std::fs::read_dir(bench.dir.path()).unwrap() {
        seen.extend(std::fs::read(file.unwrap().path()));
    }
    assert!(seen.iter().any(|bytes| String::from_utf8_lossy(bytes).contains("retrying a read")));
    for bytes in seen {
        assert!(!bytes.windows(12).any(|w| w == b"abcDEF123456"));
    }
}

/// The child ends within seconds even when nobody can end it in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_cli_ends_when_we_are_killed() {
    let Some(program) = stripe_cli() else { return };
    let bench = Bench::new().await;
    let mut serve = bench.command(&["serve", "--listen", "--addr", "127.0.0.1:0"]);
    let mut serve = serve.env("STRIPE_CLI", program).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let endpoint = first_line(serve.stdout.take().unwrap()).await;
    let endpoint = endpoint.trim().strip_prefix("listening on ").unwrap().to_owned();
    wait_until(|| !processes_with_argument(&endpoint).is_empty()).await;
    // It has said that it is connected: from now on it writes every two seconds.
    tokio::time::sleep(Duration::from_millis(500)).await;
    serve.kill().unwrap();
    serve.wait().unwrap();
    wait_until(|| processes_with_argument(&endpoint).is_empty()).await;
}

async fn first_line(out: std::process::ChildStdout) -> String {
    tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        line
    })
    .await
    .unwrap()
}

async fn wait_until(mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}
