//! R2, R3 and R6: what an event does when it comes in. A payout's state is recorded even when its money must wait.

use super::book::{Blocked, Book, PayoutRecord};
use super::details::{Choice, SnapshotKey, choose};
use super::engine::{Engine, Posting, blocked_outcome};
use super::event::{Content, Event};
use super::guard::Mode;
use super::leg;
use super::object::Snapshot;
use super::object::payout::Payout;
use super::outcome::{Outcome, State};
use super::payout::{Verdict, verdict};
use super::retry::MAX_ATTEMPTS;

impl Engine {
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
        let mut legs = match leg::missing(&snapshot.legs[own..], &posted) {
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
            // A snapshot that says less than an older one (no fees, since it was not read with them) takes nothing away.
            legs.extend(open.legs.iter().filter(|l| !snapshot.legs.iter().any(|own| own.name == l.name)).cloned());
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
