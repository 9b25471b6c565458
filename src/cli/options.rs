//! The options that every command shares, and what they come to together with the configuration file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use etcetera::BaseStrategy;
use secrecy::SecretString;
use serde::Deserialize;

use super::failure::Failure;
use crate::domain::retry::Profile;

/// Stripe's own address.
pub const STRIPE: &str = "https://api.stripe.com";

/// Options of every command. What is not given comes from the configuration file, then from the default.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// The database file [default: test.db or live.db in the user's data directory]
    #[arg(long, global = true, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// The configuration file (TOML) [default: config.toml in the user's configuration directory, if it is there]
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Where to listen; port 0 takes any [default: 127.0.0.1:4242]
    #[arg(long, global = true, value_name = "IP:PORT")]
    pub addr: Option<SocketAddr>,
    /// A signing secret (whsec_…); several during a rotation. Better in the environment: arguments show in `ps`
    #[arg(long, global = true, value_name = "WHSEC", env = "STRIPE_WEBHOOK_SECRET", hide_env_values = true,
        value_delimiter = ',', value_parser = secret)]
    pub secret: Vec<SecretString>,
    /// A file with the Stripe API key; the environment's STRIPE_API_KEY works too
    #[arg(long, global = true, value_name = "PATH")]
    pub api_key_file: Option<PathBuf>,
    /// Another address for Stripe's API
    #[arg(long, global = true, value_name = "URL")]
    pub api_base: Option<String>,
    /// How often what waits is looked at; also the first gap of the dev profile (200ms, 5s, 2m) [default: 5s]
    #[arg(long, global = true, value_name = "TIME", value_parser = duration)]
    pub sweep_interval: Option<Duration>,
    /// Which events to take; the others are kept as ignored [default: test]
    #[arg(long, global = true, value_enum)]
    pub mode: Option<Mode>,
    /// The gaps between tries: dev for `stripe listen`, which sends once; live for an endpoint that Stripe retries for
    /// three days [default: dev in test mode, live in live mode]
    #[arg(long, global = true, value_enum)]
    pub profile: Option<Gaps>,
    /// Take deliveries without a signature; on a loopback address only
    #[arg(long, global = true)]
    pub allow_unsigned: bool,
    /// JSON instead of a table
    #[arg(long, global = true)]
    pub json: bool,
    /// No colour; NO_COLOR in the environment does the same
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Say more on standard error; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// R10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Test-mode events.
    #[default]
    Test,
    /// Live-mode events.
    Live,
}

/// R5's two sets of gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gaps {
    /// The sweep interval, doubling.
    Dev,
    /// 30 seconds to 48 hours.
    Live,
}

/// The configuration file. An unknown key is an error: a misspelt one would be silently ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    db: Option<PathBuf>,
    addr: Option<SocketAddr>,
    #[serde(default)]
    secrets: Vec<SecretString>,
    api_key_file: Option<PathBuf>,
    api_base: Option<String>,
    sweep_interval: Option<String>,
    mode: Option<Mode>,
    profile: Option<Gaps>,
    theme: Option<String>,
}

/// What the options come to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The database file.
    pub database: PathBuf,
    /// R10.
    pub live: bool,
    /// Where to listen.
    pub addr: SocketAddr,
    /// To check deliveries with.
    pub secrets: Vec<SecretString>,
    /// Where the API key is, when not in the environment.
    pub api_key_file: Option<PathBuf>,
    /// Stripe's address.
    pub api_base: String,
    /// How often what waits is looked at.
    pub sweep_every: Duration,
    /// R5's gaps.
    pub profile: Profile,
    /// Whether colour is wanted.
    pub color: bool,
    /// The theme's name.
    pub theme: Option<String>,
}

impl Common {
    /// Reads the configuration file and decides.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let file = self.file()?;
        let live = self.mode.or(file.mode).unwrap_or_default() == Mode::Live;
        let database = match self.db.clone().or(file.db) {
            Some(path) => path,
            None => default_database(live)?,
        };
        let configured = file.sweep_interval.map(|text| duration(&text)).transpose();
        let configured = configured.map_err(|why| Failure::Usage(format!("sweep_interval: {why}")))?;
        let sweep_every = self.sweep_interval.or(configured).unwrap_or(Duration::from_secs(5));
        let gaps = self.profile.or(file.profile).unwrap_or(if live { Gaps::Live } else { Gaps::Dev });
        let profile = match gaps {
            Gaps::Live => Profile::Live,
            Gaps::Dev => Profile::Dev { base_ms: i64::try_from(sweep_every.as_millis()).unwrap_or(i64::MAX) },
        };
        Ok(Settings {
            database,
            live,
            addr: self.addr.or(file.addr).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 4242))),
            secrets: if self.secret.is_empty() { file.secrets } else { self.secret.clone() },
            api_key_file: self.api_key_file.clone().or(file.api_key_file),
            api_base: self.api_base.clone().or(file.api_base).unwrap_or_else(|| STRIPE.to_owned()),
            sweep_every,
            profile,
            color: !self.no_color && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
            theme: file.theme,
        })
    }

    fn file(&self) -> Result<File, Failure> {
        let path = match (&self.config, default_config()) {
            (Some(path), _) => path.clone(),
            (None, Some(path)) if path.exists() => path,
            _ => return Ok(File::default()),
        };
        let bad = |why: String| Failure::Usage(format!("the configuration file {}: {why}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
        toml::from_str(&text).map_err(|e| bad(e.message().to_owned()))
    }
}

fn default_config() -> Option<PathBuf> {
    let dirs = etcetera::choose_base_strategy().ok()?;
    Some(dirs.config_dir().join("payout-ledger").join("config.toml"))
}

/// `test.db` or `live.db`: the modes never share a file by accident.
fn default_database(live: bool) -> Result<PathBuf, Failure> {
    let dirs = etcetera::choose_base_strategy()
        .map_err(|_| Failure::Environment("there is no home directory: name the database with --db".to_owned()))?;
    let name = if live { "live.db" } else { "test.db" };
    Ok(dirs.data_dir().join("payout-ledger").join(name))
}

fn secret(text: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(SecretString::from(text.to_owned()))
}

/// A time longer than zero.
pub fn duration(text: &str) -> Result<Duration, String> {
    super::duration::parse(text)
        .and_then(|d| if d.is_zero() { Err("it must be longer than zero".to_owned()) } else { Ok(d) })
}

/// Who acts, for the audit: the operating system's user name.
pub fn user() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    named.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

/// A database that must be there already.
pub fn existing(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::Environment(format!("there is no database {path}: start `payout-ledger` first, or name it with --db")))
}
