//! What a person may do: retry and cancel. Guard 3 lives in the retry: only it raises the version, only after a definite
//! failure that Stripe stored, and only for the version the person saw.

use super::intent::{Intent, State};

/// What a retry did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retried {
    /// A definite failure: the next try has a new key.
    NewKey,
    /// Nothing definite: the same key again, after a lookup.
    SameKey,
    /// It was in the queue: due now.
    Nudged,
}

impl Intent {
    /// Puts the order back to work, due now. `version` is the one the person saw; `Err` is one line for them.
    pub fn retried(&self, version: i64, now_ms: i64) -> Result<(Self, Retried), String> {
        if self.version != version {
            return Err(format!(
                "somebody retried it already: the key is at v{} now, you saw v{version}",
                self.version
            ));
        }
        let fresh = Self { tries: 0, ..self.clone() };
        match self.state {
            State::Rejected | State::Conflict if self.spent && !self.doubt => {
                let next = Self { version: self.version + 1, spent: false, key_first_ms: None, ..fresh.clone() };
                Ok((next.without_transfer()?.requeue(now_ms, "retried by hand with a new key"), Retried::NewKey))
            }
            State::Rejected | State::Conflict | State::DeadLetter => Ok((
                fresh.without_transfer()?.requeue(now_ms, "retried by hand: looks first, then the same key"),
                Retried::SameKey,
            )),
            State::Queued | State::Unknown => Ok((Self { next_ms: Some(now_ms), ..fresh }, Retried::Nudged)),
            State::Sending => Err("it is being sent right now; look again in a moment".to_owned()),
            State::Sent | State::Adopted => {
                Err(format!("it is paid: {}", self.transfer.as_deref().unwrap_or_default()))
            }
            State::Reversed => Err("it was paid and taken back; to pay again make a new order".to_owned()),
            State::Canceled => Err("it was canceled; make a new order".to_owned()),
        }
    }

    /// A conflict that knows a transfer can only be decided at Stripe.
    fn without_transfer(self) -> Result<Self, String> {
        match &self.transfer {
            Some(id) => {
                Err(format!("{id} exists for this order: nothing more will be sent; settle it in the Dashboard"))
            }
            None => Ok(self),
        }
    }

    /// Gives the order up: only while nothing can have been sent.
    pub fn canceled(&self, reason: &str) -> Result<Self, String> {
        match self.state {
            _ if self.state.is_paid() || self.transfer.is_some() => {
                Err(format!("it is paid ({}): reverse it at Stripe", self.transfer.as_deref().unwrap_or_default()))
            }
            State::Sending => Err("it is being sent right now; look again in a moment".to_owned()),
            State::Canceled => Err("it is canceled already".to_owned()),
            _ if self.doubt => Err("Stripe may have made it: retry looks it up first".to_owned()),
            _ => Ok(self.rest(State::Canceled, reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_rises_once_and_only_after_a_stored_failure() {
        let rejected = Intent { spent: true, ..Intent::new(0).rest(State::Rejected, "no funds") };
        let (again, how) = rejected.retried(0, 5).unwrap();
        assert_eq!((again.version, again.state, how), (1, State::Queued, Retried::NewKey));
        assert!(again.retried(0, 6).unwrap_err().contains("already"));
        assert_eq!(again.retried(1, 6).unwrap().0.version, 1);
        let doubt = Intent { doubt: true, ..Intent::new(0).rest(State::DeadLetter, "no answer") };
        let (again, how) = doubt.retried(0, 5).unwrap();
        assert_eq!((again.version, again.state, how), (0, State::Unknown, Retried::SameKey));
        let not_stored = Intent::new(0).rest(State::Rejected, "401");
        assert_eq!(not_stored.retried(0, 5).unwrap().0.version, 0);
    }

    #[test]
    fn nothing_that_may_exist_is_canceled_and_nothing_paid_is_retried() {
        assert_eq!(Intent::new(0).canceled("typo").unwrap().state, State::Canceled);
        let doubt = Intent { doubt: true, ..Intent::new(0).rest(State::DeadLetter, "no answer") };
        assert!(doubt.canceled("x").is_err());
        let paid = Intent::new(0).paid(State::Sent, "tr_1", crate::domain::transfer::intent::Source::Answer, "ok");
        assert!(paid.canceled("x").is_err() && paid.retried(0, 0).is_err());
    }
}
