//! All integration tests in one binary, so that they link once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod layers;
mod stripe_client;
mod stripe_listen;
mod support;
