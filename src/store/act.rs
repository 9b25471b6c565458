//! R9: what a person does, in one transaction with its audit row. Works from any process, daemon running or not.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::StoreError;
use super::writer::{Inbox, Writer};
use crate::domain::book::Book;
use crate::domain::engine::Engine;
use crate::domain::guard::Account;
use crate::domain::outcome::{Outcome, State};

/// Who acts, why and when.
#[derive(Debug, Clone)]
pub struct Actor<'a> {
    /// The operating system's user name.
    pub who: &'a str,
    /// In the person's words; may be empty.
    pub reason: &'a str,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What an action did (or, rehearsed, would do) to one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// `evt_…`.
    pub id: String,
    /// Its object.
    pub object: String,
    /// State before.
    pub before: State,
    /// State after.
    pub after: State,
    /// What changed, or why nothing did.
    pub text: String,
}

#[derive(Clone, Copy)]
enum Action {
    Retry,
    Dismiss,
    Restore,
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Dismiss => "dismiss",
            Self::Restore => "restore",
        }
    }

    /// Whether it makes sense for a row in this state.
    fn fits(self, state: State) -> bool {
        match self {
            Self::Retry | Self::Dismiss => matches!(state, State::Received | State::Waiting | State::Stuck),
            Self::Restore => state == State::Dismissed,
        }
    }
}

/// An inbox row, as far as an action needs it.
struct Row {
    seq: i64,
    object: String,
    state: State,
}

impl Writer {
    /// Tries events again; costs no attempt. An id that is not there is an answer, not an error.
    pub fn retry(&mut self, ids: &[String], actor: &Actor<'_>) -> Result<Vec<Deed>, StoreError> {
        self.transact(|engine, inbox| inbox.each(engine, Action::Retry, ids, actor))
    }

    /// What [`Writer::retry`] would do; changes nothing.
    pub fn dry_run(&mut self, ids: &[String], actor: &Actor<'_>) -> Result<Vec<Deed>, StoreError> {
        self.rehearse(|engine, inbox| inbox.each(engine, Action::Retry, ids, actor))
    }

    /// Puts events aside: their money leaves the waiting list, the raw rows stay. A later snapshot re-opens the object.
    pub fn dismiss(&mut self, ids: &[String], actor: &Actor<'_>) -> Result<Vec<Deed>, StoreError> {
        self.transact(|engine, inbox| inbox.each(engine, Action::Dismiss, ids, actor))
    }

    /// Takes dismissed events back: each is looked at as if it had just come in.
    pub fn restore(&mut self, ids: &[String], actor: &Actor<'_>) -> Result<Vec<Deed>, StoreError> {
        self.transact(|engine, inbox| inbox.each(engine, Action::Restore, ids, actor))
    }

    /// R8: opens a balance once with what was there before (minor units) and wakes what waited for it.
    /// The inner `Err` says why it cannot be; then nothing changed.
    pub fn open_balance(
        &mut self,
        account: &Account,
        amount: i64,
        actor: &Actor<'_>,
    ) -> Result<Result<String, String>, StoreError> {
        self.transact(|engine, inbox| {
            let opened = engine.open(&mut inbox.book(0, false, actor.now_ms), account, amount, actor.now_ms)?;
            if let Ok(effect) = &opened {
                let target = format!("{} {}", account.0, account.1);
                inbox.audit("open-balance", &target, "", actor, "not opened", effect)?;
            }
            Ok(opened)
        })
    }
}

impl Inbox<'_> {
    fn each(
        &mut self,
        engine: &mut Engine,
        action: Action,
        ids: &[String],
        actor: &Actor<'_>,
    ) -> Result<Vec<Deed>, StoreError> {
        ids.iter().map(|id| self.one(engine, action, id, actor)).collect()
    }

    fn one(&mut self, engine: &mut Engine, action: Action, id: &str, actor: &Actor<'_>) -> Result<Deed, StoreError> {
        let Some(row) = self.row(id)? else {
            let text = "no such event here".to_owned();
            let (before, after) = (State::Received, State::Received);
            return Ok(Deed { id: id.to_owned(), object: String::new(), before, after, text });
        };
        let deed = |after, text| Deed { id: id.to_owned(), object: row.object.clone(), before: row.state, after, text };
        if !action.fits(row.state) {
            return Ok(deed(row.state, format!("it is {}: nothing to {}", row.state, action.word())));
        }
        match action {
            Action::Retry => self.retry_row(engine, &row, actor.now_ms)?,
            Action::Dismiss => self.dismiss_row(&row, actor)?,
            Action::Restore => {
                if self.look_again(engine, row.seq, actor.now_ms)?.is_none() {
                    return Ok(deed(row.state, "its body was pruned: it cannot be looked at again".to_owned()));
                }
            }
        }
        let (after, text) = self.result(row.seq)?;
        self.audit(action.word(), id, &row.object, actor, row.state.as_str(), after.as_str())?;
        Ok(deed(after, text))
    }

    fn retry_row(&mut self, engine: &mut Engine, row: &Row, now_ms: i64) -> Result<(), StoreError> {
        let mut book = self.book(row.seq, false, now_ms);
        match book.blocked_row(row.seq)? {
            Some(blocked) => engine.retry(&mut book, &blocked, now_ms).map(|_| ()),
            None => self.look_again(engine, row.seq, now_ms).map(|_| ()),
        }
    }

    fn dismiss_row(&mut self, row: &Row, actor: &Actor<'_>) -> Result<(), StoreError> {
        let mut book = self.book(row.seq, false, actor.now_ms);
        let outcome = Outcome::settled(State::Dismissed, Some(format!("dismissed: {}", actor.reason)), None);
        match book.blocked_row(row.seq)? {
            Some(blocked) => book.unblock(&blocked, &Outcome { attempts: blocked.attempts, ..outcome }, actor.now_ms),
            None => {
                book.write(row.seq, &Outcome { attempts: 1, ..outcome }, actor.now_ms)?;
                self.recount(row.state, State::Dismissed);
                Ok(())
            }
        }
    }

    fn row(&self, id: &str) -> Result<Option<Row>, StoreError> {
        let sql = "SELECT seq, object, state FROM events WHERE id = ?1 AND livemode = ?2";
        let mut statement = self.conn.prepare_cached(sql)?;
        let row = statement
            .query_row(params![id, self.live], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?)))
            .optional()?;
        let Some((seq, object, code)) = row else { return Ok(None) };
        let state = State::from_code(code).ok_or_else(|| StoreError::damaged(format!("state {code}")))?;
        Ok(Some(Row { seq, object, state }))
    }

    /// Where a row stands now, and its reason or effect.
    fn result(&self, seq: i64) -> Result<(State, String), StoreError> {
        let sql = "SELECT state, reason, effect FROM events WHERE seq = ?1";
        let mut statement = self.conn.prepare_cached(sql)?;
        let (code, reason, effect): (i64, Option<String>, Option<String>) =
            statement.query_row(params![seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let state = State::from_code(code).ok_or_else(|| StoreError::damaged(format!("state {code}")))?;
        let text = if state == State::Applied { effect.or(reason) } else { reason.or(effect) };
        Ok((state, text.unwrap_or_default()))
    }

    fn audit(
        &self,
        action: &str,
        target: &str,
        object: &str,
        actor: &Actor<'_>,
        before: &str,
        after: &str,
    ) -> Result<(), StoreError> {
        audit(self.conn, self.live, actor, Entry { action, target, object, before, after })
    }
}

/// One line of the audit.
pub(super) struct Entry<'a> {
    /// The deed's word.
    pub action: &'a str,
    /// What it was done to.
    pub target: &'a str,
    /// The object behind it; may be empty.
    pub object: &'a str,
    /// State before.
    pub before: &'a str,
    /// State after.
    pub after: &'a str,
}

/// Writes a line of the audit; the caller's transaction holds the deed itself.
pub(super) fn audit(conn: &Connection, live: bool, actor: &Actor<'_>, entry: Entry<'_>) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO audit (livemode, at_ms, who, action, target, object, reason, state_before, state_after)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let Actor { who, reason, now_ms } = actor;
    let Entry { action, target, object, before, after } = entry;
    statement.execute(params![live, now_ms, who, action, target, object, reason, before, after])?;
    Ok(())
}
