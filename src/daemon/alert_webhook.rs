//! `--alert-webhook`: each alert as one JSON POST, oldest first, retried until it is taken.

use std::time::Duration;

use serde_json::json;

use super::side_error::SideError;
use crate::store::alerts::AlertRow;
use crate::store::side::Side;
use crate::stripe::client::plain_http;

/// The longest pause between tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

const MARK: &str = "alert_webhook";

/// Posts alerts to one address.
#[derive(Debug)]
pub struct AlertWebhook {
    url: String,
    http: reqwest::Client,
}

/// What became of one try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// There is nothing to post.
    Nothing,
    /// Taken.
    Taken,
    /// Refused for good (4xx): not tried again. The text says why.
    Refused(String),
    /// Try again after a pause. The text says why.
    Failed(String),
}

impl AlertWebhook {
    /// Checks the address; nothing is sent. `Err` is one line.
    pub fn new(url: &str) -> Result<Self, String> {
        match reqwest::Url::parse(url) {
            Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && parsed.host_str().is_some() => {}
            _ => return Err("--alert-webhook needs an http or https URL".to_owned()),
        }
        Ok(Self { url: url.to_owned(), http: plain_http(Duration::from_secs(10))? })
    }

    /// Alerts from before the option was first used are history: they are not posted.
    pub fn begin(side: &Side, used: bool, now_ms: i64) -> Result<(), SideError> {
        let known = side.mark(MARK)?.is_some();
        if used && !known {
            side.mark_posted(i64::MAX, now_ms)?;
        }
        if used != known {
            side.set_mark(MARK, used.then_some("on"))?;
        }
        Ok(())
    }

    /// Posts the oldest alert that was not posted yet.
    pub async fn post_next(&self, side: &Side, now_ms: i64) -> Result<Posted, SideError> {
        let Some(row) = side.next_unposted()? else { return Ok(Posted::Nothing) };
        let sent = self.http.post(&self.url).json(&body(&row, side.is_live())).send().await;
        let posted = match sent.map(|answer| answer.status().as_u16()) {
            Ok(200..=299) => Posted::Taken,
            Ok(status @ 400..=499) if !matches!(status, 408 | 425 | 429) => {
                Posted::Refused(format!("--alert-webhook answered {status} to alert {}", row.id))
            }
            Ok(status) => Posted::Failed(format!("--alert-webhook answered {status}")),
            Err(error) => Posted::Failed(format!("--alert-webhook: {}", error.without_url())),
        };
        if !matches!(posted, Posted::Failed(_)) {
            side.mark_posted(row.id, now_ms)?;
        }
        Ok(posted)
    }

    /// Posts until nothing is left, pausing after a failure; returns the last reason that something was refused or failed.
    pub async fn post_all(&self, side: &Side, tell: impl Fn(Option<String>)) -> Result<(), SideError> {
        let mut pause = Duration::from_secs(1);
        loop {
            match self.post_next(side, super::now_ms()).await? {
                Posted::Nothing => return Ok(()),
                Posted::Taken => tell(None),
                Posted::Refused(why) => tell(Some(why)),
                Posted::Failed(why) => {
                    tell(Some(why));
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}

fn body(row: &AlertRow, live: bool) -> serde_json::Value {
    let a = &row.alert;
    json!({
        "id": row.id,
        "mode": if live { "live" } else { "test" },
        "kind": a.kind.as_str(),
        "account": a.account,
        "object": a.object,
        "text": a.text,
        "raised_ms": row.raised_ms,
    })
}
