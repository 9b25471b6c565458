//! Guard 2: Stripe's own record, read before every POST. What is found is adopted or given to a person; it is never
//! followed by a second create. Guard 5: events say the same things and drive nothing twice.

use super::backoff::Backoff;
use super::intent::{Intent, Phase, Source, State};
use super::order::Order;

/// A transfer as Stripe tells it, by answer, list or event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Seen {
    /// `tr_…`.
    pub id: String,
    /// Minor units.
    pub amount: i64,
    /// Minor units taken back.
    pub amount_reversed: i64,
    /// Lower-case code.
    pub currency: String,
    /// `acct_…`; absent in some old transfers.
    pub destination: Option<String>,
    /// Its `transfer_group`.
    pub group: Option<String>,
    /// Whether it is live.
    pub live: bool,
}

/// An order with its mode: what a transfer is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The order.
    pub order: &'a Order,
    /// Its mode.
    pub live: bool,
}

impl Wanted<'_> {
    /// The first field in which the transfer is not what was ordered.
    pub fn mismatch(&self, seen: &Seen) -> Option<String> {
        let order = self.order;
        let mode = |live: bool| if live { "live" } else { "test" }.to_owned();
        let pairs = [
            ("mode", mode(seen.live), mode(self.live)),
            ("amount", seen.amount.to_string(), order.amount.to_string()),
            ("currency", seen.currency.clone(), order.currency.to_string()),
            ("destination", seen.destination.clone().unwrap_or_default(), order.destination.clone()),
        ];
        let (field, there, here) = pairs.into_iter().find(|(_, a, b)| a != b)?;
        Some(format!("its {field} is {there}, ordered was {here}"))
    }
}

/// What a lookup leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// Stripe has nothing: the POST may be prepared.
    Create,
    /// Stripe has something: the order is settled.
    Settled(Intent),
    /// The claim is not ours any more: nothing to do.
    Lost,
}

impl Intent {
    /// After a complete lookup: every transfer whose group is the order.
    pub fn looked(&self, wanted: Wanted<'_>, fence: i64, found: &[Seen]) -> Looked {
        if !self.is_at(fence, Phase::Looking) {
            return Looked::Lost;
        }
        Looked::Settled(match found {
            [] => return Looked::Create,
            [one] => match wanted.mismatch(one) {
                Some(why) => self.conflict(&format!("{} already carries this order, but {why}", one.id)),
                None if one.amount_reversed > 0 => self.taken_back(one, Source::Lookup),
                None => {
                    self.paid(State::Adopted, &one.id, Source::Lookup, format!("found {}: all fields match", one.id))
                }
            },
            many => {
                let ids: Vec<_> = many.iter().take(3).map(|s| s.id.as_str()).collect();
                let more = if many.len() > 3 { ", …" } else { "" };
                self.conflict(&format!("{} transfers carry this order: {}{more}", many.len(), ids.join(", ")))
            }
        })
    }

    /// After a lookup that gave no complete answer. `passing` is whether the error may go away by itself.
    pub fn lookup_failed(
        &self,
        fence: i64,
        passing: bool,
        why: &str,
        now_ms: i64,
        backoff: Backoff,
        random: u64,
    ) -> Option<Self> {
        if !self.is_at(fence, Phase::Looking) {
            return None;
        }
        let why = format!("the lookup failed: {why}");
        Some(if passing { self.try_later(why, now_ms, backoff, random) } else { self.rest(State::DeadLetter, why) })
    }

    /// One more try used: later again, or a dead letter.
    pub(super) fn try_later(&self, why: String, now_ms: i64, backoff: Backoff, random: u64) -> Self {
        let tried = Self { tries: self.tries + 1, ..self.clone() };
        if tried.tries >= backoff.tries {
            return tried.rest(State::DeadLetter, format!("{} tries, last: {why}", tried.tries));
        }
        tried.requeue(now_ms.saturating_add(backoff.rest_ms(tried.tries, random)), why)
    }

    /// It was paid and taken back: nothing more is sent, and it cannot be canceled either.
    fn taken_back(&self, seen: &Seen, source: Source) -> Self {
        self.paid(State::Conflict, &seen.id, source, format!("{} already paid this order and was reversed", seen.id))
    }

    pub(super) fn conflict(&self, why: &str) -> Self {
        self.rest(State::Conflict, why)
    }

    /// Guard 5: an event about a transfer of this order. `None` when it tells nothing new, so a repeated, a late or a
    /// foreign one drives no second transition.
    pub fn event(&self, wanted: Wanted<'_>, seen: &Seen) -> Option<Self> {
        let same = self.transfer.as_deref() == Some(&seen.id);
        let matches = wanted.mismatch(seen).is_none();
        let wholly_back = seen.amount_reversed > 0 && seen.amount_reversed >= seen.amount;
        match self.state {
            State::Sent | State::Adopted if same && wholly_back => {
                Some(self.rest(State::Reversed, format!("{} was taken back at Stripe", seen.id)))
            }
            State::Sent | State::Adopted if !same && matches => {
                let ours = self.transfer.as_deref().unwrap_or("a transfer");
                Some(self.conflict(&format!("paid twice: {ours} and {} both carry this order", seen.id)))
            }
            State::Sent | State::Adopted | State::Reversed | State::Conflict => None,
            // What does not match is left to the lookup: it sees the whole group.
            _ if !matches => None,
            State::Canceled => {
                let why = format!("canceled, yet {} carries this order", seen.id);
                Some(self.paid(State::Conflict, &seen.id, Source::Event, why))
            }
            _ if seen.amount_reversed > 0 => Some(self.taken_back(seen, Source::Event)),
            _ => Some(self.paid(State::Adopted, &seen.id, Source::Event, format!("an event told of {}", seen.id))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::transfer::claim::Lease;
    use crate::domain::transfer::order::Draft;

    fn order() -> Order {
        Draft {
            order_ref: "o-1".into(),
            amount: "700".into(),
            currency: "eur".into(),
            destination: "acct_s1".into(),
            ..Draft::default()
        }
        .check()
        .unwrap()
    }

    fn seen(id: &str) -> Seen {
        Seen {
            id: id.into(),
            amount: 700,
            amount_reversed: 0,
            currency: "eur".into(),
            destination: Some("acct_s1".into()),
            group: Some("o-1".into()),
            live: false,
        }
    }

    fn state_after(found: &[Seen]) -> Option<(State, String)> {
        let order = order();
        let wanted = Wanted { order: &order, live: false };
        let intent = Intent::new(0).claimed("w", 0, Lease { ms: 9 }).unwrap();
        match intent.looked(wanted, 1, found) {
            Looked::Settled(i) => {
                assert_eq!(i.unsound(), None);
                Some((i.state, i.reason.unwrap()))
            }
            other => {
                assert_eq!(other, Looked::Create);
                None
            }
        }
    }

    #[test]
    fn what_exists_is_adopted_or_shown_and_never_made_again() {
        assert_eq!(state_after(&[]), None);
        assert_eq!(state_after(&[seen("tr_1")]).unwrap().0, State::Adopted);
        type Change = fn(&mut Seen);
        let changes: [(Change, &str); 6] = [
            (|s| s.amount = 7_000, "amount is 7000"),
            (|s| s.currency = "usd".into(), "currency is usd"),
            (|s| s.destination = Some("acct_s2".into()), "destination is acct_s2"),
            (|s| s.destination = None, "destination"),
            (|s| s.live = true, "mode is live"),
            (|s| s.amount_reversed = 1, "reversed"),
        ];
        for (change, says) in changes {
            let mut other = seen("tr_1");
            change(&mut other);
            let (state, reason) = state_after(&[other]).unwrap();
            assert!(state == State::Conflict && reason.contains(says), "{reason}");
        }
        assert_eq!(state_after(&[seen("tr_1"), seen("tr_2")]).unwrap().0, State::Conflict);
    }

    #[test]
    fn events_settle_once_and_then_only_tell_of_reversals_and_doubles() {
        let order = order();
        let wanted = Wanted { order: &order, live: false };
        let adopted = Intent::new(0).event(wanted, &seen("tr_1")).unwrap();
        assert_eq!((adopted.state, adopted.known_from), (State::Adopted, Some(Source::Event)));
        assert_eq!(adopted.event(wanted, &seen("tr_1")), None);
        let back = Seen { amount_reversed: 700, ..seen("tr_1") };
        let reversed = adopted.event(wanted, &back).unwrap();
        assert_eq!(reversed.state, State::Reversed);
        assert_eq!(reversed.event(wanted, &seen("tr_1")), None, "a late created event changes nothing");
        assert_eq!(adopted.event(wanted, &seen("tr_2")).unwrap().state, State::Conflict);
        assert_eq!(Intent::new(0).event(wanted, &Seen { amount: 1, ..seen("tr_9") }), None);
    }
}
