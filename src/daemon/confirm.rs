//! Fetch on receipt: the payload is a hint, the object is read again and goes through the same rules.
//!
//! Follows the inbox by arrival number, so it survives a restart, costs the receiver nothing, and reads an object once for
//! all the events about it that came meanwhile. Without the option it reads only what the payload cannot settle: thin
//! events, and details that differ within one second (R6).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::intake::Intake;
use super::side_error::SideError;
use crate::domain::owner::Owner;
use crate::store::side::{Came, Side};
use crate::stripe::client::Client;
use crate::stripe::error::ErrorKind;
use crate::stripe::fetched;

/// What is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Only what the payload cannot settle.
    #[default]
    Payload,
    /// Every object a money rule is about; with it a charge's fee and settled currency.
    Fetch,
}

/// What happened to the objects looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confirmed {
    /// Objects read and handed on.
    pub fetched: u64,
    /// Objects Stripe does not know (simulated, deleted, another account): the payload stands.
    pub unknown: u64,
    /// Objects the key may not read: the payload stands. With the last reason.
    pub refused: u64,
    /// Why the last one was refused.
    pub why: Option<String>,
}

/// Events looked at in one step.
const STEP: i64 = 500;

/// How long after its second a tie is read: whatever happened in that second is then visible, and the read is newer.
const SETTLE: i64 = 3;

const MARK: &str = "confirmed";

/// How often the place is written down while nothing is read: a restart looks at a few events again, which does no harm.
const SAVE_EVERY: Duration = Duration::from_secs(30);

/// Follows the inbox.
#[derive(Debug)]
pub struct Follower {
    mode: Mode,
    seq: Option<i64>,
    saved: Instant,
    /// What was done so far.
    pub confirmed: Confirmed,
}

impl Follower {
    /// Goes on where the last one stopped.
    pub fn new(mode: Mode) -> Self {
        Self { mode, seq: None, saved: Instant::now(), confirmed: Confirmed::default() }
    }

    /// Looks at the next events that came. Returns whether there were any. After an error the same events are looked at again.
    pub async fn step(&mut self, client: &Client, side: &Side, intake: &mut impl Intake) -> Result<bool, SideError> {
        let from = match self.seq {
            Some(seq) => seq,
            None => begin(side)?,
        };
        let (last, came) = side.came_after(from, STEP, self.mode == Mode::Fetch)?;
        let wanted = wanted(&came);
        let any = !wanted.is_empty();
        for ((account, object), created) in wanted {
            let Ok(owner) = Owner::parse(&account) else { continue };
            let wait = (created + SETTLE).saturating_sub(chrono::Utc::now().timestamp());
            if let Ok(seconds @ 1..=3) = u64::try_from(wait) {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            self.confirm(client, intake, &owner, &object).await?;
        }
        let seq = last.unwrap_or(from);
        self.seq = Some(seq);
        if any || self.saved.elapsed() > SAVE_EVERY {
            side.set_mark(MARK, Some(&seq.to_string()))?;
            self.saved = Instant::now();
        }
        Ok(last.is_some())
    }

    async fn confirm(
        &mut self,
        client: &Client,
        intake: &mut impl Intake,
        owner: &Owner,
        object: &str,
    ) -> Result<(), SideError> {
        match client.fetch_object(owner, object).await {
            Ok(body) => {
                intake.take(vec![body]).await?;
                self.confirmed.fetched += 1;
            }
            Err(error) => match error.kind {
                ErrorKind::NotFound => self.confirmed.unknown += 1,
                ErrorKind::Forbidden { .. } | ErrorKind::Invalid { .. } => {
                    self.confirmed.refused += 1;
                    self.confirmed.why = Some(error.line());
                }
                _ => return Err(error.into()),
            },
        }
        Ok(())
    }
}

/// Where to go on. The first time that is the end: what is there already is history, and a backfill or a reconcile is the
/// way to look at it.
pub(super) fn begin(side: &Side) -> Result<i64, SideError> {
    if let Some(seq) = side.mark(MARK)?.and_then(|v| v.parse().ok()) {
        return Ok(seq);
    }
    let last = side.last_seq()?;
    side.set_mark(MARK, Some(&last.to_string()))?;
    Ok(last)
}

/// Each object once, with the newest second any of its events names when that second has to be waited for.
fn wanted(came: &[Came]) -> BTreeMap<(String, String), i64> {
    let mut wanted = BTreeMap::new();
    for event in came.iter().filter(|c| fetched::can_fetch(&c.object)) {
        let created = if event.tie { event.created } else { 0 };
        let entry = wanted.entry((event.account.clone(), event.object.clone())).or_insert(created);
        *entry = created.max(*entry);
    }
    wanted
}
