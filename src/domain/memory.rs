//! A book in memory: for the lab, for property tests and for the audit's replay.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;

use super::book::{Blocked, Book, PayoutRecord};
use super::engine::Engine;
use super::event::Event;
use super::guard::{self, Account, Balance};
use super::leg::{Leg, Posted, Side};
use super::outcome::Outcome;
use super::retry::Profile;

/// Everything the rules store, in maps.
#[derive(Debug, Clone, Default)]
pub struct MemoryBook {
    /// By payout id.
    pub payouts: BTreeMap<String, PayoutRecord>,
    /// By account.
    pub balances: BTreeMap<Account, Balance>,
    /// Legs by object, in order of posting.
    pub journal: BTreeMap<String, Vec<Leg>>,
    /// Blocked rows by arrival number.
    pub blocked: BTreeMap<i64, Blocked>,
    /// What each row came to.
    pub outcomes: BTreeMap<i64, Outcome>,
    /// The blocked row of each object.
    open: HashMap<String, i64>,
    /// How many blocked rows would debit each account.
    wanted: HashMap<Account, i64>,
}

impl MemoryBook {
    fn want(&mut self, legs: &[Leg], sign: i64) {
        for (account, change) in guard::net(legs).unwrap_or_default() {
            if change.total() < 0 {
                *self.wanted.entry(account).or_default() += sign;
            }
        }
    }
}

impl Book for MemoryBook {
    type Error = Infallible;

    fn payout(&mut self, id: &str) -> Result<Option<PayoutRecord>, Infallible> {
        Ok(self.payouts.get(id).cloned())
    }

    fn save_payout(&mut self, payout: &PayoutRecord, _: Option<&PayoutRecord>) -> Result<(), Infallible> {
        self.payouts.insert(payout.id.clone(), payout.clone());
        Ok(())
    }

    fn mark_posted(&mut self, id: &str) -> Result<(), Infallible> {
        if let Some(payout) = self.payouts.get_mut(id) {
            payout.posted = true;
        }
        Ok(())
    }

    fn balance(&mut self, account: &Account) -> Result<Balance, Infallible> {
        Ok(self.balances.get(account).copied().unwrap_or_default())
    }

    fn posted(&mut self, object: &str) -> Result<Vec<Posted>, Infallible> {
        let legs = self.journal.get(object).map(Vec::as_slice).unwrap_or_default();
        Ok(legs.iter().map(|l| Posted { name: l.name.clone(), upto: l.upto, amount: l.amount }).collect())
    }

    fn post(&mut self, _: Option<i64>, object: &str, legs: &[Leg], _: i64) -> Result<(), Infallible> {
        for leg in legs {
            for (side, amount) in [(&leg.from, -leg.amount), (&leg.to, leg.amount)] {
                let Some(owner) = side.owner() else { continue };
                let balance = self.balances.entry((owner.clone(), leg.currency)).or_default();
                match side {
                    Side::Claims(_) => balance.claims += amount,
                    _ => balance.funds += amount,
                }
            }
            self.journal.entry(object.to_owned()).or_default().push(leg.clone());
        }
        Ok(())
    }

    fn is_wanted(&mut self, account: &Account) -> Result<bool, Infallible> {
        Ok(self.wanted.get(account).is_some_and(|n| *n > 0))
    }

    fn blocked(&mut self, object: &str) -> Result<Option<Blocked>, Infallible> {
        Ok(self.open.get(object).and_then(|seq| self.blocked.get(seq)).cloned())
    }

    fn block(&mut self, row: &Blocked, outcome: &Outcome, _: bool, _: i64) -> Result<(), Infallible> {
        self.outcomes.insert(row.seq, outcome.clone());
        if self.blocked.insert(row.seq, row.clone()).is_none() {
            self.open.insert(row.object.clone(), row.seq);
            self.want(&row.legs, 1);
        }
        Ok(())
    }

    fn unblock(&mut self, row: &Blocked, outcome: &Outcome, _: i64) -> Result<(), Infallible> {
        self.outcomes.insert(row.seq, outcome.clone());
        if self.blocked.remove(&row.seq).is_some() {
            self.open.remove(&row.object);
            self.want(&row.legs, -1);
        }
        Ok(())
    }

    fn next_covered(&mut self, account: &Account, strict: i64, released: i64) -> Result<Option<Blocked>, Infallible> {
        let covered = |row: &&Blocked| {
            row.needs.account == *account && row.needs.debit <= if row.is_released() { released } else { strict }
        };
        Ok(self.blocked.values().filter(covered).min_by_key(|row| row.order()).cloned())
    }

    fn due(&mut self, now_ms: i64) -> Result<Vec<i64>, Infallible> {
        let mut due: Vec<&Blocked> =
            self.blocked.values().filter(|row| row.next_ms.is_some_and(|at| at <= now_ms)).collect();
        due.sort_by_key(|row| row.order());
        Ok(due.into_iter().map(|row| row.seq).collect())
    }

    fn blocked_row(&mut self, seq: i64) -> Result<Option<Blocked>, Infallible> {
        Ok(self.blocked.get(&seq).cloned())
    }

    fn all_blocked(&mut self) -> Result<Vec<Blocked>, Infallible> {
        Ok(self.blocked.values().cloned().collect())
    }
}

/// A whole monitor in memory: the engine, a book and the ids it has seen.
#[derive(Debug, Clone)]
pub struct Monitor {
    /// The rules.
    pub engine: Engine,
    /// The facts.
    pub book: MemoryBook,
    seen: HashSet<String>,
    seqs: HashMap<i64, String>,
}

impl Monitor {
    /// An empty monitor.
    pub fn new(live: bool, profile: Profile) -> Self {
        let engine = Engine::new(live, profile);
        Self { engine, book: MemoryBook::default(), seen: HashSet::new(), seqs: HashMap::new() }
    }

    /// Delivers an event; `None` when its id was delivered before.
    pub fn deliver(&mut self, event: &Event, now_ms: i64) -> Option<Outcome> {
        if !self.seen.insert(event.id.clone()) {
            return None;
        }
        let seq = i64::try_from(self.seen.len()).unwrap_or(i64::MAX);
        self.seqs.insert(seq, event.id.clone());
        let Ok(outcome) = self.engine.receive(&mut self.book, seq, event, now_ms);
        self.book.outcomes.insert(seq, outcome.clone());
        Some(outcome)
    }

    /// One sweep; whether anything was posted.
    pub fn sweep(&mut self, now_ms: i64) -> bool {
        let Ok(moved) = self.engine.sweep(&mut self.book, now_ms);
        moved
    }

    /// Puts an opening balance. `Err` says why it cannot be.
    pub fn open(&mut self, account: &Account, amount: i64, now_ms: i64) -> Result<String, String> {
        let Ok(opened) = self.engine.open(&mut self.book, account, amount, now_ms);
        opened
    }

    /// What each event came to, by event id.
    pub fn outcomes(&self) -> BTreeMap<&str, &Outcome> {
        self.book.outcomes.iter().filter_map(|(seq, o)| Some((self.seqs.get(seq)?.as_str(), o))).collect()
    }
}
