//! The terminal: taken over, and given back whatever happens.

use std::io::{self, IsTerminal, Stdout, Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::text::clean;

/// Whether the terminal is ours now, so that it is given back exactly once.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while the screen runs.
pub struct Screen {
    /// To draw on.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over. `Err` is one line that says what to do.
    pub fn enter() -> Result<Self, String> {
        if !(stdout().is_terminal() && io::stdin().is_terminal()) {
            return Err(
                "the monitor needs a terminal: use `payout-ledger serve` without one, and `status` to look".to_owned()
            );
        }
        if std::env::var_os("TERM").is_some_and(|t| t == "dumb") {
            return Err("this terminal cannot draw (TERM=dumb): use `payout-ledger status`".to_owned());
        }
        restore_on_panic();
        take().map_err(|e| format!("cannot use this terminal: {e}"))?;
        let terminal =
            Terminal::new(CrosstermBackend::new(stdout())).map_err(|e| format!("cannot use this terminal: {e}"))?;
        Ok(Self { terminal })
    }

    /// Draws everything anew, after somebody else wrote on the terminal.
    pub fn repaint(&mut self) -> io::Result<()> {
        execute!(stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(())
    }

    /// Ctrl-z: gives the terminal back, stops, and takes it again when continued.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        take()?;
        self.repaint()
    }

    /// A desktop notice, by terminals that know OSC 9; others ignore it.
    pub fn notify(&self, text: &str) {
        let _ = execute!(stdout(), Print(format!("\x1b]9;{}\x07", clean(text))));
    }

    /// Sets the window's title.
    pub fn title(&self, title: &str) {
        let _ = execute!(stdout(), SetTitle(title));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)
}

/// Gives the terminal back. Failing halfway it still does the rest: a raw terminal is worse than a wrong title.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), DisableBracketedPaste);
        let _ = execute!(stdout(), SetTitle(""));
        let _ = execute!(stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
        let _ = stdout().flush();
    }
}

/// A panic's message must land on a terminal that shows it.
fn restore_on_panic() {
    static HOOKED: AtomicBool = AtomicBool::new(false);
    if HOOKED.swap(true, Ordering::SeqCst) {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // Only the screen's own panic ends the screen; a daemon thread's is shown in the header.
        if std::thread::current().name() == Some("main") {
            give_back();
            before(info);
        } else {
            tracing::error!("a thread panicked: {info}");
        }
    }));
}
