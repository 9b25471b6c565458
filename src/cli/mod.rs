//! The command line: one file per command, one shape for options, output and errors.

pub mod failure;
pub mod lab;
