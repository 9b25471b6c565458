//! The Stripe CLI beside the other work: its secret goes to the receiver, every gap is followed by a backfill.

use std::rc::Rc;

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;
use tokio::task::spawn_local;

use super::work::Work;
use crate::stripe::cli::CliProblem;
use crate::stripe::listen::{ListenStatus, Listener};

/// Starts the CLI child, or ends it.
pub(super) fn toggle(work: &Rc<Work>) {
    if let Some(listener) = work.listener.borrow_mut().take() {
        spawn_local(listener.stop());
        return work.set(|s| s.listen = None);
    }
    let Some(cli) = work.options.cli.clone() else {
        let missing = CliProblem::NotInstalled;
        return work.set(|s| s.trouble = Some(missing.to_string()));
    };
    let (secrets, last) = (work.options.secrets.clone(), std::sync::Mutex::new(String::new()));
    let on_secret = move |secret: SecretString| {
        let Ok(mut last) = last.lock() else { return };
        if *last != secret.expose_secret() {
            *last = secret.expose_secret().to_owned();
            if let Err(why) = secrets.add(&secret) {
                tracing::error!(why, "the secret of stripe listen");
            }
        }
    };
    let listener = Listener::start(cli, work.options.endpoint.clone(), on_secret);
    spawn_local(follow(work.clone(), listener.watch()));
    *work.listener.borrow_mut() = Some(listener);
}

/// Passes the child's state on, and backfills after every gap.
async fn follow(work: Rc<Work>, mut watch: watch::Receiver<ListenStatus>) {
    let (mut gaps, mut lost) = (0, 0);
    loop {
        let status = watch.borrow_and_update().clone();
        if (status.gaps, status.lost) != (gaps, lost) {
            (gaps, lost) = (status.gaps, status.lost);
            work.backfill_due.notify_one();
        }
        if work.listener.borrow().is_some() {
            work.set(|s| s.listen = Some(status));
        }
        if watch.changed().await.is_err() {
            return;
        }
    }
}
