//! R5's joint try: waiting events that cannot go alone are tried together and go if their NET keeps every balance legal.
//!
//! First all of them; then, for each one from the oldest, the events that would credit what it lacks are pulled in,
//! oldest first, until the group fits or nobody can help. (Dropping the youngest until it fits is not enough: the one
//! to leave out may be an older one that merely competes.)

use std::collections::{BTreeMap, BTreeSet};

use super::book::{Blocked, Book};
use super::engine::{Engine, finish};
use super::guard::{self, Account, Balance, Changes, Mode, Refusal};

/// Pulls per sweep at the most, so that thousands of hopeless rows cost a bounded time.
const PULLS: usize = 20_000;

/// A blocked row with its own net change.
struct Waiting {
    row: Blocked,
    net: Changes,
}

impl Engine {
    /// Tries blocked events together until nothing more goes. Returns whether anything went.
    pub(super) fn try_together<B: Book>(&mut self, book: &mut B, now_ms: i64) -> Result<bool, B::Error> {
        let mut moved = false;
        while self.is_joint_due() {
            self.joint_due = false;
            let rows = book.all_blocked()?;
            let Some(group) = find_group(book, rows)? else { break };
            moved = true;
            let mut credited: BTreeSet<Account> = BTreeSet::new();
            for row in &group {
                book.post(Some(row.seq), &row.object, &row.legs, now_ms)?;
                finish(book, row, None, now_ms)?;
                credited.extend(row.legs.iter().filter_map(|l| Some((l.to.owner()?.clone(), l.currency))));
            }
            self.wake(book, credited.into_iter().collect(), now_ms)?;
            self.joint_due = true;
        }
        Ok(moved)
    }
}

fn find_group<B: Book>(book: &mut B, rows: Vec<Blocked>) -> Result<Option<Vec<Blocked>>, B::Error> {
    if rows.len() < 2 {
        return Ok(None);
    }
    let mut waiting: Vec<Waiting> =
        rows.into_iter().filter_map(|row| guard::net(&row.legs).ok().map(|net| Waiting { row, net })).collect();
    waiting.sort_by_key(|w| w.row.order());
    let mut balances: BTreeMap<Account, Balance> = BTreeMap::new();
    for account in waiting.iter().flat_map(|w| w.net.keys()) {
        if !balances.contains_key(account) {
            balances.insert(account.clone(), book.balance(account)?);
        }
    }
    let all: Vec<usize> = (0..waiting.len()).collect();
    if short(&waiting, &balances, &all).is_empty() {
        return Ok(Some(waiting.into_iter().map(|w| w.row).collect()));
    }
    let mut creditors: BTreeMap<&Account, Vec<usize>> = BTreeMap::new();
    for (i, w) in waiting.iter().enumerate() {
        for (account, change) in &w.net {
            if change.total() > 0 || change.funds > 0 {
                creditors.entry(account).or_default().push(i);
            }
        }
    }
    let mut pulls = 0;
    for first in 0..waiting.len() {
        let mut group = vec![first];
        loop {
            let lacking = short(&waiting, &balances, &group);
            if lacking.is_empty() {
                group.sort_unstable();
                return Ok(Some(group.into_iter().map(|i| waiting[i].row.clone()).collect()));
            }
            let helpers = lacking.iter().filter_map(|account| creditors.get(account)).flatten();
            let Some(next) = helpers.copied().filter(|i| !group.contains(i)).min() else { break };
            pulls += 1;
            if pulls > PULLS {
                return Ok(None);
            }
            group.push(next);
        }
    }
    Ok(None)
}

/// The balances that this group's net would leave illegal. Strict where a member with attempts left debits.
fn short(waiting: &[Waiting], balances: &BTreeMap<Account, Balance>, group: &[usize]) -> Vec<Account> {
    let mut net: BTreeMap<&Account, (Option<Balance>, Mode)> = BTreeMap::new();
    for &i in group {
        for (account, change) in &waiting[i].net {
            let entry = net.entry(account).or_insert((Some(Balance::default()), Mode::Released));
            entry.0 = entry.0.and_then(|sum| sum.plus(*change));
            if !waiting[i].row.is_released() && change.total() < 0 {
                entry.1 = Mode::Strict;
            }
        }
    }
    net.into_iter()
        .filter(|(account, (change, mode))| {
            let before = balances.get(*account).copied().unwrap_or_default();
            match change {
                None => true,
                Some(change) => {
                    matches!(guard::check(account, before, *change, *mode), Err(Refusal::Needs(_) | Refusal::Broken(_)))
                }
            }
        })
        .map(|(account, _)| account.clone())
        .collect()
}
