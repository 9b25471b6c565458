//! `verify`: audits every invariant from the raw tables; exit 1 and a list when one is broken.

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::options::{Common, existing};
use super::output::{self, clean};
use super::status::failed;
use crate::store::verify::Audit;

/// Options of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {}

/// Audits.
pub fn run(_: &VerifyArgs, common: &Common) -> Result<(), Failure> {
    let settings = common.settings()?;
    existing(&settings.database)?;
    let audit = Audit::of(&settings.database, settings.live).map_err(failed)?;
    if common.json {
        output::object(&json!({
            "ok": audit.broken.is_empty(), "events": audit.events, "legs": audit.legs, "broken": audit.broken,
            "depends_on_order": audit.depends,
        }))?;
    } else {
        for line in audit
            .broken
            .iter()
            .map(|l| format!("BROKEN  {l}"))
            .chain(audit.depends.iter().map(|l| format!("note    {l}")))
        {
            output::line(&clean(&line))?;
        }
        if audit.broken.is_empty() {
            output::line(&format!("every invariant holds: {} events, {} legs", audit.events, audit.legs))?;
        }
    }
    match audit.broken.len() {
        0 => Ok(()),
        n => Err(Failure::Found(format!("{n} invariants are broken"))),
    }
}
