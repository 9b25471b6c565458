//! What the Stripe side came to, said in the toast line: once, when it changes.

use super::notices::{Notices, Tone};
use crate::daemon::stripe_side::{Progress, Status};

/// Says what changed between two states.
pub fn tell(notices: &mut Notices, before: &Status, after: &Status) {
    if after.trouble != before.trouble
        && let Some(trouble) = &after.trouble
    {
        notices.say(Tone::Error, trouble.clone());
    }
    for (name, was, is) in [
        ("backfill", &before.backfill, &after.backfill),
        ("reconcile", &before.reconcile, &after.reconcile),
        ("opening balances", &before.openings, &after.openings),
    ] {
        match is {
            Progress::Done(_, text) if is != was => notices.say(Tone::Done, format!("{name}: {text}")),
            Progress::Failed(_, why) if is != was => notices.say(Tone::Error, format!("{name}: {why}")),
            _ => {}
        }
    }
    if after.unopened > before.unopened && after.key.is_some() {
        notices.say(Tone::Warn, "a payout lacks money from before the first event: O opens the balances from Stripe");
    }
    if after.confirmed.unknown > before.confirmed.unknown {
        notices.say(Tone::Warn, "Stripe does not know an object (simulated, or another account's): its payload stands");
    }
    for (was, is) in [(&before.confirmed.why, &after.confirmed.why), (&before.webhook, &after.webhook)] {
        if let Some(why) = is.as_ref().filter(|_| is != was) {
            notices.say(Tone::Error, why.clone());
        }
    }
    let state = |status: &Status| status.listen.as_ref().map(|l| l.state.to_string());
    if state(before) != state(after)
        && let Some(text) = state(after)
    {
        notices.say(Tone::Warn, format!("stripe listen: {text}"));
    }
}
