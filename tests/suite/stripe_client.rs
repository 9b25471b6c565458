//! The API client against a server that answers from a script: errors, retries, paging, headers, limits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use payout_ledger::domain::owner::Owner;
use payout_ledger::stripe::client::{API_VERSION, Client, Settings};
use payout_ledger::stripe::error::{ApiError, ErrorKind};
use payout_ledger::stripe::key::ApiKey;
use payout_ledger::stripe::paging::Start;
use payout_ledger::stripe::transfer::NewTransfer;

#[derive(Debug)]
struct Seen {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

type Step = Box<dyn FnOnce() -> Response + Send>;

#[derive(Clone, Default)]
struct Script {
    steps: Arc<Mutex<VecDeque<Step>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Script {
    fn then(self, status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> Self {
        let headers = headers.to_vec();
        let answer = move || {
            let builder = headers.iter().fold(Response::builder().status(status), |b, (k, v)| b.header(*k, *v));
            builder.body(Body::from(body)).unwrap()
        };
        self.steps.lock().unwrap().push_back(Box::new(answer));
        self
    }

    /// An answer that promises more bytes than it sends and then ends the connection.
    fn then_cut(self) -> Self {
        let answer = || {
            let parts = [Ok(Bytes::from_static(b"{\"data\":[{\"id\":\"evt_1\"")), Err(std::io::Error::other("cut"))];
            Response::builder().body(Body::from_stream(futures::stream::iter(parts))).unwrap()
        };
        self.steps.lock().unwrap().push_back(Box::new(answer));
        self
    }

    /// An answer whose body never comes.
    fn then_silence(self) -> Self {
        let answer = || {
            let body = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
            Response::builder().body(body).unwrap()
        };
        self.steps.lock().unwrap().push_back(Box::new(answer));
        self
    }

    async fn client(&self) -> Client {
        self.client_with(|_| ()).await
    }

    async fn client_with(&self, change: impl FnOnce(&mut Settings)) -> Client {
        async fn answer(
            State(script): State<Script>,
            method: Method,
            uri: Uri,
            headers: HeaderMap,
            body: Bytes,
        ) -> Response {
            script.seen.lock().unwrap().push(Seen { method, uri, headers, body });
            let step = script.steps.lock().unwrap().pop_front();
            step.map_or_else(|| Response::builder().status(500).body("script over".into()).unwrap(), |s| s())
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let key = ApiKey::parse("rk_test_abcDEF123456").unwrap();
        let mut settings = Settings { base, backoff: Duration::from_millis(1), ..Settings::new(key) };
        change(&mut settings);
        Client::new(settings).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|s| s.uri.to_string()).collect()
    }
}

async fn read(client: &Client) -> Result<serde_json::Value, ApiError> {
    client.get_as(&Owner::platform(), "/v1/balance", &[]).await
}

#[tokio::test]
async fn every_request_carries_key_version_and_account() {
    let script = Script::default().then(200, &[("request-id", "req_9")], "{}");
    let client = script.client().await;
    let seller = Owner::connected("acct_s").unwrap();
    let answer = client.get(&seller, "/v1/payouts/po_1", &[("expand[]", "a b")]).await.unwrap();
    assert_eq!((answer.status, answer.request_id.as_deref()), (200, Some("req_9")));
    let seen = script.seen.lock().unwrap();
    assert_eq!(seen[0].method, Method::GET);
    assert_eq!(seen[0].uri.to_string(), "/v1/payouts/po_1?expand%5B%5D=a+b");
    assert_eq!(seen[0].headers["authorization"], "Bearer rk_test_abcDEF123456");
    assert_eq!(seen[0].headers["stripe-version"], API_VERSION);
    assert_eq!(seen[0].headers["stripe-account"], "acct_s");
    assert_eq!(client.usage().reads, 1);
}

#[tokio::test]
async fn reads_are_retried_while_the_error_may_pass() {
    let script = Script::default().then(429, &[], "{}").then(500, &[], "<html>").then_cut().then(409, &[], "{}").then(
        200,
        &[],
        r#"{"ok":1}"#,
    );
    assert_eq!(read(&script.client().await).await.unwrap()["ok"], 1);
    assert_eq!(script.asked().len(), 5);
}

#[tokio::test]
async fn an_error_that_stays_is_one_clear_line() {
    let storm = (0..9).fold(Script::default(), |s, _| s.then(429, &[("request-id", "req_1")], "{}"));
    let error = read(&storm.client().await).await.unwrap_err();
    assert_eq!((error.kind.clone(), storm.asked().len()), (ErrorKind::RateLimited, 5));
    assert!(error.line().contains("req_1"), "{error}");

    let stop = Script::default().then(500, &[("stripe-should-retry", "false")], "{}").then(200, &[], "{}");
    assert_eq!(read(&stop.client().await).await.unwrap_err().kind, ErrorKind::Server);
    let go = Script::default().then(400, &[("stripe-should-retry", "true")], "{}").then(200, &[], "{}");
    assert!(read(&go.client().await).await.is_ok());

    let html = Script::default().then(200, &[], "<html>captive portal</html>");
    assert_eq!(read(&html.client().await).await.unwrap_err().kind, ErrorKind::NotJson);
    let moved = Script::default().then(302, &[("location", "https://example.com/")], "");
    assert_eq!(read(&moved.client().await).await.unwrap_err().kind, ErrorKind::NotJson);
    assert_eq!(moved.asked().len(), 1, "a redirect is never followed with the key");
}

#[tokio::test]
async fn a_silent_server_costs_the_timeout_and_no_more() {
    let script = Script::default().then_silence().then_silence();
    let client = script
        .client_with(|s| {
            s.timeout = Duration::from_millis(100);
            s.tries = 2;
        })
        .await;
    let start = Instant::now();
    assert_eq!(read(&client).await.unwrap_err().kind, ErrorKind::Timeout);
    assert!(start.elapsed() >= Duration::from_millis(200) && start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn nobody_listening_means_nothing_was_sent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let key = ApiKey::parse("rk_test_abcDEF123456").unwrap();
    let client = Client::new(Settings { base, tries: 1, ..Settings::new(key) }).unwrap();
    let error = read(&client).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Network { sent: false });
    assert!(!error.outcome_unknown());
}

#[tokio::test]
async fn a_list_is_walked_both_ways_and_keeps_each_elements_bytes() {
    let script = Script::default()
        .then(200, &[], r#"{"data":[{"id":"e4", "x":1.50},{"id":"e3"}],"has_more":true}"#)
        .then_cut()
        .then(200, &[], r#"{"data":[{"id":"e2"}],"has_more":false}"#)
        .then(200, &[], r#"{"data":[{"id":"e3"},{"id":"e2"}],"has_more":true}"#)
        .then(200, &[], r#"{"data":[{"id":"e4"}],"has_more":false}"#);
    let client = script.client().await;
    let owner = Owner::platform();
    let text = |list: Vec<Box<serde_json::value::RawValue>>| {
        list.iter().map(|r| r.get().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let back = client.walk(&owner, "/v1/events", &[("type", "payout.*")], Start::Newest).all().await.unwrap();
    assert_eq!(text(back), r#"{"id":"e4", "x":1.50} {"id":"e3"} {"id":"e2"}"#);
    let forward = client.walk(&owner, "/v1/events", &[], Start::After("e1".into())).all().await.unwrap();
    assert_eq!(text(forward), r#"{"id":"e2"} {"id":"e3"} {"id":"e4"}"#);
    let base = "/v1/events?type=payout.*&limit=100";
    assert_eq!(
        script.asked(),
        [
            base,
            &format!("{base}&starting_after=e3"),
            &format!("{base}&starting_after=e3"),
            "/v1/events?limit=100&ending_before=e1",
            "/v1/events?limit=100&ending_before=e3",
        ]
    );
}

#[tokio::test]
async fn a_list_that_repeats_itself_ends() {
    let page = r#"{"data":[{"id":"e1"}],"has_more":true}"#;
    let script = Script::default().then(200, &[], page).then(200, &[], page);
    let client = script.client().await;
    let all = client.walk(&Owner::platform(), "/v1/events", &[], Start::Newest).all().await.unwrap();
    assert_eq!((all.len(), script.asked().len()), (2, 2));
}

#[tokio::test]
async fn a_transfer_is_sent_once_whatever_comes_back() {
    let script = Script::default()
        .then(500, &[("request-id", "req_5"), ("idempotent-replayed", "true")], r#"{"error":{"type":"api_error"}}"#)
        .then_cut()
        .then(
            200,
            &[],
            r#"{"data":[{"id":"tr_1","amount":5,"currency":"usd","created":7,"livemode":false,
            "destination":{"id":"acct_s"},"transfer_group":"o"}],"has_more":false}"#,
        );
    let client = script.client().await;
    let new = NewTransfer {
        amount: 500,
        currency: "usd".into(),
        destination: "acct_s".into(),
        transfer_group: "order 1".into(),
        source_transaction: None,
        description: Some("é&=".into()),
    };
    let answer = client.create_transfer(&new, "transfer-1-v0").await.unwrap();
    assert_eq!((answer.status, answer.replayed, answer.request_id.as_deref()), (500, true, Some("req_5")));
    assert!(answer.ok().unwrap_err().outcome_unknown());
    let cut = client.create_transfer(&new, "transfer-1-v0").await.unwrap_err();
    assert_eq!((cut.kind.clone(), cut.outcome_unknown()), (ErrorKind::Network { sent: true }, true));
    {
        let seen = script.seen.lock().unwrap();
        assert_eq!(seen.len(), 2, "no POST was repeated");
        assert_eq!(seen[0].headers["idempotency-key"], "transfer-1-v0");
        assert_eq!(
            &seen[0].body[..],
            b"amount=500&currency=usd&destination=acct_s&transfer_group=order+1&description=%C3%A9%26%3D"
        );
    }
    let found = client.transfers_in_group("o").await.unwrap();
    assert_eq!((found[0].id.as_str(), found[0].destination.as_deref()), ("tr_1", Some("acct_s")));
}
