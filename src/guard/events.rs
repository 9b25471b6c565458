//! Guard 5 and the meeting of our row with Stripe's events: each transfer event is shown to the order it belongs to.

use serde::Deserialize;

use super::api::seen;
use crate::store::error::StoreError;
use crate::store::transfers::Transfers;
use crate::stripe::transfer::Transfer;

/// Events looked at in one go.
const PAGE: i64 = 2_000;

#[derive(Deserialize)]
struct Event {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Transfer,
}

/// Shows new transfer events to their orders. Going over one twice changes nothing, so a crash in between costs nothing.
/// Returns how many orders changed.
pub(super) fn read(store: &Transfers, now_ms: i64) -> Result<usize, StoreError> {
    let mut changed = 0;
    let mut at = store.events_seen()?;
    loop {
        let (bodies, last) = store.events_after(at, PAGE)?;
        if last == at {
            return Ok(changed);
        }
        for body in bodies {
            // What cannot be read as a transfer is the inbox's matter.
            if let Ok(event) = serde_json::from_slice::<Event>(&body) {
                changed += usize::from(store.told_by_event(&seen(event.data.object), now_ms)?);
            }
        }
        store.set_events_seen(last)?;
        at = last;
    }
}
