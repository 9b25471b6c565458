//! Ingest over loopback HTTP with verification, durable store and apply, against a bare axum route in the same run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use payout_ledger::daemon::pipeline;
use payout_ledger::daemon::secrets::Secrets;
use payout_ledger::daemon::start::{Daemon, Options};
use payout_ledger::domain::retry::Profile;
use payout_ledger::store::read::Reader;
use payout_ledger::stripe::signature::Secret;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{events, report};

const SECRET: &str = "whsec_bench";

pub fn run() {
    for (connections, wanted) in [(16, "T2 >= 9 %"), (64, "T2 >= 13 %"), (256, ">= 22 %")] {
        let mut rounds: Vec<(f64, f64, Load)> = (0..3).map(|_| round(connections)).collect();
        rounds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let (echo, ours, load) = &rounds[1];
        report(
            &format!("c={connections}: ours / bare axum ({ours:.0} / {echo:.0} per s)"),
            &format!("{:.1} %", 100.0 * ours / echo),
            wanted,
        );
        let wanted = if connections == 64 { "T5 <= 5x" } else { "" };
        let (p50, p99) = (load.percentile(50), load.percentile(99));
        report(
            &format!("c={connections}: p99 / p50 ({:.2} / {:.2} ms)", ms(p99), ms(p50)),
            &format!("{:.1}x", ms(p99) / ms(p50)),
            wanted,
        );
    }
}

/// One connection against the disk itself, repeats against fresh events, the file against what came in.
pub fn run_single() {
    let requests = requests(0, 4_000);
    let dir = tempfile::tempdir().expect("a scratch folder");
    let sync = disk_sync(dir.path());
    let daemon = Daemon::start(options(dir.path())).expect("a daemon");
    let single = load(daemon.addr, &requests, 1);
    let (p50, p99) = (single.percentile(50), single.percentile(99));
    let text = format!("T4 one connection: p50 {:.2} ms / fdatasync p50 {:.2} ms", ms(p50), ms(sync.percentile(50)));
    report(&text, &format!("{:.1}x", ms(p50) / ms(sync.percentile(50))), "T4 <= 3x");
    let text = format!("T4 one connection: p99 {:.2} ms / fdatasync p99 {:.2} ms", ms(p99), ms(sync.percentile(99)));
    report(&text, &format!("{:.1}x", ms(p99) / ms(sync.percentile(99))), "T4 <= 4x");
    let fresh = self::requests(4_000, 40_000);
    let first = load(daemon.addr, &fresh, 64).rate;
    let again = load(daemon.addr, &fresh, 64).rate;
    report("T11 repeats against fresh events", &format!("{:.2}x", again / first), "T11 >= 1.2x");
    drop(daemon);
    let raw: u64 = (0..44_000).map(|n| events::body(n, 500).len() as u64).sum();
    let conn = payout_ledger::store::schema::open(&dir.path().join("bench.db")).expect("the database");
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
    let file = std::fs::metadata(dir.path().join("bench.db")).expect("the file").len();
    report("T16 file against raw payloads", &format!("{:.2}x", file as f64 / raw as f64), "T16 <= 1.35x");
    let naive = naive_rate();
    report(
        &format!("T3 c=64: ours / one transaction per event, one writer ({naive:.0} per s)"),
        &format!("{:.1}x", first / naive),
        "T3 >= 7x",
    );
}

/// How long an append of 4 KiB and its fdatasync take.
fn disk_sync(dir: &std::path::Path) -> Load {
    use std::io::Write;
    let mut file = std::fs::File::create(dir.join("sync")).expect("a file");
    let began = Instant::now();
    let mut latencies: Vec<Duration> = (0..2_000)
        .map(|_| {
            let sent = Instant::now();
            file.write_all(&[7; 4_096]).expect("written");
            file.sync_data().expect("synced");
            sent.elapsed()
        })
        .collect();
    latencies.sort_unstable();
    Load { rate: 2_000.0 / began.elapsed().as_secs_f64(), latencies }
}

/// What a receiver without group commit could do at the most: verified and parsed, one transaction each, no HTTP.
fn naive_rate() -> f64 {
    use payout_ledger::store::writer::{Arrival, Writer};
    let dir = tempfile::tempdir().expect("a scratch folder");
    let conn = payout_ledger::store::schema::open(&dir.path().join("naive.db")).expect("a database");
    let mut writer = Writer::new(conn, false, Profile::default()).expect("a writer");
    let bodies: Vec<String> = (0..5_000).map(|n| events::body(n, 500)).collect();
    let began = Instant::now();
    for body in bodies {
        writer.ingest(&[Arrival::new(body.into_bytes(), 1)]).expect("stored");
    }
    5_000.0 / began.elapsed().as_secs_f64()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Bare axum and ours with the same requests; per second each, and our latencies.
fn round(connections: usize) -> (f64, f64, Load) {
    let requests = requests(0, 40_000);
    let bare = Bare::start();
    let echo = load(bare.addr, &requests, connections).rate;
    drop(bare);
    let dir = tempfile::tempdir().expect("a scratch folder");
    let daemon = Daemon::start(options(dir.path())).expect("a daemon");
    let ours = load(daemon.addr, &requests, connections);
    let database = dir.path().join("bench.db");
    drop(daemon);
    let inbox = Reader::open(&database, false).expect("a reader").summary().expect("a summary").inbox;
    assert_eq!((inbox.waiting, inbox.stuck, inbox.received), (0, 0, 0), "nothing is left behind");
    (echo, ours.rate, ours)
}

/// `count` signed requests from the stream's `first` event on.
fn requests(first: u64, count: u64) -> Arc<Vec<Vec<u8>>> {
    let secret = Secret::new(&SecretString::from(SECRET.to_owned())).expect("a secret");
    let now = payout_ledger::daemon::now_ms() / 1_000;
    let request = |n| {
        let body = events::body(n, 500);
        let head = format!(
            "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nStripe-Signature: {}\r\n\
             Content-Length: {}\r\n\r\n",
            secret.sign(now, body.as_bytes()),
            body.len()
        );
        [head.as_bytes(), body.as_bytes()].concat()
    };
    Arc::new((first..first + count).map(request).collect())
}

fn options(dir: &std::path::Path) -> Options {
    let secrets = Secrets::default();
    secrets.add(&SecretString::from(SECRET.to_owned())).expect("a secret");
    Options {
        addr: SocketAddr::from(([127, 0, 0, 1], 0)),
        pipeline: pipeline::Options {
            database: dir.join("bench.db"),
            live: false,
            profile: Profile::default(),
            sweep_every: Duration::from_secs(1),
        },
        secrets,
        allow_unsigned: false,
        tap: None,
    }
}

/// A bare axum route that reads the body and says ok.
struct Bare {
    addr: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

impl Bare {
    fn start() -> Self {
        let (tell, addr) = std::sync::mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let route =
                    axum::routing::post(|body: String| async move { if body.is_empty() { "empty" } else { "ok" } });
                let app = axum::Router::new().route("/webhook", route);
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("somebody waits");
                let serving = axum::serve(listener, app).with_graceful_shutdown(async { drop(stopped.await) });
                let _ = tokio::time::timeout(Duration::from_secs(600), serving).await;
            });
        });
        Self { addr: addr.recv().expect("an address"), stop: Some(stop) }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

/// What a load came to.
struct Load {
    rate: f64,
    latencies: Vec<Duration>,
}

impl Load {
    fn percentile(&self, n: usize) -> Duration {
        self.latencies[(self.latencies.len() - 1) * n / 100]
    }
}

/// Sends every request once over keep-alive connections, each waiting for its answer (closed loop).
fn load(addr: SocketAddr, requests: &Arc<Vec<Vec<u8>>>, connections: usize) -> Load {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut latencies = runtime.block_on(async {
        let clients: Vec<_> = (0..connections)
            .map(|_| {
                let (requests, next) = (requests.clone(), next.clone());
                tokio::spawn(async move {
                    let mut stream = TcpStream::connect(addr).await.expect("a connection");
                    stream.set_nodelay(true).expect("no delay");
                    let mut latencies = Vec::new();
                    let mut answer = [0_u8; 1_024];
                    while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let sent = Instant::now();
                        stream.write_all(request).await.expect("sent");
                        let n = stream.read(&mut answer).await.expect("answered");
                        assert!(answer[..n].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer[..n]));
                        latencies.push(sent.elapsed());
                    }
                    latencies
                })
            })
            .collect();
        let mut all = Vec::with_capacity(requests.len());
        for client in clients {
            all.extend(client.await.expect("a client"));
        }
        all
    });
    let rate = latencies.len() as f64 / began.elapsed().as_secs_f64();
    latencies.sort_unstable();
    Load { rate, latencies }
}
