//! `doctor`: everything around the program, one line a check, and with each fault the command that mends it.

mod local;
mod remote;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::Serialize;

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
