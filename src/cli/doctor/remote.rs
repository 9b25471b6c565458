//! Checks of Stripe: does the key work, what may it read, whose is it, do the clocks agree; and the Stripe CLI.

use std::time::Duration;

use super::{Check, Subject};
use crate::domain::owner::Owner;
use crate::stripe::cli::{self, Cli, CliProblem};
use crate::stripe::client::{Client, Settings};
use crate::stripe::error::{ApiError, ErrorKind};
use crate::stripe::key::ApiKey;
use crate::stripe::signature::TOLERANCE;

/// What the monitor reads, and what for.
const READS: [(&str, &str, &str); 5] = [
    ("/v1/events", "Events", "backfill"),
    ("/v1/payouts", "Payouts", "reconcile"),
    ("/v1/balance", "Balance", "reconcile and opening balances"),
    ("/v1/transfers", "Transfers", "reconcile and guarded transfers"),
    ("/v1/charges", "Charges", "fees"),
];

pub(super) async fn api(subject: &Subject, key: &ApiKey) -> Vec<Check> {
    let settings = Settings {
        base: subject.api_base.clone(),
        tries: 1,
        timeout: Duration::from_secs(10),
        ..Settings::new(key.clone())
    };
    let client = match Client::new(settings) {
        Ok(client) => client,
        Err(why) => return vec![Check::bad("api", why, "leave --api-base out to use Stripe's own address")],
    };
    let platform = Owner::platform();
    let mut checks = Vec::new();
    let (mut date, mut missing) = (None, Vec::new());
    for (path, name, used_for) in READS {
        let query: &[(&str, &str)] = if path == "/v1/balance" { &[] } else { &[("limit", "1")] };
        match client.get(&platform, path, query).await {
            Ok(answer) => date = answer.unix_date().or(date),
            Err(error) if matches!(error.kind, ErrorKind::Forbidden { .. }) => missing.push((name, used_for)),
            Err(error) => return vec![unreachable(&error, &subject.api_base)],
        }
    }
    checks.push(Check::ok("api", format!("{} answers and knows the key", subject.api_base)));
    for (name, used_for) in missing {
        let mend = format!("Dashboard, API keys, this key: {name} = Read");
        checks.push(Check::warn("api", format!("the key may not read {name}: no {used_for}"), mend));
    }
    checks.extend(account(&client).await);
    checks.extend(date.map(clock));
    checks
}

fn unreachable(error: &ApiError, base: &str) -> Check {
    let mend = match error.kind {
        ErrorKind::Unauthorized => "export STRIPE_API_KEY=… with a key that is not revoked",
        ErrorKind::RateLimited => "wait a minute",
        _ => "curl the address; see status.stripe.com",
    };
    Check::bad("api", format!("{base}: {error}"), mend)
}

/// Whose key it is. A restricted key may not say, and that is fine.
async fn account(client: &Client) -> Option<Check> {
    let account = client.account().await.ok()?;
    let country = account.country.map(|c| format!(" ({c})")).unwrap_or_default();
    Some(Check::ok("account", format!("{}{country}", account.id)))
}

fn clock(theirs: i64) -> Check {
    let off = chrono::Utc::now().timestamp() - theirs;
    let text = format!("{} s {} Stripe's", off.abs(), if off < 0 { "behind" } else { "ahead of" });
    let mend = "sudo timedatectl set-ntp true";
    match off {
        // A clock that is ahead makes fresh signatures look old.
        off if off >= TOLERANCE => Check::bad("clock", format!("{text}: every signature looks too old"), mend),
        -30..=30 => Check::ok("clock", "agrees with Stripe's"),
        _ => Check::warn("clock", text, mend),
    }
}

pub(super) async fn cli(subject: &Subject) -> Check {
    let program = match cli::find() {
        Ok(program) => program,
        Err(_) => {
            return Check::warn(
                "cli",
                "the Stripe CLI is not installed: --listen cannot run",
                "npm install -g @stripe/cli",
            );
        }
    };
    let shown = program.display().to_string();
    let key = subject.key.as_ref().ok().cloned().flatten();
    let cli = Cli { program, key, api_base: subject.api_base.clone(), live: subject.live };
    match cli.check().await {
        Ok(version) => Check::ok("cli", format!("{shown}, version {version}")),
        Err(CliProblem::TooOld(version)) => {
            let text = format!("{shown} is version {version}: it lacks listen --all-snapshot");
            Check::warn("cli", text, "npm install -g @stripe/cli@latest")
        }
        Err(problem) => Check::warn("cli", problem.to_string(), format!("{shown} --version")),
    }
}
