//! The loops of the Stripe side: each waits for its own reason to act, all share one thread.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

use super::{Command, Options, Progress, Status, attention, child};
use crate::daemon::backfill::backfill;
use crate::daemon::confirm;
use crate::daemon::delivery::{Changes, Queue};
use crate::daemon::now_ms;
use crate::daemon::reconcile::{Window, openings, reconcile};
use crate::daemon::side_error::SideError;
use crate::domain::owner::Owner;
use crate::store::act::Actor;
use crate::store::side::Side;
use crate::store::writer::Writer;
use crate::stripe::client::Client;
use crate::stripe::listen::Listener;

/// Pauses after failures: from the first to the last, doubling.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LAST_PAUSE: Duration = Duration::from_secs(600);
/// How far back a reconcile lists, seconds.
const WINDOW: i64 = 30 * 86_400;
/// How many accounts are always asked at once for what a gap lost, and how soon all the others are.
const FEW: usize = 20;
const ALL_EVERY: Duration = Duration::from_secs(3_600);

/// What the loops share.
pub(super) struct Work {
    pub options: Options,
    pub side: Side,
    queue: Queue,
    pub changes: Changes,
    tell: watch::Sender<Status>,
    pub backfill_due: Notify,
    all_due: RefCell<bool>,
    reconcile_due: Notify,
    repair: RefCell<bool>,
    openings_due: Notify,
    pub alerts_due: Notify,
    pub listener: RefCell<Option<Listener>>,
}

impl Work {
    pub fn new(options: Options, side: Side, queue: Queue, changes: Changes, tell: watch::Sender<Status>) -> Self {
        Self {
            options,
            side,
            queue,
            changes,
            tell,
            backfill_due: Notify::new(),
            all_due: RefCell::new(false),
            reconcile_due: Notify::new(),
            repair: RefCell::new(false),
            openings_due: Notify::new(),
            alerts_due: Notify::new(),
            listener: RefCell::new(None),
        }
    }

    /// Changes the status; the screen is told only when it differs.
    pub fn set(&self, change: impl FnOnce(&mut Status)) {
        let usage = self.options.client.as_ref().map(Client::usage);
        let changed = self.tell.send_if_modified(|status| {
            let before = status.clone();
            change(status);
            status.usage = usage;
            *status != before
        });
        if changed {
            self.changes.publish();
        }
    }
}

/// Runs until every sender of commands is gone.
pub(super) async fn run(work: Rc<Work>, mut asked: mpsc::UnboundedReceiver<Command>) {
    if work.options.client.is_some() {
        spawn_local(backfills(work.clone()));
        spawn_local(reconciles(work.clone()));
        spawn_local(opens(work.clone()));
        spawn_local(confirms(work.clone()));
        spawn_local(attention::silence(work.clone()));
    }
    spawn_local(attention::alerts(work.clone()));
    spawn_local(attention::count_reads(work.clone()));
    if work.options.backfill_at_start {
        work.backfill_due.notify_one();
    }
    if work.options.listen_at_start {
        child::toggle(&work);
    }
    while let Some(command) = asked.recv().await {
        match command {
            Command::ToggleListen => child::toggle(&work),
            _ if work.options.client.is_none() => work.set(|s| {
                s.trouble.get_or_insert_with(|| "no API key: set STRIPE_API_KEY or --api-key-file".to_owned());
            }),
            Command::Backfill => {
                *work.all_due.borrow_mut() = true;
                work.backfill_due.notify_one();
            }
            Command::OpenBalances => work.openings_due.notify_one(),
            Command::Reconcile { repair } => {
                *work.repair.borrow_mut() |= repair;
                work.reconcile_due.notify_one();
            }
        }
    }
    let listener = work.listener.borrow_mut().take();
    if let Some(listener) = listener {
        listener.stop().await;
    }
}

/// Repeats a piece of work with growing pauses until it succeeds, telling how it stands.
async fn persist<F>(work: &Work, place: fn(&mut Status) -> &mut Progress, mut attempt: impl FnMut() -> F)
where
    F: Future<Output = Result<String, SideError>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        work.set(|s| *place(s) = Progress::Running);
        match attempt().await {
            Ok(text) => return work.set(|s| *place(s) = Progress::Done(now_ms(), text)),
            Err(error) => {
                let again =
                    matches!(&error, SideError::Api(e) if e.may_retry()) || matches!(error, SideError::Store(_));
                work.set(|s| *place(s) = Progress::Failed(now_ms(), error.to_string()));
                if !again {
                    return;
                }
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

async fn backfills(work: Rc<Work>) {
    let Some(client) = &work.options.client else { return };
    let (mut last_all, mut quiet_due) = (None::<Instant>, false);
    loop {
        let quiet = last_all.filter(|_| quiet_due).map(|at| at + ALL_EVERY);
        tokio::select! {
            () = work.backfill_due.notified() => {}
            () = sleep_until(quiet) => {}
        }
        let all = work.all_due.replace(false) || last_all.is_none_or(|at| at.elapsed() >= ALL_EVERY);
        persist(&work, |s| &mut s.backfill, || fill(&work, client, all)).await;
        quiet_due = !all;
        if all {
            last_all = Some(Instant::now());
        }
        work.alerts_due.notify_one();
    }
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// After a gap of the CLI only a few accounts, or those with news in the last hour, are asked at once: a platform with
/// hundreds of sellers would use up its reads. The quiet ones follow within the hour.
fn asked_at_once(work: &Work, owners: Vec<Owner>, all: bool) -> Result<Vec<Owner>, SideError> {
    if all || owners.len() <= FEW {
        return Ok(owners);
    }
    let hour_ago = now_ms() - i64::try_from(ALL_EVERY.as_millis()).unwrap_or(0);
    let mut active = Vec::new();
    for owner in owners {
        if owner.is_platform() || work.side.last_arrival_ms(&owner)?.is_some_and(|ms| ms >= hour_ago) {
            active.push(owner);
        }
    }
    Ok(active)
}

async fn fill(work: &Work, client: &Client, all: bool) -> Result<String, SideError> {
    let (mut stored, mut too_old) = (0, "");
    let owners = asked_at_once(work, work.side.owners()?, all)?;
    let skipped = each_owner(owners, async |owner| {
        let mut intake = work.queue.clone();
        let filled = backfill(client, &work.side, &mut intake, owner, None, now_ms() / 1000).await?;
        stored += filled.taken.stored;
        if filled.too_old {
            too_old = "; older than 30 days cannot be had";
        }
        Ok(())
    });
    let skipped = skipped.await?;
    Ok(format!("{stored} missed events{too_old}{skipped}"))
}

/// Does the same for every owner. An account that may not be read is named in the text that comes back; what concerns
/// all of them ends it.
async fn each_owner(
    owners: Vec<Owner>,
    mut act: impl AsyncFnMut(&Owner) -> Result<(), SideError>,
) -> Result<String, SideError> {
    let mut skipped = String::new();
    for owner in owners {
        match act(&owner).await {
            Err(error) if !owner.is_platform() && !error.concerns_all() => {
                skipped.push_str(&format!("; {owner}: {error}"));
            }
            other => other?,
        }
    }
    Ok(skipped)
}

async fn reconciles(work: Rc<Work>) {
    let Some(client) = &work.options.client else { return };
    loop {
        match work.options.reconcile_every {
            Some(every) => drop(timeout(every, work.reconcile_due.notified()).await),
            None => work.reconcile_due.notified().await,
        }
        let repair = work.repair.replace(false);
        persist(&work, |s| &mut s.reconcile, || reconcile_all(&work, client, repair)).await;
        work.set(|s| s.findings = work.side.open_findings().unwrap_or(s.findings));
        work.alerts_due.notify_one();
    }
}

async fn reconcile_all(work: &Work, client: &Client, repair: bool) -> Result<String, SideError> {
    let (mut objects, mut found, mut repaired) = (0, 0, 0);
    let skipped = each_owner(work.side.owners()?, async |owner| {
        let now = now_ms() / 1000;
        let mut intake = work.queue.clone();
        let mending = repair.then_some(&mut intake);
        let done = reconcile(client, &work.side, mending, owner, Window { since: now - WINDOW, now }).await?;
        objects += done.objects;
        found += done.findings.len();
        repaired += done.repaired.stored;
        Ok(())
    });
    let skipped = skipped.await?;
    let mended = if repair { format!(", mended: {repaired}") } else { String::new() };
    Ok(format!("objects compared: {objects}, differences: {found}{mended}{skipped}"))
}

async fn opens(work: Rc<Work>) {
    let Some(client) = &work.options.client else { return };
    loop {
        work.openings_due.notified().await;
        persist(&work, |s| &mut s.openings, || open_all(&work, client)).await;
        work.changes.publish();
    }
}

/// R8. Every account is asked before any is opened.
async fn open_all(work: &Work, client: &Client) -> Result<String, SideError> {
    let mut found = Vec::new();
    let skipped = each_owner(work.side.owners()?, async |owner| {
        found.extend(openings(client, &work.side, owner).await?);
        Ok(())
    });
    let skipped = skipped.await?;
    let conn = crate::store::schema::open(&work.options.database)?;
    let mut writer = Writer::new(conn, work.options.live, work.options.profile)?;
    let actor = Actor { who: &work.options.who, reason: "from Stripe's balance", now_ms: now_ms() };
    let mut opened = 0;
    for (account, amount) in &found {
        // Opened by somebody else meanwhile: then it is open, which is what was asked for.
        opened += usize::from(writer.open_balance(account, *amount, &actor)?.is_ok());
    }
    Ok(format!("{opened} opened{skipped}"))
}

async fn confirms(work: Rc<Work>) {
    let Some(client) = &work.options.client else { return };
    let mut intake = work.queue.clone();
    let mut follower = confirm::Follower::new(work.options.confirm);
    let (mut changed, mut pause) = (work.changes.subscribe(), FIRST_PAUSE);
    loop {
        match follower.step(client, &work.side, &mut intake).await {
            Ok(more) => {
                if pause > FIRST_PAUSE {
                    (pause, follower.confirmed.why) = (FIRST_PAUSE, None);
                }
                work.set(|s| s.confirmed = follower.confirmed.clone());
                if more {
                    continue;
                }
                if changed.changed().await.is_err() {
                    return;
                }
                // What comes within a moment is read together.
                sleep(Duration::from_millis(250)).await;
            }
            Err(error) => {
                follower.confirmed.why = Some(error.to_string());
                work.set(|s| s.confirmed = follower.confirmed.clone());
                sleep(pause).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
        }
    }
}
