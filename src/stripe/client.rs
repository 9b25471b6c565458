//! The API client: one request at a time, pinned version, retries for reads, one try for a POST.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::de::DeserializeOwned;

use super::answer::Answer;
use super::budget::{Budget, Usage};
use super::error::{ApiError, ErrorKind};
use super::key::ApiKey;
use crate::domain::owner::Owner;

/// Stripe's own address.
pub const API_BASE: &str = "https://api.stripe.com";

/// The API version every request is pinned to, so that an account's default never changes what we read.
pub const API_VERSION: &str = "2026-10-28.endive";

/// The largest answer that is read: a page of 100 events of up to some hundred kilobytes each.
const MAX_ANSWER: usize = 64 << 20;

/// How a client behaves; [`Settings::new`] gives the defaults.
#[derive(Debug, Clone)]
pub struct Settings {
    /// [`API_BASE`], or a stand-in. Plain http only on loopback: the key must not travel in the clear.
    pub base: String,
    /// The key.
    pub key: ApiKey,
    /// For one whole request with its answer.
    pub timeout: Duration,
    /// Tries of a read, the first included.
    pub tries: u32,
    /// The first pause between tries; doubles up to ten times itself.
    pub backoff: Duration,
    /// Reads per second at the most.
    pub reads_per_second: u32,
}

impl Settings {
    /// Stripe itself, 30 s per request, five tries, 0.5 s doubling to 5 s, 20 reads per second.
    pub fn new(key: ApiKey) -> Self {
        Self {
            base: API_BASE.to_owned(),
            key,
            timeout: Duration::from_secs(30),
            tries: 5,
            backoff: Duration::from_millis(500),
            reads_per_second: 20,
        }
    }
}

/// A client; clones share connections and budget.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    http: reqwest::Client,
    base: Url,
    settings: Settings,
    budget: Budget,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({}, {:?})", self.inner.base, self.inner.settings.key)
    }
}

impl Client {
    /// Checks the settings and prepares connections; nothing is sent. `Err` is one line that says what to do.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let base = parse_base(&settings.base)?;
        let mut builder = builder(settings.timeout).default_headers(default_headers(&settings.key)?);
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let http = build(builder)?;
        let budget = Budget::new(settings.reads_per_second);
        Ok(Self { inner: Arc::new(Inner { http, base, settings, budget }) })
    }

    /// Whether the key is a live one.
    pub fn is_live(&self) -> bool {
        self.inner.settings.key.is_live()
    }

    /// The key, for the child that needs it too.
    pub fn key(&self) -> &ApiKey {
        &self.inner.settings.key
    }

    /// How long one request may take; a lease on a POST must be longer.
    pub fn timeout(&self) -> Duration {
        self.inner.settings.timeout
    }

    /// Reads so far and the monthly estimate.
    pub fn usage(&self) -> Usage {
        self.inner.budget.usage()
    }

    /// GET on behalf of `owner`, within the budget, retried with growing pauses while the error may pass.
    /// `path` begins with `/v1/`. The answer has a status below 300.
    pub async fn get(&self, owner: &Owner, path: &str, query: &[(&str, &str)]) -> Result<Answer, ApiError> {
        let mut tried = 0;
        loop {
            self.inner.budget.take().await;
            let request = self.request(Method::GET, owner, path)?.query(query);
            let error = match self.send(request).await.and_then(Answer::ok) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            tried += 1;
            if tried >= self.inner.settings.tries || !error.may_retry() {
                return Err(error);
            }
            tracing::debug!(path, tried, error = %error.line(), "retrying a read");
            tokio::time::sleep(pause(self.inner.settings.backoff, tried)).await;
        }
    }

    /// [`Client::get`] with the answer's JSON as a `T`.
    pub async fn get_as<T: DeserializeOwned>(
        &self,
        owner: &Owner,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<T, ApiError> {
        self.get(owner, path, query).await?.json()
    }

    /// One POST, sent once and never again by itself: after an unknown outcome the caller must look first.
    /// `Ok` is any answer of any status ([`Answer::ok`] tells); `Err` is no whole answer, and
    /// [`ErrorKind::Network`] says whether the request can have reached Stripe.
    pub async fn post_once(
        &self,
        owner: &Owner,
        path: &str,
        form: &[(&str, &str)],
        idempotency_key: &str,
    ) -> Result<Answer, ApiError> {
        let key = HeaderValue::from_str(idempotency_key)
            .map_err(|_| refused("the idempotency key has characters that a header cannot carry"))?;
        self.send(self.request(Method::POST, owner, path)?.form(form).header("idempotency-key", key)).await
    }

    fn request(&self, method: Method, owner: &Owner, path: &str) -> Result<reqwest::RequestBuilder, ApiError> {
        let url = self.inner.base.join(path.trim_start_matches('/')).map_err(|_| refused("the path is no URL path"))?;
        let request = self.inner.http.request(method, url);
        Ok(match owner.header() {
            Some(account) => request.header("stripe-account", account),
            None => request,
        })
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, ApiError> {
        let mut response = request.send().await.map_err(|e| transport(&e))?;
        let mut answer = Answer::head(response.status().as_u16(), response.headers());
        while let Some(chunk) = response.chunk().await.map_err(|e| answer.cut(transport(&e)))? {
            if answer.body.len() + chunk.len() > MAX_ANSWER {
                let error = ApiError::without_answer(ErrorKind::TooLarge, "over 64 MiB");
                return Err(answer.cut(error));
            }
            answer.body.extend_from_slice(&chunk);
        }
        Ok(answer)
    }
}

/// A client for other addresses than Stripe's: no key, no redirects, one try.
pub fn plain_http(timeout: Duration) -> Result<reqwest::Client, String> {
    build(builder(timeout))
}

/// A client for this machine's own addresses: no proxy either.
pub fn local_http(timeout: Duration) -> Result<reqwest::Client, String> {
    build(builder(timeout).no_proxy())
}

fn builder(timeout: Duration) -> reqwest::ClientBuilder {
    // Only the first call installs; a second is told so and that is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("payout-ledger/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(timeout.min(Duration::from_secs(10)))
        .timeout(timeout)
}

fn build(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, String> {
    builder.build().map_err(|e| format!("the HTTPS client cannot start: {}", deepest(&e)))
}

/// A request that was never sent because of what it asked.
fn refused(why: &str) -> ApiError {
    let kind = ErrorKind::Invalid { kind: "not_sent".into(), code: None, param: None };
    ApiError::without_answer(kind, why)
}

fn default_headers(key: &ApiKey) -> Result<HeaderMap, String> {
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
        .map_err(|_| "the API key has characters that no key has; copy it again".to_owned())?;
    bearer.set_sensitive(true);
    Ok(HeaderMap::from_iter([
        (reqwest::header::AUTHORIZATION, bearer),
        (HeaderName::from_static("stripe-version"), HeaderValue::from_static(API_VERSION)),
    ]))
}

/// Loopback by number or name.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn parse_base(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|e| format!("--api-base {text:?} is not a URL ({e}); use {API_BASE}"))?;
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        _ => {
            return Err(format!(
                "--api-base {text:?} would send the key in the clear; use https, or http on 127.0.0.1"
            ));
        }
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// The pause before try number `tried + 1`: doubling from `first` to ten times it, with a quarter of jitter.
fn pause(first: Duration, tried: u32) -> Duration {
    let full = first.saturating_mul(1 << (tried - 1).min(10)).min(first * 10);
    let mut random = [0u8; 1];
    // Without randomness the pause is merely regular.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random);
    full.mul_f64(1.0 - f64::from(random[0]) / 1024.0)
}

fn transport(error: &reqwest::Error) -> ApiError {
    let kind = match error {
        e if e.is_connect() || e.is_builder() => ErrorKind::Network { sent: false },
        e if e.is_timeout() => ErrorKind::Timeout,
        _ => ErrorKind::Network { sent: true },
    };
    ApiError::without_answer(kind, &deepest(error))
}

/// The innermost cause: the outer ones repeat "error sending request" and the URL.
pub(super) fn deepest(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ApiKey {
        ApiKey::parse("rk_test_abcDEF123456").unwrap()
    }

    #[test]
    fn the_key_never_travels_in_the_clear_and_is_never_shown() {
        let client = Client::new(Settings::new(key())).unwrap();
        assert_eq!(format!("{client:?}"), "Client(https://api.stripe.com/, ApiKey(rk_test_…))");
        for (base, ok) in [
            ("http://127.0.0.1:9", true),
            ("http://[::1]:9/x", true),
            ("http://localhost:9", true),
            ("http://127.0.0.1.example.com", false),
            ("http://api.stripe.com", false),
            ("ftp://127.0.0.1", false),
            ("api.stripe.com", false),
        ] {
            let settings = Settings { base: base.into(), ..Settings::new(key()) };
            assert_eq!(Client::new(settings).is_ok(), ok, "{base}");
        }
    }

    #[test]
    fn pauses_double_up_to_ten_times_the_first() {
        let first = Duration::from_millis(500);
        for (tried, full) in [(1, 500), (2, 1000), (3, 2000), (4, 4000), (5, 5000), (60, 5000)] {
            let got = pause(first, tried);
            assert!(
                got <= Duration::from_millis(full) && got >= Duration::from_millis(full * 3 / 4),
                "{tried}: {got:?}"
            );
        }
    }
}
