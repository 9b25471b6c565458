//! The receiver over real sockets: what is stored, what is refused, and with which words.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use payout_ledger::daemon::now_ms;
use payout_ledger::daemon::secrets::Secrets;
use payout_ledger::daemon::start::{Daemon, Options, StartError};
use payout_ledger::store::error::StoreError;
use payout_ledger::store::schema;
use payout_ledger::stripe::signature::Secret;
use secrecy::SecretString;

use crate::support::http::{post, raw, request};

const SECRET: &str = "whsec_receiver_tests";

fn options(dir: &Path, secret: Option<&str>) -> Options {
    let secrets = Secrets::default();
    if let Some(secret) = secret {
        secrets.add(&SecretString::from(secret.to_owned())).unwrap();
    }
    Options { secrets, ..crate::support::daemon::options(dir) }
}

fn event(id: &str) -> Vec<u8> {
    format!(
        r#"{{"id":"{id}","object":"event","type":"customer.created","created":1,"data":{{"object":{{"id":"cus_1"}}}}}}"#
    )
    .into_bytes()
}

fn sign(body: &[u8]) -> String {
    Secret::new(&SecretString::from(SECRET.to_owned())).unwrap().sign(now_ms() / 1_000, body)
}

fn stored(dir: &Path) -> i64 {
    let conn = schema::open_read_only(&dir.join("ledger.db")).unwrap();
    conn.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_signed_event_is_on_disk_when_it_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(options(dir.path(), Some(SECRET))).unwrap();
    let body = event("evt_1");
    assert_eq!(post(daemon.addr, &sign(&body), &body), (200, "stored".to_owned()));
    assert_eq!(stored(dir.path()), 1);
    assert_eq!(post(daemon.addr, &sign(&body), &body), (200, "already stored".to_owned()));
    let six = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], daemon.addr.port()));
    if TcpStream::connect(six).is_ok() {
        assert_eq!(post(six, &sign(&body), &body).0, 200, "::1 answers too");
    }
    assert_eq!(daemon.rejections.total(), 0);
}

#[test]
fn what_is_refused_is_counted_and_not_stored() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(options(dir.path(), Some(SECRET))).unwrap();
    let body = event("evt_1");
    let old = Secret::new(&SecretString::from(SECRET.to_owned())).unwrap().sign(now_ms() / 1_000 - 400, &body);
    let signed = sign(&body);
    let with = |extra: &[(&str, &str)]| {
        let headers = [&[("Stripe-Signature", signed.as_str())], extra].concat();
        raw(daemon.addr, &request("POST", "/webhook", &headers, &body))
    };
    assert_eq!(raw(daemon.addr, &request("POST", "/webhook", &[], &body)).0, 400, "unsigned");
    assert!(post(daemon.addr, &old, &body).1.contains("400 s old"));
    assert!(post(daemon.addr, "t=1,v1=00", &body).1.contains("bad signature"));
    assert_eq!(with(&[("Content-Encoding", "gzip")]).0, 415);
    for garbage in ["", "null", "[]", "{}", "{\"id\":\"evt_1\"}{}", "not json"] {
        let garbage = garbage.as_bytes();
        assert_eq!(post(daemon.addr, &sign(garbage), garbage).0, 400);
    }
    let huge = vec![b' '; (4 << 20) + 1];
    assert_eq!(post(daemon.addr, &sign(&huge), &huge).0, 413);
    let head = format!(
        "POST /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n",
        huge.len()
    );
    assert_eq!(raw(daemon.addr, &[head.as_bytes(), &huge, b"\r\n0\r\n\r\n"].concat()).0, 413);
    assert_eq!(raw(daemon.addr, &request("GET", "/webhook", &[], b"")).0, 405);
    assert_eq!(raw(daemon.addr, &request("GET", "/healthz", &[], b"")), (200, "ok".to_owned()));
    assert_eq!(raw(daemon.addr, &request("GET", "/nowhere", &[], b"")).0, 404);
    assert_eq!(raw(daemon.addr, b"\x16\x03\x01garbage\r\n\r\n").0, 400);
    assert_eq!(stored(dir.path()), 0);
    let reasons: Vec<_> = daemon.rejections.all().into_iter().map(|r| (r.reason, r.count)).collect();
    for expected in
        [("unsigned", 1), ("stale signature", 1), ("bad signature", 1), ("not an event", 6), ("too large", 2)]
    {
        assert!(reasons.contains(&expected), "{expected:?} in {reasons:?}");
    }
}

#[test]
fn chunked_bodies_are_read_and_silent_clients_cost_nobody_anything() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(options(dir.path(), Some(SECRET))).unwrap();
    let silent: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(daemon.addr).unwrap();
            stream.write_all(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{").unwrap();
            stream
        })
        .collect();
    let body = event("evt_chunked");
    let head = format!(
        "POST /webhook/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nStripe-Signature: {}\r\n\r\n{:x}\r\n",
        sign(&body),
        body.len()
    );
    assert_eq!(raw(daemon.addr, &[head.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat()).0, 200);
    drop(silent);
    assert_eq!(stored(dir.path()), 1);
}

#[test]
fn without_a_secret_nothing_is_accepted_until_one_comes() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(options(dir.path(), None)).unwrap();
    let body = event("evt_1");
    let (status, line) = post(daemon.addr, &sign(&body), &body);
    assert_eq!(status, 400);
    assert!(line.contains("no signing secret"), "{line}");
    daemon.secrets.add(&SecretString::from("whsec_other".to_owned())).unwrap();
    daemon.secrets.add(&SecretString::from(SECRET.to_owned())).unwrap();
    assert_eq!(post(daemon.addr, &sign(&body), &body).0, 200);
}

#[test]
fn one_daemon_per_database_and_per_port() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(options(dir.path(), Some(SECRET))).unwrap();
    match Daemon::start(options(dir.path(), Some(SECRET))) {
        Err(StartError::Store(StoreError::Locked { pid, .. })) => assert_eq!(pid, std::process::id()),
        other => panic!("{:?}", other.err()),
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let taken = Options { addr: daemon.addr, ..options(elsewhere.path(), Some(SECRET)) };
    assert!(matches!(Daemon::start(taken), Err(StartError::Bind { .. })));
    let open =
        Options { addr: SocketAddr::from(([0, 0, 0, 0], 0)), allow_unsigned: true, ..options(elsewhere.path(), None) };
    assert!(matches!(Daemon::start(open), Err(StartError::Unsigned(_))));
}
