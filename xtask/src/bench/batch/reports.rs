//! The report of a long batch: written by a worker when the batch has ended, made at once by a person's request, and shown in each form.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::lists::{Identifiers, Row, write_list};
use super::{OBJECTS, OF_BATCHES, registries, size, some_batch, submit};
use crate::bench::home::{CarefulServer, Home, Workers};
use crate::bench::{Options, bare, measured, mebibytes, scratch, seconds};
use crate::place;

/// Whether the manifest is still being read.
const IS_READ: &str = "SELECT count(*) FROM (SELECT 1 AS one FROM work_items
    WHERE action = 'expand_batch' AND status IN ('pending', 'started') LIMIT 1) AS open";
/// Whether a report is still being written.
const IS_WRITTEN: &str = "SELECT count(*) FROM reports WHERE NOT is_filled";

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let rows = size(options, OBJECTS);
    let server = CarefulServer::start()?;
    let folder = scratch()?;
    let all: Vec<Row> = (1..=rows).map(Row::unfetched).collect();
    println!("| registry | rows | act | s | rows/s | peak MiB |");
    println!("|---|---|---|---|---|---|");
    for (name, on) in registries(&server) {
        let list = folder.path().join("list.checkm");
        write_list(&list, &all, Identifiers::Local)?;
        let mut home = Home::new(program, &folder.path().join(name), on)?;
        submit(&home, &OF_BATCHES, &list)?;
        let mut workers = Workers::start(&home, 1, &["--topics", "batch.expand"])?;
        home.wait_for_none(IS_READ)?;
        workers.stop()?;
        let batch = some_batch(&home)?;
        let say = |act: &str, took: std::time::Duration, peak: u64| {
            let rate = rows as f64 / took.as_secs_f64();
            println!("| {name} | {rows} | {act} | {} | {rate:.0} | {} |", seconds(took), mebibytes(peak));
        };
        // An open batch has a provisional report, which is made and shown by one command; its exit code says that items are open.
        shown(&home, &["batches", "report", &batch, "--format", "csv"], "made provisionally, shown as CSV", &say)?;
        place::succeed(home.command().args(["batches", "cancel", &batch]).stdout(std::process::Stdio::null()))?;
        bare::settle(folder.path())?;
        let began = Instant::now();
        let mut workers = Workers::start(&home, 1, &["--topics", "batch.report"])?;
        home.wait_for_none(IS_WRITTEN)?;
        let wall = began.elapsed();
        let peak = workers.peak()?;
        workers.stop()?;
        say("written by a worker, with its start", wall, peak);
        for form in ["text", "json", "csv", "html"] {
            let act = format!("shown as {form}");
            shown(&home, &["batches", "report", &batch, "--format", form], &act, &say)?;
        }
        let listed = home
            .number("SELECT count(*) FROM report_rows r JOIN reports p ON p.id = r.report_id WHERE p.kind = 'final'")?;
        if u64::try_from(listed) != Ok(rows) {
            bail!("the report has {listed} of {rows} rows");
        }
    }
    server.stop()
}

/// Runs a command whose exit code is that of a batch with items that did not succeed.
fn shown(home: &Home, arguments: &[&str], act: &str, say: &dyn Fn(&str, std::time::Duration, u64)) -> Result<()> {
    let command = home.command();
    let mut words: Vec<String> = vec!["-c".into(), "\"$@\" > /dev/null; test $? -le 1".into(), "sh".into()];
    words.push("env".to_owned());
    for (name, value) in command.get_envs() {
        if let (Some(name), Some(value)) = (name.to_str(), value.and_then(|value| value.to_str())) {
            words.push(format!("{name}={value}"));
        }
    }
    words.push(command.get_program().to_str().context("the name of the program")?.to_owned());
    words.extend(command.get_args().filter_map(|word| word.to_str()).map(str::to_owned));
    words.extend(arguments.iter().map(|&word| word.to_owned()));
    let mut shell = std::process::Command::new("sh");
    shell.args(&words);
    let need = measured(&shell)?;
    say(act, need.wall, need.peak);
    Ok(())
}
