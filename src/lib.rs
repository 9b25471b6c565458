//! Payout Ledger: a terminal monitor for Stripe payouts.
//!
//! Arrows point one way: `tui`, `cli` → `daemon`, `guard`, `lab` → `store`, `stripe` → `domain`.
//! A test holds every file to that.

pub mod store;
