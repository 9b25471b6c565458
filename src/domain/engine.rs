//! R2 and R5: posting under the guard, at once or later. The same code runs on SQLite, in the lab and in tests.

use super::book::{Blocked, Book};
use super::guard::{self, Account, Mode, Needs, Refusal};
use super::leg::{self, Leg};
use super::outcome::{Outcome, State};
use super::retry::{MAX_ATTEMPTS, Profile};

/// Switches that turn single rules off, for the lab and for the tests that show why each rule is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// R4: post every leg the snapshot implies. Off: only the leg of the event's own type.
    pub snapshot_legs: bool,
    /// R5: a credit retries what waits for it at once.
    pub credit_wakeup: bool,
    /// R5: waiting events are tried together.
    pub joint_try: bool,
    /// R6: details by the greatest snapshot. Off: the last one to arrive.
    pub greatest_details: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { snapshot_legs: true, credit_wakeup: true, joint_try: true, greatest_details: true }
    }
}

/// The rules with their settings. Holds no facts: those are the book's.
#[derive(Debug, Clone)]
pub struct Engine {
    /// R10: which mode's events it takes.
    pub live: bool,
    /// R5's gaps.
    pub profile: Profile,
    /// Rules switched off for demonstration.
    pub rules: Rules,
    /// Whether something changed since the last joint try found nothing.
    pub(super) joint_due: bool,
}

/// How trying to post went.
pub(super) enum Posting {
    /// In the journal; these balances grew. The text is an alert about a debt.
    Done { credited: Vec<Account>, owed: Option<String> },
    /// Money is missing.
    Lacks(Needs),
    /// No retry can mend it.
    Broken(String),
}

impl Engine {
    /// All rules on.
    pub fn new(live: bool, profile: Profile) -> Self {
        Self { live, profile, rules: Rules::default(), joint_due: true }
    }

    /// Whether waiting events should be tried together.
    pub fn is_joint_due(&self) -> bool {
        self.rules.joint_try && self.joint_due
    }

    /// Says that the facts may have changed behind the engine's back: the next sweep tries waiting events together.
    pub fn joint_again(&mut self) {
        self.joint_due = true;
    }

    /// Posts legs if the guard allows it.
    pub(super) fn try_post<B: Book>(
        &mut self,
        book: &mut B,
        event: Option<i64>,
        object: &str,
        legs: &[Leg],
        mode: Mode,
        now_ms: i64,
    ) -> Result<Posting, B::Error> {
        let changes = match guard::net(legs) {
            Ok(changes) => changes,
            Err(why) => return Ok(Posting::Broken(why)),
        };
        let (mut credited, mut owed) = (Vec::new(), None);
        for (account, change) in &changes {
            let before = book.balance(account)?;
            match guard::check(account, before, *change, mode) {
                Ok(after) => {
                    if change.total() > 0 || change.funds > 0 {
                        credited.push(account.clone());
                    }
                    if change.total() < 0 && after.total() < 0 {
                        owed = Some(guard::owed(account, after.total()));
                    }
                }
                Err(Refusal::Needs(needs)) => return Ok(Posting::Lacks(needs)),
                Err(Refusal::Broken(why)) => return Ok(Posting::Broken(why)),
            }
        }
        book.post(event, object, legs, now_ms)?;
        Ok(Posting::Done { credited, owed })
    }

    /// R5: a credit retries, at once and to a fixpoint, what waits for it. Costs no attempt, revives stuck rows.
    pub(super) fn wake<B: Book>(&mut self, book: &mut B, credited: Vec<Account>, now_ms: i64) -> Result<(), B::Error> {
        let mut queue = credited;
        while let Some(account) = queue.pop() {
            if !book.is_wanted(&account)? {
                continue;
            }
            self.joint_due = true;
            if !self.rules.credit_wakeup {
                continue;
            }
            loop {
                let balance = book.balance(&account)?;
                let Some(row) = book.next_covered(&account, balance.total(), balance.funds)? else { break };
                match self.try_blocked(book, &row, now_ms)? {
                    Some(credited) => queue.extend(credited),
                    None => {
                        let same = book.blocked_row(row.seq)?.is_some_and(|r| r.needs.account == account);
                        if same {
                            break;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Tries one blocked row without charging an attempt. `Some` with the credited balances when it went.
    fn try_blocked<B: Book>(
        &mut self,
        book: &mut B,
        row: &Blocked,
        now_ms: i64,
    ) -> Result<Option<Vec<Account>>, B::Error> {
        let mode = if row.is_released() { Mode::Released } else { Mode::Strict };
        match self.try_post(book, Some(row.seq), &row.object, &row.legs, mode, now_ms)? {
            Posting::Done { credited, owed } => {
                finish(book, row, owed, now_ms)?;
                Ok(Some(credited))
            }
            Posting::Lacks(needs) => {
                let row = Blocked { needs, ..row.clone() };
                book.block(&row, &blocked_outcome(&row), false, now_ms)?;
                Ok(None)
            }
            Posting::Broken(why) => {
                book.unblock(row, &Outcome::stuck(why), now_ms)?;
                Ok(None)
            }
        }
    }

    /// R5's sweep: the joint try, then every row that is due, oldest first. Each failure costs an attempt.
    /// Returns whether anything was posted.
    pub fn sweep<B: Book>(&mut self, book: &mut B, now_ms: i64) -> Result<bool, B::Error> {
        let mut moved = self.try_together(book, now_ms)?;
        for seq in book.due(now_ms)? {
            let Some(row) = book.blocked_row(seq)? else { continue };
            if let Some(credited) = self.try_blocked(book, &row, now_ms)? {
                moved = true;
                self.wake(book, credited, now_ms)?;
            } else if let Some(row) = book.blocked_row(seq)? {
                moved |= self.charge(book, row, now_ms)?;
            }
        }
        Ok(self.try_together(book, now_ms)? || moved)
    }

    /// One more failure. The last one releases the guard down to what Stripe itself guards, or leaves it to a person.
    fn charge<B: Book>(&mut self, book: &mut B, row: Blocked, now_ms: i64) -> Result<bool, B::Error> {
        let attempts = row.attempts.saturating_add(1);
        let next_ms = (attempts < MAX_ATTEMPTS).then(|| now_ms.saturating_add(self.profile.gap_ms(attempts)));
        let row = Blocked { attempts, next_ms, ..row };
        if row.is_released()
            && let Some(credited) = self.try_blocked(book, &row, now_ms)?
        {
            self.wake(book, credited, now_ms)?;
            return Ok(true);
        }
        let Some(now) = book.blocked_row(row.seq)? else { return Ok(false) };
        let row = Blocked { needs: now.needs, ..row };
        book.block(&row, &blocked_outcome(&row), true, now_ms)?;
        Ok(false)
    }

    /// A person's retry of a blocked row: no attempt is charged. Returns whether it went.
    pub fn retry<B: Book>(&mut self, book: &mut B, row: &Blocked, now_ms: i64) -> Result<bool, B::Error> {
        match self.try_blocked(book, row, now_ms)? {
            Some(credited) => self.wake(book, credited, now_ms).map(|()| true),
            None => {
                self.joint_due = true;
                self.try_together(book, now_ms)?;
                Ok(book.blocked_row(row.seq)?.is_none())
            }
        }
    }

    /// R8: posts an opening leg and wakes what waited for it. `Err` inside says why it cannot be.
    pub fn open<B: Book>(
        &mut self,
        book: &mut B,
        account: &Account,
        amount: i64,
        now_ms: i64,
    ) -> Result<Result<String, String>, B::Error> {
        let object = format!("opening:{}:{}", account.0, account.1);
        if !book.posted(&object)?.is_empty() {
            return Ok(Err(format!("the {} balance of {} was already opened", account.1, account.0)));
        }
        let legs = super::object::opening(account, amount);
        match self.try_post(book, None, &object, &legs, Mode::Released, now_ms)? {
            Posting::Done { credited, .. } => {
                self.wake(book, credited, now_ms)?;
                Ok(Ok(leg::summary(&legs)))
            }
            Posting::Lacks(needs) => Ok(Err(lacks(&needs))),
            Posting::Broken(why) => Ok(Err(why)),
        }
    }
}

/// Ends a blocked row as applied.
pub(super) fn finish<B: Book>(book: &mut B, row: &Blocked, owed: Option<String>, now_ms: i64) -> Result<(), B::Error> {
    if row.payout {
        book.mark_posted(&row.object)?;
    }
    let outcome =
        Outcome { attempts: row.attempts, ..Outcome::settled(State::Applied, owed, Some(leg::summary(&row.legs))) };
    book.unblock(row, &outcome, now_ms)
}

pub(super) fn blocked_outcome(row: &Blocked) -> Outcome {
    Outcome {
        state: if row.next_ms.is_some() { State::Waiting } else { State::Stuck },
        reason: Some(lacks(&row.needs)),
        effect: None,
        attempts: row.attempts,
        next_ms: row.next_ms,
        needs: Some(row.needs.clone()),
    }
}

/// R8: the error of an unfunded posting says that an opening balance may be missing.
fn lacks(needs: &Needs) -> String {
    let (owner, currency) = &needs.account;
    let money = currency.money(needs.lacking);
    format!("{owner} lacks {money}; if it had money before this monitor started, open its balance")
}
