//! What can go wrong at the API: one typed error, its request id, and one line that says what to do.

use serde::Deserialize;

use super::key::scrub;

/// The kind of an API failure (Stripe: Errors).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// 401: the key is wrong, expired or revoked.
    Unauthorized,
    /// 403: the key lacks a permission, when Stripe names it `rak_…`, or the account is not ours.
    Forbidden {
        /// Stripe's name of the permission.
        permission: Option<Box<str>>,
    },
    /// 404: no such object for this key and account.
    NotFound,
    /// 409: the object is locked, or a twin of this request is in flight.
    Conflict,
    /// 429: too many requests.
    RateLimited,
    /// Other 4xx: Stripe refused what was asked.
    Invalid {
        /// Stripe's `type`, for instance `invalid_request_error`.
        kind: Box<str>,
        /// Stripe's `code`.
        code: Option<Box<str>>,
        /// The parameter at fault.
        param: Option<Box<str>>,
    },
    /// 5xx: Stripe failed; what a POST did is unknown.
    Server,
    /// No answer. `sent` is false when the connection was never made, so nothing can have happened.
    Network {
        /// Whether the request may have reached Stripe.
        sent: bool,
    },
    /// The answer is not the JSON it should be.
    NotJson,
    /// The answer is larger than this program reads.
    TooLarge,
    /// No whole answer in time.
    Timeout,
}

/// A failed call. `message` is Stripe's or the network's own, with key-like text scrubbed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.line())]
pub struct ApiError {
    /// What went wrong.
    pub kind: ErrorKind,
    /// The HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// Stripe's `Request-Id`, for their support and their log.
    pub request_id: Option<String>,
    /// Whether Stripe replayed a stored answer (`Idempotent-Replayed`).
    pub replayed: bool,
    /// The cause in the other side's words.
    pub message: String,
    /// `Stripe-Should-Retry`, when given.
    pub should_retry: Option<bool>,
}

#[derive(Deserialize)]
struct Envelope {
    error: Body,
}

#[derive(Deserialize)]
struct Body {
    #[serde(rename = "type", default)]
    kind: Box<str>,
    code: Option<Box<str>>,
    message: Option<String>,
    param: Option<Box<str>>,
}

impl ApiError {
    /// A failure without an answer.
    pub(super) fn without_answer(kind: ErrorKind, cause: &str) -> Self {
        Self { kind, status: None, request_id: None, replayed: false, message: scrub(cause), should_retry: None }
    }

    /// An answer whose JSON is not what Stripe documents.
    pub fn unreadable(cause: &serde_json::Error) -> Self {
        Self::without_answer(ErrorKind::NotJson, &cause.to_string())
    }

    /// The error an answer with a status of 300 or more means.
    pub(super) fn from_answer(
        status: u16,
        body: &[u8],
        request_id: Option<String>,
        replayed: bool,
        should_retry: Option<bool>,
    ) -> Self {
        let parsed = serde_json::from_slice::<Envelope>(body).ok().map(|e| e.error);
        let message = parsed.as_ref().and_then(|b| b.message.clone()).unwrap_or_else(|| format!("HTTP {status}"));
        let kind = match (status, parsed) {
            (401, _) => ErrorKind::Unauthorized,
            (403, _) => ErrorKind::Forbidden { permission: permission_in(&message) },
            (404, _) => ErrorKind::NotFound,
            (409, _) => ErrorKind::Conflict,
            (429, _) => ErrorKind::RateLimited,
            (500.., _) => ErrorKind::Server,
            (400..=499, Some(b)) => ErrorKind::Invalid { kind: b.kind, code: b.code, param: b.param },
            _ => ErrorKind::NotJson,
        };
        Self { kind, status: Some(status), request_id, replayed, message: scrub(&message), should_retry }
    }

    /// Stripe's error code, for instance `balance_insufficient`.
    pub fn code(&self) -> Option<&str> {
        match &self.kind {
            ErrorKind::Invalid { code, .. } => code.as_deref(),
            _ => None,
        }
    }

    /// Whether the same read may succeed if it is asked again soon. `Stripe-Should-Retry` overrides.
    pub fn may_retry(&self) -> bool {
        self.should_retry.unwrap_or(matches!(
            self.kind,
            ErrorKind::Conflict
                | ErrorKind::RateLimited
                | ErrorKind::Server
                | ErrorKind::Network { .. }
                | ErrorKind::Timeout
        ))
    }

    /// Whether a POST that ended so may have moved money: the caller must look before it asks again.
    pub fn outcome_unknown(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Conflict
                | ErrorKind::Server
                | ErrorKind::Network { sent: true }
                | ErrorKind::Timeout
                | ErrorKind::NotJson
                | ErrorKind::TooLarge
        )
    }

    /// One line for a person: what happened and what to do.
    pub fn line(&self) -> String {
        let what = match &self.kind {
            ErrorKind::Unauthorized => {
                format!("Stripe does not know this API key ({}); copy it again from the Dashboard", self.message)
            }
            ErrorKind::Forbidden { permission: Some(name) } => {
                format!("the API key lacks the permission {name}; grant it in the Dashboard under API keys")
            }
            ErrorKind::Forbidden { permission: None } => {
                format!("the API key may not do this ({}); check its permissions and the account", self.message)
            }
            ErrorKind::NotFound => {
                format!(
                    "Stripe has no such object ({}); check its id, the account and the mode of the key",
                    self.message
                )
            }
            ErrorKind::Conflict => {
                format!("the object is in use by another request ({}); try again in a moment", self.message)
            }
            ErrorKind::RateLimited => {
                "Stripe asks for fewer requests (429); try again in a minute, or lower --reads-per-second".to_owned()
            }
            ErrorKind::Invalid { code, param, .. } => {
                let code = code.as_deref().map(|c| format!(" [{c}]")).unwrap_or_default();
                let param = param.as_deref().map(|p| format!(" (parameter {p})")).unwrap_or_default();
                format!("Stripe refused the request{code}{param}: {}", self.message)
            }
            ErrorKind::Server => {
                format!("Stripe failed ({}); try again in a minute, see status.stripe.com", self.message)
            }
            ErrorKind::Network { .. } => {
                format!("Stripe cannot be reached ({}); check the network and --api-base", self.message)
            }
            ErrorKind::NotJson => {
                format!("the answer is not Stripe's ({}); check --api-base and any proxy in between", self.message)
            }
            ErrorKind::TooLarge => format!("the answer is too large ({})", self.message),
            ErrorKind::Timeout => format!("Stripe did not answer in time ({}); try again in a minute", self.message),
        };
        match &self.request_id {
            Some(id) => format!("{what} (request {id})"),
            None => what,
        }
    }
}

/// `rak_…` in Stripe's message about a restricted key.
fn permission_in(message: &str) -> Option<Box<str>> {
    let tail = &message[message.find("rak_")?..];
    let end = tail.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(tail.len());
    Some(tail[..end].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> ApiError {
        ApiError::from_answer(status, body.as_bytes(), Some("req_1".into()), false, None)
    }

    #[test]
    fn each_status_has_its_kind_and_its_advice() {
        let error =
            of(401, r#"{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: sk_test_***9"}}"#);
        assert_eq!(error.kind, ErrorKind::Unauthorized);
        assert!(error.line().contains("sk_test_…)") && error.line().ends_with("(request req_1)"), "{error}");
        let error = of(403, r#"{"error":{"message":"Having the 'rak_payout_read' permission would allow this."}}"#);
        assert_eq!(error.kind, ErrorKind::Forbidden { permission: Some("rak_payout_read".into()) });
        let error =
            of(400, r#"{"error":{"type":"invalid_request_error","code":"balance_insufficient","message":"no"}}"#);
        assert_eq!(error.code(), Some("balance_insufficient"));
        assert!(!error.may_retry() && !error.outcome_unknown());
        assert_eq!(of(404, "{}").kind, ErrorKind::NotFound);
        assert_eq!(of(400, "<html>").kind, ErrorKind::NotJson);
        assert_eq!(of(302, "").kind, ErrorKind::NotJson);
        for (status, unknown) in [(409, true), (429, false), (500, true), (503, true)] {
            let error = of(status, "<html>");
            assert!(error.may_retry() && error.outcome_unknown() == unknown, "{status}");
        }
    }

    #[test]
    fn should_retry_overrides_the_status() {
        let mut error = of(500, "");
        error.should_retry = Some(false);
        assert!(!error.may_retry());
    }
}
