//! The real binary as a child: `serve` on any port, and commands on its database.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The binary under test, with nothing of the developer's own surroundings.
pub fn program(database: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_payout-ledger"));
    command.arg("--db").arg(database).env_clear().env("HOME", database.parent().unwrap()).env("USER", "tester");
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// A running `serve`; killed when dropped.
pub struct Serve {
    pub child: Child,
    pub addr: SocketAddr,
}

impl Serve {
    /// Starts it with this secret and waits for its first line.
    pub fn start(database: &Path, secret: &str, more: &[&str]) -> Self {
        let mut command = program(database);
        command.args(["serve", "--addr", "127.0.0.1:0"]).args(more).env("STRIPE_WEBHOOK_SECRET", secret);
        listening(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; whether it ended well.
    pub fn stop(mut self) -> bool {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().success()
    }
}

/// A child whose first line says where it listens.
pub fn listening(mut child: Child) -> Serve {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let addr = line.trim().strip_prefix("listening on http://").and_then(|l| l.strip_suffix("/webhook"));
    let addr = addr.unwrap_or_else(|| panic!("first line {line:?}")).parse().unwrap();
    Serve { child, addr }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end.
pub fn run(database: &Path, args: &[&str]) -> Output {
    program(database).args(args).output().unwrap()
}

/// `verify` passes, or the test shows what it found.
pub fn verified(database: &Path) {
    let output = run(database, &["verify"]);
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// `status --json`.
pub fn status(database: &Path) -> serde_json::Value {
    serde_json::from_slice(&run(database, &["status", "--json"]).stdout).unwrap()
}
