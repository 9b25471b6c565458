//! The Stripe side beside a running daemon: it fills, compares, alerts, and never stands in the receiver's way.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use payout_ledger::daemon::alert_webhook::AlertWebhook;
use payout_ledger::daemon::confirm;
use payout_ledger::daemon::start::Daemon;
use payout_ledger::daemon::stripe_side::{Command, Options, Progress, Status, StripeSide};
use payout_ledger::domain::retry::Profile;
use payout_ledger::store::schema;
use payout_ledger::store::writer::{Arrival, Writer};
use payout_ledger::stripe::cli::Cli;
use payout_ledger::stripe::client::Client;
use payout_ledger::stripe::listen::ListenState;

use crate::real_cli::stripe_cli;
use crate::stripe_listen::{CONNECTED, DISCONNECTED, script};
use crate::support::processes_with_argument;
use crate::support::small_stripe::{Fault, SmallStripe};

fn payout_event(id: &str, object: &str, status: &str, created: i64) -> String {
    format!(
        r#"{{"id":"{id}","object":"event","type":"payout.{status}","created":{created},"livemode":false,"data":{{"object":{{
        "id":"{object}","object":"payout","amount":500,"currency":"usd","status":"{status}"}}}}}}"#
    )
}

struct Running {
    dir: tempfile::TempDir,
    daemon: Daemon,
    side: StripeSide,
}

impl Running {
    fn start(client: Option<Client>, change: impl FnOnce(&mut Options)) -> Self {
        Self::on(crate::support::memory_dir(), client, change)
    }

    fn on(dir: tempfile::TempDir, client: Option<Client>, change: impl FnOnce(&mut Options)) -> Self {
        let database = dir.path().join("ledger.db");
        let mut options = crate::support::daemon::options(dir.path());
        options.allow_unsigned = true;
        options.pipeline.profile = Profile::Dev { base_ms: 50 };
        let daemon = tokio::task::block_in_place(|| Daemon::start(options)).unwrap();
        let mut options = Options {
            database,
            live: false,
            client,
            confirm: confirm::Mode::Payload,
            backfill_at_start: true,
            reconcile_every: None,
            grace_days: 2,
            silent_after: 600,
            profile: Profile::default(),
            who: "ann".to_owned(),
            alert_webhook: None,
            cli: None,
            listen_at_start: false,
            endpoint: daemon.endpoint(),
            secrets: daemon.secrets.clone(),
        };
        change(&mut options);
        let side = StripeSide::start(options, daemon.pipeline.queue().unwrap(), daemon.pipeline.changes.clone());
        Self { dir, daemon, side: side.unwrap() }
    }

    async fn until(&self, what: impl Fn(&Status) -> bool) -> Status {
        let began = Instant::now();
        loop {
            let status = self.side.status();
            if what(&status) {
                return status;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "still {status:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn database(&self) -> std::path::PathBuf {
        self.dir.path().join("ledger.db")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        tokio::task::block_in_place(|| {
            self.side.stop();
            self.daemon.stop();
        });
    }
}

fn count(path: &Path, sql: &str) -> i64 {
    schema::open_read_only(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

fn stripe_with_events(n: i64) -> SmallStripe {
    let stripe = SmallStripe::default();
    let now = chrono::Utc::now().timestamp() - 3_600;
    for i in 0..n {
        let id = format!("evt_{i:04}");
        let status = if i == 0 { "failed" } else { "pending" };
        stripe.push("", "/v1/events", &id, now + i, &payout_event(&id, &format!("po_{i}"), status, now + i));
    }
    stripe.object("", "/v1/balance", r#"{"available":[{"amount":-700,"currency":"usd"}]}"#);
    stripe
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_fills_at_start_compares_on_demand_and_posts_alerts() {
    let stripe = stripe_with_events(250);
    let bodies: Arc<Mutex<Vec<serde_json::Value>>> = Arc::default();
    let taken = bodies.clone();
    let tries = Arc::new(Mutex::new(0));
    let hook = Router::new().route(
        "/hook",
        post(move |body: Bytes| async move {
            let mut tries = tries.lock().unwrap();
            *tries += 1;
            if *tries == 1 {
                return axum::http::StatusCode::BAD_GATEWAY;
            }
            taken.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
            axum::http::StatusCode::OK
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, hook).await.unwrap() });

    let running = Running::start(Some(stripe.client().await), |options| {
        options.alert_webhook = Some(AlertWebhook::new(&url).unwrap());
    });
    let status = running.until(|s| matches!(s.backfill, Progress::Done(..))).await;
    assert!(matches!(&status.backfill, Progress::Done(_, text) if text == "250 missed events"), "{status:?}");
    assert_eq!(count(&running.database(), "SELECT count(*) FROM payouts"), 250);
    running.until(|s| s.alerts == 1).await;

    running.side.ask(Command::Reconcile { repair: false });
    let status = running.until(|s| matches!(s.reconcile, Progress::Done(..))).await;
    // Payouts came a moment ago and are not judged yet; the negative balance at Stripe is an alert all the same.
    assert_eq!((status.key, status.trouble), (Some("rk_test_…"), None));
    running.until(|s| s.alerts == 2).await;
    let began = Instant::now();
    while bodies.lock().unwrap().len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let bodies = bodies.lock().unwrap();
    let kinds: Vec<&str> = bodies.iter().map(|b| b["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["failed", "negative"], "in order, after a failed try");
    assert_eq!(bodies[1]["text"], "the balance at Stripe is -7.00 USD");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_from_before_the_first_event_is_opened_from_stripes_balance() {
    let stripe = stripe_with_events(2);
    stripe.object("", "/v1/balance", r#"{"available":[{"amount":9000,"currency":"usd"}]}"#);
    let running = Running::start(Some(stripe.client().await), |_| ());
    // One payout of 5.00 is pending and lacks funds; the failed one came back and asks for nothing.
    running.until(|s| s.unopened == 1).await;
    running.side.ask(Command::OpenBalances);
    let status = running.until(|s| matches!(s.openings, Progress::Done(..))).await;
    assert!(matches!(&status.openings, Progress::Done(_, text) if text == "1 opened"), "{status:?}");
    running.until(|s| s.unopened == 0).await;
    assert_eq!(count(&running.database(), "SELECT funds + claims FROM balances"), 9_000);
    assert_eq!(count(&running.database(), "SELECT count(*) FROM payouts WHERE posted = 0"), 0);
    assert_eq!(count(&running.database(), "SELECT count(*) FROM audit WHERE who = 'ann'"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_asks_the_active_accounts_of_a_large_platform_at_once() {
    let dir = crate::support::memory_dir();
    let conn = schema::open(&dir.path().join("ledger.db")).unwrap();
    let mut writer = Writer::new(conn, false, Profile::default()).unwrap();
    for n in 0..30 {
        let event = payout_event(&format!("evt_{n}"), &format!("po_{n}"), "pending", 5);
        let event = event.replacen("{\"id\"", &format!("{{\"account\":\"acct_{n}\",\"id\""), 1);
        let received_ms = if n < 3 { payout_ledger::daemon::now_ms() } else { 1 };
        writer.ingest(&[Arrival::new(event.into_bytes(), received_ms)]).unwrap();
    }
    drop(writer);
    let stripe = SmallStripe::default();
    let scripts = tempfile::tempdir().unwrap();
    let twice =
        format!("{CONNECTED}\n{DISCONNECTED}\nwhile [ ! -e go ]; do sleep 0.05; done\n{CONNECTED}\nexec sleep 600");
    let cli = script(scripts.path(), &twice);
    let running = Running::on(dir, Some(stripe.client().await), |options| {
        options.cli = Some(cli);
        options.listen_at_start = true;
    });
    running.until(|s| matches!(s.backfill, Progress::Done(..))).await;
    let asked = || stripe.held().asked.iter().filter(|a| a.contains("/v1/events")).count();
    assert_eq!(asked(), 31, "at the start everybody is asked");
    std::fs::write(scripts.path().join("go"), "").unwrap();
    running.until(|s| s.listen.as_ref().is_some_and(|l| l.gaps == 1)).await;
    let began = Instant::now();
    while asked() < 35 {
        assert!(began.elapsed() < Duration::from_secs(30), "{}", asked());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.until(|s| matches!(s.backfill, Progress::Done(..))).await;
    assert_eq!(asked(), 31 + 4, "the platform and the three with news");
    running.side.ask(Command::Backfill);
    let began = Instant::now();
    while asked() < 35 + 31 {
        assert!(began.elapsed() < Duration::from_secs(30), "{}", asked());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_is_an_alert_until_something_comes() {
    let stripe = stripe_with_events(1);
    let running = Running::start(Some(stripe.client().await), |options| {
        options.backfill_at_start = false;
        options.silent_after = 1;
    });
    running.until(|s| s.alerts == 1).await;
    let kind = "SELECT count(*) FROM alerts WHERE kind = 'silent' AND cleared_ms IS NULL";
    assert_eq!(count(&running.database(), kind), 1);
    running.side.ask(Command::Backfill);
    // The event that came is a failed payout: one alert goes, another comes.
    running.until(|s| matches!(s.backfill, Progress::Done(..))).await;
    let began = Instant::now();
    while count(&running.database(), kind) > 0 {
        assert!(began.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_go_on_while_the_api_is_broken() {
    let stripe = stripe_with_events(3);
    stripe.held().broken_from = Some((0, Fault::Status(500)));
    let running = Running::start(Some(stripe.client().await), |_| ());
    running.until(|s| matches!(s.backfill, Progress::Failed(..))).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for n in 0..50 {
        let body = payout_event(&format!("evt_d{n}"), &format!("po_d{n}"), "pending", 5);
        let answer = http.post(running.daemon.endpoint()).body(body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    assert_eq!(count(&running.database(), "SELECT count(*) FROM events"), 50);
    let status = running.side.status();
    assert!(matches!(&status.backfill, Progress::Failed(_, why) if why.contains("Stripe failed")), "{status:?}");
    // It heals by itself.
    stripe.held().broken_from = None;
    running.until(|s| matches!(s.backfill, Progress::Done(..))).await;
    assert_eq!(count(&running.database(), "SELECT count(*) FROM events"), 53);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_the_other_mode_is_not_used_and_no_key_is_said() {
    let stripe = stripe_with_events(1);
    let client = stripe.client().await;
    let running = Running::start(Some(client), |options| options.live = true);
    let status = running.until(|s| s.trouble.is_some()).await;
    assert_eq!(status.trouble.unwrap(), "the API key is a test key and this is live mode: give a live key");
    assert!(stripe.held().asked.is_empty() && status.key.is_none());
    drop(running);

    let running = Running::start(None, |_| ());
    running.side.ask(Command::Backfill);
    let status = running.until(|s| s.trouble.is_some()).await;
    assert!(status.trouble.unwrap().contains("STRIPE_API_KEY"));
}

/// The real Stripe CLI, where it is installed: killed and cut in mid-stream, and nothing is lost in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_cli_killed_and_cut_loses_nothing() {
    let Some(program) = stripe_cli() else { return };
    let stripe = SmallStripe::default();
    let client = stripe.client().await;
    let api_base = format!("http://{}", stripe.held().host);
    let cli = Cli { program, key: Some(client.key().clone()), api_base, live: false };
    let running = Running::start(Some(client), |options| {
        options.cli = Some(cli);
        options.listen_at_start = true;
    });
    let ready = |s: &Status| s.listen.as_ref().is_some_and(|l| l.state == ListenState::Ready);
    running.until(ready).await;
    let now = chrono::Utc::now().timestamp();
    let events = async |from: i64, to: i64| {
        for n in from..to {
            let id = format!("evt_{n:04}");
            stripe.happen(&id, now + n / 50, &payout_event(&id, &format!("po_{n}"), "pending", now + n / 50));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    events(0, 100).await;
    stripe.sockets.cut();
    events(100, 200).await;
    running.until(|s| ready(s) && s.listen.as_ref().is_some_and(|l| l.gaps >= 1)).await;
    events(200, 300).await;
    kill_listening_child(&running.daemon.endpoint());
    events(300, 400).await;
    running.until(|s| ready(s) && s.listen.as_ref().is_some_and(|l| l.gaps >= 2)).await;
    events(400, 450).await;
    let began = Instant::now();
    while count(&running.database(), "SELECT count(*) FROM payouts") < 450 {
        let status = running.side.status();
        assert!(began.elapsed() < Duration::from_secs(60), "{status:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let forwarded = stripe.sockets.acked.lock().unwrap().len();
    assert!((150..450).contains(&forwarded), "{forwarded} came through the CLI, the rest by backfill");
    let endpoint = running.daemon.endpoint();
    drop(running);
    assert_eq!(processes_with_argument(&endpoint), Vec::<i32>::new(), "the child ended with us");
}

fn kill_listening_child(endpoint: &str) {
    for pid in processes_with_argument(endpoint) {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}
