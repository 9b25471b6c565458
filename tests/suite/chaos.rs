//! The chaos proxy against a real HTTP endpoint that keeps what it got.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use payout_ledger::daemon::chaos::{Chaos, Options, Sender};
use payout_ledger::daemon::now_ms;
use payout_ledger::daemon::receiver::Accepted;
use payout_ledger::daemon::start::Daemon;
use payout_ledger::domain::chaos::Settings;
use payout_ledger::store::forwards::{Forward, Forwards};
use payout_ledger::stripe::post::Endpoint;
use payout_ledger::stripe::signature::{Secret, verify};
use secrecy::SecretString;

use crate::support::daemon::{SECRET, options};
use crate::support::{http, memory_dir};

type Got = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// An endpoint on a thread of its own; every fourth request is answered 500.
fn endpoint() -> (String, Got) {
    let got: Got = Got::default();
    let (kept, (tell, told)) = (got.clone(), std::sync::mpsc::channel());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let handler = move |headers: HeaderMap, body: Bytes| async move {
                let signature = headers.get("stripe-signature").map(|v| v.to_str().unwrap().to_owned());
                let mut got = kept.lock().unwrap();
                got.push((signature.unwrap_or_default(), body.to_vec()));
                if got.len().is_multiple_of(4) { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK }
            };
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(format!("http://{}/hook", listener.local_addr().unwrap())).unwrap();
            axum::serve(listener, Router::new().route("/hook", post(handler))).await.unwrap();
        });
    });
    (told.recv().unwrap(), got)
}

fn secret(text: &str) -> Secret {
    Secret::new(&SecretString::from(text.to_owned())).unwrap()
}

fn body(n: usize) -> Vec<u8> {
    format!("{{\"id\":\"evt_{n}\",\"type\":\"customer.created\",\"created\":1,\n \"data\":{{\"object\":{{}}}}}}")
        .into_bytes()
}

/// Sends `count` events through a daemon with this mischief and returns what came of it.
fn run(mischief: &str, count: usize) -> (Vec<Forward>, Vec<(String, Vec<u8>)>) {
    let dir = memory_dir();
    let (url, got) = endpoint();
    let database = dir.path().join("ledger.db");
    let settings = Settings::parse(mischief, 5).unwrap();
    let forward =
        Options { endpoint: Endpoint::new(&url).unwrap(), settings, secret: None, database: database.clone() };
    let (mut chaos, tap) = Chaos::start(forward).unwrap();
    let mut options = options(dir.path());
    options.tap = Some(tap);
    let mut daemon = Daemon::start(options).unwrap();
    for n in 0..count {
        let body = body(n);
        let signature = secret(SECRET).sign(now_ms() / 1_000, &body);
        assert_eq!(http::post(daemon.addr, &signature, &body).0, 200);
    }
    daemon.stop();
    chaos.finish();
    let rows = Forwards::open(&database).unwrap().of(chaos.run).unwrap();
    let got = got.lock().unwrap().clone();
    (rows, got)
}

#[test]
fn without_mischief_all_arrive_untouched_and_every_answer_is_kept() {
    let (rows, got) = run("", 9);
    assert_eq!((rows.len(), got.len()), (9, 9));
    for (signature, body) in &got {
        let checked = verify(&[secret(SECRET)], Some(signature), body, now_ms() / 1_000);
        assert_eq!(checked, Ok(()), "body and signature as they came");
    }
    assert_eq!(rows.iter().filter(|f| f.has_failed()).count(), 2, "every fourth was answered 500");
    let order: Vec<&str> = rows.iter().map(|f| f.event.as_str()).collect();
    assert_eq!(order, (0..9).map(|n| format!("evt_{n}")).collect::<Vec<_>>());
}

#[test]
fn the_same_seed_makes_the_same_order() {
    let plan = |rows: &[Forward]| -> Vec<(String, i64)> { rows.iter().map(|f| (f.event.clone(), f.copy)).collect() };
    let (first, got) = run("shuffle=5,duplicate=30%,drop=15%", 25);
    let (second, _) = run("shuffle=5,duplicate=30%,drop=15%", 25);
    assert_eq!(plan(&first), plan(&second));
    let dropped = first.iter().filter(|f| f.nth.is_none()).count();
    let doubled = first.iter().filter(|f| f.copy == 1).count();
    assert!(dropped > 0 && doubled > 0, "{dropped} {doubled}");
    assert_eq!(got.len(), 25 - dropped + doubled);
    let in_order = first.windows(2).all(|w| w[0].arrival <= w[1].arrival);
    assert!(!in_order, "a window of five is shuffled");
}

#[test]
fn a_window_that_does_not_fill_is_let_go() {
    let dir = memory_dir();
    let (url, got) = endpoint();
    let settings = Settings::parse("shuffle=50", 5).unwrap();
    let database = dir.path().join("ledger.db");
    let forward = Options { endpoint: Endpoint::new(&url).unwrap(), settings, secret: None, database };
    let (_chaos, tap) = Chaos::start(forward).unwrap();
    for n in 0..3 {
        tap.try_send(Accepted { body: body(n).into(), signature: None, received_ms: now_ms() }).unwrap();
    }
    let began = Instant::now();
    while got.lock().unwrap().len() < 3 && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(got.lock().unwrap().len(), 3);
    drop(tap);
}

#[test]
fn a_signature_that_grew_too_old_is_made_anew() {
    let (body, now) = (body(1), now_ms() / 1_000);
    let delivery = |age: i64| Accepted {
        signature: Some(secret(SECRET).sign(now - age, &body)),
        body: body.clone().into(),
        received_ms: 0,
    };
    let endpoint = || Endpoint::new("http://127.0.0.1:9/hook").unwrap();
    let with = Sender { endpoint: endpoint(), secret: Some(secret("whsec_theirs")) };
    let young = delivery(200);
    assert_eq!(with.signature(&young, now), (young.signature.clone(), String::new()));
    let (signature, note) = with.signature(&delivery(299), now);
    assert_eq!(verify(&[secret("whsec_theirs")], signature.as_deref(), &body, now), Ok(()));
    assert!(note.starts_with("signed anew"), "{note}");
    let without = Sender { endpoint: endpoint(), secret: None };
    let old = delivery(400);
    let (signature, note) = without.signature(&old, now);
    assert_eq!((signature, note.contains("--forward-secret")), (old.signature.clone(), true));
}
