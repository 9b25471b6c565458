//! A few of Stripe's lists and objects in memory, with faults on demand, for tests of the Stripe side.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use payout_ledger::stripe::client::{Client, Settings};
use payout_ledger::stripe::key::ApiKey;

use super::small_socket::{self, Sockets};

/// One element of a list: its id, its time, its JSON.
#[derive(Clone, Debug)]
pub struct Element {
    pub id: String,
    pub created: i64,
    pub json: String,
}

#[derive(Clone, Copy, Debug)]
pub enum Fault {
    Status(u16),
    /// Half an answer, then the connection ends.
    Cut,
    Html,
}

/// What the server holds. Lists are in true order, by (account, path); the platform's account is empty.
#[derive(Default)]
pub struct Held {
    pub lists: BTreeMap<(String, String), Vec<Element>>,
    pub objects: HashMap<(String, String), String>,
    /// Answers given before any other, one each.
    pub faults: VecDeque<Fault>,
    /// From this request on, counted from 0, every answer is that fault.
    pub broken_from: Option<(usize, Fault)>,
    /// Accounts and paths that always answer with this status.
    pub refused: HashMap<(String, String), u16>,
    /// Where it listens, `IP:PORT`.
    pub host: String,
    /// `account path?query` of every request.
    pub asked: Vec<String>,
    /// An event that happens after this many requests, while the list is being walked.
    pub grows: Option<(usize, Element)>,
}

#[derive(Clone, Default)]
pub struct SmallStripe {
    held: Arc<Mutex<Held>>,
    pub sockets: Arc<Sockets>,
}

impl SmallStripe {
    pub fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap()
    }

    pub fn push(&self, account: &str, path: &str, id: &str, created: i64, json: &str) {
        let element = Element { id: id.to_owned(), created, json: json.to_owned() };
        let key = (account.to_owned(), path.to_owned());
        self.held().lists.entry(key).or_default().push(element);
    }

    /// An event happens: it is listed from now on, and sent to whoever listens.
    pub fn happen(&self, id: &str, created: i64, json: &str) {
        self.push("", "/v1/events", id, created, json);
        self.sockets.send(json);
    }

    pub fn object(&self, account: &str, path: &str, json: &str) {
        self.held().objects.insert((account.to_owned(), path.to_owned()), json.to_owned());
    }

    pub async fn client(&self) -> Client {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let base = format!("http://{host}");
        self.held().host = host;
        let app = Router::new()
            .route("/v1/stripecli/sessions", post(small_socket::session))
            .route("/subscribe/acct_small", get(small_socket::subscribe))
            .fallback(answer)
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let key = ApiKey::parse("rk_test_abcDEF123456").unwrap();
        let settings = Settings {
            base,
            backoff: Duration::from_millis(1),
            tries: 3,
            reads_per_second: 100_000,
            ..Settings::new(key)
        };
        Client::new(settings).unwrap()
    }
}

async fn answer(
    State(stripe): State<SmallStripe>,
    Query(query): Query<HashMap<String, String>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let account = headers.get("stripe-account").map_or("", |v| v.to_str().unwrap()).to_owned();
    let mut held = stripe.held();
    held.asked.push(format!("{account} {uri}"));
    let n = held.asked.len();
    if let Some((_, element)) = held.grows.take_if(|(after, _)| *after == n) {
        held.lists.entry((account.clone(), "/v1/events".to_owned())).or_default().push(element);
    }
    let key = (account, uri.path().to_owned());
    let lasting = held.broken_from.filter(|(from, _)| n > *from).map(|(_, fault)| fault);
    let (status, body) = match held.faults.pop_front().or(lasting) {
        Some(Fault::Status(status)) => (status, r#"{"error":{"message":"fault"}}"#.to_owned()),
        Some(Fault::Html) => (200, "<html>".to_owned()),
        Some(Fault::Cut) => {
            let parts = [Ok(Bytes::from_static(b"{\"data\":[")), Err(std::io::Error::other("cut"))];
            return Response::new(Body::from_stream(futures::stream::iter(parts)));
        }
        None => match (held.refused.get(&key), held.lists.get(&key), held.objects.get(&key)) {
            (Some(status), ..) => (*status, r#"{"error":{"message":"refused"}}"#.to_owned()),
            (None, Some(list), _) => page(list, &query),
            (None, None, Some(object)) => (200, object.clone()),
            _ if uri.path().matches('/').count() == 2 => page(&[], &query),
            _ => (404, r#"{"error":{"code":"resource_missing","message":"no such object"}}"#.to_owned()),
        },
    };
    Response::builder().status(status).body(body.into()).unwrap()
}

fn page(list: &[Element], query: &HashMap<String, String>) -> (u16, String) {
    let since: i64 = query.get("created[gte]").map_or(i64::MIN, |v| v.parse().unwrap());
    let limit: usize = query["limit"].parse().unwrap();
    let newest_first: Vec<&Element> = list.iter().rev().filter(|e| e.created >= since).collect();
    let place = |id: &String| newest_first.iter().position(|e| e.id == *id);
    let range = match (query.get("starting_after"), query.get("ending_before")) {
        (Some(id), _) => place(id).map(|at| (at + 1, (at + 1 + limit).min(newest_first.len()))),
        (_, Some(id)) => place(id).map(|at| (at.saturating_sub(limit), at)),
        _ => Some((0, limit.min(newest_first.len()))),
    };
    let Some((from, to)) = range else {
        return (
            400,
            r#"{"error":{"type":"invalid_request_error","param":"ending_before","message":"no such event"}}"#.into(),
        );
    };
    let more = if query.contains_key("ending_before") { from > 0 } else { to < newest_first.len() };
    let data: Vec<&str> = newest_first[from..to].iter().map(|e| e.json.as_str()).collect();
    (200, format!(r#"{{"object":"list","has_more":{more},"data":[{}]}}"#, data.join(",")))
}
