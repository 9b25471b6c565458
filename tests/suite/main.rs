//! All integration tests in one binary, so that they link once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases_payouts;
mod chaos;
mod contract;
mod crash;
mod full_disk;
mod guard;
mod layers;
mod property;
mod pty;
mod real_cli;
mod receiver;
mod rules;
mod screens;
mod store_writer;
mod stripe_backfill;
mod stripe_client;
mod stripe_commands;
mod stripe_listen;
mod stripe_reconcile;
mod stripe_side;
mod support;
mod trigger;
mod tui_stripe;
