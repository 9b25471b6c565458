//! `doctor`: everything around the program, one line a check, and with each fault the command that mends it.

mod local;
mod remote;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::Serialize;

use super::failure::Failure;
use super::options::Common;
use super::output;
use crate::stripe::key::ApiKey;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Works, but something is off or off by choice.
    Warn,
    /// Does not work.
    Bad,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub text: String,
    /// The command or the step that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Check {
    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, text: text.into(), mend: None }
    }

    fn warn(name: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Warn, text: text.into(), mend: Some(mend.into()) }
    }

    fn bad(name: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Bad, text: text.into(), mend: Some(mend.into()) }
    }

    /// The line for a person, and under it how to mend.
    pub fn line(&self) -> String {
        let mark = match self.verdict {
            Verdict::Ok => "ok  ",
            Verdict::Warn => "warn",
            Verdict::Bad => "BAD ",
        };
        let head = format!("{mark}  {:<9} {}", self.name, self.text);
        match &self.mend {
            Some(mend) => format!("{head}\n                → {mend}"),
            None => head,
        }
    }
}

/// What is looked at.
#[derive(Debug)]
pub struct Subject {
    /// The database file.
    pub database: PathBuf,
    /// R10.
    pub live: bool,
    /// Where the receiver listens.
    pub addr: SocketAddr,
    /// The signing secrets given.
    pub secrets: Vec<SecretString>,
    /// Where the API key is, when not in the environment.
    pub key_file: Option<PathBuf>,
    /// The key, or why it is none.
    pub key: Result<Option<ApiKey>, String>,
    /// Stripe's address.
    pub api_base: String,
}

/// Looks at everything, this machine first.
pub async fn examine(subject: &Subject) -> Vec<Check> {
    let mut checks = vec![local::secrets(subject)];
    checks.extend(local::key(subject));
    if let Ok(Some(key)) = &subject.key {
        checks.extend(remote::api(subject, key).await);
    }
    checks.extend(local::ports(subject).await);
    checks.extend(local::database(subject));
    checks.push(remote::cli(subject).await);
    checks
}

/// Prints every check. Exit code 1 when one is bad.
pub fn run(common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    let subject = Subject {
        key: ApiKey::find(settings.api_key_file.as_deref()),
        database: settings.database,
        live: settings.live,
        addr: settings.addr,
        secrets: settings.secrets,
        key_file: settings.api_key_file,
        api_base: settings.api_base,
    };
    let checks = super::serve::runtime()?.block_on(examine(&subject));
    if common.json {
        output::object(&serde_json::json!({ "checks": checks }))?;
    } else {
        checks.iter().try_for_each(|check| output::line(&check.line()))?;
    }
    match checks.iter().filter(|c| c.verdict == Verdict::Bad).count() {
        0 => Ok(()),
        n => Err(Failure::Found(format!("{n} of {} checks failed; each says above what mends it", checks.len()))),
    }
}
