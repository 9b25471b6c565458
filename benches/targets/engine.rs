//! Reading and writing without HTTP: parsing, group commit against one commit per event, a million deep.

use std::hint::black_box;
use std::time::Instant;

use payout_ledger::domain::event;
use payout_ledger::domain::retry::Profile;
use payout_ledger::store::schema;
use payout_ledger::store::writer::{Arrival, Writer};

use crate::{events, report};

pub fn run() {
    let bodies: Vec<Vec<u8>> = (0..100_000).map(|n| events::body(n, 500).into_bytes()).collect();
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    report("mean body", &format!("{} B", bytes / bodies.len()), "about 2 KB");
    let started = Instant::now();
    for body in &bodies {
        black_box(event::parse(black_box(body)).is_ok());
    }
    let parse = started.elapsed().as_secs_f64() / bodies.len() as f64;
    report("read one event", &format!("{:.2} us", parse * 1e6), "(a few us)");
    let grouped = rate(&bodies, 512);
    report("read, store and apply in groups of 512", &format!("{grouped:.0} ev/s"), "import: >= 20,000 ev/s");
    let single = rate(&bodies[..10_000], 1);
    report("one commit per event", &format!("{single:.0} ev/s"), "");
    report("T8 groups against one commit per event", &format!("{:.1}x", grouped / single), ">= 7x");
}

/// Events per second through a fresh writer.
fn rate(bodies: &[Vec<u8>], group: usize) -> f64 {
    let dir = tempfile::tempdir().expect("a scratch folder");
    let conn = schema::open(&dir.path().join("bench.db")).expect("a database");
    let mut writer = Writer::new(conn, false, Profile::default()).expect("a writer");
    let started = Instant::now();
    for chunk in bodies.chunks(group) {
        let batch: Vec<Arrival> = chunk.iter().map(|b| Arrival::new(b.clone(), 1)).collect();
        writer.ingest(&batch).expect("stored");
    }
    bodies.len() as f64 / started.elapsed().as_secs_f64()
}
