//! The command line as scripts rely on it: shapes of JSON, exit codes, one line for every error.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::bodies::body;
use crate::support::memory_dir;
use crate::support::program::{program, run, status, verified};
use payout_ledger::stripe::simulate::objects::{self, Payout};

fn filled() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = memory_dir();
    let database = dir.path().join("ledger.db");
    let at = 1_770_000_000;
    let payout = Payout::new("po_1", 3_000, "usd", at);
    let lines = [
        body("evt_1", "charge.succeeded", "", at, objects::charge("ch_1", 5_000, "usd", at)),
        body("evt_2", "payout.paid", "", at + 2, payout.with_status("paid", None).json()),
        body("evt_3", "payout.created", "", at + 1, payout.json()),
        body("evt_4", "payout.created", "acct_x", at, Payout::new("po_2", 700, "jpy", at).json()),
        body(
            "evt_5",
            "payout.updated",
            "",
            at,
            Payout::new("po_3", 1, "usd", at).with_status("teleported", None).json(),
        ),
    ];
    let file = dir.path().join("events.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let output = run(&database, &["import", file.to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "5 stored, 0 repeats, 0 refused\n");
    (dir, database)
}

fn json_lines(output: &[u8]) -> Vec<Value> {
    output.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect()
}

/// Ends with this code and says exactly one line, which has this in it.
fn fails(output: &std::process::Output, code: i32, says: &str) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(says) && text.trim_end().lines().count() == 1, "{text}");
}

#[test]
fn status_has_the_contracts_shape() {
    let (_dir, database) = filled();
    let status = status(&database);
    assert_eq!(status["mode"], "test");
    let payout = status["payouts"].as_array().unwrap().iter().find(|p| p["id"] == "po_1").unwrap().clone();
    let mut keys: Vec<&str> = payout.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        ["account", "amount", "arrival_date", "currency", "events", "failure_code", "id", "posted", "status"]
    );
    assert_eq!(
        (payout["status"].as_str(), payout["posted"].as_bool(), payout["events"].as_i64()),
        (Some("paid"), Some(true), Some(2))
    );
    let balance = &status["balances"].as_array().unwrap().iter().find(|b| b["account"] == "platform").unwrap().clone();
    for (field, value) in [
        ("available", 2_000),
        ("owed", 0),
        ("projected", 2_000),
        ("in_flight", 0),
        ("paid_out", 3_000),
        ("returned", 0),
    ] {
        assert_eq!(balance[field], value, "{field}");
    }
    for state in ["received", "waiting", "stuck", "applied", "skipped", "ignored", "dismissed"] {
        assert!(status["inbox"][state].is_i64(), "{state}");
    }
    let stuck = &status["stuck"][0];
    assert_eq!(
        (stuck["id"].as_str(), stuck["type"].as_str(), stuck["attempts"].as_i64()),
        (Some("evt_5"), Some("payout.updated"), Some(1))
    );
    assert!(stuck["error"].as_str().unwrap().contains("teleported") && stuck["needs"].is_null());
    verified(&database);
}

#[test]
fn lists_print_json_lines_csv_and_plain_rows() {
    let (_dir, database) = filled();
    let events = json_lines(&run(&database, &["events", "--json"]).stdout);
    assert_eq!(events.len(), 5);
    assert_eq!((events[0]["id"].as_str(), events[4]["id"].as_str()), (Some("evt_5"), Some("evt_1")), "newest first");
    assert_eq!(
        json_lines(&run(&database, &["events", "--json", "--limit", "2", "--type", "payout.*"]).stdout).len(),
        2
    );
    let csv = String::from_utf8(run(&database, &["payouts", "--csv"]).stdout).unwrap();
    assert!(csv.starts_with("STATUS,AMOUNT,PAYOUT") && csv.contains("paid,30.00 USD,po_1"), "{csv}");
    let plain = String::from_utf8(run(&database, &["balances"]).stdout).unwrap();
    assert!(plain.lines().any(|l| l.starts_with("platform\tUSD\t20.00 USD")), "{plain}");
    let journal = json_lines(&run(&database, &["journal", "--json", "--object", "po_1"]).stdout);
    assert_eq!(
        (journal.len(), journal[0]["leg"].as_str(), journal[0]["amount"].as_i64()),
        (1, Some("out"), Some(3_000))
    );
    let bodies = String::from_utf8(run(&database, &["events", "--bodies"]).stdout).unwrap();
    assert_eq!(bodies.lines().count(), 5);
    let shown: Value = serde_json::from_slice(&run(&database, &["inbox", "show", "evt_4"]).stdout).unwrap();
    assert_eq!((shown["state"].as_str(), shown["needs"]["amount"].as_i64()), (Some("waiting"), Some(700)));
}

#[test]
fn the_inbox_is_settled_from_the_command_line() {
    let (_dir, database) = filled();
    let deed = |args: &[&str]| String::from_utf8(run(&database, args).stdout).unwrap();
    assert!(deed(&["inbox", "retry", "evt_4", "--dry-run"]).contains("waiting → waiting"));
    assert!(deed(&["inbox", "dismiss", "evt_5", "--reason", "a test"]).contains("stuck → dismissed"));
    assert!(deed(&["inbox", "restore", "evt_5"]).contains("dismissed → stuck"));
    assert!(deed(&["open-balance", "acct_x", "jpy", "1000"]).contains("1,000 JPY"));
    fails(&run(&database, &["open-balance", "acct_x", "jpy", "1000"]), 1, "already opened");
    assert_eq!(status(&database)["inbox"]["waiting"], 0);
    fails(&run(&database, &["inbox", "retry", "evt_nowhere"]), 2, "not here");
    fails(&run(&database, &["inbox", "dismiss", "--reason", "x"]), 2, "say which");
    assert!(deed(&["inbox", "dismiss", "--all-stuck", "--reason", "all"]).contains("evt_5"));
    verified(&database);
}

#[test]
fn what_goes_wrong_is_one_line_and_an_exit_code() {
    let dir = memory_dir();
    let database = dir.path().join("ledger.db");
    fails(&run(&database, &["status"]), 3, "there is no database");
    fails(&run(&database, &["import", "/nowhere/at/all"]), 2, "cannot open");
    fails(&run(&database, &["open-balance", "me", "usd", "5"]), 2, "acct_");
    let other = dir.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    fails(&run(&other, &["status"]), 3, "not a Payout Ledger database");
    std::fs::write(dir.path().join("bad.toml"), "adress = \"x\"").unwrap();
    let config = dir.path().join("bad.toml");
    fails(&run(&database, &["--config", config.to_str().unwrap(), "status"]), 2, "unknown field");
    let (_dir, filled) = filled();
    let conn = rusqlite::Connection::open(&filled).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    fails(&run(&filled, &["status"]), 3, "newer version");
    assert_eq!(run(&database, &["events", "--state", "lost"]).status.code(), Some(2));
    assert_eq!(run(&database, &["--sweep-interval", "soon", "status"]).status.code(), Some(2));
}

#[test]
fn a_broken_invariant_is_found() {
    let (_dir, database) = filled();
    let conn = rusqlite::Connection::open(&database).unwrap();
    conn.execute_batch("UPDATE balances SET funds = funds + 1 WHERE account = 'platform'; DELETE FROM pending_legs")
        .unwrap();
    let output = run(&database, &["verify"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("not the sum of its legs") && text.contains("without legs"), "{text}");
}

#[test]
fn noisy_input_a_reader_that_leaves_and_secrets_that_stay_secret() {
    let (dir, database) = filled();
    let mut import = program(&database);
    let mut child = import
        .args(["import", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let noisy = "Ready! secret\n2026 --> payout.paid [evt_9]\n{\"id\":\"evt_9\",\"type\":\"a.b\",\"created\":1,\"data\":{\"object\":{}}}\n{\"no\":\"id\"}\n";
    child.stdin.take().unwrap().write_all(noisy.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json_lines(&output.stdout)[0], serde_json::json!({"stored": 1, "repeats": 0, "refused": 1}));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 4: not stored"));
    let mut list = program(&database)
        .args(["events", "--limit", "5"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(list.stdout.take());
    let output = list.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "a reader that leaves is no failure");
    let secret = "whsec_never_to_be_seen_anywhere";
    let mut serve = crate::support::program::Serve::start(&database, secret, &["-vv"]);
    let body = b"{}";
    crate::support::http::post(serve.addr, "t=1,v1=00", body);
    serve.child.kill().unwrap();
    serve.child.wait().unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|w| w == secret.as_bytes()));
    }
    let output = program(&database).args(["--secret", secret, "--addr", "nonsense", "status"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains(secret));
    let help = String::from_utf8(
        program(&database).env("STRIPE_WEBHOOK_SECRET", secret).arg("--help").output().unwrap().stdout,
    )
    .unwrap();
    assert!(!help.contains(secret));
}

#[test]
fn the_demo_ends_as_it_says_and_manuals_are_printed() {
    let dir = memory_dir();
    let database = dir.path().join("unused.db");
    for (scenario, stuck) in [("out_of_order", 0), ("returned", 0), ("duplicate", 0), ("stuck", 1)] {
        let output = run(&database, &["demo", scenario, "--headless", "--json"]);
        let end: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(end["stuck"].as_array().unwrap().len(), stuck, "{scenario}");
    }
    assert!(!database.exists(), "a demo leaves nothing behind");
    assert!(String::from_utf8_lossy(&run(&database, &["man"]).stdout).contains(".TH"));
    assert!(String::from_utf8_lossy(&run(&database, &["completions", "bash"]).stdout).contains("payout-ledger"));
}
