//! `bench batch`: objects by a batch manifest, in seven parts: all of a batch from its submission to the last object, rows that become
//! work items, the validation of a manifest, the cost of an item as the registry grows, a single item of another institution beside a batch, the
//! report of a long batch, and the commands that list and count in a large registry.

mod creation;
mod fairness;
mod filling;
mod growth;
mod lists;
mod queries;
mod reports;
mod validation;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use strongroom_web_double::WebDouble;

use super::home::{CarefulServer, Figures, Home, Workers, cpu_of_children};
use super::{Options, bare, mebibytes, scratch, seconds, strongroom};
use crate::place;
use lists::{Identifiers, Row, content, write_list};

/// The parts, in their order.
const PARTS: [&str; 7] = ["ingest", "creation", "validation", "growth", "fairness", "reports", "queries"];
/// Whether a work item has not ended.
const IS_ANY_OPEN: &str =
    "SELECT count(*) FROM (SELECT 1 AS one FROM work_items WHERE status IN ('pending', 'started') LIMIT 1) AS open";
/// Objects of the batch.
const OBJECTS: u64 = 10_000;
/// What a list is submitted as.
const OF_BATCHES: [&str; 2] = ["--type", "single-file-batch-manifest"];
/// Files of the bare work, whose syncs take long.
const BARE_FILES: u64 = 1_000;
/// Bytes of a file.
const SIZE: usize = 4_096;

pub(super) fn run(options: &Options) -> Result<()> {
    let program = strongroom(options)?;
    if let Some(part) = options.part.as_deref().filter(|part| !PARTS.contains(part)) {
        bail!("the parts are {}, found {part:?}", PARTS.join(", "));
    }
    let is_wanted = |part: &str| options.part.as_deref().is_none_or(|wanted| wanted == part);
    if is_wanted("ingest") {
        run_ingest(&program, options)?;
    }
    if is_wanted("creation") {
        creation::run(&program, options)?;
    }
    if is_wanted("validation") {
        validation::run(&program, options)?;
    }
    if is_wanted("growth") {
        growth::run(&program, options)?;
    }
    if is_wanted("fairness") {
        fairness::run(&program, options)?;
    }
    if is_wanted("reports") {
        reports::run(&program, options)?;
    }
    if is_wanted("queries") {
        queries::run(&program, options)?;
    }
    Ok(())
}

/// The registries that are measured, each with its name: in a file, and on a server.
fn registries(server: &CarefulServer) -> [(&'static str, Option<&CarefulServer>); 2] {
    [("SQLite", None), ("PostgreSQL", Some(server))]
}

/// A number of objects or rows, or a hundredth of it where the benchmark is only tried.
fn size(options: &Options, number: u64) -> u64 {
    if options.is_small { (number / 100).max(10) } else { number }
}

fn run_ingest(program: &Path, options: &Options) -> Result<()> {
    let objects = size(options, OBJECTS);
    let server = CarefulServer::start()?;
    let folder = scratch()?;
    let files: Vec<_> =
        (0..objects.min(BARE_FILES)).map(|number| (format!("{number}/file"), content(number, SIZE))).collect();
    let bare = bare::run_each(&files, &folder.path().join("bare"))?;
    println!(
        "| registry | objects | s | objects/s | bare, each file synced: files/s | workers' cpu ms/object | peak MiB | \
         transactions/object | statements/object | requests/object |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, on) in registries(&server) {
        let web = WebDouble::start();
        let list = folder.path().join(format!("{name}.checkm"));
        write_list(&list, &serve(&web, "", 0..objects), Identifiers::Local)?;
        let mut home = Home::new(program, &folder.path().join(name), on)?;
        allow(&mut home, &web);
        let took = ingest(&mut home, folder.path(), &list, objects)?;
        println!(
            "| {name} | {objects} | {} | {:.1} | {:.0} | {:.1} | {} | {} | {} | {:.1} |",
            seconds(took.wall),
            objects as f64 / took.wall.as_secs_f64(),
            files.len() as f64 / bare.wall.as_secs_f64(),
            took.cpu.as_secs_f64() * 1e3 / objects as f64,
            mebibytes(took.peak),
            per(objects, took.figures.map(|figures| figures.transactions)),
            per(objects, took.figures.and_then(|figures| figures.statements)),
            web.requests().len() as f64 / objects as f64
        );
    }
    server.stop()
}

/// Serves a file for each number: the rows that name them.
fn serve(web: &WebDouble, prefix: &str, numbers: std::ops::Range<u64>) -> Vec<Row> {
    let serve_one = |number| {
        let (name, content) = (format!("{prefix}file-{number:06}.bin"), content(number, SIZE));
        web.put(&format!("/{name}"), &content);
        Row::of(web.url(&format!("/{name}")), name, &content)
    };
    numbers.map(serve_one).collect()
}

/// Lets the programs fetch from the server.
fn allow(home: &mut Home, web: &WebDouble) {
    home.set("STRONGROOM_INGEST__URL_HOSTS", web.authority());
    home.set("STRONGROOM_INGEST__ALLOW_PRIVATE_ADDRESSES", "true".to_owned());
}

/// One of the batches that were made last.
fn some_batch(home: &Home) -> Result<String> {
    let mut list = home.command();
    let listed = list.args(["batches", "list", "--json", "--limit", "3"]).stdout(std::process::Stdio::piped());
    let listed = place::output_of(listed).context("no batch is listed")?;
    let batch = listed.lines().last().and_then(|line| line.split("\"batch\":\"").nth(1)?.split('"').next());
    Ok(batch.context("there is no batch")?.to_owned())
}

/// What a batch needed.
struct Took {
    /// From the command that submits it to the last object.
    wall: Duration,
    /// Processor time of the command and the workers.
    cpu: Duration,
    /// The largest resident set of the worker process, in bytes.
    peak: u64,
    /// What the database counted, where it counts.
    figures: Option<Figures>,
}

/// Submits a batch of files, and has one worker process work on it to its end.
fn ingest(home: &mut Home, folder: &Path, list: &Path, objects: u64) -> Result<Took> {
    let before = home.figures()?;
    let succeeded = "SELECT count(*) FROM work_items WHERE status = 'succeeded'";
    let succeeded_before = home.number(succeeded)?;
    bare::settle(folder)?;
    let cpu_before = cpu_of_children()?;
    let began = Instant::now();
    submit(home, &OF_BATCHES, list)?;
    let mut workers = Workers::start(home, 1, &[])?;
    home.wait_for_none(IS_ANY_OPEN)?;
    let wall = began.elapsed();
    let peak = workers.peak()?;
    workers.stop()?;
    let cpu = cpu_of_children()?.saturating_sub(cpu_before);
    // The list itself is a work item, too.
    let ended = home.number(succeeded)? - succeeded_before - 1;
    if u64::try_from(ended) != Ok(objects) {
        bail!("{ended} of {objects} objects were ingested");
    }
    let after = home.figures()?;
    Ok(Took { wall, cpu, peak, figures: after.zip(before).map(|(after, before)| after.since(before)) })
}

/// Submits a package, with further arguments.
fn submit(home: &Home, arguments: &[&str], source: &Path) -> Result<()> {
    let mut deposit = home.command();
    deposit.args(["deposit", "--detach", "--quiet"]).args(arguments).arg(source);
    place::succeed(&mut deposit).context("the deposit is not accepted")
}

/// A count for each of so many, where there is one.
fn per(number: u64, count: Option<i64>) -> String {
    count.map_or_else(|| "not counted".to_owned(), |count| format!("{:.1}", count as f64 / number as f64))
}
