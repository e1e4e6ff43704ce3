//! Sweeps, what they found, and events.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use strongroom_engine::app::duplication::{self, ReportedEvent};
use strongroom_engine::app::views::{ContentActView, RecordedEventsView, SweepPartView, SweepView, TroubledItemView};
use strongroom_engine::app::{self, OpContext};

use super::{Event, Reported, Run, Runs, STANDARD_INPUT};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, TableOptions, printable, size};
use crate::signals;

/// The most bytes of a line of events.
const LONGEST_LINE: u64 = 64 << 10;
/// Errors of parts that are shown.
const SHOWN_ERRORS: usize = 20;
/// Lines that are recorded together.
const LINES_AT_ONCE: usize = 500;

pub(super) fn run(call: &OpContext, asked: Run, context: &Context) -> Outcome {
    match asked.command {
        Some(Runs::List { institution, options }) => {
            list(call, institution.as_deref(), options, context)?;
            return Ok(Exit::Done);
        }
        Some(Runs::Show { run }) => {
            show(call, &run, context)?;
            return Ok(Exit::Done);
        }
        None => {}
    }
    let institution = asked.institution.as_deref();
    let begun = if let Some(run) = &asked.allow_deletions {
        duplication::allow_deletions(call, run)?
    } else {
        let (begun, is_new) = duplication::start(call, institution, asked.all)?;
        if !is_new {
            tell(context, &format!("sweep {} is at work already: it goes on", begun.run));
        }
        begun
    };
    if !asked.wait {
        context.output.show(&begun)?;
        return Ok(Exit::Done);
    }
    let stop = signals::watch()?;
    let ended = duplication::wait(call, &begun.run, &stop)?;
    context.output.show(&ended)?;
    if stop.is_requested() {
        return Ok(Exit::Interrupted);
    }
    let run = &ended.sweep.run;
    let left = [
        (
            ended.sweep.state != "done",
            format!("it is not at its end: \"strongroom duplicate run show {run}\" says why"),
        ),
        (ended.later > 0, format!("{} tasks are attempted again later: \"strongroom queue list\"", ended.later)),
        (ended.dead > 0, format!("{} tasks were given up: \"strongroom queue dead\"", ended.dead)),
        (
            ended.has_problems,
            "content items are lost, damaged or in conflict: \"strongroom duplicate problems\"".to_owned(),
        ),
    ];
    for (_, line) in left.iter().filter(|(is_left, _)| *is_left) {
        tell(context, line);
    }
    Ok(if left.iter().any(|(is_left, _)| *is_left) { Exit::No } else { Exit::Done })
}

/// A line for people.
fn tell(context: &Context, line: &str) {
    if !context.output.is_json() {
        eprintln!("{}", printable(line));
    }
}

fn list(call: &OpContext, institution: Option<&str>, options: ListOptions, context: &Context) -> Result<(), Failure> {
    let columns = ["run", "state", "started_at", "listed", "queued", "equal", "failed", "held"];
    let in_full = [
        "run",
        "state",
        "started_at",
        "ended_at",
        "started_by",
        "policy_version",
        "all",
        "parts",
        "open_parts",
        "failed_parts",
        "listed",
        "queued",
        "equal",
        "ignored",
        "failed",
        "deletions",
        "held",
    ];
    let mut table = context.output.table(&columns).with::<SweepView>(options.table).in_full(&in_full);
    app::arranged(
        options.oldest_first(),
        |before| duplication::list(call, institution, before),
        |sweep| table.row(&sweep),
    )?;
    table.end("there was no sweep yet")
}

/// A sweep with its parts.
#[derive(Serialize)]
struct Shown<'s> {
    #[serde(flatten)]
    sweep: &'s SweepView,
    each_part: Vec<SweepPartView>,
}

fn show(call: &OpContext, run: &str, context: &Context) -> Result<(), Failure> {
    let sweep = duplication::show(call, run)?;
    if context.output.is_json() {
        let mut parts = Vec::new();
        app::each(
            |after| duplication::parts(call, run, after),
            |part| {
                parts.push(part);
                Ok::<_, Failure>(())
            },
        )?;
        return context.output.json(&Shown { sweep: &sweep, each_part: parts });
    }
    context.output.show(&sweep)?;
    context.output.say("")?;
    let columns = ["space", "source", "destination", "phase", "listed", "queued", "equal", "ignored", "failed"];
    let mut table =
        context.output.table(&columns).with::<SweepPartView>(TableOptions::default()).if_room(&["held", "error"]);
    let mut errors = Vec::new();
    app::each(
        |after| duplication::parts(call, run, after),
        |part| {
            if let Some(error) = &part.error
                && errors.len() < SHOWN_ERRORS
            {
                let space = part.space.as_deref().unwrap_or("the spaces");
                let attempts = part.attempts;
                errors.push(format!("{space}, {} -> {}: attempt {attempts}: {error}", part.source, part.destination));
            }
            table.row(&part)
        },
    )?;
    table.end("it has no parts")?;
    for error in &errors {
        context.output.say(printable(error))?;
    }
    Ok(())
}

pub(super) fn problems(
    call: &OpContext,
    institution: Option<&str>,
    options: TableOptions,
    context: &Context,
) -> Outcome {
    let columns = ["outcome", "space", "key", "source", "destination", "in_destination", "size"];
    let in_full = [
        "outcome",
        "institution",
        "space",
        "key",
        "source",
        "destination",
        "in_destination",
        "size",
        "since",
        "detail",
    ];
    let mut table = context.output.table(&columns).with::<TroubledItemView>(options).in_full(&in_full);
    let mut exit = Exit::Done;
    app::each(
        |after| duplication::problems(call, institution, after),
        |item| {
            exit = Exit::No;
            let cells: Vec<_> = item.size.map(|bytes| ("size", size(bytes))).into_iter().collect();
            table.row_with(&item, &cells)
        },
    )?;
    table.end("no content item is lost or damaged")?;
    Ok(exit)
}

pub(super) fn history(
    call: &OpContext,
    item: &str,
    institution: Option<&str>,
    options: ListOptions,
    context: &Context,
) -> Outcome {
    let columns = ["time", "act", "source", "destination", "outcome", "detail"];
    let in_full = [
        "number",
        "time",
        "act",
        "event_type",
        "outcome",
        "actor",
        "institution",
        "source",
        "destination",
        "size",
        "sha512",
        "source_etag",
        "etag_before",
        "etag_after",
        "policy_version",
        "topic",
        "task",
        "attempt",
        "event_at",
        "event_actor",
        "event_reason",
        "detail",
    ];
    let mut table = context.output.table(&columns).with::<ContentActView>(options.table).in_full(&in_full).wrapping();
    app::arranged(
        options.oldest_first(),
        |after| duplication::history(call, item, institution, after),
        |act| table.row(&act),
    )?;
    table.end("nothing was done with it")?;
    Ok(Exit::Done)
}

pub(super) fn event(call: &OpContext, command: Event, context: &Context) -> Outcome {
    let recorded = match command {
        Event::Put(reported) => duplication::record_events(call, &[of(reported, false)])?,
        Event::Delete(reported) => duplication::record_events(call, &[of(reported, true)])?,
        Event::Import { file } => import(call, &file)?,
    };
    context.output.show(&recorded)?;
    Ok(Exit::Done)
}

fn of(reported: Reported, is_deletion: bool) -> ReportedEvent {
    ReportedEvent { item: reported.item, is_deletion, happened_at: reported.at, reason: reported.reason }
}

/// A line of a file of events.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    item: String,
    kind: Kind,
    at: Option<String>,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Put,
    Delete,
}

fn import(call: &OpContext, path: &Path) -> Result<RecordedEventsView, Failure> {
    let unreadable = |error: io::Error| Failure::io("read the events", path, &error);
    let mut input: Box<dyn BufRead> = if path == Path::new(STANDARD_INPUT) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(unreadable)?))
    };
    let (mut all, mut page, mut number) = (RecordedEventsView::default(), Vec::new(), 0_u64);
    loop {
        let mut line = Vec::new();
        let length = (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(unreadable)?;
        number += 1;
        if length > 0 && !line.trim_ascii().is_empty() {
            let read: Line = serde_json::from_slice(&line).map_err(|error| {
                Failure::usage(format!("{} line {number} is no event: {error}", path.display())).next(format!(
                    "write {{\"item\": \"STORE/SPACE/KEY\", \"kind\": \"put\"}} in one line; {} events before it are recorded",
                    all.recorded + all.known
                ))
            })?;
            let is_deletion = matches!(read.kind, Kind::Delete);
            page.push(ReportedEvent { item: read.item, is_deletion, happened_at: read.at, reason: read.reason });
        }
        if page.len() == LINES_AT_ONCE || (length == 0 && !page.is_empty()) {
            let recorded = duplication::record_events(call, &page)?;
            all.recorded += recorded.recorded;
            all.known += recorded.known;
            all.tasks += recorded.tasks;
            page.clear();
        }
        if length == 0 {
            return Ok(all);
        }
    }
}
