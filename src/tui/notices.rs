//! What the program said: toasts above the footer for a while, all of them on `N`.

use std::collections::VecDeque;

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It worked. Shown for three seconds.
    Done,
    /// Look at this. Shown for six seconds.
    Warn,
    /// It did not work. Stays until a key is pressed.
    Error,
}

/// One thing said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub tone: Tone,
    /// One line.
    pub text: String,
    /// When, unix milliseconds.
    pub at_ms: i64,
}

/// All of them, newest last.
#[derive(Debug, Default)]
pub struct Notices {
    all: VecDeque<Notice>,
    read: bool,
}

impl Notices {
    /// Says something.
    pub fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.all.push_back(Notice { tone, text: text.into(), at_ms: crate::daemon::now_ms() });
        self.read = false;
        if self.all.len() > 200 {
            self.all.pop_front();
        }
    }

    /// The one to show now.
    pub fn current(&self, now_ms: i64) -> Option<&Notice> {
        let last = self.all.back()?;
        let shown_ms = match last.tone {
            Tone::Done => 3_000,
            Tone::Warn => 6_000,
            Tone::Error if self.read => 0,
            Tone::Error => i64::MAX,
        };
        (now_ms.saturating_sub(last.at_ms) < shown_ms).then_some(last)
    }

    /// When the shown one goes away by itself, unix milliseconds.
    pub fn until(&self, now_ms: i64) -> Option<i64> {
        let last = self.current(now_ms)?;
        match last.tone {
            Tone::Done => Some(last.at_ms + 3_000),
            Tone::Warn => Some(last.at_ms + 6_000),
            Tone::Error => None,
        }
    }

    /// A key was pressed: errors were seen.
    pub fn seen(&mut self) {
        self.read = true;
    }

    /// Newest first.
    pub fn history(&self) -> impl Iterator<Item = &Notice> {
        self.all.iter().rev()
    }
}
