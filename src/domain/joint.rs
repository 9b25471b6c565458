//! R5's joint try: waiting events that cannot go alone are tried together and go if their NET keeps every balance legal.
//!
//! First all of them; then, for each one from the oldest, the events that would credit what it lacks are pulled in,
//! oldest first, until the group fits or nobody can help. (Dropping the youngest until it fits is not enough: the one
//! to leave out may be an older one that merely competes.)

use std::collections::{BTreeMap, BTreeSet};

use super::book::{Blocked, Book};
use super::engine::{Engine, finish};
use super::guard::{self, Account, Balance, Changes, Mode};

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
            }
            for row in &group {
                let owed = owed(book, row)?;
                finish(book, row, owed, now_ms)?;
                credited.extend(row.legs.iter().filter_map(|l| Some((l.to.owner()?.clone(), l.currency))));
            }
            self.wake(book, credited.into_iter().collect(), now_ms)?;
            self.joint_due = true;
        }
        Ok(moved)
    }
}

/// A debt that the group leaves where this row debits is said to be one.
fn owed<B: Book>(book: &mut B, row: &Blocked) -> Result<Option<String>, B::Error> {
    for (account, change) in guard::net(&row.legs).unwrap_or_default() {
        let total = book.balance(&account)?.total();
        if change.total() < 0 && total < 0 {
            return Ok(Some(guard::owed(&account, total)));
        }
    }
    Ok(None)
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
    let mut all = Group::new(&waiting, &balances);
    (0..waiting.len()).for_each(|i| all.add(i));
    if all.is_legal() {
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
        let mut group = Group::new(&waiting, &balances);
        group.creditors = Some(&creditors);
        group.add(first);
        while !group.is_legal() {
            let Some(next) = group.helper() else { break };
            pulls += 1;
            if pulls > PULLS {
                return Ok(None);
            }
            group.add(next);
        }
        if group.is_legal() {
            return Ok(Some(group.members.into_iter().map(|i| waiting[i].row.clone()).collect()));
        }
    }
    Ok(None)
}

/// A group that grows one event at a time; each step costs only the balances that the event touches.
struct Group<'a> {
    waiting: &'a [Waiting],
    balances: &'a BTreeMap<Account, Balance>,
    /// Who would credit each balance, oldest first.
    creditors: Option<&'a BTreeMap<&'a Account, Vec<usize>>>,
    members: BTreeSet<usize>,
    /// The members' net per balance (none beyond 64 bits). Strict where a member with attempts left debits.
    net: BTreeMap<&'a Account, (Option<Balance>, Mode)>,
    /// The balances that this net would leave illegal.
    lacking: BTreeSet<&'a Account>,
    /// The oldest creditor of each lacking balance that was not asked yet, and how many were.
    helpers: BTreeSet<(usize, &'a Account)>,
    asked: BTreeMap<&'a Account, usize>,
}

impl<'a> Group<'a> {
    fn new(waiting: &'a [Waiting], balances: &'a BTreeMap<Account, Balance>) -> Self {
        let (members, net, lacking) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        let (helpers, asked) = (BTreeSet::new(), BTreeMap::new());
        Self { waiting, balances, creditors: None, members, net, lacking, helpers, asked }
    }

    fn is_legal(&self) -> bool {
        self.lacking.is_empty()
    }

    fn add(&mut self, i: usize) {
        self.members.insert(i);
        let waiting: &'a Waiting = &self.waiting[i];
        for (account, change) in &waiting.net {
            let entry = self.net.entry(account).or_insert((Some(Balance::default()), Mode::Released));
            entry.0 = entry.0.and_then(|sum| sum.plus(*change));
            if !waiting.row.is_released() && change.total() < 0 {
                entry.1 = Mode::Strict;
            }
            let before = self.balances.get(account).copied().unwrap_or_default();
            let legal = entry.0.is_some_and(|change| guard::check(account, before, change, entry.1).is_ok());
            let next = self.next_creditor(account);
            if legal && self.lacking.remove(account) {
                next.map(|next| self.helpers.remove(&(next, account)));
            } else if !legal && self.lacking.insert(account) {
                next.map(|next| self.helpers.insert((next, account)));
            }
        }
    }

    fn next_creditor(&self, account: &'a Account) -> Option<usize> {
        self.creditors?.get(account)?.get(self.asked.get(account).copied().unwrap_or_default()).copied()
    }

    /// The oldest event outside the group that would credit what it lacks.
    fn helper(&mut self) -> Option<usize> {
        while let Some((i, account)) = self.helpers.pop_first() {
            *self.asked.entry(account).or_default() += 1;
            if let Some(next) = self.next_creditor(account) {
                self.helpers.insert((next, account));
            }
            if !self.members.contains(&i) {
                return Some(i);
            }
        }
        None
    }
}
