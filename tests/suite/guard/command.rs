//! The `transfer` command as people and scripts run it.

use std::process::{Command, Output};

use serde_json::Value;

use super::stripe::Faults;
use super::{Bench, order};

fn command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_payout-ledger"));
    command.env_remove("STRIPE_WEBHOOK_SECRET").env("STRIPE_API_KEY", "rk_test_guardGUARD123");
    command.env("HOME", bench.path.parent().unwrap()).arg("transfer").args(args);
    command.arg("--db").arg(&bench.path).args(["--api-base", &bench.stripe.base]);
    command
}

fn run(bench: &Bench, args: &[&str]) -> Output {
    command(bench, args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

const ORDER: [&str; 9] =
    ["create", "--order", "o-77", "--amount", "4200", "--currency", "eur", "--destination", "acct_shopOne"];

#[test]
fn a_double_press_by_hand_is_one_transfer() {
    let bench = Bench::new(31);
    let pressed: Vec<_> = (0..2).map(|_| command(&bench, &ORDER).arg("--json").spawn().unwrap()).collect();
    for mut child in pressed {
        assert!(child.wait().unwrap().success());
    }
    let again = json(&command(&bench, &ORDER).arg("--json").output().unwrap());
    assert_eq!((again["state"].as_str(), again["idempotency_key"].as_str()), (Some("sent"), Some("transfer-o-77-v0")));
    assert_eq!((bench.stripe.of("o-77").len(), bench.stripe.posts()), (1, 1));
    let shown = json(&run(&bench, &["show", "o-77", "--json"]));
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(shown["attempts"][0]["request_id"], "req_200x");
}

#[test]
fn bad_input_is_one_clear_line_and_nothing_is_stored() {
    let bench = Bench::new(32);
    let with = |changes: &[(usize, &'static str)]| {
        let mut args = ORDER;
        changes.iter().for_each(|(at, value)| args[*at] = value);
        run(&bench, &args)
    };
    let cases: [(&[(usize, &'static str)], &str); 7] = [
        (&[(4, "0")], "greater than zero"),
        (&[(4, "-5")], "greater than zero"),
        (&[(4, "42.00")], "smallest unit"),
        (&[(4, "550"), (6, "isk")], "multiple of 100"),
        (&[(4, "5124"), (6, "kwd")], "last digit must be 0"),
        (&[(6, "zzz")], "none that Stripe supports"),
        (&[(8, "seller")], "acct_"),
    ];
    for (changes, says) in cases {
        let output = with(changes);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(says) && stderr(&output).lines().count() == 1, "{}", stderr(&output));
    }
    let no_key = command(&bench, &ORDER).env_remove("STRIPE_API_KEY").output().unwrap();
    assert!(no_key.status.code() == Some(2) && stderr(&no_key).contains("STRIPE_API_KEY"));
    let live_key = command(&bench, &ORDER).env("STRIPE_API_KEY", "rk_live_guardGUARD123").output().unwrap();
    assert!(live_key.status.code() == Some(2) && stderr(&live_key).contains("live key and this is test mode"));
    let mut live = command(&bench, &ORDER);
    live.env("STRIPE_API_KEY", "rk_live_guardGUARD123").args(["--mode", "live"]);
    let unconfirmed = live.output().unwrap();
    assert!(stderr(&unconfirmed).contains("--confirm-amount 4200"), "{}", stderr(&unconfirmed));
    let mistyped = live.args(["--confirm-amount", "4201"]).output().unwrap();
    assert!(stderr(&mistyped).contains("is 4201, not 4200"));
    assert_eq!(bench.stripe.posts(), 0);
    assert!(bench.store().find("o-77").unwrap().is_none());
}

#[test]
fn other_fields_are_another_order() {
    let bench = Bench::new(33);
    assert!(command(&bench, &ORDER).arg("--queue").status().unwrap().success());
    let mut args = ORDER;
    args[4] = "4300";
    let output = run(&bench, &args);
    assert!(
        output.status.code() == Some(2) && stderr(&output).contains("amount 4200, not 4300"),
        "{}",
        stderr(&output)
    );
    assert_eq!(bench.store().find("o-77").unwrap().unwrap().order, order("o-77"));
    let output = run(&bench, &["cancel", "o-77", "--reason", "typo"]);
    assert!(output.status.success());
    let output = run(&bench, &["retry", "o-77"]);
    assert!(output.status.code() == Some(1) && stderr(&output).contains("canceled"));
    assert_eq!(bench.stripe.posts(), 0);
}

#[test]
fn eight_commands_retry_a_refused_order_at_once() {
    let bench = Bench::new(34);
    bench.stripe.refuse(true);
    let output = run(&bench, &ORDER);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("new key v1"), "{}", stderr(&output));
    bench.stripe.refuse(false);
    let children: Vec<_> = (0..8).map(|_| command(&bench, &["retry", "o-77"]).spawn().unwrap()).collect();
    for mut child in children {
        child.wait().unwrap();
    }
    let shown = json(&run(&bench, &["show", "o-77", "--json"]));
    assert_eq!((shown["order"]["state"].as_str(), shown["order"]["version"].as_i64()), (Some("sent"), Some(1)));
    assert_eq!((bench.stripe.of("o-77").len(), bench.stripe.posts()), (1, 2));
}

#[test]
fn a_lost_answer_is_waited_out_and_adopted() {
    let bench = Bench::new(35);
    bench.stripe.suffer(Faults { lost_after: 100, ..Faults::default() });
    let sent = json(&command(&bench, &ORDER).arg("--json").output().unwrap());
    assert_eq!((sent["state"].as_str(), sent["known_from"].as_str()), (Some("adopted"), Some("lookup")));
    assert_eq!(bench.stripe.posts(), 1);
}

#[test]
fn an_import_is_all_or_nothing() {
    let bench = Bench::new(36);
    let file = bench.path.with_file_name("orders.csv");
    let head = "order,amount,currency,destination\n";
    std::fs::write(
        &file,
        format!("{head}i-1,100,eur,acct_a1\ni-2,200,eur,acct_a1\ni-1,100,eur,acct_a1\ni-2,201,eur,acct_a1\n"),
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let output = run(&bench, &["import", file]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("line 5: order i-2"), "{}", stderr(&output));
    assert!(bench.store().find("i-1").unwrap().is_none());
    std::fs::write(file, format!("{head}i-1,100,eur,acct_a1\ni-2,200,eur,acct_a1\ni-1,100,eur,acct_a1\n")).unwrap();
    let output = run(&bench, &["import", file, "--json"]);
    assert!(output.status.success() && output.stdout.iter().filter(|b| **b == b'\n').count() == 2);
    assert_eq!(bench.stripe.posts(), 2);
    let mut status = Command::new(env!("CARGO_BIN_EXE_payout-ledger"));
    let status = status.args(["status", "--json", "--db"]).arg(&bench.path).env("HOME", bench.path.parent().unwrap());
    assert_eq!(json(&status.output().unwrap())["transfers"], serde_json::json!({ "sent": 2 }));
    let listed = run(&bench, &["list", "--state", "sent"]);
    assert_eq!(String::from_utf8(listed.stdout).unwrap().lines().count(), 2);
    assert!(String::from_utf8(run(&bench, &["send"]).stdout).unwrap().contains("nothing is due"));
}

/// A process that does not outlive its test.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serve_sends_what_others_queued() {
    let bench = Bench::new(37);
    let mut serve = Command::new(env!("CARGO_BIN_EXE_payout-ledger"));
    serve.env("STRIPE_API_KEY", "rk_test_guardGUARD123").env("HOME", bench.path.parent().unwrap());
    serve.args(["serve", "--addr", "127.0.0.1:0", "--no-backfill", "--allow-unsigned", "--job-retention", "1h"]);
    serve.arg("--db").arg(&bench.path).args(["--api-base", &bench.stripe.base]);
    let mut serve = Running(serve.stdout(std::process::Stdio::null()).spawn().unwrap());
    assert!(command(&bench, &ORDER).arg("--queue").env_remove("STRIPE_API_KEY").status().unwrap().success());
    let started = std::time::Instant::now();
    while !bench.state("o-77").is_paid() {
        assert!(started.elapsed().as_secs() < 60, "it is {}", bench.state("o-77"));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let pid = rustix::process::Pid::from_child(&serve.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(serve.0.wait().unwrap().success());
    assert_eq!(bench.stripe.of("o-77").len(), 1);
}
