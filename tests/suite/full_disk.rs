//! A disk that is full: 503 and nothing claimed, everything answered before stays, and it goes on when there is room.

use std::process::{Command, Stdio};

use payout_ledger::store::read::Reader;
use payout_ledger::stripe::signature::Secret;
use payout_ledger::stripe::simulate::objects;
use secrecy::SecretString;

use crate::support::bodies::body;
use crate::support::http::{post, raw, request};
use crate::support::program::{Serve, listening, verified};

const SECRET: &str = "whsec_full_disk";

fn send(addr: std::net::SocketAddr, n: i64) -> u16 {
    let body = body(&format!("evt_{n}"), "charge.succeeded", "", n, objects::charge(&format!("ch_{n}"), 100, "usd", n));
    let secret = Secret::new(&SecretString::from(SECRET.to_owned())).unwrap();
    post(addr, &secret.sign(payout_ledger::daemon::now_ms() / 1_000, body.as_bytes()), body.as_bytes()).0
}

#[test]
fn a_full_disk_claims_nothing_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("ledger.db");
    // No file may grow beyond six megabytes: what a write sees then is what it sees on a full disk.
    let program = env!("CARGO_BIN_EXE_payout-ledger");
    let script = format!(
        "trap '' XFSZ; ulimit -f 12000; exec '{program}' --db '{}' serve --addr 127.0.0.1:0",
        database.display()
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).env_clear().env("HOME", dir.path()).env("STRIPE_WEBHOOK_SECRET", SECRET);
    let serve = listening(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut answers = Vec::new();
    for n in 0..3_000 {
        answers.push(send(serve.addr, n));
        if answers.iter().filter(|status| **status == 503).count() == 3 {
            break;
        }
    }
    let stored: Vec<i64> = (0..).zip(&answers).filter(|(_, status)| **status == 200).map(|(n, _)| n).collect();
    assert!(stored.len() > 50 && answers.contains(&503), "{} stored, {:?}", stored.len(), answers.last());
    assert!(answers.iter().all(|status| matches!(status, 200 | 503)));
    assert_eq!(raw(serve.addr, &request("GET", "/healthz", &[], b"")).0, 200, "it lives");
    serve.kill();
    let serve = Serve::start(&database, SECRET, &[]);
    let reader = Reader::open(&database, false).unwrap();
    for n in &stored {
        assert!(reader.event(&format!("evt_{n}")).unwrap().is_some(), "evt_{n} was answered 200");
    }
    for n in (0..).zip(&answers).filter(|(_, status)| **status == 503).map(|(n, _)| n) {
        assert_eq!(send(serve.addr, n), 200, "there is room again");
    }
    assert!(serve.stop());
    verified(&database);
}
