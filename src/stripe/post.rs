//! Posting an event to an endpoint as Stripe does: the body's bytes, the signature header, one try, no redirects.

use std::fmt;
use std::time::{Duration, Instant};

use reqwest::Url;

use super::client::{deepest, is_loopback};

/// How long an answer is waited for, as `stripe listen` does.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Where events are posted to; clones share connections.
#[derive(Debug, Clone)]
pub struct Endpoint {
    http: reqwest::Client,
    url: Url,
}

/// How one post went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The answer's status; none when there was no answer.
    pub status: Option<u16>,
    /// From the first byte sent to the answer, milliseconds.
    pub took_ms: i64,
    /// The answer's first line, or why there was none.
    pub text: String,
}

impl Sent {
    /// Success is any 2xx (Stripe: webhooks).
    pub fn is_ok(&self) -> bool {
        self.status.is_some_and(|s| (200..300).contains(&s))
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "{status} {}", self.text),
            None => write!(f, "no answer: {}", self.text),
        }
    }
}

impl Endpoint {
    /// Reads the URL and prepares connections; nothing is sent. Accepts what `stripe listen --forward-to` does: a port,
    /// `/path`, a host without scheme. `Err` is one line that says what to do.
    pub fn new(url: &str) -> Result<Self, String> {
        let full = match url {
            port if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => format!("http://localhost:{port}"),
            path if path.starts_with('/') => format!("http://localhost{path}"),
            other if !other.contains("://") => format!("http://{other}"),
            other => other.to_owned(),
        };
        let wrong = || format!("{url:?} is not a URL to post to; use for instance http://127.0.0.1:3000/webhook");
        let url = Url::parse(&full).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong());
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("payout-ledger/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .timeout(TIMEOUT);
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|e| format!("the HTTP client cannot start: {}", deepest(&e)))?;
        Ok(Self { http, url })
    }

    /// Where it posts to.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// One POST. Never fails: what went wrong is in the answer.
    pub async fn post(&self, body: Vec<u8>, signature: Option<&str>) -> Sent {
        let began = Instant::now();
        let mut request = self.http.post(self.url.clone()).header("content-type", "application/json; charset=utf-8");
        if let Some(signature) = signature {
            request = request.header("stripe-signature", signature);
        }
        let answer = request.body(body).send().await;
        let took_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        match answer {
            Ok(mut response) => {
                let status = Some(response.status().as_u16());
                let chunk = response.chunk().await.ok().flatten().unwrap_or_default();
                let text = String::from_utf8_lossy(&chunk[..chunk.len().min(200)]);
                let line = text.lines().next().unwrap_or_default();
                Sent { status, took_ms, text: line.chars().filter(|c| !c.is_control()).collect() }
            }
            Err(error) => Sent { status: None, took_ms, text: deepest(&error) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_as_stripe_listen_takes_them() {
        for (given, url) in [
            ("4242", "http://localhost:4242/"),
            ("/hook", "http://localhost/hook"),
            ("127.0.0.1:3000/hook", "http://127.0.0.1:3000/hook"),
            ("https://example.test/a?b=c", "https://example.test/a?b=c"),
        ] {
            assert_eq!(Endpoint::new(given).unwrap().url(), url);
        }
        for bad in ["", "ftp://x", "http://", "not a url"] {
            assert!(Endpoint::new(bad).unwrap_err().contains("is not a URL"), "{bad:?}");
        }
    }
}
