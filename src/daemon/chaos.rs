//! The chaos proxy: passes accepted deliveries on to the developer's own endpoint, mistreated by plan, and keeps how each
//! was answered. Body and signature go as they came; only a signature that grew too old on the way is made anew.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;

use super::now_ms;
use super::receiver::Accepted;
use crate::domain::chaos::{Plan, Planned, Settings};
use crate::domain::event;
use crate::store::forwards::{Forward, Forwards};
use crate::stripe::post::Endpoint;
use crate::stripe::signature::{Secret, TOLERANCE};

/// Deliveries that may wait for the proxy; more are not passed on.
const QUEUE: usize = 4_096;
/// A shuffle window that does not fill is released this long after its last delivery.
const PATIENCE_MS: i64 = 750;
/// A signature is made anew this many seconds before it would be refused.
const MARGIN: i64 = 10;

/// How to pass on.
pub struct Options {
    /// Where to.
    pub endpoint: Endpoint,
    /// The mischief.
    pub settings: Settings,
    /// To sign anew with; without it an old signature goes as it is.
    pub secret: Option<Secret>,
    /// Where the answers are kept.
    pub database: PathBuf,
}

/// A running proxy. It ends when the receiver does; dropping it waits for that.
pub struct Chaos {
    thread: Option<JoinHandle<()>>,
    /// The number of this run in the report.
    pub run: i64,
}

impl Chaos {
    /// Starts it; deliveries go into the channel. `Err` is one line.
    pub fn start(options: Options) -> Result<(Self, mpsc::Sender<Accepted>), String> {
        let forwards = Forwards::open(&options.database).map_err(|e| e.to_string())?;
        let Settings { seed, .. } = options.settings;
        let begun = forwards.begin(now_ms(), options.endpoint.url(), seed, &options.settings.to_string());
        let run = begun.map_err(|e| e.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let proxy = Proxy {
            plan: Plan::new(options.settings),
            sender: Sender { endpoint: options.endpoint, secret: options.secret },
            waiting: BTreeMap::new(),
            arrived: BTreeMap::new(),
            count: 0,
            planned: 0,
            sent: 0,
            newest_ms: 0,
        };
        let work = move || runtime.block_on(proxy.run(receiver, Keeper { forwards, run }));
        let thread = std::thread::Builder::new().name("chaos".to_owned()).spawn(work).map_err(|e| e.to_string())?;
        Ok((Self { thread: Some(thread), run }, sender))
    }

    /// Waits until everything that was accepted is passed on. Every sender must be gone.
    pub fn finish(&mut self) {
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the chaos proxy's thread had panicked");
        }
    }
}

impl Drop for Chaos {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Where the answers go.
struct Keeper {
    forwards: Forwards,
    run: i64,
}

impl Keeper {
    fn keep(&mut self, rows: &[Forward]) {
        if let Err(error) = self.forwards.add(self.run, rows) {
            tracing::error!(%error, "a forward was made but could not be recorded");
        }
    }
}

struct Proxy {
    plan: Plan,
    sender: Sender,
    /// By due time and a running number.
    waiting: BTreeMap<(i64, u64), Planned>,
    /// Deliveries with copies still to be sent.
    arrived: BTreeMap<u64, (Accepted, u32)>,
    count: u64,
    planned: u64,
    sent: i64,
    /// When the newest delivery came, unix milliseconds.
    newest_ms: i64,
}

impl Proxy {
    async fn run(mut self, mut receiver: mpsc::Receiver<Accepted>, mut keeper: Keeper) {
        let (done, mut answers) = mpsc::unbounded_channel::<Forward>();
        let mut open = true;
        loop {
            let quiet_ms = self.newest_ms + PATIENCE_MS;
            if self.plan.is_holding() && (!open || now_ms() >= quiet_ms) {
                let planned = self.plan.release(now_ms());
                self.schedule(planned, &mut keeper);
            }
            // Once nothing more comes, nothing is waited for either.
            self.send_due(open, &done);
            if !open && self.waiting.is_empty() {
                break;
            }
            let due = self.waiting.keys().next().map(|(due, _)| *due);
            let wake = [due, self.plan.is_holding().then_some(quiet_ms)].into_iter().flatten().min();
            let pause = Duration::from_millis(u64::try_from(wake.unwrap_or(0) - now_ms()).unwrap_or(0));
            tokio::select! {
                Some(answer) = answers.recv() => keeper.keep(&[answer]),
                delivery = receiver.recv(), if open => match delivery {
                    Some(delivery) => self.take(delivery, &mut keeper),
                    None => open = false,
                },
                () = tokio::time::sleep(pause), if wake.is_some() => {}
            }
        }
        drop(done);
        while let Some(answer) = answers.recv().await {
            keeper.keep(&[answer]);
        }
    }

    fn take(&mut self, delivery: Accepted, keeper: &mut Keeper) {
        self.arrived.insert(self.count, (delivery, 0));
        self.count += 1;
        self.newest_ms = now_ms();
        let planned = self.plan.arrive(self.newest_ms);
        self.schedule(planned, keeper);
    }

    fn schedule(&mut self, planned: Vec<Planned>, keeper: &mut Keeper) {
        for plan in planned {
            let Some(due) = plan.due_ms else {
                if let Some((delivery, _)) = self.arrived.remove(&plan.arrival) {
                    let row = row(&plan, &delivery);
                    keeper.keep(&[Forward { note: "dropped by plan".to_owned(), ..row }]);
                }
                continue;
            };
            if let Some((_, copies)) = self.arrived.get_mut(&plan.arrival) {
                *copies += 1;
            }
            self.planned += 1;
            self.waiting.insert((due, self.planned), plan);
        }
    }

    fn send_due(&mut self, open: bool, done: &mpsc::UnboundedSender<Forward>) {
        let now = now_ms();
        while let Some(entry) = self.waiting.first_entry().filter(|entry| !open || entry.key().0 <= now) {
            let plan = entry.remove();
            let Some((delivery, copies)) = self.arrived.get_mut(&plan.arrival) else { continue };
            let delivery = delivery.clone();
            *copies -= 1;
            if *copies == 0 {
                self.arrived.remove(&plan.arrival);
            }
            let row = Forward { nth: Some(self.sent), sent_ms: Some(now), ..row(&plan, &delivery) };
            self.sent += 1;
            let (signature, note) = self.sender.signature(&delivery, now.div_euclid(1_000));
            let (endpoint, done) = (self.sender.endpoint.clone(), done.clone());
            tokio::spawn(async move {
                let sent = endpoint.post(delivery.body.to_vec(), signature.as_deref()).await;
                let note = [note, sent.text].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("; ");
                let _ = done.send(Forward { status: sent.status, took_ms: Some(sent.took_ms), note, ..row });
            });
        }
    }
}

fn row(plan: &Planned, delivery: &Accepted) -> Forward {
    Forward {
        event: event::parse(&delivery.body).map(|event| event.id).unwrap_or_default(),
        arrival: i64::try_from(plan.arrival).unwrap_or(i64::MAX),
        copy: i64::from(plan.copy),
        nth: None,
        sent_ms: None,
        status: None,
        took_ms: None,
        note: String::new(),
        signature: delivery.signature.clone(),
    }
}

/// Where to, and what to sign with when a signature grew too old.
pub struct Sender {
    /// Where to.
    pub endpoint: Endpoint,
    /// To sign anew with.
    pub secret: Option<Secret>,
}

impl Sender {
    /// The header to send at `now` (unix seconds), and what has to be said about it.
    pub fn signature(&self, delivery: &Accepted, now: i64) -> (Option<String>, String) {
        let Some(header) = &delivery.signature else { return (None, String::new()) };
        let stamp = header.split(',').find_map(|item| item.trim().strip_prefix("t=")?.parse::<i64>().ok());
        let age = stamp.map_or(0, |stamp| now.saturating_sub(stamp));
        match &self.secret {
            _ if age <= TOLERANCE - MARGIN => (Some(header.clone()), String::new()),
            Some(secret) => (Some(secret.sign(now, &delivery.body)), format!("signed anew, it was {age} s old")),
            None => (Some(header.clone()), format!("its signature is {age} s old: give --forward-secret")),
        }
    }
}
