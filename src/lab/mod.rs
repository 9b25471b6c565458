//! The ordering lab: scenarios, strategies compared over orders, the chaos proxy's plans.

pub mod history;
pub mod rng;
