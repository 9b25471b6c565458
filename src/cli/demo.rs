//! `demo`: scenarios through real HTTP with real signatures, on a throw-away database.

use std::time::{Duration, Instant};

use clap::Args;
use secrecy::SecretString;

use super::failure::Failure;
use super::options::{Common, Settings};
use super::{output, serve, status};
use crate::domain::retry::Profile;
use crate::lab::demo::{SCENARIOS, Scenario};
use crate::store::read::Reader;
use crate::stripe::post::Endpoint;
use crate::stripe::signature::Secret;

/// The secret of the throw-away daemon. Worth nothing elsewhere.
const SECRET: &str = "whsec_demo_throw_away";
/// How long a headless scenario may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Which; without it all of them, one after the other
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(SCENARIOS.map(|s| s.name)))]
    scenario: Option<String>,
    /// No screen: play to the end, then print the status
    #[arg(long)]
    headless: bool,
}

/// Plays.
pub fn run(args: &DemoArgs, common: &Common) -> Result<(), Failure> {
    let scenarios: Vec<Scenario> = match &args.scenario {
        Some(name) => Scenario::named(name).into_iter().collect(),
        None => SCENARIOS.to_vec(),
    };
    let folder = tempdir()?;
    let sweep_every = Duration::from_millis(if args.headless { 20 } else { 300 });
    let settings = Settings {
        database: folder.path().join("demo.db"),
        live: false,
        addr: common.addr.unwrap_or(std::net::SocketAddr::from(([127, 0, 0, 1], 0))),
        secrets: vec![SecretString::from(SECRET.to_owned())],
        sweep_every,
        profile: Profile::Dev { base_ms: i64::try_from(sweep_every.as_millis()).unwrap_or(20) },
        ..common.settings()?
    };
    if !args.headless {
        return super::monitor::demo(&settings, move |endpoint| play_at_ease(&endpoint, &scenarios));
    }
    let mut daemon = serve::start(&settings, false, None)?;
    serve::runtime()?.block_on(play(&daemon.endpoint(), &scenarios, Duration::ZERO))?;
    let reader = Reader::open(&settings.database, false).map_err(status::failed)?;
    come_to_rest(&reader)?;
    daemon.stop();
    if common.json { output::object(&status::json(&reader)?) } else { status::text(&reader) }
}

/// For the screen: a thread of its own, at a pace that a person can follow. A failure is the daemon's end.
fn play_at_ease(endpoint: &str, scenarios: &[Scenario]) {
    if let Ok(runtime) = serve::runtime()
        && let Err(failure) = runtime.block_on(play(endpoint, scenarios, Duration::from_millis(900)))
    {
        tracing::warn!("the demo stopped: {failure}");
    }
}

async fn play(endpoint: &str, scenarios: &[Scenario], pace: Duration) -> Result<(), Failure> {
    let secret = Secret::new(&SecretString::from(SECRET.to_owned()));
    let secret = secret.map_err(|why| Failure::Environment(why.to_owned()))?;
    let endpoint = Endpoint::new(endpoint).map_err(Failure::Environment)?;
    for scenario in scenarios {
        let now = crate::daemon::now_ms() / 1_000;
        for step in scenario.steps(now) {
            tokio::time::sleep(pace * step.pause).await;
            let signature = secret.sign(crate::daemon::now_ms() / 1_000, step.body.as_bytes());
            let sent = endpoint.post(step.body.into_bytes(), Some(&signature)).await;
            if !sent.is_ok() {
                return Err(Failure::Environment(format!("the demo's daemon answered {sent}")));
            }
        }
    }
    Ok(())
}

/// Waits until nothing waits: everything is applied, or in a person's hands.
fn come_to_rest(reader: &Reader) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let inbox = reader.summary().map_err(status::failed)?.inbox;
        if inbox.waiting == 0 && inbox.received == 0 {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(Failure::Found(format!("{} events still wait", inbox.waiting + inbox.received)));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder that goes away with the value.
struct Folder(std::path::PathBuf);

impl Folder {
    fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tempdir() -> Result<Folder, Failure> {
    let name = format!("payout-ledger-demo-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    crate::store::schema::create_folder(&path).map_err(status::failed)?;
    Ok(Folder(path))
}
