//! The names of the counters that are kept beside the rows, so that no screen counts rows.

use crate::domain::outcome::State;
use crate::domain::payout::Status;

/// Inbox rows in a state.
pub(super) fn event(state: State) -> &'static str {
    match state {
        State::Received => "event:received",
        State::Waiting => "event:waiting",
        State::Stuck => "event:stuck",
        State::Applied => "event:applied",
        State::Skipped => "event:skipped",
        State::Ignored => "event:ignored",
        State::Dismissed => "event:dismissed",
    }
}

/// Payouts in a status.
pub(super) fn payout(status: Status) -> &'static str {
    match status {
        Status::Pending => "payout:pending",
        Status::InTransit => "payout:in_transit",
        Status::Paid => "payout:paid",
        Status::Failed => "payout:failed",
        Status::Canceled => "payout:canceled",
    }
}
