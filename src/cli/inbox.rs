//! `inbox`: list, show, retry, dismiss, restore. Works beside a running daemon.

use clap::{Args, Subcommand};
use serde_json::json;

use super::failure::Failure;
use super::list::{EVENTS, FilterArgs};
use super::options::{Common, Settings, existing, user};
use super::output::{self, Format, clean};
use super::status::{failed, needs, open};
use crate::domain::outcome::State;
use crate::store::act::{Actor, Deed};
use crate::store::schema;
use crate::store::view::{Filter, Page};
use crate::store::writer::Writer;

/// Options of `inbox`.
#[derive(Debug, Args)]
pub struct InboxArgs {
    #[command(subcommand)]
    command: InboxCommand,
}

#[derive(Debug, Subcommand)]
enum InboxCommand {
    /// What is stuck and what waits, or other states
    List {
        /// received, waiting, stuck, applied, skipped, ignored or dismissed; repeatable
        #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(State::ALL.map(State::as_str)))]
        state: Vec<String>,
        #[command(flatten)]
        filter: FilterArgs,
        /// Rows at the most
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Comma-separated values
        #[arg(long, conflicts_with = "json")]
        csv: bool,
    },
    /// One event: why it is where it is, what would help, who competes, its body
    Show {
        /// evt_…
        id: String,
    },
    /// Try again now; costs no attempt
    Retry {
        #[command(flatten)]
        which: Which,
        /// Only say what would happen
        #[arg(long)]
        dry_run: bool,
    },
    /// Put aside: its money leaves the waiting list, the raw rows stay
    Dismiss {
        #[command(flatten)]
        which: Which,
        /// Why, for the audit
        #[arg(long)]
        reason: String,
    },
    /// Take dismissed events back
    Restore {
        #[command(flatten)]
        which: Which,
        /// Why, for the audit
        #[arg(long, default_value = "")]
        reason: String,
    },
}

/// Which events.
#[derive(Debug, Args)]
struct Which {
    /// evt_…; several
    ids: Vec<String>,
    /// Every stuck event
    #[arg(long, conflicts_with = "ids")]
    all_stuck: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

/// Runs the command.
pub fn run(args: &InboxArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    match &args.command {
        InboxCommand::List { state, filter, limit, csv } => {
            let page = Page { cursor: None, before: false, limit: *limit };
            let rows = open(&settings)?.inbox(&filter.filter(state.clone()), &page).map_err(failed)?;
            EVENTS.print(Format::choose(common.json, *csv), &rows)
        }
        InboxCommand::Show { id } => show(id, &settings),
        InboxCommand::Retry { which, dry_run } => {
            act(which, common, &settings, "", &[State::Stuck], |w, ids, actor| {
                if *dry_run { w.dry_run(ids, actor) } else { w.retry(ids, actor) }
            })
        }
        InboxCommand::Dismiss { which, reason } => {
            act(which, common, &settings, reason, &[State::Stuck], Writer::dismiss)
        }
        InboxCommand::Restore { which, reason } => {
            act(which, common, &settings, reason, &[State::Dismissed], Writer::restore)
        }
    }
}

/// A writer beside whatever else runs on this database.
pub fn writer(settings: &Settings) -> Result<Writer, Failure> {
    existing(&settings.database)?;
    let conn = schema::open(&settings.database).map_err(failed)?;
    Writer::new(conn, settings.live, settings.profile).map_err(failed)
}

fn act(
    which: &Which,
    common: &Common,
    settings: &Settings,
    reason: &str,
    states: &[State],
    deed: impl Fn(&mut Writer, &[String], &Actor<'_>) -> Result<Vec<Deed>, crate::store::error::StoreError>,
) -> Result<(), Failure> {
    let ids = which.ids(settings, states)?;
    let mut writer = writer(settings)?;
    let actor = Actor { who: &user(), reason, now_ms: crate::daemon::now_ms() };
    let deeds = deed(&mut writer, &ids, &actor).map_err(failed)?;
    for d in &deeds {
        if common.json {
            output::line(&json!({
                "id": d.id, "object": d.object, "before": d.before.as_str(), "after": d.after.as_str(), "text": d.text,
            }).to_string())?;
        } else {
            output::line(&format!("{}  {} → {}  {}", clean(&d.id), d.before, d.after, clean(&d.text)))?;
        }
    }
    let unknown = deeds.iter().filter(|d| d.object.is_empty() && d.text.contains("no such event")).count();
    if unknown > 0 { Err(Failure::Usage(format!("{unknown} of these events are not here"))) } else { Ok(()) }
}

impl Which {
    fn ids(&self, settings: &Settings, states: &[State]) -> Result<Vec<String>, Failure> {
        if !self.ids.is_empty() {
            return Ok(self.ids.clone());
        }
        let words = states.iter().map(|s| s.to_string()).collect();
        let filter = self.filter.filter(words);
        let empty = Filter { states: filter.states.clone(), ..Filter::default() };
        if filter == empty && !self.all_stuck {
            return Err(Failure::Usage("say which: event ids, --all-stuck, or a filter such as --account".to_owned()));
        }
        let page = Page { cursor: None, before: false, limit: 100_000 };
        let rows = open(settings)?.inbox(&filter, &page).map_err(failed)?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}

/// One JSON object: a person and a script both read it.
fn show(id: &str, settings: &Settings) -> Result<(), Failure> {
    let reader = open(settings)?;
    let row = reader.event(id).map_err(failed)?;
    let row = row.ok_or_else(|| Failure::Usage(format!("there is no event {id:?} here")))?;
    let detail = reader.inbox_detail(row.seq).map_err(failed)?;
    let detail = detail.ok_or_else(|| Failure::Usage(format!("there is no event {id:?} here")))?;
    let body = reader.body(row.seq).map_err(failed)?;
    let body = body.map(|b| String::from_utf8_lossy(&b).into_owned());
    let ids = |rows: &[crate::store::view::EventRow]| rows.iter().map(|r| r.id.clone()).collect::<Vec<_>>();
    output::object(&json!({
        "id": row.id, "type": row.kind, "object": row.object, "account": row.account, "created": row.created,
        "state": row.state, "reason": row.reason, "effect": row.effect, "attempts": row.attempts,
        "deliveries": row.deliveries, "first_ms": row.first_ms, "last_ms": row.last_ms, "next_ms": row.next_ms,
        "needs": needs(&row), "tries": detail.tries,
        "wants": detail.wants, "competitors": ids(&detail.competitors), "would_help": ids(&detail.would_help),
        "audit": detail.audit, "body": body,
    }))
}
