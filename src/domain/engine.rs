//! R2 and R5: what an event that comes in does, at once or later. The same code runs on SQLite, in the lab and in tests.

use super::book::{Blocked, Book, PayoutRecord};
use super::details::{Choice, SnapshotKey, choose};
use super::event::{Content, Event};
use super::guard::{self, Account, Mode, Needs, Refusal};
use super::leg::{self, Leg};
use super::object::Snapshot;
use super::object::payout::Payout;
use super::outcome::{Outcome, State};
use super::payout::{Verdict, verdict};
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

    /// Looks at an event that was just stored as row `seq`, or at a stored one again. Returns what it came to; the
    /// caller writes that to the row. Rows that it woke are already written.
    pub fn receive<B: Book>(
        &mut self,
        book: &mut B,
        seq: i64,
        event: &Event,
        now_ms: i64,
    ) -> Result<Outcome, B::Error> {
        if event.livemode.is_some_and(|live| live != self.live) {
            let (theirs, ours) = if self.live { ("TEST", "LIVE") } else { ("LIVE", "TEST") };
            return Ok(Outcome::ignored(format!("other mode: a {theirs} event, this is {ours}")));
        }
        match &event.content {
            Content::Problem(reason) => Ok(Outcome::stuck(reason.clone())),
            Content::Ignored(reason) => Ok(Outcome::ignored(reason.clone())),
            Content::Snapshot(snapshot) => {
                let key = SnapshotKey { rank: snapshot.rank, created: event.created, event: event.id.clone() };
                match &snapshot.payout {
                    None => self.settle(book, seq, snapshot, key, None, now_ms),
                    Some(payout) => self.receive_payout(book, seq, snapshot, payout, key, now_ms),
                }
            }
        }
    }

    fn receive_payout<B: Book>(
        &mut self,
        book: &mut B,
        seq: i64,
        snapshot: &Snapshot,
        payout: &Payout,
        key: SnapshotKey,
        now_ms: i64,
    ) -> Result<Outcome, B::Error> {
        let before = book.payout(&snapshot.object)?;
        if let Some(why) = before.as_ref().and_then(|record| differs(record, payout)) {
            return Ok(Outcome::stuck(why));
        }
        let was = before.as_ref().map(|r| r.status);
        let verdict = verdict(was, payout.status);
        let already = was.unwrap_or(payout.status);
        match verdict {
            Verdict::Stale => return Ok(Outcome::skipped(format!("stale: payout is already {already}"))),
            Verdict::Contradiction => {
                let why = format!("contradiction: payout is {already}, this says {}; a person decides", payout.status);
                return Ok(Outcome::stuck(why));
            }
            Verdict::Create | Verdict::Forward | Verdict::Same => {}
        }
        let (record, news) = self.fold(before.as_ref(), snapshot, payout, &key);
        let change = Change { record, before, news, verdict };
        self.settle(book, seq, snapshot, key, Some(change), now_ms)
    }

    /// The payout's record after this snapshot, and what is new about it in one line.
    fn fold(
        &self,
        before: Option<&PayoutRecord>,
        snapshot: &Snapshot,
        payout: &Payout,
        key: &SnapshotKey,
    ) -> (PayoutRecord, Option<String>) {
        let Some(before) = before else {
            let record = PayoutRecord {
                id: snapshot.object.clone(),
                owner: payout.owner.clone(),
                amount: payout.amount,
                currency: payout.currency,
                status: payout.status,
                debit: payout.debit,
                posted: false,
                ambiguous: false,
                details: payout.details.clone(),
                details_key: key.clone(),
            };
            return (record, Some(format!("new payout, {}", payout.status)));
        };
        let mut record = before.clone();
        let mut news = (record.status != payout.status).then(|| format!("{} → {}", record.status, payout.status));
        record.status = payout.status;
        let choice = if self.rules.greatest_details {
            choose((&before.details_key, &before.details), (key, &payout.details))
        } else {
            Choice::Take
        };
        let same_second = (before.details_key.rank, before.details_key.created) == (key.rank, key.created);
        match choice {
            Choice::Keep => {}
            Choice::KeepAmbiguous => record.ambiguous = true,
            Choice::Take | Choice::TakeAmbiguous => {
                record.ambiguous = choice == Choice::TakeAmbiguous || (before.ambiguous && same_second);
                if news.is_none() && record.details != payout.details {
                    news = Some("details changed".to_owned());
                }
                record.details = payout.details.clone();
                record.details_key = key.clone();
            }
        }
        (record, news)
    }

    /// Posts what the snapshot implies and the journal lacks, or lets it wait. A payout's state is recorded either way.
    fn settle<B: Book>(
        &mut self,
        book: &mut B,
        seq: i64,
        snapshot: &Snapshot,
        key: SnapshotKey,
        change: Option<Change>,
        now_ms: i64,
    ) -> Result<Outcome, B::Error> {
        let is_new = change.as_ref().is_some_and(|c| c.before.is_none());
        let posted = if is_new { Vec::new() } else { book.posted(&snapshot.object)? };
        let own = snapshot.legs.len().saturating_sub(if self.rules.snapshot_legs { usize::MAX } else { 1 });
        let legs = match leg::missing(&snapshot.legs[own..], &posted) {
            Ok(legs) => legs,
            Err(why) => return Ok(Outcome::stuck(why)),
        };
        let news = change.as_ref().and_then(|c| c.news.clone());
        if legs.is_empty() {
            save(book, change, true)?;
            return Ok(match news {
                Some(news) => Outcome::settled(State::Applied, None, Some(news)),
                None => Outcome::skipped("nothing new: everything it says is already in the ledger"),
            });
        }
        let (mut attempts, mut next_ms) = (1, now_ms.saturating_add(self.profile.gap_ms(1)));
        if let Some(open) = book.blocked(&snapshot.object)? {
            if open.key > key {
                save(book, change, false)?;
                return Ok(Outcome::skipped(format!("superseded by {}, which waits", open.key.event)));
            }
            book.unblock(&open, &Outcome::skipped(format!("superseded by {}", key.event)), now_ms)?;
            attempts = open.attempts;
            next_ms = open.next_ms.unwrap_or(next_ms);
        }
        let mode = if attempts >= MAX_ATTEMPTS { Mode::Released } else { Mode::Strict };
        match self.try_post(book, Some(seq), &snapshot.object, &legs, mode, now_ms)? {
            Posting::Done { credited, owed } => {
                save(book, change, true)?;
                self.wake(book, credited, now_ms)?;
                let effect = [news.unwrap_or_default(), leg::summary(&legs)];
                let effect = effect.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("; ");
                Ok(Outcome::settled(State::Applied, owed, Some(effect)))
            }
            Posting::Lacks(needs) => {
                let payout = change.is_some();
                save(book, change, false)?;
                let next_ms = (attempts < MAX_ATTEMPTS).then_some(next_ms);
                let row = Blocked { seq, object: snapshot.object.clone(), key, payout, attempts, next_ms, needs, legs };
                let outcome = Outcome { effect: news, ..blocked_outcome(&row) };
                book.block(&row, &outcome, true, now_ms)?;
                self.joint_due = true;
                Ok(outcome)
            }
            Posting::Broken(why) => {
                save(book, change, false)?;
                Ok(Outcome::stuck(why))
            }
        }
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
                        owed = Some(format!("owed: {} now owes {}", account.0, account.1.money(-after.total())));
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

/// A payout's record on its way into the book.
struct Change {
    record: PayoutRecord,
    before: Option<PayoutRecord>,
    news: Option<String>,
    verdict: Verdict,
}

fn save<B: Book>(book: &mut B, change: Option<Change>, posted: bool) -> Result<(), B::Error> {
    match change {
        None => Ok(()),
        // An unposted payout's details can change while its money waits: posted stays what it was.
        Some(Change { record, before, verdict, .. }) => {
            let posted = posted || (verdict == Verdict::Same && before.as_ref().is_some_and(|b| b.posted));
            book.save_payout(&PayoutRecord { posted, ..record }, before.as_ref())
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

fn blocked_outcome(row: &Blocked) -> Outcome {
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

/// What must never change between two snapshots of one payout.
fn differs(record: &PayoutRecord, payout: &Payout) -> Option<String> {
    let said = |what: &str, was: &str, now: &str| format!("contradiction: its {what} was {was}, this says {now}");
    if record.owner != payout.owner {
        Some(said("account", record.owner.as_str(), payout.owner.as_str()))
    } else if record.currency != payout.currency || record.amount != payout.amount {
        Some(said("amount", &record.currency.money(record.amount), &payout.currency.money(payout.amount)))
    } else if record.debit != payout.debit {
        Some(said("direction", if record.debit { "in" } else { "out" }, if payout.debit { "in" } else { "out" }))
    } else {
        None
    }
}
