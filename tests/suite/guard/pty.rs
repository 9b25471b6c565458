//! The real screen in a real terminal: a refused order, and a person who presses retry twice.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::{Bench, runtime};
use payout_ledger::domain::transfer::intent::State;

/// How long anything may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal with the program in it.
struct Terminal {
    screen: Arc<Mutex<vt100::Parser>>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Terminal {
    fn start(bench: &Bench) -> Self {
        let pty =
            native_pty_system().openpty(PtySize { rows: 35, cols: 120, pixel_width: 0, pixel_height: 0 }).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_payout-ledger"));
        command.args(["--addr", "127.0.0.1:0", "--no-backfill", "--allow-unsigned", "--api-base", &bench.stripe.base]);
        command.arg("--db");
        command.arg(&bench.path);
        command.env("STRIPE_API_KEY", "rk_test_guardGUARD123");
        command.env("TERM", "xterm-256color");
        command.env("HOME", bench.path.parent().unwrap());
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        let (rows, columns) = (NonZeroU16::new(35).unwrap(), NonZeroU16::new(120).unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (mut output, shown) = (pty.master.try_clone_reader().unwrap(), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..n]);
            }
        });
        Self { screen, keys: pty.master.take_writer().unwrap(), child, _master: pty.master }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn shows(&self, text: &str) -> bool {
        self.screen.lock().unwrap().screen().contents().contains(text)
    }

    fn wait_for(&self, text: &str) {
        let started = Instant::now();
        while !self.shows(text) {
            assert!(started.elapsed() < PATIENCE, "no {text:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_double_press_on_the_screen_pays_once() {
    let bench = Bench::new(71);
    bench.create("order-5");
    bench.stripe.refuse(true);
    runtime().block_on(bench.settle());
    assert_eq!(bench.state("order-5"), State::Rejected);
    bench.stripe.refuse(false);
    let mut terminal = Terminal::start(&bench);
    terminal.wait_for("PAYOUT LEDGER");
    terminal.press("5");
    terminal.wait_for("order-5");
    terminal.wait_for("rejected");
    terminal.press("ryry");
    terminal.wait_for("✓ sent");
    // What it says goes away after some seconds, which a loaded machine may sleep through: ask until it is seen.
    let started = Instant::now();
    while !terminal.shows("it is paid") {
        assert!(started.elapsed() < PATIENCE, "it does not say that it is paid");
        terminal.press("r");
        std::thread::sleep(Duration::from_millis(300));
    }
    assert_eq!((bench.stripe.of("order-5").len(), bench.stripe.posts()), (1, 2));
    assert_eq!(bench.store().find("order-5").unwrap().unwrap().intent.version, 1);
    terminal.press("qq");
    let started = Instant::now();
    loop {
        match terminal.child.try_wait().unwrap() {
            Some(status) => break assert!(status.success()),
            None => assert!(started.elapsed() < PATIENCE, "it does not quit"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
