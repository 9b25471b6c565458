//! Backfill: every event Stripe kept since the last complete backfill (the first time: since we watch the account, or all
//! 30 days when nothing was seen yet), account by account, oldest first, resumable.
//!
//! The watermark moves only when a listing came to its end. Until then the last event that is on disk is remembered, and a
//! later run goes on from there. Stripe keeps events for 30 days; what is older cannot be had.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::intake::{Intake, Taken};
use super::side_error::SideError;
use crate::domain::owner::Owner;
use crate::store::side::Side;
use crate::stripe::client::Client;
use crate::stripe::error::{ApiError, ErrorKind};
use crate::stripe::paging::Start;

/// How far back Stripe lists events, seconds.
const KEPT: i64 = 30 * 86_400;

/// How far before the last seen event a listing begins, seconds: events may become visible late and out of order.
pub const OVERLAP: i64 = 600;

/// The most bodies, and bytes, held in memory while looking for the oldest event.
const HELD: usize = 2_000;
const HELD_BYTES: usize = 32 << 20;

/// What a backfill of one account did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// Whose events.
    pub owner: Owner,
    /// What came in.
    pub taken: Taken,
    /// Where the listing began, Stripe's unix seconds.
    pub since: i64,
    /// Whether something between the last seen event and `since` is beyond Stripe's 30 days.
    pub too_old: bool,
}

#[derive(Deserialize)]
struct Head {
    id: String,
    created: i64,
}

/// Where a listing stands, kept in the marks.
struct Place<'a> {
    side: &'a Side,
    owner: &'a Owner,
}

impl Place<'_> {
    fn name(&self, what: &str) -> String {
        format!("backfill_{what}:{}", self.owner)
    }

    /// Every event up to this second, Stripe's clock, came in.
    fn until(&self) -> Result<Option<i64>, SideError> {
        Ok(self.side.mark(&self.name("until"))?.and_then(|v| v.parse().ok()))
    }

    /// Of an unfinished listing: the newest second seen, and the last event on disk.
    fn unfinished(&self) -> Result<Option<(i64, String)>, SideError> {
        let mark = self.side.mark(&self.name("at"))?;
        let parse = |mark: String| mark.split_once(' ').and_then(|(n, id)| Some((n.parse().ok()?, id.to_owned())));
        Ok(mark.and_then(parse))
    }

    fn reached(&self, newest: i64, id: &str) -> Result<(), SideError> {
        Ok(self.side.set_mark(&self.name("at"), Some(&format!("{newest} {id}")))?)
    }

    fn begin_afresh(&self) -> Result<(), SideError> {
        Ok(self.side.set_mark(&self.name("at"), None)?)
    }

    fn complete(&self, until: i64) -> Result<(), SideError> {
        self.side.set_mark(&self.name("until"), Some(&until.to_string()))?;
        self.begin_afresh()
    }
}

/// Backfills one account. `since` overrides where to begin; `now` is Stripe's clock, unix seconds. After an error what came in
/// so far is on disk and the next run goes on from there.
pub async fn backfill(
    client: &Client,
    side: &Side,
    intake: &mut impl Intake,
    owner: &Owner,
    since: Option<i64>,
    now: i64,
) -> Result<Filled, SideError> {
    let place = Place { side, owner };
    let seen = match place.until()? {
        Some(until) => Some(until),
        None => side.watched_since(owner)?,
    };
    let wanted = since.or(seen).map_or(now - KEPT, |s| if since.is_some() { s } else { s - OVERLAP });
    let oldest = now - KEPT;
    let mut filled = Filled {
        owner: owner.clone(),
        taken: Taken::default(),
        since: wanted.max(oldest),
        too_old: seen.is_some_and(|s| s < oldest),
    };
    let unfinished = if since.is_none() { place.unfinished()? } else { None };
    let (mut newest, mut cursor) = unfinished.map_or((0, None), |(newest, id)| (newest, Some(id)));
    if cursor.is_none() {
        let (first, more) = oldest_events(client, owner, filled.since).await?;
        cursor = keep(&place, intake, first, &mut newest, &mut filled).await?;
        if !more {
            cursor = None;
        }
    }
    if let Some(cursor) = cursor {
        let query = [("created[gte]", filled.since.to_string())];
        let query: Vec<(&str, &str)> = query.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let mut walk = client.walk(owner, "/v1/events", &query, Start::After(cursor));
        loop {
            match walk.next().await {
                Ok(Some(page)) => keep(&place, intake, page, &mut newest, &mut filled).await?,
                Ok(None) => break,
                Err(error) => {
                    if is_about_the_cursor(&error) {
                        // The event has passed out of Stripe's 30 days; the next run begins afresh.
                        place.begin_afresh()?;
                    }
                    return Err(error.into());
                }
            };
        }
    }
    let until = newest.max(seen.unwrap_or(0));
    if until > 0 {
        place.complete(until)?;
    }
    Ok(filled)
}

/// The oldest events since `since`, oldest first, and whether there are newer ones after them. Walks back to the end and
/// keeps only the last of what it saw, so memory is bounded however long the listing is.
async fn oldest_events(client: &Client, owner: &Owner, since: i64) -> Result<(Vec<Box<RawValue>>, bool), ApiError> {
    let since = since.to_string();
    let mut walk = client.walk(owner, "/v1/events", &[("created[gte]", &since)], Start::Newest);
    let (mut held, mut bytes, mut more) = (VecDeque::<Box<RawValue>>::new(), 0, false);
    while let Some(page) = walk.next().await? {
        for raw in page {
            bytes += raw.get().len();
            held.push_back(raw);
        }
        while held.len() > HELD || (bytes > HELD_BYTES && held.len() > 1) {
            bytes -= held.pop_front().map_or(0, |raw| raw.get().len());
            more = true;
        }
    }
    Ok((held.into_iter().rev().collect(), more))
}

/// Puts a page on disk and then remembers how far we are. Returns the last id.
async fn keep(
    place: &Place<'_>,
    intake: &mut impl Intake,
    page: Vec<Box<RawValue>>,
    newest: &mut i64,
    filled: &mut Filled,
) -> Result<Option<String>, SideError> {
    let Some(last) = page.last() else { return Ok(None) };
    let last: Head = serde_json::from_str(last.get()).map_err(|e| ApiError::unreadable(&e))?;
    for raw in &page {
        let head: Head = serde_json::from_str(raw.get()).map_err(|e| ApiError::unreadable(&e))?;
        *newest = (*newest).max(head.created);
    }
    let taken = intake.take(page.iter().map(|raw| raw.get().as_bytes().to_vec()).collect()).await?;
    filled.taken.stored += taken.stored;
    filled.taken.known += taken.known;
    filled.taken.refused += taken.refused;
    place.reached(*newest, &last.id)?;
    Ok(Some(last.id))
}

fn is_about_the_cursor(error: &ApiError) -> bool {
    match &error.kind {
        ErrorKind::NotFound => true,
        ErrorKind::Invalid { param, .. } => param.as_deref() == Some("ending_before"),
        _ => false,
    }
}
