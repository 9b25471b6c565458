//! How many reads we allow ourselves: a token bucket per second and an estimate per month (Stripe: rate limits).

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Stripe's floor for reads in 30 days, whatever the number of transactions.
pub const MONTHLY_FLOOR: u64 = 10_000;

/// A token bucket that holds at most one second's worth of reads.
#[derive(Debug)]
pub struct Budget {
    per_second: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tokens: f64,
    at: Instant,
    started: Instant,
    reads: u64,
}

/// What was read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Reads since start.
    pub reads: u64,
    /// Reads in 30 days if the pace stays as it is; the plain count in the first hour, which says nothing yet.
    pub per_month: u64,
}

impl Budget {
    /// A full bucket; at least one read per second.
    pub fn new(per_second: u32) -> Self {
        let now = Instant::now();
        let per_second = per_second.max(1);
        Self { per_second, state: Mutex::new(State { tokens: f64::from(per_second), at: now, started: now, reads: 0 }) }
    }

    /// Waits until one more read is allowed, and counts it.
    pub async fn take(&self) {
        while let Err(wait) = self.try_take(Instant::now()) {
            tokio::time::sleep(wait).await;
        }
    }

    /// Counts one read, or says how long to wait for it.
    fn try_take(&self, now: Instant) -> Result<(), Duration> {
        let rate = f64::from(self.per_second);
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let gained = now.saturating_duration_since(state.at).as_secs_f64() * rate;
        state.tokens = (state.tokens + gained).min(rate);
        state.at = now;
        if state.tokens >= 1.0 {
            state.tokens -= 1.0;
            state.reads += 1;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - state.tokens) / rate).max(Duration::from_millis(1)))
    }

    /// Reads so far and the monthly estimate.
    pub fn usage(&self) -> Usage {
        let state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let seconds = state.started.elapsed().as_secs();
        let per_month = if seconds < 3600 { state.reads } else { state.reads * (30 * 86_400) / seconds };
        Usage { reads: state.reads, per_month }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_one_seconds_worth_and_then_the_rate_holds() {
        let budget = Budget::new(20);
        let mut now = Instant::now();
        let mut taken = 0;
        while budget.try_take(now).is_ok() {
            taken += 1;
        }
        assert_eq!(taken, 20);
        let end = now + Duration::from_secs(10);
        while now < end {
            match budget.try_take(now) {
                Ok(()) => taken += 1,
                Err(wait) => now += wait,
            }
        }
        assert!((218..=221).contains(&taken), "{taken}");
        assert_eq!(budget.usage().reads, taken);
    }
}
