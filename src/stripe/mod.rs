//! Everything that speaks to Stripe: signatures, the API client, the real CLI as a child.

pub mod answer;
pub mod budget;
pub mod cli;
pub mod client;
pub mod error;
pub mod fetched;
pub mod key;
pub mod listen;
mod listen_line;
pub mod noisy;
pub mod paging;
pub mod post;
pub mod read;
pub mod signature;
pub mod simulate;
pub mod transfer;
