//! What the end of a POST means: paid, refused for good, not done, or unknown (Stripe: Idempotent requests, Errors).

use super::backoff::Backoff;
use super::intent::{Intent, Phase, Source, State};
use super::key::KEY_KEPT_MS;
use super::lookup::{Seen, Wanted};

/// After a stored 5xx the same key replays it until Stripe forgets the key: an hour more than that, to be sure.
const AFTER_KEY_MS: i64 = KEY_KEPT_MS + 3_600_000;

/// Whether the idempotency key holds a refusal: then the same key would only replay it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Surely: it was executed under the key, or replayed from it. Nothing else can come of the key.
    Yes,
    /// Perhaps: Stripe may have refused before it looked at the key.
    Perhaps,
    /// No: the same key may be used again.
    No,
}

/// How a POST ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// 2xx with the transfer.
    Created(Seen),
    /// A definite refusal of this request.
    Refused {
        /// Whether the key holds it.
        stored: Stored,
        /// Stripe's words.
        why: String,
    },
    /// Another request used our key with other parameters.
    KeyReused {
        /// Stripe's words.
        why: String,
    },
    /// It was never executed: too many requests, or no connection at all.
    NotDone {
        /// What stopped it.
        why: String,
    },
    /// It may or may not have been executed.
    Unknown {
        /// What we saw instead of an answer.
        why: String,
        /// Stripe replayed a stored failure of its own: asking sooner than it forgets the key tells nothing.
        replayed: bool,
    },
}

/// The facts of an answer that is no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a> {
    /// HTTP status, when there was one.
    pub status: Option<u16>,
    /// Stripe's `type`.
    pub kind: &'a str,
    /// Whether the body is Stripe's error object: a proxy's page says nothing about Stripe.
    pub from_stripe: bool,
    /// `Idempotent-Replayed`.
    pub replayed: bool,
    /// False when no connection was made, so nothing can have left.
    pub left: bool,
}

/// Reads a failure. Whatever is not surely definite is unknown.
pub fn read(failure: Failure<'_>, why: &str) -> Outcome {
    let why = why.to_owned();
    match failure.status {
        None if !failure.left => Outcome::NotDone { why },
        Some(400) if failure.kind == "idempotency_error" => Outcome::KeyReused { why },
        // The limiters stand before the idempotency layer: nothing was executed, nothing stored.
        Some(429) if failure.from_stripe && !failure.replayed => Outcome::NotDone { why },
        Some(400..=408 | 410..=499) if failure.from_stripe && failure.replayed => {
            Outcome::Refused { stored: Stored::Yes, why }
        }
        // 401 is not stored by Stripe's word; when it comes as a replay, it was.
        Some(401) if failure.from_stripe => Outcome::Refused { stored: Stored::No, why },
        Some(400 | 402) if failure.from_stripe => Outcome::Refused { stored: Stored::Yes, why },
        Some(403..=408 | 410..=499) if failure.from_stripe => Outcome::Refused { stored: Stored::Perhaps, why },
        _ => Outcome::Unknown { why, replayed: failure.replayed },
    }
}

/// What the screen says beside an error that may be old: such a message can name a key or a balance of today and still
/// be yesterday's answer. `first_ms` is when the key was first sent, `at_ms` when this answer came.
pub fn replay_note(replayed: bool, failed: bool, first_ms: Option<i64>, sent_ms: i64) -> Option<&'static str> {
    if !failed {
        return None;
    }
    if replayed {
        return Some("this is a replay of an old failure: Stripe stored it under this key; a retry uses a new key");
    }
    first_ms
        .is_some_and(|first| first < sent_ms)
        .then_some("this error may be a replay of an old failure: the key was used before; look up, then retry")
}

impl Intent {
    /// After a POST that was sent under claim `fence`. A transfer counts whoever holds the claim now; anything less
    /// counts only under its own claim (`None`: kept in the history alone).
    pub fn answered(
        &self,
        wanted: Wanted<'_>,
        fence: i64,
        outcome: &Outcome,
        now_ms: i64,
        backoff: Backoff,
        random: u64,
    ) -> Option<Self> {
        if let Outcome::Created(seen) = outcome {
            return self.created(wanted, seen);
        }
        if !self.is_at(fence, Phase::Posting) {
            return None;
        }
        Some(match outcome {
            Outcome::Created(_) => return None,
            Outcome::Refused { stored: Stored::Perhaps | Stored::No, why } if self.doubt => {
                self.rest(State::DeadLetter, format!("an earlier POST is still unknown; now: {why}"))
            }
            Outcome::Refused { stored, why } => {
                Self { doubt: false, spent: *stored != Stored::No, ..self.rest(State::Rejected, why) }
            }
            Outcome::KeyReused { why } => Self { spent: true, ..self.conflict(why) },
            Outcome::NotDone { why } => self.try_later(why.clone(), now_ms, backoff, random),
            Outcome::Unknown { why, replayed } => {
                let doubtful = Self { doubt: true, ..self.clone() };
                let later = doubtful.try_later(why.clone(), now_ms, backoff, random);
                match (later.next_ms, self.key_first_ms) {
                    (Some(next), Some(first)) if *replayed => {
                        Self { next_ms: Some(next.max(first.saturating_add(AFTER_KEY_MS))), ..later }
                    }
                    _ => later,
                }
            }
        })
    }

    fn created(&self, wanted: Wanted<'_>, seen: &Seen) -> Option<Self> {
        if let Some(known) = &self.transfer {
            if *known != seen.id {
                return Some(self.conflict(&format!("paid twice: {known} and {} both carry this order", seen.id)));
            }
            // Known already by lookup or event: our own answer is the better word for it.
            return (self.state == State::Adopted)
                .then(|| self.paid(State::Sent, known, Source::Answer, format!("{known}: all fields match")));
        }
        if self.state == State::Canceled {
            let why = format!("canceled, yet {} was made", seen.id);
            return Some(self.paid(State::Conflict, &seen.id, Source::Answer, why));
        }
        let sent = |reason| self.paid(State::Sent, &seen.id, Source::Answer, reason);
        Some(match wanted.mismatch(seen) {
            Some(why) => Self { state: State::Conflict, ..sent(format!("Stripe made {}, but {why}", seen.id)) },
            None if seen.group.as_deref() != Some(&wanted.order.order_ref) => {
                sent(format!("{}: all fields match, but it lacks its group: a lookup cannot find it", seen.id))
            }
            None => sent(format!("{}: all fields match", seen.id)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(status: Option<u16>, replayed: bool, from_stripe: bool, left: bool) -> Outcome {
        read(Failure { status, kind: "invalid_request_error", from_stripe, replayed, left }, "why")
    }

    #[test]
    fn whatever_is_not_surely_definite_is_unknown() {
        let why = || "why".to_owned();
        let refused = |stored| Outcome::Refused { stored, why: why() };
        let unknown = |replayed| Outcome::Unknown { why: why(), replayed };
        for (status, fresh, again) in [
            (400, refused(Stored::Yes), refused(Stored::Yes)),
            (401, refused(Stored::No), refused(Stored::Yes)),
            (402, refused(Stored::Yes), refused(Stored::Yes)),
            (403, refused(Stored::Perhaps), refused(Stored::Yes)),
            (404, refused(Stored::Perhaps), refused(Stored::Yes)),
            (409, unknown(false), unknown(true)),
            (429, Outcome::NotDone { why: why() }, refused(Stored::Yes)),
            (500, unknown(false), unknown(true)),
            (503, unknown(false), unknown(true)),
            (302, unknown(false), unknown(true)),
        ] {
            assert_eq!(failed(Some(status), false, true, true), fresh, "{status}");
            assert_eq!(failed(Some(status), true, true, true), again, "{status} replayed");
            assert_eq!(failed(Some(status), false, false, true), unknown(false), "{status} from a proxy");
        }
        assert_eq!(failed(None, false, false, true), unknown(false));
        assert_eq!(failed(None, false, false, false), Outcome::NotDone { why: why() });
        let reused =
            Failure { status: Some(400), kind: "idempotency_error", from_stripe: true, replayed: false, left: true };
        assert_eq!(read(reused, "why"), Outcome::KeyReused { why: why() });
    }

    #[test]
    fn an_error_that_may_be_old_is_said_to_be() {
        assert!(replay_note(true, true, None, 5).unwrap().contains("is a replay"));
        assert!(replay_note(false, true, Some(1), 5).unwrap().contains("may be a replay"));
        assert_eq!(replay_note(false, true, Some(5), 5), None);
        assert_eq!(replay_note(true, false, Some(1), 5), None);
    }
}
