//! Whole activities: a harvest of JSON Lines, and behind it the agent `copy`, which does nothing, by one task and by four. Each record has a
//! state, an error, attempts, a time and a row of provenance.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use strongroom_web_double::{Reply, WebDouble};

use crate::bench::home::{CarefulServer, Home, Workers};
use crate::bench::{bare, mebibytes, scratch, seconds};

const LINES: &str = "/records.jsonl";
/// Lines of a page.
const PAGE: u64 = 5_000;
/// Whether an activity has not ended.
const IS_OPEN: &str = "SELECT count(*) FROM activities WHERE state IN ('queued', 'populating', 'running')";
/// Records that were processed, of all activities.
const PROCESSED: &str = "SELECT CAST(coalesce(sum(processed), 0) AS BIGINT) FROM record_slots";

pub(super) fn run(program: &Path, records: u64) -> Result<()> {
    let server = CarefulServer::start()?;
    let folder = scratch()?;
    println!(
        "| registry | agent | tasks | records | s | records/s | peak of the worker, MiB | transactions/record | of them undone | MiB of log |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, on) in [("SQLite", None), ("PostgreSQL", Some(&server))] {
        let web = WebDouble::start();
        web.answer(LINES, move |request| {
            let page: u64 = request.query.strip_prefix("page=").and_then(|text| text.parse().ok()).unwrap_or(1);
            let numbers = (page.saturating_sub(1) * PAGE..page * PAGE).take_while(|number| *number < records);
            Reply::ok(numbers.map(line).collect::<String>().into_bytes())
        });
        let mut home = Home::new(program, &folder.path().join(name), on)?;
        home.set("STRONGROOM_INGEST__URL_HOSTS", web.authority());
        home.set("STRONGROOM_INGEST__ALLOW_PRIVATE_ADDRESSES", "true".to_owned());
        let url = format!("url={}", web.url(LINES));
        let source =
            ["--option", "kind=jsonl", "--option", &url, "--option", "paging=number", "--option", "parameter=page"];
        let harvest = begin(&home, "harvest", &source)?;
        bare::settle(folder.path())?;
        measure(&mut home, &format!("{name} | harvest | 1"), (1, records, records))?;
        for (nth, tasks) in [1, 4].into_iter().enumerate() {
            begin(&home, "copy", &["--input", &harvest])?;
            bare::settle(folder.path())?;
            measure(&mut home, &format!("{name} | copy | {tasks}"), (tasks, records, records * (nth as u64 + 2)))?;
        }
    }
    server.stop()
}

fn line(number: u64) -> String {
    format!(
        "{{\"id\": \"https://example.org/records/oai:example.org:{number:012}\", \"title\": \"Record {number}\"}}\n"
    )
}

/// Makes an activity; its identifier.
fn begin(home: &Home, agent: &str, arguments: &[&str]) -> Result<String> {
    let mut run = home.command();
    run.args(["activity", "run", agent, "--json"]).args(arguments).stdout(Stdio::piped());
    let output = run.output().with_context(|| format!("cannot run {run:?}"))?;
    ensure!(
        output.status.success(),
        "{run:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let shown = String::from_utf8(output.stdout).context("the answer is not UTF-8")?;
    // Its first key is the identifier.
    shown.split('"').nth(3).map(str::to_owned).with_context(|| format!("no activity in {shown:?}"))
}

/// Has one process work on the activity that there is, with so many tasks, until that many more records were processed in all.
fn measure(home: &mut Home, what: &str, (tasks, records, all): (usize, u64, u64)) -> Result<()> {
    let before = home.figures()?;
    let began = Instant::now();
    home.set("STRONGROOM_ACTIVITIES__WORKERS", tasks.to_string());
    let mut workers = Workers::start(home, 1, &["--topics", "activity.run", "--workers", &tasks.to_string()])?;
    home.wait_for_none(IS_OPEN)?;
    let wall = began.elapsed();
    let peak = workers.peak()?;
    workers.stop()?;
    let figures = home.figures()?.zip(before).map(|(after, before)| after.since(before));
    let processed = home.number(PROCESSED)?;
    ensure!(u64::try_from(processed) == Ok(all), "{processed} records were processed, and not {all}");
    println!(
        "| {what} | {records} | {} | {:.0} | {} | {} | {} | {} |",
        seconds(wall),
        records as f64 / wall.as_secs_f64(),
        mebibytes(peak),
        figures.map_or_else(String::new, |figures| {
            format!("{:.4}", (figures.transactions + figures.undone) as f64 / records as f64)
        }),
        figures.map_or_else(String::new, |figures| figures.undone.to_string()),
        figures.map_or_else(String::new, |figures| format!("{:.0}", figures.log as f64 / 1_048_576.0)),
    );
    Ok(())
}
