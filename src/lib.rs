//! Payout Ledger: a terminal monitor for Stripe payouts.
//!
//! Arrows point one way: `tui`, `cli` → `daemon`, `guard`, `lab` → `store`, `stripe` → `domain`.
//! A test holds every file to that.

pub mod cli;
pub mod daemon;
pub mod domain;
pub mod guard;
pub mod lab;
pub mod store;
pub mod stripe;
pub mod tui;
