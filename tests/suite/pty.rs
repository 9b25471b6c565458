//! The real binary in a real terminal: it starts, draws, quits, is suspended, shrinks to nothing, and gives the terminal
//! back even when it panics.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::support::http::post;
use crate::support::memory_dir;
use payout_ledger::stripe::signature::Secret;
use secrecy::SecretString;

const SECRET: &str = "whsec_pty_tests";

fn size_of(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

struct Terminal {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    screen: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(database: &Path, env: &[(&str, &str)]) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_payout-ledger"));
        command.args(["--addr", "127.0.0.1:0", "--db"]);
        command.arg(database);
        Self::run(command, database, env)
    }

    fn run(mut command: CommandBuilder, database: &Path, env: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: 30, cols: 110, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        command.env_clear();
        let home = database.parent().unwrap();
        command.cwd(home);
        command.env("HOME", home);
        for (name, value) in [("TERM", "xterm-256color"), ("STRIPE_WEBHOOK_SECRET", SECRET)] {
            command.env(name, value);
        }
        for (name, value) in env {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(size_of(30), size_of(110), 0)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (parser, bytes) = (screen.clone(), raw.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 8_192];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                parser.lock().unwrap().process(&buffer[..n]);
                bytes.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        let writer = pair.master.take_writer().unwrap();
        Self { master: pair.master, writer, child, screen, raw }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn until(&self, what: &str, done: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let text = self.text();
            if done(&text) {
                return text;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "never saw {what}:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    fn resize(&self, rows: u16, cols: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(size_of(rows), size_of(cols));
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
    }

    fn end(&mut self) -> u32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(began.elapsed() < Duration::from_secs(30), "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The terminal was given back: the alternate screen left, the cursor shown, paste mode off.
    fn given_back(&self) {
        std::thread::sleep(Duration::from_millis(100));
        let raw = String::from_utf8_lossy(&self.raw.lock().unwrap()).into_owned();
        let last = |text: &str| raw.rfind(text);
        assert!(last("\u{1b}[?1049l") > last("\u{1b}[?1049h"), "the alternate screen is left");
        assert!(last("\u{1b}[?25h") > last("\u{1b}[?25l"), "the cursor is shown");
        assert!(last("\u{1b}[?2004l") > last("\u{1b}[?2004h"), "bracketed paste is off");
    }

    fn endpoint(&self) -> std::net::SocketAddr {
        let text = self.until("the endpoint", |t| t.contains("http://127.0.0.1:"));
        let at = text.find("http://127.0.0.1:").unwrap() + "http://".len();
        let rest: String = text[at..].chars().take_while(|c| *c != '/').collect();
        rest.parse().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn send(addr: std::net::SocketAddr, id: &str) -> u16 {
    let body = format!(
        r#"{{"id":"{id}","object":"event","type":"charge.succeeded","created":1,"data":{{"object":{{"id":"ch_{id}",
        "object":"charge","amount":12345,"currency":"usd","captured":true,"status":"succeeded"}}}}}}"#
    );
    let secret = Secret::new(&SecretString::from(SECRET.to_owned())).unwrap();
    post(addr, &secret.sign(payout_ledger::daemon::now_ms() / 1_000, body.as_bytes()), body.as_bytes()).0
}

#[test]
fn it_starts_shows_what_comes_asks_and_quits() {
    let dir = memory_dir();
    let mut terminal = Terminal::start(&dir.path().join("ledger.db"), &[]);
    terminal.until("the first run", |t| t.contains("No payouts yet") && t.contains("stripe listen --all-snapshot"));
    let addr = terminal.endpoint();
    terminal.press("4");
    terminal.until("the empty list", |t| t.contains("No event has come yet"));
    assert_eq!(send(addr, "evt_1"), 200);
    terminal.until("the event", |t| t.contains("charge.succeeded") && t.contains("123.45 USD"));
    terminal.press("2");
    terminal.until("the balance", |t| t.contains("platform") && t.contains("123.45"));
    terminal.press("\u{1b}[200~q3\u{1b}[201~");
    terminal.press("q");
    terminal.until("the question", |t| t.contains("Quit?"));
    terminal.press("n");
    terminal.until("the screen again", |t| !t.contains("Quit?") && t.contains("Balances"));
    terminal.press("qy");
    assert_eq!(terminal.end(), 0);
    terminal.given_back();
}

#[test]
fn any_size_down_to_one_by_one_and_back() {
    let dir = memory_dir();
    let mut terminal = Terminal::start(&dir.path().join("ledger.db"), &[]);
    terminal.until("the first run", |t| t.contains("No payouts yet"));
    for (rows, cols) in [(24, 80), (15, 60), (6, 40), (2, 2), (1, 1), (1, 200), (60, 1)] {
        terminal.resize(rows, cols);
        std::thread::sleep(Duration::from_millis(60));
    }
    terminal.resize(6, 40);
    terminal.until("the summary", |t| t.contains("Needs 60x15"));
    terminal.resize(30, 110);
    terminal.until("the screen again", |t| t.contains("No payouts yet"));
    terminal.press("\u{3}\u{3}");
    assert_eq!(terminal.end(), 0);
    terminal.given_back();
}

#[test]
fn a_panic_of_the_screen_gives_the_terminal_back() {
    let dir = memory_dir();
    let mut terminal = Terminal::start(&dir.path().join("ledger.db"), &[("PAYOUT_LEDGER_PANIC", "screen")]);
    terminal.until("the first run", |t| t.contains("No payouts yet"));
    terminal.press("x");
    assert_ne!(terminal.end(), 0);
    terminal.given_back();
    assert!(terminal.text().contains("a panic on purpose"), "the message is readable:\n{}", terminal.text());
}

#[test]
fn a_panic_of_the_writer_is_shown_and_costs_no_answer() {
    let dir = memory_dir();
    let mut terminal = Terminal::start(&dir.path().join("ledger.db"), &[("PAYOUT_LEDGER_PANIC", "writer")]);
    terminal.until("the first run", |t| t.contains("No payouts yet"));
    assert_eq!(send(terminal.endpoint(), "evt_1"), 503, "nothing is claimed");
    terminal.until("the state", |t| t.contains("receiver stopped"));
    assert_eq!(send(terminal.endpoint(), "evt_2"), 503);
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    terminal.given_back();
}

/// A shell with job control runs it and, once it stopped, brings it back with `fg`.
#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    let dir = memory_dir();
    let database = dir.path().join("ledger.db");
    let mut shell = CommandBuilder::new("/bin/sh");
    let program = env!("CARGO_BIN_EXE_payout-ledger");
    shell.args(["-mc", &format!("'{program}' --addr 127.0.0.1:0 --db '{}'; echo it stopped; fg", database.display())]);
    let mut terminal = Terminal::run(shell, &database, &[]);
    terminal.until("the first run", |t| t.contains("No payouts yet"));
    terminal.press("\u{1a}");
    let began = Instant::now();
    let entered = || {
        let raw = String::from_utf8_lossy(&terminal.raw.lock().unwrap()).into_owned();
        let stopped = raw.find("it stopped");
        (raw.matches("\u{1b}[?1049h").count(), stopped.is_some() && raw.find("\u{1b}[?1049l") < stopped)
    };
    while entered() != (2, true) {
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}\n{}", entered(), terminal.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    terminal.until("the screen again", |t| t.contains("No payouts yet"));
    terminal.press("qy");
    assert_eq!(terminal.end(), 0);
    terminal.given_back();
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let dir = memory_dir();
    let output = crate::support::program::run(&dir.path().join("ledger.db"), &["--addr", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(3));
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(line.contains("needs a terminal") && line.lines().count() == 1, "{line}");
}

#[test]
fn the_lab_is_walked_step_by_step_and_back() {
    let dir = memory_dir();
    let mut terminal = Terminal::start(&dir.path().join("ledger.db"), &[]);
    terminal.until("the first run", |t| t.contains("No payouts yet"));
    terminal.press("6");
    terminal.until("the lab", |t| t.contains("Ordering Lab") && t.contains("only forwards (ours)"));
    terminal.until("the end of an order", |t| t.contains("step 5 of 5"));
    terminal.press("\u{1b}[D");
    terminal.until("the step before", |t| t.contains("step 4 of 5"));
    terminal.press("\u{1b}[C");
    terminal.until("the end again", |t| t.contains("step 5 of 5"));
    let scenario = |text: &str| text.lines().find(|l| l.contains("scenario")).unwrap_or_default().to_owned();
    let now = scenario(&terminal.text());
    terminal.press("s");
    terminal.until("another scenario", |t| scenario(t) != now && t.contains("only forwards (ours)"));
    terminal.press("t");
    terminal.until("a rule switched off", |t| !t.contains("all our rules are on"));
    terminal.press("qy");
    assert_eq!(terminal.end(), 0);
    terminal.given_back();
}
