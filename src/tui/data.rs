//! What the screens read, and what a person does through them: the store, and how the daemon is doing.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::daemon::Health;
use crate::daemon::rejections::Rejections;
use crate::daemon::secrets::Secrets;
use crate::daemon::stripe_side::Status;
use crate::domain::guard::Account;
use crate::domain::retry::Profile;
use crate::domain::transfer::person::Retried;
use crate::store::act::{Actor, Deed};
use crate::store::error::StoreError;
use crate::store::read::Reader;
use crate::store::schema;
use crate::store::side::Side;
use crate::store::transfers::{Pressed, TransferRow, Transfers};
use crate::store::writer::Writer;

/// The receiving side as the header shows it.
#[derive(Clone, Default)]
pub struct Link {
    /// Where events are forwarded to; none when another process receives.
    pub endpoint: Option<String>,
    /// The secrets in use.
    pub secrets: Secrets,
    /// Whether unsigned deliveries are taken.
    pub unsigned: bool,
    /// What was refused.
    pub rejections: Rejections,
    /// How the writer is doing.
    pub health: Arc<Mutex<Health>>,
    /// Whether a thread of the daemon ended by itself. Set by the event loop.
    pub broken: bool,
    /// The Stripe side; none when there is none.
    pub stripe: Option<Status>,
}

/// Everything below the screens.
pub struct Data {
    /// To read from.
    pub reader: Reader,
    /// The receiving side.
    pub link: Link,
    /// The database file.
    pub database: PathBuf,
    /// R5's gaps, for deeds.
    pub profile: Profile,
    /// Who acts.
    pub who: String,
    /// A viewer that must not act.
    pub read_only: bool,
}

impl Data {
    /// R10.
    pub fn is_live(&self) -> bool {
        self.reader.is_live()
    }

    fn act<T>(
        &self,
        reason: &str,
        deed: impl FnOnce(&mut Writer, &Actor<'_>) -> Result<T, StoreError>,
    ) -> Result<T, String> {
        self.may_act()?;
        let conn = schema::open(&self.database).map_err(|e| e.to_string())?;
        let mut writer = Writer::new(conn, self.is_live(), self.profile).map_err(|e| e.to_string())?;
        let actor = Actor { who: &self.who, reason, now_ms: crate::daemon::now_ms() };
        deed(&mut writer, &actor).map_err(|e| e.to_string())
    }

    fn may_act(&self) -> Result<(), String> {
        if self.read_only { Err("this is a read-only view".to_owned()) } else { Ok(()) }
    }

    /// Puts an order's transfer back to work. `version` is the one on the screen.
    pub fn retry_transfer(&self, order: &str, version: i64) -> Result<(TransferRow, Retried), String> {
        self.press("", |transfers, actor| transfers.retry(order, Some(version), actor))
    }

    /// Gives an order up before anything was sent.
    pub fn cancel_transfer(&self, order: &str, reason: &str) -> Result<TransferRow, String> {
        self.press(reason, |transfers, actor| transfers.cancel(order, actor))
    }

    fn press<T>(&self, reason: &str, deed: impl FnOnce(&Transfers, &Actor<'_>) -> Pressed<T>) -> Result<T, String> {
        self.may_act()?;
        let transfers = Transfers::open(&self.database, self.is_live()).map_err(|e| e.to_string())?;
        let actor = Actor { who: &self.who, reason, now_ms: crate::daemon::now_ms() };
        deed(&transfers, &actor).map_err(|e| e.to_string())?
    }

    /// Tries again.
    pub fn retry(&self, ids: &[String]) -> Result<Vec<Deed>, String> {
        self.act("", |writer, actor| writer.retry(ids, actor))
    }

    /// What a retry would do.
    pub fn dry_run(&self, ids: &[String]) -> Result<Vec<Deed>, String> {
        self.act("", |writer, actor| writer.dry_run(ids, actor))
    }

    /// Puts aside.
    pub fn dismiss(&self, ids: &[String], reason: &str) -> Result<Vec<Deed>, String> {
        self.act(reason, |writer, actor| writer.dismiss(ids, actor))
    }

    /// Takes back.
    pub fn restore(&self, ids: &[String]) -> Result<Vec<Deed>, String> {
        self.act("", |writer, actor| writer.restore(ids, actor))
    }

    /// A person has looked at these alerts; returns how many were still open.
    pub fn acknowledge(&self, ids: &[i64]) -> Result<usize, String> {
        if self.read_only {
            return Err("this is a read-only view".to_owned());
        }
        let side = Side::open(&self.database, self.is_live()).map_err(|e| e.to_string())?;
        let mut done = 0;
        for id in ids {
            let was_open = side.acknowledge(*id, &self.who, crate::daemon::now_ms()).map_err(|e| e.to_string())?;
            done += usize::from(was_open);
        }
        Ok(done)
    }

    /// R8.
    pub fn open_balance(&self, account: &Account, amount: i64) -> Result<String, String> {
        self.act("", |writer, actor| writer.open_balance(account, amount, actor)).and_then(|opened| opened)
    }
}
