//! R1 and R2 against kill -9: what was answered 200 is there, every invariant holds, and a second delivery changes nothing.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use payout_ledger::lab::history::{Shape, generate};
use payout_ledger::lab::rng::Rng;
use payout_ledger::store::read::Reader;
use payout_ledger::stripe::signature::Secret;
use secrecy::SecretString;

use crate::support::http::post;
use crate::support::program::{Serve, verified};

const SECRET: &str = "whsec_crash_tests";
const ROUNDS: u64 = 30;
const CLIENTS: usize = 4;

/// Posts bodies until it is told to stop or nobody answers; notes each id that was answered 200.
fn client(
    addr: SocketAddr,
    work: &Mutex<Vec<(String, String)>>,
    acked: &Mutex<Vec<(String, String)>>,
    stop: &AtomicBool,
) {
    let secret = Secret::new(&SecretString::from(SECRET.to_owned())).unwrap();
    while !stop.load(Ordering::Relaxed) {
        let Some((id, body)) = work.lock().unwrap().pop() else { return };
        let signature = secret.sign(payout_ledger::daemon::now_ms() / 1_000, body.as_bytes());
        let sent = std::panic::catch_unwind(|| post(addr, &signature, body.as_bytes()).0);
        match sent {
            Ok(200) => acked.lock().unwrap().push((id, body)),
            _ => return,
        }
    }
}

#[test]
fn killed_at_any_moment_nothing_that_was_answered_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("ledger.db");
    let mut all: Vec<(String, String)> = Vec::new();
    for round in 0..ROUNDS {
        let mut rng = Rng::nth(11, round);
        let history = generate(&mut rng, Shape { events: 120, may_owe: true, noise: true });
        // Ids of different histories meet: every round gets its own.
        let own = |text: &str| {
            let mut text = text.to_owned();
            for prefix in ["evt_", "po_", "ch_", "tr_", "re_", "dp_", "tu_", "fee_", "txn_"] {
                text = text.replace(&format!("\"{prefix}"), &format!("\"{prefix}r{round}x"));
            }
            text
        };
        let mut work: Vec<(String, String)> =
            history.events.iter().map(|e| (format!("evt_r{round}x{}", &e.id[4..]), own(&e.body))).collect();
        rng.shuffle(&mut work);
        let serve = Serve::start(&database, SECRET, &["--sweep-interval", "50ms"]);
        let (work, acked) = (Arc::new(Mutex::new(work)), Arc::new(Mutex::new(Vec::new())));
        let stop = Arc::new(AtomicBool::new(false));
        let addr = serve.addr;
        let threads: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (work, acked, stop) = (work.clone(), acked.clone(), stop.clone());
                std::thread::spawn(move || client(addr, &work, &acked, &stop))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(5 + u64::try_from(rng.below(60)).unwrap()));
        serve.kill();
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all.append(&mut acked.lock().unwrap());
        let reader = Reader::open(&database, false).unwrap();
        for (id, _) in &all {
            assert!(reader.event(id).unwrap().is_some(), "round {round}: {id} was answered 200 and is gone");
        }
    }
    assert!(all.len() > 100, "only {} were answered: the rounds were too short to prove anything", all.len());
    verified(&database);
    let before = counts(&database);
    let serve = Serve::start(&database, SECRET, &[]);
    let stop = AtomicBool::new(false);
    let (again, acked) = (Mutex::new(all.clone()), Mutex::new(Vec::new()));
    client(serve.addr, &again, &acked, &stop);
    assert_eq!(acked.lock().unwrap().len(), all.len());
    assert!(serve.stop());
    assert_eq!(counts(&database), before, "a second delivery changed something");
    verified(&database);
    let unique: BTreeSet<&String> = all.iter().map(|(id, _)| id).collect();
    assert_eq!(unique.len(), all.len());
}

/// Rows of the tables that money stands in.
fn counts(database: &std::path::Path) -> Vec<i64> {
    let conn = payout_ledger::store::schema::open_read_only(database).unwrap();
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get(0)).unwrap();
    vec![
        count("SELECT count(*) FROM events"),
        count("SELECT count(*) FROM journal"),
        count("SELECT sum(funds + claims) FROM balances"),
    ]
}
