//! What a person should know: alerts, silence of the receiver, the month's reads. Each is a loop of its own.

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

use super::work::Work;
use crate::daemon::{now_ms, this_month};
use crate::domain::alert::{self, Alert, AlertKind};
use crate::domain::owner::Owner;

/// How often payouts are looked at for lateness, and the list of alerts refreshed without any news.
const SCAN_EVERY: Duration = Duration::from_secs(60);
/// How often Stripe is asked whether it has newer events, at the most and at the least: seconds.
const SILENCE_EVERY: (u64, u64) = (1, 300);

/// Asks whether Stripe has newer events than we: then something between Stripe and us is broken.
pub(super) async fn silence(work: Rc<Work>) {
    let Some(client) = &work.options.client else { return };
    let platform = Owner::platform();
    let half = u64::try_from(work.options.silent_after / 2).unwrap_or(0);
    let every = Duration::from_secs(half.clamp(SILENCE_EVERY.0, SILENCE_EVERY.1));
    loop {
        sleep(every).await;
        let Ok(there) = client.newest_event(&platform).await else { continue };
        let Ok(here) = work.side.newest_created(&platform) else { continue };
        let silent = alert::silent(there, here, now_ms() / 1000, work.options.silent_after);
        let alert = Alert {
            kind: AlertKind::Silent,
            object: "receiver".to_owned(),
            account: platform.to_string(),
            text: "Stripe has newer events and none of them came: check the endpoint or stripe listen, then backfill"
                .to_owned(),
        };
        if let Err(error) = work.side.set_alert(&alert, silent, now_ms()) {
            tracing::warn!(%error, "an alert was not kept");
        }
        work.alerts_due.notify_one();
    }
}

pub(super) async fn alerts(work: Rc<Work>) {
    let posting = Rc::new(Notify::new());
    if work.options.alert_webhook.is_some() {
        spawn_local(posts(work.clone(), posting.clone()));
    }
    let mut changed = work.changes.subscribe();
    let mut full_scan = Instant::now();
    loop {
        // Lateness comes with time, not with news.
        let full = Instant::now() >= full_scan;
        if full {
            full_scan = Instant::now() + SCAN_EVERY;
        }
        match work.side.scan_alerts(now_ms(), full.then_some(work.options.grace_days)) {
            Ok(_) => work.set(|s| {
                s.alerts = work.side.unseen_alerts().unwrap_or(s.alerts);
                s.unopened = work.side.unopened().unwrap_or(s.unopened);
            }),
            Err(error) => tracing::warn!(%error, "alerts were not looked at"),
        }
        posting.notify_one();
        // News is looked at once a second at the most: a scan must not compete with the writer.
        let earliest = Instant::now() + Duration::from_secs(1);
        tokio::select! {
            news = changed.changed() => if news.is_err() { return },
            () = work.alerts_due.notified() => full_scan = Instant::now(),
            () = tokio::time::sleep_until(full_scan) => {}
        }
        tokio::time::sleep_until(earliest).await;
        changed.mark_unchanged();
    }
}

/// Keeps the month's count of reads.
pub(super) async fn count_reads(work: Rc<Work>) {
    let Some(client) = &work.options.client else { return };
    let mut counted = 0;
    loop {
        let reads = client.usage().reads;
        match work.side.add_reads(&this_month(), reads - counted) {
            Ok(total) => {
                counted = reads;
                work.set(|s| s.reads_this_month = total);
            }
            Err(error) => tracing::warn!(%error, "reads were not counted"),
        }
        sleep(SCAN_EVERY).await;
    }
}

async fn posts(work: Rc<Work>, due: Rc<Notify>) {
    let Some(webhook) = &work.options.alert_webhook else { return };
    loop {
        due.notified().await;
        if let Err(error) = webhook.post_all(&work.side, |why| work.set(|s| s.webhook = why)).await {
            tracing::warn!(%error, "alerts were not posted");
        }
    }
}
