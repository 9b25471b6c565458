//! The command line: one file per command, one shape for options, output and errors.

pub mod doctor;
pub mod duration;
pub mod failure;
pub mod lab;
pub mod trigger;
pub mod wait_for;
