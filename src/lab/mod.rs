//! The ordering lab: scenarios, strategies compared over orders, the chaos proxy's plans.

pub mod case;
pub mod compare;
pub mod counterfactual;
pub mod demo;
pub mod guards;
pub mod history;
pub mod log;
pub mod orders;
pub mod prove;
pub mod report;
pub mod scenario;
pub mod stage;

pub use crate::domain::rng;
