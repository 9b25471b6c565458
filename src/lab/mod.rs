//! The ordering lab: scenarios, strategies compared over orders, the chaos proxy's plans.

pub mod case;
pub mod compare;
pub mod history;
pub mod orders;
pub mod rng;
pub mod scenario;
