//! Guard 1: who may work on an order, and when a POST may leave. At most one POST per order is ever outstanding.

use super::backoff::Backoff;
use super::intent::{Claim, Intent, Phase, State};
use super::key::may_be_forgotten;

/// How old a lookup may be when its POST is written down, milliseconds. Our record and the key cover the time between.
const FRESH_MS: i64 = 600_000;

/// How long claims last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Milliseconds for the lookup, and again for the POST. Longer than the HTTP timeout.
    pub ms: i64,
}

impl Lease {
    /// Twice the HTTP timeout and ten seconds more, so that a slow commit does not outlive it.
    pub fn for_timeout(timeout_ms: i64) -> Self {
        Self { ms: timeout_ms.max(0).saturating_mul(2).saturating_add(10_000) }
    }
}

/// Why a claim was not given or is not in force any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Somebody else is at it.
    #[error("another worker is sending it")]
    Claimed,
    /// It rests until its time.
    #[error("it is not due yet")]
    NotDue,
    /// Nothing is to be sent.
    #[error("it is not waiting to be sent")]
    Settled,
    /// Somebody else took the claim over or settled the order meanwhile.
    #[error("the claim is no longer in force")]
    Lost,
    /// The lookup is older than ten minutes: look again.
    #[error("the lookup is too old to post on")]
    StaleLookup,
}

impl Intent {
    /// Takes the claim, for looking. A claim that ran out is taken over, and if its holder may have posted, the money is
    /// in doubt.
    pub fn claimed(&self, by: &str, now_ms: i64, lease: Lease) -> Result<Self, Refusal> {
        let (doubt, tries) = match (self.state, &self.claim) {
            (State::Queued | State::Unknown, _) if self.next_ms.is_some_and(|due| due > now_ms) => {
                return Err(Refusal::NotDue);
            }
            (State::Queued | State::Unknown, _) => (self.doubt, self.tries),
            (State::Sending, Some(claim)) if now_ms < claim.until_ms => return Err(Refusal::Claimed),
            // Its holder went away: that is a try too, or an order that kills its worker would do so for ever.
            (State::Sending, Some(claim)) => (self.doubt || claim.phase == Phase::Posting, self.tries + 1),
            _ => return Err(Refusal::Settled),
        };
        let until_ms = now_ms.saturating_add(lease.ms);
        Ok(Self {
            state: State::Sending,
            doubt,
            tries,
            next_ms: None,
            fence: self.fence + 1,
            claim: Some(Claim { by: by.to_owned(), phase: Phase::Looking, until_ms }),
            ..self.clone()
        })
    }

    /// The step before the POST leaves: to be written and committed first. `looked_ms` is when the lookup began.
    pub fn posting(&self, fence: i64, looked_ms: i64, now_ms: i64, lease: Lease) -> Result<Self, Refusal> {
        // One POST per claim: whoever wants another looks again first. A claim that ran out while nobody took it over
        // is still ours: this change and a takeover exclude each other.
        if !self.is_at(fence, Phase::Looking) {
            return Err(Refusal::Lost);
        }
        if now_ms.saturating_sub(looked_ms) > FRESH_MS {
            return Err(Refusal::StaleLookup);
        }
        let claim =
            self.claim.clone().map(|c| Claim { phase: Phase::Posting, until_ms: now_ms.saturating_add(lease.ms), ..c });
        // A key that Stripe may have forgotten begins a new life with this POST.
        let known = self.key_first_ms.filter(|_| !may_be_forgotten(self.key_first_ms, now_ms));
        Ok(Self { claim, key_first_ms: Some(known.unwrap_or(now_ms)), ..self.clone() })
    }

    /// A dead letter, when this claim was taken over once too often.
    pub fn given_up(&self, backoff: Backoff) -> Option<Self> {
        (self.tries >= backoff.tries)
            .then(|| self.rest(State::DeadLetter, format!("{} tries, last: the worker went away", self.tries)))
    }

    /// The last look at the clock, right before the bytes leave: a worker that was stopped after its commit must not send
    /// under a claim that somebody else may take over before its answer is in.
    pub fn may_send(&self, fence: i64, now_ms: i64, timeout_ms: i64) -> bool {
        self.holds(fence, now_ms.saturating_add(timeout_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::transfer::key::KEY_KEPT_MS;

    const LEASE: Lease = Lease { ms: 100 };

    #[test]
    fn one_claim_at_a_time_and_an_old_one_leaves_doubt_only_after_posting() {
        let intent = Intent::new(0).claimed("a", 0, LEASE).unwrap();
        assert_eq!(intent.claimed("b", 99, LEASE), Err(Refusal::Claimed));
        let taken = intent.claimed("b", 100, LEASE).unwrap();
        assert!(!taken.doubt && taken.fence == 2 && taken.unsound().is_none());
        let posting = intent.posting(1, 0, 10, LEASE).unwrap();
        assert_eq!((posting.key_first_ms, posting.claim.clone().unwrap().until_ms), (Some(10), 110));
        let taken = posting.claimed("b", 110, LEASE).unwrap();
        assert!(taken.doubt);
        assert_eq!(taken.posting(1, 0, 111, LEASE), Err(Refusal::Lost), "the first one came back too late");
    }

    #[test]
    fn a_key_that_may_be_forgotten_is_first_used_again() {
        let posted = |first_ms, now_ms| {
            let intent = Intent { key_first_ms: Some(first_ms), ..Intent::new(0) };
            let claimed = intent.claimed("a", now_ms, LEASE).unwrap();
            claimed.posting(1, now_ms, now_ms, LEASE).unwrap().key_first_ms
        };
        assert_eq!(posted(5, 4 + KEY_KEPT_MS), Some(5));
        assert_eq!(posted(5, 5 + KEY_KEPT_MS), Some(5 + KEY_KEPT_MS));
    }

    #[test]
    fn no_post_without_a_claim_in_force_and_a_fresh_lookup() {
        let intent = Intent::new(0).claimed("a", 0, LEASE).unwrap();
        assert_eq!(intent.posting(0, 0, 10, LEASE), Err(Refusal::Lost));
        assert_eq!(intent.posting(1, 0, FRESH_MS + 1, LEASE), Err(Refusal::StaleLookup));
        let late = intent.posting(1, 0, 150, LEASE).unwrap();
        assert_eq!(late.posting(1, 150, 151, LEASE), Err(Refusal::Lost), "one POST per claim");
        assert!(late.may_send(1, 200, 49) && !late.may_send(1, 200, 50) && !late.may_send(2, 200, 0));
        assert_eq!(Intent::new(50).claimed("a", 49, LEASE), Err(Refusal::NotDue));
        let settled = Intent::new(0).rest(State::Canceled, "by hand");
        assert_eq!(settled.claimed("a", 0, LEASE), Err(Refusal::Settled));
    }
}
