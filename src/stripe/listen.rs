//! `stripe listen` as a supervised child: started, watched, restarted with growing pauses, ended with us.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::cli::{Cli, CliProblem};
use super::listen_line::{self, News};

/// The longest pause before a restart.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How the child does, for the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenState {
    /// Asking for version and secret, or connecting for the first time.
    Starting,
    /// Connected: events come.
    Ready,
    /// The socket is down, or the child ended and will be restarted; what Stripe sends meanwhile is lost to it.
    Reconnecting(String),
    /// Cannot run, and waiting will not mend it. The text says what to do.
    Unusable(CliProblem),
    /// Ended by us.
    Stopped,
}

impl fmt::Display for ListenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("starting"),
            Self::Ready => f.write_str("ready"),
            Self::Reconnecting(why) => write!(f, "reconnecting: {why}"),
            Self::Unusable(problem) => write!(f, "{problem}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// State and figures of the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenStatus {
    /// How it does.
    pub state: ListenState,
    /// Its version, once known.
    pub version: Option<String>,
    /// Events it passed on since start.
    pub forwarded: u64,
    /// Events it had and could not deliver.
    pub lost: u64,
    /// How often the connection came back after a gap. A change means: backfill, something may have been missed.
    pub gaps: u64,
}

/// The running supervisor. Dropping it ends the child.
#[derive(Debug)]
pub struct Listener {
    status: watch::Receiver<ListenStatus>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Starts supervising on the current runtime. `on_secret` gets the signing secret before the first event can come.
    pub fn start(cli: Cli, forward_to: String, on_secret: impl Fn(SecretString) + Send + Sync + 'static) -> Self {
        let (tell, status) = watch::channel(ListenStatus {
            state: ListenState::Starting,
            version: None,
            forwarded: 0,
            lost: 0,
            gaps: 0,
        });
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            let mut supervisor = Supervisor { cli, forward_to, tell, stopped, connected_before: false };
            let end = supervisor.run(&on_secret).await;
            supervisor.set(end);
        });
        Self { status, stop, task }
    }

    /// State and figures now.
    pub fn status(&self) -> ListenStatus {
        self.status.borrow().clone()
    }

    /// Follows state and figures.
    pub fn watch(&self) -> watch::Receiver<ListenStatus> {
        self.status.clone()
    }

    /// Ends the child and waits for it.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        let _ = (&mut self.task).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Aborting drops the child, whose guard ends its whole group.
        self.task.abort();
    }
}

struct Supervisor {
    cli: Cli,
    forward_to: String,
    tell: watch::Sender<ListenStatus>,
    stopped: watch::Receiver<bool>,
    connected_before: bool,
}

impl Supervisor {
    fn set(&self, state: ListenState) {
        self.tell.send_if_modified(|s| std::mem::replace(&mut s.state, state.clone()) != state);
    }

    async fn run(&mut self, on_secret: &(impl Fn(SecretString) + Send + Sync)) -> ListenState {
        let mut pause = Duration::from_secs(1);
        loop {
            let began = Instant::now();
            let mut stopped = self.stopped.clone();
            let problem = tokio::select! {
                problem = self.session(on_secret) => problem,
                _ = stopped.wait_for(|s| *s) => return ListenState::Stopped,
            };
            if began.elapsed() > LONGEST_PAUSE {
                pause = Duration::from_secs(1);
            }
            match problem {
                CliProblem::Failed(why) => self.set(ListenState::Reconnecting(why)),
                fatal => return ListenState::Unusable(fatal),
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stopped.wait_for(|s| *s) => return ListenState::Stopped,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// One life of the child; returns why it ended.
    async fn session(&mut self, on_secret: &(impl Fn(SecretString) + Send + Sync)) -> CliProblem {
        match self.cli.check().await {
            Ok(version) => self.tell.send_modify(|s| s.version = Some(version)),
            Err(problem) => return problem,
        }
        match self.cli.secret().await {
            Ok(secret) => on_secret(secret),
            Err(problem) => return problem,
        }
        let mut child = match self.cli.listen(&self.forward_to).spawn() {
            Ok(child) => Group(child),
            Err(e) => return CliProblem::Failed(e.to_string()),
        };
        let (tx, mut lines) = mpsc::channel(64);
        let readers = [
            child.0.stdout.take().map(|o| tokio::spawn(pass_news(o, tx.clone()))),
            child.0.stderr.take().map(|o| tokio::spawn(pass_news(o, tx))),
        ];
        let mut fatal = None;
        while let Some(news) = lines.recv().await {
            self.hear(news, &mut fatal);
        }
        let status = child.0.wait().await;
        readers.into_iter().flatten().for_each(|r| r.abort());
        match (fatal, status) {
            (Some(problem), _) => problem,
            (None, Ok(status)) => CliProblem::Failed(format!("it ended ({status})")),
            (None, Err(e)) => CliProblem::Failed(e.to_string()),
        }
    }

    fn hear(&mut self, news: News, fatal: &mut Option<CliProblem>) {
        match news {
            News::Connected => {
                let gap = u64::from(std::mem::replace(&mut self.connected_before, true));
                self.tell.send_modify(|s| {
                    s.state = ListenState::Ready;
                    s.gaps += gap;
                });
            }
            News::Disconnected => self.set(ListenState::Reconnecting("the connection to Stripe is down".to_owned())),
            News::Forwarded => self.tell.send_modify(|s| s.forwarded += 1),
            News::Lost => self.tell.send_modify(|s| s.lost += 1),
            News::NotLoggedIn => *fatal = Some(CliProblem::NotLoggedIn(String::new())),
            News::Fatal(text) => *fatal = Some(self.cli.problem(&format!("level=fatal msg=\"{text}\""))),
        }
    }
}

/// Reads lines until the end and passes on what they mean; the lines themselves may hold payloads and are not kept.
async fn pass_news(output: impl AsyncRead + Unpin, tell: mpsc::Sender<News>) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if let Some(news) = listen_line::read(&String::from_utf8_lossy(&line))
            && tell.send(news).await.is_err()
        {
            return;
        }
    }
}

/// A child with its process group: both end when this is dropped.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended already; the child itself is reaped by the runtime.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::TERM);
        }
    }
}
