//! Outgoing transfers: pay an order once and never again. The rules are in `domain::transfer`, the record in
//! `store::transfers`; here is the worker that asks Stripe.
//!
//! What no guard of ours can see: a process that is stopped for more than a day between its last look at the clock and the
//! first byte of its request, while another took over, paid, and Stripe forgot the key.

pub mod api;
mod events;
pub mod run;
pub mod tell;
pub mod worker;
