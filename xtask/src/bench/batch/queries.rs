//! The commands that list and count, in a registry of a million work items: how long each takes when it is first given, and when it is
//! repeated. Each is a process of its own, whose start is part of it. The registry is filled with copies of what the program itself made
//! of a first batch; a second institution has a few items of its own.

use std::path::Path;

use anyhow::{Context, Result};
use strongroom_web_double::WebDouble;

use super::filling::Filler;
use super::lists::{Identifiers, write_list};
use super::{IS_ANY_OPEN, allow, ingest, registries, serve, size, submit};
use crate::bench::home::{CarefulServer, Home, Workers};
use crate::bench::{Options, measured, mebibytes, scratch};
use crate::place;

/// Objects of the first batch.
const OBJECTS: u64 = 500;
/// Work items in the registry, about so many.
const ITEMS: u64 = 1_000_000;
/// Items of the second institution.
const OF_OTHER: u64 = 20;
/// The second institution.
const OTHER: &str = "other.edu";
/// How often each command is repeated; the median counts.
const REPEATED: usize = 5;

/// What stands for the identifier of a batch in the commands below.
const BATCH: &str = "BATCH";
const COMMANDS: [&[&str]; 30] = [
    &["background", "list"],
    &["items", "list", "--limit", "50"],
    &["items", "list", "--limit", "50", "--json"],
    &["items", "list", "--limit", "50", "--status", "succeeded"],
    &["items", "list", "--limit", "50", "--status", "failed"],
    &["items", "list", "--limit", "50", "--status", "pending"],
    &["items", "list", "--limit", "50", "--batch", BATCH],
    &["items", "list", "--limit", "50", "--batch", BATCH, "--status", "failed"],
    &["items", "list", "--limit", "50", "--institution", "example.edu"],
    &["items", "list", "--limit", "50", "--institution", OTHER],
    &["items", "list", "--limit", "50", "--institution", OTHER, "--json"],
    &["items", "list", "--limit", "50", "--institution", OTHER, "--status", "succeeded"],
    &["items", "list", "--limit", "50", "--institution", OTHER, "--status", "failed"],
    &["items", "list", "--limit", "50", "--needs-review"],
    &["items", "list", "--limit", "50", "--action", "restore_object"],
    &["items", "list", "--limit", "50", "--stage", "validate"],
    &["items", "list", "--limit", "50", "--since", "1d"],
    &["items", "list", "--limit", "100000"],
    &["items", "list", "--limit", "100000", "--status", "succeeded"],
    &["batches", "list", "--limit", "50"],
    &["batches", "list", "--limit", "50", "--institution", OTHER],
    &["batches", "list", "--limit", "50", "--state", "processing"],
    &["batches", "show", BATCH],
    &["items", "failures"],
    &["items", "failures", "--batch", BATCH],
    &["items", "failures", "--institution", OTHER],
    &["items", "count"],
    &["items", "count", "--by", "collection"],
    &["items", "count", "--by", "institution"],
    &["status"],
];

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let objects = size(options, OBJECTS);
    let server = CarefulServer::start()?;
    println!("| registry | work items | command | first ms | repeated, median ms | peak MiB |");
    println!("|---|---|---|---|---|---|");
    for (name, on) in registries(&server) {
        let folder = scratch()?;
        let web = WebDouble::start();
        let mut home = Home::new(program, &folder.path().join(name), on)?;
        allow(&mut home, &web);
        let list = folder.path().join("list.checkm");
        write_list(&list, &serve(&web, "", 0..objects), Identifiers::Local)?;
        ingest(&mut home, folder.path(), &list, objects)?;
        let filler = Filler::new(home.registry(), objects + 1)?;
        place::succeed(home.command().args(["institution", "add", OTHER])).context("no institution was added")?;
        for row in serve(&web, "other-", 0..OF_OTHER) {
            submit(&home, &["--type", "file", "--institution", OTHER], Path::new(row.url()))?;
        }
        let mut workers = Workers::start(&home, 1, &[])?;
        home.wait_for_none(IS_ANY_OPEN)?;
        workers.stop()?;
        filler.fill(home.registry(), size(options, ITEMS))?;
        // What a registry that has grown in the course of time has, too.
        for task in ["placements", "retention"] {
            place::succeed(home.command().args(["background", "run", task])).context("a background task failed")?;
        }
        let items = home.number("SELECT count(*) FROM work_items")?;
        let batch = super::some_batch(&home)?;
        for command in COMMANDS {
            let mut whole = home.command();
            whole.args(command.iter().map(|&word| if word == BATCH { batch.as_str() } else { word }));
            let first = measured(&whole)?;
            let mut again = (0..REPEATED).map(|_| Ok(measured(&whole)?.wall)).collect::<Result<Vec<_>>>()?;
            again.sort();
            let median = again.get(again.len() / 2).copied().unwrap_or_default();
            println!(
                "| {name} | {items} | `{}` | {:.0} | {:.0} | {} |",
                command.join(" "),
                first.wall.as_secs_f64() * 1e3,
                median.as_secs_f64() * 1e3,
                mebibytes(first.peak)
            );
        }
    }
    server.stop()
}
