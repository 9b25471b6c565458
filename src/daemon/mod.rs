//! The background thread: receives, applies, retries, and tells the screen that something changed.

pub mod alert_webhook;
mod apply;
pub mod backfill;
pub mod chaos;
mod checkpoint;
pub mod confirm;
pub mod delivery;
pub mod intake;
pub mod pipeline;
pub mod receiver;
pub mod reconcile;
pub mod rejections;
pub mod secrets;
pub mod side_error;
pub mod start;
pub mod stripe_side;

pub use apply::Health;

/// A panic on purpose, in builds for tests only: `PAYOUT_LEDGER_PANIC` names the place where one happens.
pub fn rehearse_panic(place: &str) {
    #[cfg(debug_assertions)]
    assert!(std::env::var("PAYOUT_LEDGER_PANIC").as_deref() != Ok(place), "a panic on purpose in the {place}");
    let _ = place;
}

/// Our clock, unix milliseconds.
pub fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// The month that reads of the API are counted in: `2026-12`, UTC.
pub fn this_month() -> String {
    chrono::Utc::now().format("%Y-%m").to_string()
}
