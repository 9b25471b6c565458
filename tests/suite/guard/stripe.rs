//! Stripe's transfers on loopback, with its idempotency layer, a clock of its own, and faults on demand.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Form, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use payout_ledger::lab::rng::Rng;
use payout_ledger::stripe::client::{Client, Settings};
use payout_ledger::stripe::key::ApiKey;
use serde_json::{Value, json};

/// How long Stripe keeps a key, milliseconds.
const KEPT_MS: i64 = 24 * 3_600_000;

type Fields = HashMap<String, String>;

/// What a request may suffer, in percent; rolled one after the other.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// The answer is cut off after the request was executed.
    pub lost_after: u32,
    /// The connection ends before it was executed.
    pub lost_before: u32,
    /// 409: a twin is in flight.
    pub busy: u32,
    /// 429 before anything.
    pub limited: u32,
    /// 500 that the key keeps, nothing moved.
    pub broken: u32,
    /// 500 that the key keeps, and the money moved all the same.
    pub broken_but_paid: u32,
    /// A lookup fails.
    pub blind: u32,
    /// A lookup is refused for want of a permission.
    pub forbidden: u32,
}

struct Stored {
    fields: Fields,
    status: u16,
    body: Value,
    at_ms: i64,
}

struct Inner {
    transfers: Vec<Value>,
    keys: HashMap<String, Stored>,
    faults: Faults,
    rng: Rng,
    refuses: Option<u16>,
    posts: usize,
    /// The key each transfer was made with.
    made_with: Vec<String>,
}

/// The stand-in; clones share everything.
#[derive(Clone)]
pub struct Stripe {
    inner: Arc<Mutex<Inner>>,
    /// Unix milliseconds, ours and Stripe's.
    pub clock: Arc<AtomicI64>,
    /// Where it listens.
    pub base: String,
    _server: Arc<Server>,
}

struct Server(Option<tokio::runtime::Runtime>);

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Stripe {
    /// Starts on a port of its own, in threads of its own.
    pub fn start(seed: u64) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let inner = Inner {
            transfers: Vec::new(),
            keys: HashMap::new(),
            faults: Faults::default(),
            rng: Rng::new(seed),
            refuses: None,
            posts: 0,
            made_with: Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let stripe = Self {
            inner: Arc::new(Mutex::new(inner)),
            clock: Arc::new(AtomicI64::new(1_790_000_000_000)),
            base,
            _server: Arc::new(Server(None)),
        };
        let app = Router::new().route("/v1/transfers", get(list).post(create)).with_state(stripe.clone());
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
        Self { _server: Arc::new(Server(Some(runtime))), ..stripe }
    }

    /// A client with a test key and quick tries.
    pub fn client(&self) -> Client {
        client(&self.base)
    }

    /// Its clock.
    pub fn now_ms(&self) -> i64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// Moves the clock.
    pub fn pass(&self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets what requests suffer from now on.
    pub fn suffer(&self, faults: Faults) {
        self.inner.lock().unwrap().faults = faults;
    }

    /// Whether creates are refused for want of funds.
    pub fn refuse(&self, refuses: bool) {
        self.refuse_as(refuses.then_some(400));
    }

    /// With which status creates are refused and the refusal stored.
    pub fn refuse_as(&self, status: Option<u16>) {
        self.inner.lock().unwrap().refuses = status;
    }

    /// The ids of all transfers of a group.
    pub fn of(&self, group: &str) -> Vec<String> {
        let inner = self.inner.lock().unwrap();
        let found = inner.transfers.iter().filter(|t| t["transfer_group"] == group);
        found.map(|t| t["id"].as_str().unwrap().to_owned()).collect()
    }

    /// How many transfers were made with a key.
    pub fn made_with(&self, key: &str) -> usize {
        self.inner.lock().unwrap().made_with.iter().filter(|k| *k == key).count()
    }

    /// How many POSTs came in.
    pub fn posts(&self) -> usize {
        self.inner.lock().unwrap().posts
    }

    /// Somebody else makes a transfer.
    pub fn plant(&self, group: &str, amount: i64, destination: &str) -> String {
        let fields = [("amount", amount.to_string().as_str()), ("currency", "eur"), ("destination", destination)]
            .map(|(k, v)| (k.to_owned(), v.to_owned()));
        let mut fields: Fields = fields.into_iter().collect();
        fields.insert("transfer_group".to_owned(), group.to_owned());
        let now = self.now_ms();
        make(&mut self.inner.lock().unwrap(), &fields, now)["id"].as_str().unwrap().to_owned()
    }
}

/// A client with a test key and quick tries.
pub fn client(base: &str) -> Client {
    let key = ApiKey::parse("rk_test_guardGUARD123").unwrap();
    let timeout = Duration::from_secs(20);
    Client::new(Settings { base: base.to_owned(), timeout, tries: 1, reads_per_second: 100_000, ..Settings::new(key) })
        .unwrap()
}

fn make(inner: &mut Inner, fields: &Fields, now_ms: i64) -> Value {
    let text = |name: &str| fields.get(name).cloned();
    let transfer = json!({
        "id": format!("tr_g{:04}", inner.transfers.len()),
        "object": "transfer",
        "amount": fields["amount"].parse::<i64>().unwrap(),
        "amount_reversed": 0,
        "currency": text("currency"),
        "created": now_ms / 1_000,
        "destination": text("destination"),
        "livemode": false,
        "reversed": false,
        "transfer_group": text("transfer_group"),
    });
    inner.transfers.push(transfer.clone());
    transfer
}

fn error(kind: &str, code: &str, message: &str) -> Value {
    json!({ "error": { "type": kind, "code": code, "message": message } })
}

fn answer(status: u16, body: &Value, replayed: bool) -> Response {
    let mut builder = Response::builder().status(status).header("request-id", format!("req_{status}x"));
    if replayed {
        builder = builder.header("idempotent-replayed", "true");
    }
    builder.body(Body::from(body.to_string())).unwrap()
}

/// Headers, half a body, and the end of the connection.
fn cut() -> Response {
    let parts = [Ok(Bytes::from_static(b"{\"id\":\"tr")), Err(std::io::Error::other("cut"))];
    Response::builder().body(Body::from_stream(futures::stream::iter(parts))).unwrap()
}

async fn create(State(stripe): State<Stripe>, headers: HeaderMap, Form(fields): Form<Fields>) -> Response {
    let now = stripe.now_ms();
    let key = headers.get("idempotency-key").map_or_else(String::new, |k| k.to_str().unwrap().to_owned());
    let mut inner = stripe.inner.lock().unwrap();
    inner.posts += 1;
    let faults = inner.faults;
    if inner.rng.chance(faults.limited) {
        return answer(429, &error("invalid_request_error", "rate_limit", "Too many requests"), false);
    }
    if inner.rng.chance(faults.lost_before) {
        return cut();
    }
    inner.keys.retain(|_, stored| now - stored.at_ms < KEPT_MS);
    if let Some(stored) = inner.keys.get(&key) {
        if stored.fields != fields {
            return answer(
                400,
                &error("idempotency_error", "", "Keys can only be used with the same parameters"),
                false,
            );
        }
        return answer(stored.status, &stored.body, true);
    }
    if inner.rng.chance(faults.busy) {
        return answer(
            409,
            &error("idempotency_error", "idempotency_key_in_use", "another in-progress request"),
            false,
        );
    }
    let (status, body) = if inner.rng.chance(faults.broken) {
        (500, error("api_error", "", "An unknown error occurred"))
    } else if let Some(status) = inner.refuses {
        (status, error("invalid_request_error", "balance_insufficient", "insufficient funds in your Stripe account"))
    } else {
        let made = make(&mut inner, &fields, now);
        inner.made_with.push(key.clone());
        if inner.rng.chance(faults.broken_but_paid) {
            (500, error("api_error", "", "An unknown error occurred"))
        } else {
            (200, made)
        }
    };
    let lost = inner.rng.chance(faults.lost_after);
    if !key.is_empty() {
        inner.keys.insert(key, Stored { fields, status, body: body.clone(), at_ms: now });
    }
    if lost { cut() } else { answer(status, &body, false) }
}

async fn list(State(stripe): State<Stripe>, Query(query): Query<Fields>) -> Response {
    let mut inner = stripe.inner.lock().unwrap();
    let faults = inner.faults;
    if inner.rng.chance(faults.blind) {
        return answer(500, &error("api_error", "", "An unknown error occurred"), false);
    }
    if inner.rng.chance(faults.forbidden) {
        let message = "Having the 'rak_transfer_read' permission would allow this.";
        return answer(403, &error("invalid_request_error", "", message), false);
    }
    // Newest first, and pages of two, whatever was asked: paging must be right.
    let group = query.get("transfer_group").cloned().unwrap_or_default();
    let mut found: Vec<&Value> = inner.transfers.iter().filter(|t| t["transfer_group"] == group).rev().collect();
    if let Some(after) = query.get("starting_after") {
        let at = found.iter().position(|t| t["id"] == *after).map_or(found.len(), |n| n + 1);
        found.drain(..at);
    }
    let has_more = found.len() > 2;
    found.truncate(2);
    let page = json!({ "object": "list", "url": "/v1/transfers", "data": found, "has_more": has_more });
    answer(200, &page, false)
}
