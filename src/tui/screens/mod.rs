//! One file per screen.

pub mod balances;
pub mod events;
pub mod first_run;
pub mod inbox;
pub mod inbox_why;
pub mod lab;
mod lab_draw;
pub mod payout;
pub mod payouts;
pub mod split;
pub mod transfer;
pub mod transfers;
