//! The options of the chaos proxy, for the commands that receive.

use clap::Args;
use secrecy::SecretString;
use tokio::sync::mpsc;

use super::failure::Failure;
use super::options::Settings;
use crate::daemon::chaos::{Chaos, Options};
use crate::daemon::receiver::Accepted;
use crate::domain::chaos;
use crate::stripe::post::Endpoint;
use crate::stripe::signature::Secret;

/// What `--chaos` alone means.
const MISCHIEF: &str = "shuffle=8,delay=2s,duplicate=10%";

/// Passing accepted events on.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Passing events on")]
pub struct ForwardArgs {
    /// Pass each accepted event on to this endpoint, body and signature as they came
    #[arg(long, value_name = "URL")]
    forward_to: Option<String>,
    /// Mistreat them on the way; alone it means shuffle=8,delay=2s,duplicate=10%. Also drop=5% and burst
    #[arg(long, value_name = "MISCHIEF", num_args = 0..=1, default_missing_value = MISCHIEF, require_equals = true,
        requires = "forward_to")]
    chaos: Option<String>,
    /// The same seed, the same mischief
    #[arg(long, value_name = "N", default_value_t = 1)]
    chaos_seed: u64,
    /// The endpoint's secret, to sign anew what a delay made too old
    #[arg(long, value_name = "WHSEC", env = "PAYOUT_LEDGER_FORWARD_SECRET", hide_env_values = true,
        value_parser = secret)]
    forward_secret: Option<SecretString>,
}

/// A secret from the command line.
pub fn secret(text: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(SecretString::from(text.to_owned()))
}

/// A secret to sign with, if one is given.
pub fn signer(secret: Option<&SecretString>) -> Result<Option<Secret>, Failure> {
    secret.map(Secret::new).transpose().map_err(|why| Failure::Usage(format!("--forward-secret: {why}")))
}

impl ForwardArgs {
    /// Starts the proxy, if one is wanted, with the channel that the receiver feeds.
    pub fn start(&self, settings: &Settings) -> Result<(Option<Chaos>, Option<mpsc::Sender<Accepted>>), Failure> {
        let Some(url) = &self.forward_to else { return Ok((None, None)) };
        let mischief = self.chaos.as_deref().unwrap_or_default();
        let options = Options {
            endpoint: Endpoint::new(url).map_err(Failure::Usage)?,
            settings: chaos::Settings::parse(mischief, self.chaos_seed).map_err(Failure::Usage)?,
            secret: signer(self.forward_secret.as_ref())?,
            database: settings.database.clone(),
        };
        let (chaos, tap) = Chaos::start(options).map_err(Failure::Environment)?;
        Ok((Some(chaos), Some(tap)))
    }
}
