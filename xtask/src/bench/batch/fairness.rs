//! How long a single item of one institution takes while a long batch of another one is under way, and how long it takes when nothing
//! else is: with one worker process and with two, which have the settings that they have by default. The promise is that the batch does not delay it by
//! more than twice its own duration, so that it takes three times as long at most.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use strongroom_web_double::WebDouble;

use super::lists::{Identifiers, Row, write_list};
use super::{OBJECTS, allow, registries, serve, size, submit};
use crate::bench::home::{CarefulServer, Home, Workers};
use crate::bench::{Options, bare, scratch};
use crate::place;

/// Single items that are measured in each case; one more comes before those that are measured alone.
const SINGLES: u64 = 40;
/// Items of the batch that have ended when the first single item is submitted, so that every stage has work.
const UNDER_WAY: u64 = 100;
/// Worker processes.
const PROCESSES: [usize; 2] = [1, 2];
/// Whose the batch is, and whose the single items are.
const OWNERS: [&str; 2] = ["example.edu", "other.edu"];
/// The files of the single items have numbers behind those of the batch.
const FIRST_SINGLE: u64 = 1_000_000;

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let objects = size(options, OBJECTS).max(UNDER_WAY * 3);
    let singles = if options.is_small { 5 } else { SINGLES };
    let server = CarefulServer::start()?;
    let folder = scratch()?;
    println!(
        "| registry | worker processes | alone: median, slowest ms | with the batch: median, slowest ms | \
         ratio of the medians (promise: at most 3) | of the slowest | objects/s of the batch meanwhile |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, on) in registries(&server) {
        for processes in PROCESSES {
            let web = WebDouble::start();
            let batch = serve(&web, "", 0..objects);
            let single = serve(&web, "", FIRST_SINGLE..FIRST_SINGLE + 1 + 2 * singles);
            let list = folder.path().join("list.checkm");
            write_list(&list, &batch, Identifiers::Local)?;
            let mut home = Home::new(program, &folder.path().join(format!("{name}-{processes}")), on)?;
            allow(&mut home, &web);
            let [owner, other] = OWNERS;
            place::succeed(home.command().args(["institution", "add", other])).context("no institution was added")?;
            let mut workers = Workers::start(&home, processes, &[])?;
            let (first, single) = single.split_first().context("there is no single item")?;
            one(&mut home, first)?;
            let (before, during) = single.split_at(single.len() / 2);
            let alone = Times::of(&mut home, before)?;
            bare::settle(folder.path())?;
            submit(&home, &["--type", "single-file-batch-manifest", "--institution", owner], &list)?;
            let under_way = UNDER_WAY.min(objects / 3);
            home.wait_for_none(&format!(
                "SELECT count(*) FROM (SELECT 1 AS one WHERE (SELECT count(*) FROM work_items
                    WHERE status = 'succeeded' AND name <> 'list.checkm') < {under_way}) AS too_few"
            ))?;
            let began = Instant::now();
            let ended_before = ended(&mut home)?;
            let busy = Times::of(&mut home, during)?;
            let rate = (ended(&mut home)? - ended_before) as f64 / began.elapsed().as_secs_f64();
            if home.number(IS_OPEN)? == 0 && !options.is_small {
                bail!("the batch ended before the last single item");
            }
            workers.kill()?;
            println!(
                "| {name} | {processes} | {}, {} | {}, {} | {:.2} | {:.2} | {rate:.1} |",
                shown(alone.median),
                shown(alone.slowest),
                shown(busy.median),
                shown(busy.slowest),
                busy.median.as_secs_f64() / alone.median.as_secs_f64(),
                busy.slowest.as_secs_f64() / alone.slowest.as_secs_f64(),
            );
        }
    }
    server.stop()
}

/// Whether an item of the batch has not ended.
const IS_OPEN: &str =
    "SELECT count(*) FROM (SELECT 1 AS one FROM work_items WHERE status IN ('pending', 'started') LIMIT 1) AS open";

/// How many objects the batch has got so far, with the single items.
fn ended(home: &mut Home) -> Result<i64> {
    home.number("SELECT count(*) FROM work_items WHERE status = 'succeeded'")
}

fn shown(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e3)
}

/// How long items took from their submission to their end.
struct Times {
    median: Duration,
    slowest: Duration,
}

impl Times {
    /// Submits single items, each when the one before has ended.
    fn of(home: &mut Home, rows: &[Row]) -> Result<Self> {
        let mut times = rows.iter().map(|row| one(home, row)).collect::<Result<Vec<_>>>()?;
        times.sort();
        let median = times.get(times.len() / 2).copied();
        let (median, slowest) = median.zip(times.last().copied()).context("there are no single items")?;
        Ok(Self { median, slowest })
    }
}

/// Submits a single item and waits for its end; how long it took, by the times that the registry has.
fn one(home: &mut Home, row: &Row) -> Result<Duration> {
    let [_, other] = OWNERS;
    submit(home, &["--type", "file", "--institution", other], Path::new(row.url()))?;
    let of_other = format!("institution_id = (SELECT id FROM institutions WHERE identifier = '{other}')");
    home.wait_for_none(&format!(
        "SELECT count(*) FROM work_items WHERE {of_other} AND status IN ('pending', 'started')"
    ))?;
    let took = home.number(&format!(
        "SELECT updated_at - created_at FROM work_items WHERE {of_other} AND status = 'succeeded' ORDER BY number DESC LIMIT 1"
    ))?;
    Ok(Duration::from_micros(u64::try_from(took).context("an item ended before it was made")?))
}
