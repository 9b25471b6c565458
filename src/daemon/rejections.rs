//! What was refused and why, counted for the screen. Nothing of a refused delivery is stored.

use std::sync::{Arc, Mutex};

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// A short word: `bad signature`, `too large`, …
    pub reason: &'static str,
    /// How often.
    pub count: u64,
    /// The line that the last sender was told.
    pub last: String,
    /// When that was, unix milliseconds.
    pub last_ms: i64,
}

/// The shared counts.
#[derive(Debug, Clone, Default)]
pub struct Rejections(Arc<Mutex<Vec<Rejection>>>);

impl Rejections {
    /// Counts one.
    pub fn add(&self, reason: &'static str, line: &str, now_ms: i64) {
        let Ok(mut all) = self.0.lock() else { return };
        match all.iter_mut().find(|r| r.reason == reason) {
            Some(rejection) => {
                rejection.count += 1;
                rejection.last = line.to_owned();
                rejection.last_ms = now_ms;
            }
            None => all.push(Rejection { reason, count: 1, last: line.to_owned(), last_ms: now_ms }),
        }
    }

    /// All reasons, most recent first.
    pub fn all(&self) -> Vec<Rejection> {
        let mut all = self.0.lock().map(|all| all.clone()).unwrap_or_default();
        all.sort_by_key(|r| std::cmp::Reverse(r.last_ms));
        all
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.lock().map_or(0, |all| all.iter().map(|r| r.count).sum())
    }
}
