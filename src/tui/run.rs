//! The event loop: sleeps until a key, a change or the clock says that there is something to draw.

use std::time::{Duration, Instant};

use crossterm::event::EventStream;
use futures::StreamExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::app::{App, Effect};
use super::notices::Tone;
use super::terminal::Screen;
use crate::daemon::stripe_side::{Command, Status};

/// At most thirty pictures a second.
const FRAME: Duration = Duration::from_millis(33);
/// How often another process's database is asked whether it changed, and our threads whether they live.
const POLL: Duration = Duration::from_millis(250);

/// What the loop asks of the surroundings.
pub trait Around {
    /// Whether a thread of the daemon ended by itself.
    fn is_broken(&self) -> bool;
    /// How the Stripe side does; none when there is none.
    fn stripe(&self) -> Option<Status>;
    /// Whether new alerts are also shown as desktop notices.
    fn notifies(&self) -> bool {
        false
    }
    /// Tells the Stripe side; says what happens now.
    fn order(&self, command: Command) -> Result<&'static str, String>;
}

/// Runs until the person quits or a signal comes. `Err` is one line.
pub async fn run(app: &mut App, changes: Option<watch::Receiver<u64>>, around: &dyn Around) -> Result<(), String> {
    let mut screen = Screen::enter()?;
    let failed = |e: std::io::Error| format!("the terminal failed: {e}");
    let mut keys = EventStream::new();
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let mut changes = changes;
    let mut poll = tokio::time::interval(POLL);
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    app.refresh(now());
    let (mut dirty, mut stale, mut drawn, mut title) = (true, false, Instant::now() - FRAME, String::new());
    loop {
        if (dirty || stale) && drawn.elapsed() >= FRAME {
            if std::mem::take(&mut stale) {
                let before = app.alerts();
                app.refresh(now());
                if around.notifies() && app.alerts() > before {
                    let newest = app.data.reader.alerts(1).unwrap_or_default();
                    newest.iter().for_each(|row| screen.notify(&row.alert.text));
                }
            }
            drawn = Instant::now();
            dirty = false;
            let at = now();
            screen.terminal.draw(|frame| app.draw(frame.area(), frame.buffer_mut(), at)).map_err(failed)?;
            if app.title() != title {
                title = app.title();
                screen.title(&title);
            }
        }
        let wait = if dirty || stale {
            FRAME.saturating_sub(drawn.elapsed())
        } else {
            let next = app.next_tick(now()).map(|at| at.saturating_sub(now()).max(1));
            next.and_then(|ms| u64::try_from(ms).ok()).map_or(Duration::from_secs(3_600), Duration::from_millis)
        };
        tokio::select! {
            key = keys.next() => {
                let Some(Ok(event)) = key else { return Ok(()) };
                dirty = true;
                match app.input(&event, now()) {
                    Effect::None => {}
                    Effect::Quit => return Ok(()),
                    Effect::Suspend => screen.suspend().map_err(failed)?,
                    Effect::Repaint => screen.repaint().map_err(failed)?,
                    Effect::Copy(text) => copy(&text),
                    Effect::Stripe(command) => match around.order(command) {
                        Ok(text) => app.say(Tone::Done, text),
                        Err(why) => app.say(Tone::Error, why),
                    },
                }
            }
            changed = changed(&mut changes) => {
                if changed {
                    stale = true;
                } else {
                    changes = None;
                }
            }
            _ = poll.tick() => {
                let (broken, stripe) = (around.is_broken(), around.stripe());
                let link = &mut app.data.link;
                if broken != link.broken || stripe != link.stripe {
                    let before = std::mem::replace(&mut link.stripe, stripe.clone());
                    link.broken = broken;
                    app.stripe_news(before, stripe);
                    dirty = true;
                }
                // Another process may have written, or acted: its commits do not reach our signal.
                stale |= app.data.reader.changed().unwrap_or(false);
            }
            _ = terminate.recv() => return Ok(()),
            _ = hangup.recv() => return Ok(()),
            () = tokio::time::sleep(wait) => dirty = true,
        }
    }
}

async fn changed(changes: &mut Option<watch::Receiver<u64>>) -> bool {
    match changes {
        Some(changes) => changes.changed().await.is_ok(),
        None => std::future::pending().await,
    }
}

fn now() -> i64 {
    crate::daemon::now_ms()
}

/// Through the terminal (OSC 52): works over ssh too, where the terminal allows it.
fn copy(text: &str) {
    let command = crossterm::clipboard::CopyToClipboard::to_clipboard_from(text);
    let _ = crossterm::execute!(std::io::stdout(), command);
}
