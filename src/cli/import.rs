//! `import`: events from a file go the way of deliveries, in groups.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::options::Common;
use super::output;
use super::status::failed;
use crate::store::schema;
use crate::store::writer::{Answer, Arrival, Writer};
use crate::stripe::noisy::{Events, Found};

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
    let mut group: Vec<Found> = Vec::with_capacity(GROUP);
    for found in Events::new(input) {
        group.push(found.map_err(|e| Failure::Environment(format!("cannot read {}: {e}", args.file.display())))?);
        if group.len() == GROUP {
            store(&mut writer, &mut group, &mut count)?;
        }
    }
    store(&mut writer, &mut group, &mut count)?;
    writer.sweep(crate::daemon::now_ms()).map_err(failed)?;
    report(&count, common.json)
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|e| Failure::Usage(format!("cannot open {}: {e}", path.display())))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}

fn store(writer: &mut Writer, group: &mut Vec<Found>, count: &mut Count) -> Result<(), Failure> {
    let now_ms = crate::daemon::now_ms();
    let lines: Vec<u64> = group.iter().map(|found| found.line).collect();
    let batch: Vec<Arrival> = group.drain(..).map(|found| Arrival::new(found.body, now_ms)).collect();
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
