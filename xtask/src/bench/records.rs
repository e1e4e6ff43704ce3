//! `bench records`, in two parts: record lists on SQLite and PostgreSQL, populated and drained by an agent that does nothing, beside lists of
//! Redis that are moved one by one, in the same run; and whole activities with provenance, by the program.

mod activities;

use anyhow::{Result, bail};

use super::{Options, strongroom};
use crate::{place, services};

/// The parts, in their order.
const PARTS: [&str; 2] = ["lists", "activities"];

pub(super) fn run(options: &Options) -> Result<()> {
    if let Some(part) = options.part.as_deref().filter(|part| !PARTS.contains(part)) {
        bail!("the parts are {}, found {part:?}", PARTS.join(", "));
    }
    let is_wanted = |part: &str| options.part.as_deref().is_none_or(|wanted| wanted == part);
    if is_wanted("lists") {
        lists(options)?;
    }
    if is_wanted("activities") {
        activities::run(&strongroom(options)?, records(options))?;
    }
    Ok(())
}

/// Ids of a list: fewer where the benchmark is only tried.
fn records(options: &Options) -> u64 {
    if options.is_small { 20_000 } else { 1_000_000 }
}

fn lists(options: &Options) -> Result<()> {
    let (redis, records) = (services::redis()?, records(options).to_string());
    for database in [&[][..], &["--postgres"]] {
        let mut example = place::cargo();
        example
            .args(["run", "--quiet", "--release", "-p", "strongroom-records", "--example", "drain", "--"])
            .args(["--records", &records])
            .args(database);
        if options.is_small {
            example.args(["--seconds", "5"]);
        }
        if !database.is_empty() {
            example.arg("--redis").arg(&redis);
        }
        place::succeed(&mut example)?;
    }
    Ok(())
}
