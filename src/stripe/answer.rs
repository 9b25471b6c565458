//! An answer of the API: status, the headers that matter, and the body's bytes.

use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// What Stripe answered, whatever the status.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The bytes as they came.
    pub body: Vec<u8>,
    /// `Request-Id`.
    pub request_id: Option<String>,
    /// `Idempotent-Replayed: true`: the stored answer of an earlier request with this key.
    pub replayed: bool,
    /// `Stripe-Should-Retry`.
    pub should_retry: Option<bool>,
    /// `Date`, for the clock check.
    pub date: Option<String>,
}

impl Answer {
    /// Everything but the body.
    pub(super) fn head(status: u16, headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        Self {
            status,
            body: Vec::new(),
            request_id: text("request-id"),
            replayed: text("idempotent-replayed").is_some_and(|v| v == "true"),
            should_retry: text("stripe-should-retry").and_then(|v| v.parse().ok()),
            date: text("date"),
        }
    }

    /// An error while this answer's body was still coming.
    pub(super) fn cut(&self, mut error: ApiError) -> ApiError {
        error.request_id.clone_from(&self.request_id);
        error.status = Some(self.status);
        error
    }

    /// The answer itself when its status is 2xx, else the error it means.
    pub fn ok(self) -> Result<Self, ApiError> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        Err(ApiError::from_answer(self.status, &self.body, self.request_id, self.replayed, self.should_retry))
    }

    /// Stripe's clock when it answered, unix seconds.
    pub fn unix_date(&self) -> Option<i64> {
        chrono::DateTime::parse_from_rfc2822(self.date.as_deref()?).ok().map(|d| d.timestamp())
    }

    /// The body as JSON of a 2xx answer.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        serde_json::from_slice(&self.body).map_err(|e| self.cut(ApiError::unreadable(&e)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_read_and_odd_values_are_none() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            let named = |(k, v): &(&'static str, &'static str)| (k.parse().unwrap(), v.parse().unwrap());
            Answer::head(200, &pairs.iter().map(named).collect())
        };
        let answer = headers(&[
            ("date", "Tue, 01 Dec 2026 12:00:00 GMT"),
            ("request-id", "req_1"),
            ("idempotent-replayed", "true"),
            ("stripe-should-retry", "false"),
        ]);
        assert_eq!(
            (answer.unix_date(), answer.replayed, answer.should_retry),
            (Some(1_796_126_400), true, Some(false))
        );
        let odd = headers(&[("date", "yesterday"), ("idempotent-replayed", "no"), ("stripe-should-retry", "maybe")]);
        assert_eq!((odd.unix_date(), odd.replayed, odd.should_retry), (None, false, None));
    }
}
