//! Stripe's own command-line program: where it is, whether it is new enough, and how it is called.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use secrecy::SecretString;
use tokio::process::Command;

use super::client::API_BASE;
use super::key::{ApiKey, KEY_ENV, scrub};
use super::listen_line::{self, News};

/// The environment variable that names the program when it is not in the PATH.
pub const CLI_ENV: &str = "STRIPE_CLI";

/// How the program is called.
#[derive(Debug, Clone)]
pub struct Cli {
    /// The program.
    pub program: PathBuf,
    /// Our key; without one the CLI uses its own login.
    pub key: Option<ApiKey>,
    /// Our `--api-base`; passed on only when it is not Stripe's own.
    pub api_base: String,
    /// Listen to live events.
    pub live: bool,
}

/// Why it cannot listen; waiting will not mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CliProblem {
    /// Nowhere to be found, or it does not run.
    #[error("the Stripe CLI is not installed: npm install -g @stripe/cli, or set {CLI_ENV} to its path")]
    NotInstalled,
    /// It lacks `--all-snapshot`.
    #[error("the Stripe CLI {0} is too old (no listen --all-snapshot): npm install -g @stripe/cli@latest")]
    TooOld(String),
    /// No key and no login, or Stripe refused them.
    #[error("the Stripe CLI is not logged in{0}: run stripe login, or set {KEY_ENV}")]
    NotLoggedIn(String),
    /// Something else.
    #[error("the Stripe CLI failed: {0}")]
    Failed(String),
}

/// The program: [`CLI_ENV`] when set, else `stripe` in the PATH.
pub fn find() -> Result<PathBuf, CliProblem> {
    if let Some(path) = std::env::var_os(CLI_ENV).filter(|p| !p.is_empty()) {
        return Some(PathBuf::from(path)).filter(|p| p.is_file()).ok_or(CliProblem::NotInstalled);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join("stripe")).find(|p| is_program(p)).ok_or(CliProblem::NotInstalled)
}

fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

impl Cli {
    /// Its version text, once it is known to have what we need. The flag is asked for, not the number: numbers move.
    pub async fn check(&self) -> Result<String, CliProblem> {
        let version = self.output(&["--version"]).await?.0;
        let version = version.lines().next().unwrap_or_default().trim_start_matches("stripe version ").to_owned();
        let help = self.output(&["listen", "--help"]).await?.0;
        if help.contains("--all-snapshot") { Ok(version) } else { Err(CliProblem::TooOld(version)) }
    }

    /// The secret that this CLI's events are signed with (`listen --print-secret`); the same after every restart.
    pub async fn secret(&self) -> Result<SecretString, CliProblem> {
        let (out, err) = self.output(&self.listen_args(&["--print-secret"])).await?;
        match out.split_whitespace().find(|word| word.starts_with("whsec_")) {
            Some(secret) => Ok(SecretString::from(secret)),
            None => Err(self.problem(&err)),
        }
    }

    /// What its error output means.
    pub fn problem(&self, output: &str) -> CliProblem {
        let news: Vec<News> = output.lines().filter_map(listen_line::read).collect();
        if news.contains(&News::NotLoggedIn) {
            return CliProblem::NotLoggedIn(String::new());
        }
        let fatal = news.into_iter().find_map(|n| if let News::Fatal(text) = n { Some(text) } else { None });
        let last = || scrub(output.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no output").trim());
        let text: String = fatal.unwrap_or_else(last).chars().filter(|c| !c.is_control()).take(300).collect();
        if text.contains("status=401") || text.contains("status=403") || text.contains("API key") {
            let whose = if self.key.is_some() { "this program's API key" } else { "its own login" };
            return CliProblem::NotLoggedIn(format!(" (Stripe refused {whose})"));
        }
        CliProblem::Failed(text)
    }

    /// The child that forwards every event to `url`. It has its own process group, so that a ctrl-c in our terminal
    /// reaches us alone and we end it in order; it logs every ping (`--log-level debug`), so that it writes to a closed pipe
    /// and ends by itself within seconds if we die without a word.
    pub(super) fn listen(&self, url: &str) -> Command {
        let mut command =
            self.command(&self.listen_args(&["--log-level", "debug", "--all-snapshot", "--forward-to", url]));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn listen_args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec!["listen", "--skip-update"];
        args.extend(more);
        if self.live {
            args.push("--live");
        }
        if self.api_base.trim_end_matches('/') != API_BASE {
            args.extend(["--api-base", self.api_base.trim_end_matches('/')]);
        }
        args
    }

    /// The key goes by the environment: arguments show in every process list.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env("STRIPE_CLI_TELEMETRY_OPTOUT", "1").stdin(Stdio::null());
        command.kill_on_drop(true).process_group(0);
        match &self.key {
            Some(key) => command.env(KEY_ENV, key.expose()),
            None => command.env_remove(KEY_ENV),
        };
        command
    }

    /// Standard output and standard error of a short call.
    async fn output(&self, args: &[&str]) -> Result<(String, String), CliProblem> {
        let run = self.command(args).output();
        match tokio::time::timeout(Duration::from_secs(30), run).await {
            Ok(Ok(out)) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Ok((text(&out.stdout), text(&out.stderr)))
            }
            Ok(Err(e)) if e.kind() == std::io::ErrorKind::NotFound => Err(CliProblem::NotInstalled),
            Ok(Err(e)) => Err(CliProblem::Failed(format!("{} does not run: {e}", self.program.display()))),
            Err(_) => Err(CliProblem::Failed("no answer within 30 s".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cli(key: Option<&str>) -> Cli {
        let key = key.map(|k| ApiKey::parse(k).unwrap());
        Cli { program: "stripe".into(), key, api_base: API_BASE.into(), live: false }
    }

    #[test]
    fn the_key_is_no_argument_and_the_base_only_when_it_is_not_stripes() {
        let mut cli = cli(Some("sk_test_abcDEF123456"));
        let args = cli.listen_args(&["--print-secret"]);
        assert_eq!(args, ["listen", "--skip-update", "--print-secret"]);
        cli.api_base = "http://127.0.0.1:9/".into();
        cli.live = true;
        assert_eq!(cli.listen_args(&[])[2..], ["--live", "--api-base", "http://127.0.0.1:9"]);
        let shown = format!("{:?}", cli.listen("http://127.0.0.1:1/webhook").as_std().get_args().collect::<Vec<_>>());
        assert!(!shown.contains("sk_test"), "{shown}");
    }

    #[test]
    fn problems_say_what_to_do() {
        let text = "You have not configured API keys yet\n  If you already have a key: …";
        assert_eq!(cli(None).problem(text), CliProblem::NotLoggedIn(String::new()));
        let text = r#"time="x" level=fatal msg="Authorization failed, status=401, body={}""#;
        let problem = cli(Some("sk_test_abcDEF123456")).problem(text);
        assert!(problem.to_string().contains("refused this program's API key"), "{problem}");
        let text = r#"time="x" level=fatal msg="you have too many `stripe listen` sessions open""#;
        assert!(matches!(cli(None).problem(text), CliProblem::Failed(t) if t.starts_with("you have too many")));
        assert_eq!(cli(None).problem(""), CliProblem::Failed("no output".into()));
    }
}
