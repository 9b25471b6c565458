//! Speed targets, each a ratio or a rate of one run, printed beside what is wanted. No test depends on a time.
//!
//! `cargo bench` runs all; `cargo bench -- NAME…` only those. Numbers of one run compare only with that run.

#![allow(clippy::expect_used, reason = "a bench that cannot set up has nothing to measure")]

mod engine;
mod events;
mod http;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let benches: [(&str, fn()); 3] = [("engine", engine::run), ("single", http::run_single), ("http", http::run)];
    for (name, run) in benches {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            println!("# {name}");
            run();
        }
    }
}

/// One line: what, measured, wanted.
pub fn report(what: &str, measured: &str, wanted: &str) {
    println!("{what:<62} {measured:>18}   {wanted}");
}
