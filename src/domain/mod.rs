//! The rules, pure: no I/O, no clock, no SQL. Time comes in as a number, storage as the [`book::Book`] port.
//!
//! | rule | where |
//! |---|---|
//! | R2 one event whole or not at all | [`receive`] |
//! | R5 fail and retry | [`engine`] |
//! | R3 payout states | [`payout`] |
//! | R4 double entry, funds and claims | [`leg`], [`guard`] |
//! | R5 gaps between attempts, joint try | [`retry`], [`joint`] |
//! | R6 details by the greatest snapshot | [`details`] |
//! | R7 what each object implies | [`object`] |
//! | R10 livemode is part of every key | [`event`] |
//! | pay an order once and never again | [`transfer`] |
//!
//! Rule numbers are those of the README's chapter "How it decides".

pub mod alert;
pub mod book;
pub mod chaos;
pub mod details;
pub mod engine;
pub mod event;
pub mod guard;
pub mod joint;
pub mod leg;
pub mod memory;
pub mod money;
pub mod object;
pub mod outcome;
pub mod owner;
pub mod payout;
pub mod receive;
pub mod reconcile;
pub mod retry;
pub mod rng;
pub mod strategy;
pub mod transfer;
