//! The supervised Stripe CLI: every state, with a shell script in its place.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use payout_ledger::stripe::cli::{Cli, CliProblem};
use payout_ledger::stripe::client::API_BASE;
use payout_ledger::stripe::key::ApiKey;
use payout_ledger::stripe::listen::{ListenState, ListenStatus, Listener};
use secrecy::ExposeSecret;

/// A `stripe` that knows the flag, prints a secret, and then does what `listen` says.
pub fn script(dir: &Path, listen: &str) -> Cli {
    let program = dir.join("stripe");
    let text = format!(
        "#!/bin/sh\ncd {}\ncase \"$*\" in\n--version) echo stripe version 9.9.9;;\n'listen --help') echo --all-snapshot;;\n\
         *--print-secret*) echo whsec_of_the_script;;\n*) echo \"$*\" > args; env > environment\n{listen}\n;;\nesac\n",
        dir.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let key = ApiKey::parse("rk_test_abcDEF123456").ok();
    Cli { program, key, api_base: API_BASE.to_owned(), live: false }
}

async fn until(listener: &Listener, what: impl FnMut(&ListenStatus) -> bool) -> ListenStatus {
    let mut watch = listener.watch();
    let found = tokio::time::timeout(Duration::from_secs(20), watch.wait_for(what)).await;
    found.unwrap_or_else(|_| panic!("still {:?}", listener.status())).unwrap().clone()
}

fn start(cli: Cli) -> Listener {
    Listener::start(cli, "http://127.0.0.1:1/webhook".to_owned(), |_| ())
}

pub const CONNECTED: &str = "echo 'time=\"x\" level=debug msg=\"Connected!\" prefix=p' >&2";
pub const DISCONNECTED: &str = "echo 'time=\"x\" level=debug msg=\"Disconnected from Stripe\" prefix=p' >&2";

#[tokio::test]
async fn it_gets_ready_counts_and_ends_with_its_whole_group() {
    let dir = tempfile::tempdir().unwrap();
    let cli = script(
        dir.path(),
        &format!(
            "{CONNECTED}\necho '2026-01-01 00:00:00   --> payout.paid [evt_1]'\n\
             echo '2026-01-01 00:00:00  <--  [503] POST http://x [evt_1]'\n{DISCONNECTED}\n{CONNECTED}\n\
             sleep 600 & echo $! > pid.new; mv pid.new pid; wait"
        ),
    );
    let secret = Arc::new(Mutex::new(None));
    let heard = secret.clone();
    let listener = Listener::start(cli, "http://127.0.0.1:1/webhook".to_owned(), move |s| {
        *heard.lock().unwrap() = Some(s);
    });
    let status = until(&listener, |s| s.gaps == 1 && s.lost == 1).await;
    assert_eq!((status.state, status.forwarded, status.version.as_deref()), (ListenState::Ready, 1, Some("9.9.9")));
    assert_eq!(secret.lock().unwrap().as_ref().unwrap().expose_secret(), "whsec_of_the_script");
    let args = std::fs::read_to_string(dir.path().join("args")).unwrap();
    assert_eq!(
        args.trim(),
        "listen --skip-update --log-level debug --all-snapshot --forward-to http://127.0.0.1:1/webhook"
    );
    let environment = std::fs::read_to_string(dir.path().join("environment")).unwrap();
    assert!(environment.contains("STRIPE_API_KEY=rk_test_abcDEF123456"));
    let pid_file = dir.path().join("pid");
    wait_until(|| pid_file.exists()).await;
    let pid: i32 = std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
    let watch = listener.watch();
    listener.stop().await;
    assert_eq!(watch.borrow().state, ListenState::Stopped);
    wait_until(|| !is_running(pid)).await;
}

#[tokio::test]
async fn dropping_the_supervisor_ends_the_child() {
    let dir = tempfile::tempdir().unwrap();
    let cli = script(dir.path(), &format!("echo $$ > pid\n{CONNECTED}\nexec sleep 600"));
    let listener = start(cli);
    until(&listener, |s| s.state == ListenState::Ready).await;
    let pid: i32 = std::fs::read_to_string(dir.path().join("pid")).unwrap().trim().parse().unwrap();
    drop(listener);
    wait_until(|| !is_running(pid)).await;
}

#[tokio::test]
async fn a_child_that_dies_is_started_again() {
    let dir = tempfile::tempdir().unwrap();
    let cli = script(dir.path(), &format!("{CONNECTED}\n[ -e again ] && exec sleep 600\ntouch again\nexit 7"));
    let listener = start(cli);
    let status = until(&listener, |s| matches!(s.state, ListenState::Reconnecting(_))).await;
    assert!(matches!(&status.state, ListenState::Reconnecting(why) if why.contains('7')), "{status:?}");
    assert_eq!(until(&listener, |s| s.state == ListenState::Ready).await.gaps, 1);
}

#[tokio::test]
async fn what_waiting_cannot_mend_is_said_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let none = Cli { program: dir.path().join("none"), ..script(dir.path(), "") };
    let status = until(&start(none), |s| s.state != ListenState::Starting).await;
    assert_eq!(status.state, ListenState::Unusable(CliProblem::NotInstalled));

    let old = script(dir.path(), "");
    std::fs::write(&old.program, "#!/bin/sh\n[ \"$1\" = --version ] && echo stripe version 1.2.3\n").unwrap();
    let status = until(&start(old), |s| s.state != ListenState::Starting).await;
    assert_eq!(status.state, ListenState::Unusable(CliProblem::TooOld("1.2.3".into())));

    let out = script(dir.path(), "echo 'You have not configured API keys yet' >&2; exit 1");
    let status = until(&start(out), |s| s.state != ListenState::Starting).await;
    assert_eq!(status.state, ListenState::Unusable(CliProblem::NotLoggedIn(String::new())));
}

async fn wait_until(mut done: impl FnMut() -> bool) {
    for _ in 0..400 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited ten seconds");
}

/// Whether the process lives; one that ended and waits to be reaped does not count.
fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z') && !rest.is_empty())
}
