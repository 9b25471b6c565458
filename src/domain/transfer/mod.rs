//! Guarded transfers: pay an order once and never again. The rules only; the worker, the tables and the lab's model of
//! Stripe all run these functions.
//!
//! | guard | where |
//! |---|---|
//! | 1 one row per order, a claim before each POST | [`intent`], [`claim`] |
//! | 2 Stripe's own record before each create | [`lookup`] |
//! | 3 the versioned idempotency key | [`key`], [`person`] |
//! | 4 the deterministic job id | [`key`] |
//! | 5 a repeated event drives nothing | [`lookup::event`] |
//!
//! Beside them, for reliability and not for protection: [`backoff`] and the dead letter ([`answer`]).

pub mod answer;
pub mod backoff;
pub mod claim;
pub mod currencies;
pub mod intent;
pub mod key;
pub mod lookup;
pub mod order;
pub mod person;
