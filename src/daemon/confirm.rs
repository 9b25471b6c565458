//! Fetch on receipt: the payload is a hint, the object is read again and goes through the same rules.
//!
//! Follows the inbox by arrival number, so it survives a restart, costs the receiver nothing, and reads an object once for
//! all the events about it that came meanwhile. Without the option it reads only what the payload cannot settle: thin
//! events, and details that differ within one second (R6).

use std::collections::BTreeMap;
use std::time::Duration;

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

/// Looks at the next events that came. Returns whether there were any. After an error the same events are looked at again.
pub async fn step(
    client: &Client,
    side: &Side,
    intake: &mut impl Intake,
    mode: Mode,
    confirmed: &mut Confirmed,
) -> Result<bool, SideError> {
    let from = match side.mark(MARK)?.and_then(|v| v.parse().ok()) {
        Some(seq) => seq,
        None => return begin(side).map(|()| false),
    };
    let came = side.came_after(from, STEP)?;
    let Some(last) = came.last().map(|c| c.seq) else { return Ok(false) };
    let wanted = wanted(side, mode, &came)?;
    for ((account, object), created) in wanted {
        let Ok(owner) = Owner::parse(&account) else { continue };
        let wait = (created + SETTLE).saturating_sub(chrono::Utc::now().timestamp());
        if let Ok(seconds @ 1..=3) = u64::try_from(wait) {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
        match client.fetch_object(&owner, &object).await {
            Ok(body) => {
                intake.take(vec![body]).await?;
                confirmed.fetched += 1;
            }
            Err(error) => match error.kind {
                ErrorKind::NotFound => confirmed.unknown += 1,
                ErrorKind::Forbidden { .. } | ErrorKind::Invalid { .. } => {
                    confirmed.refused += 1;
                    confirmed.why = Some(error.line());
                }
                _ => return Err(error.into()),
            },
        }
    }
    side.set_mark(MARK, Some(&last.to_string()))?;
    Ok(true)
}

/// The first time: what is there already is history, and a backfill or a reconcile is the way to look at it.
pub(super) fn begin(side: &Side) -> Result<(), SideError> {
    Ok(side.set_mark(MARK, Some(&side.last_seq()?.to_string()))?)
}

/// Each object once, with the newest second any of its events names when that second has to be waited for.
fn wanted(side: &Side, mode: Mode, came: &[Came]) -> Result<BTreeMap<(String, String), i64>, SideError> {
    let mut wanted = BTreeMap::new();
    for event in came.iter().filter(|c| fetched::can_fetch(&c.object)) {
        let tie = event.object.starts_with("po_") && side.is_ambiguous(&event.object)?;
        if tie || event.thin || mode == Mode::Fetch {
            let created = if tie { event.created } else { 0 };
            let entry = wanted.entry((event.account.clone(), event.object.clone())).or_insert(created);
            *entry = created.max(*entry);
        }
    }
    Ok(wanted)
}
