//! `import`: events from a file go the way of deliveries, in groups.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::options::Common;
use super::output;
use super::status::failed;
use crate::store::schema;
use crate::store::writer::{Answer, Arrival, Writer};
use crate::stripe::noisy::Events;

/// Events per commit.
const GROUP: usize = 512;
/// Refused ones named at the most.
const NAMED: usize = 20;

/// Options of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The file, or `-` for standard input
    file: PathBuf,
}

/// What came of it.
#[derive(Default)]
struct Count {
    stored: u64,
    repeats: u64,
    refused: Vec<(u64, &'static str)>,
}

/// Imports, and creates the database if there is none.
pub fn run(args: &ImportArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    let input = open(&args.file)?;
    let conn = schema::open(&settings.database).map_err(failed)?;
    let mut writer = Writer::new(conn, settings.live, settings.profile).map_err(failed)?;
    let mut count = Count::default();
    // Reading and parsing on one core, writing on the other.
    let (sender, groups) = std::sync::mpsc::sync_channel::<Group>(4);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || read(input, &sender));
        for group in groups {
            store(&mut writer, group, &mut count)?;
        }
        let read = reading.join().map_err(|_| Failure::Environment("reading stopped".to_owned()))?;
        read.map_err(|e| Failure::Environment(format!("cannot read {}: {e}", args.file.display())))
    })?;
    writer.sweep(crate::daemon::now_ms()).map_err(failed)?;
    report(&count, common.json)
}

fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|e| Failure::Usage(format!("cannot open {}: {e}", path.display())))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}

/// Parsed events with the lines they begin on.
type Group = (Vec<Arrival>, Vec<u64>);

/// Reads to the end, a group at a time. Stops early when nobody takes them any more: the writer has failed and says so.
fn read(input: Box<dyn BufRead + Send>, groups: &SyncSender<Group>) -> io::Result<()> {
    let mut group = Group::default();
    for found in Events::new(input) {
        let found = found?;
        group.0.push(Arrival::new(found.body, crate::daemon::now_ms()));
        group.1.push(found.line);
        if group.0.len() == GROUP && groups.send(std::mem::take(&mut group)).is_err() {
            return Ok(());
        }
    }
    let _ = groups.send(group);
    Ok(())
}

fn store(writer: &mut Writer, (batch, lines): Group, count: &mut Count) -> Result<(), Failure> {
    for (answer, line) in writer.ingest(&batch).map_err(failed)?.into_iter().zip(lines) {
        match answer {
            Answer::Stored { .. } => count.stored += 1,
            Answer::Repeat { .. } => count.repeats += 1,
            Answer::Refused(why) => count.refused.push((line, why)),
        }
    }
    Ok(())
}

fn report(count: &Count, as_json: bool) -> Result<(), Failure> {
    for (line, why) in count.refused.iter().take(NAMED) {
        eprintln!("line {line}: not stored: {why}");
    }
    let refused = count.refused.len();
    if as_json {
        output::line(&json!({"stored": count.stored, "repeats": count.repeats, "refused": refused}).to_string())?;
    } else {
        output::line(&format!("{} stored, {} repeats, {refused} refused", count.stored, count.repeats))?;
    }
    if refused > 0 { Err(Failure::Found(format!("{refused} values are no events"))) } else { Ok(()) }
}
