//! Sweeps, what they found, and events.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use strongroom_engine::app::duplication::{self, ReportedEvent};
use strongroom_engine::app::views::{
    ContentActView, EventProblemView, HeldDeletionView, RecordedEventsView, SweepPartView, SweepView, TroubledItemView,
};
use strongroom_engine::app::{self, OpContext};

use super::{Event, Reported, Run, Runs, STANDARD_INPUT};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, TableOptions, counted, printable, size};
use crate::signals;

/// The most bytes of a line of events.
const LONGEST_LINE: u64 = 64 << 10;
/// Errors of parts that are shown.
const SHOWN_ERRORS: usize = 20;
/// Lines that cannot be recorded and are shown.
const SHOWN_LINES: usize = 100;
/// Lines that are checked or recorded together.
const LINES_AT_ONCE: usize = 500;

pub(super) fn run(call: &OpContext, asked: Run, context: &Context) -> Outcome {
    match asked.command {
        Some(Runs::List { institution, options }) => {
            list(call, institution.as_deref(), options, context)?;
            return Ok(Exit::Done);
        }
        Some(Runs::Show { run, held: true }) => {
            held(call, &run, context)?;
            return Ok(Exit::Done);
        }
        Some(Runs::Show { run, held: false }) => {
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
            ended.sweep.held > 0,
            format!(
                "{} deletions wait for a person: \"strongroom duplicate run show {run} --held\" lists them, and \"strongroom duplicate \
                 run --allow-deletions {run}\" carries them out; to keep the copies, put the content items again, and run again",
                ended.sweep.held
            ),
        ),
        (
            ended.sweep.state != "done" && ended.sweep.held == 0,
            format!("it is not at its end: \"strongroom duplicate run show {run}\" says why"),
        ),
        (
            ended.later > 0,
            format!("{} left for later, or until a topic is resumed: \"strongroom queue list\"", ended.later),
        ),
        (ended.dead > 0, format!("{} tasks were given up: \"strongroom queue dead\"", ended.dead)),
        (
            ended.has_problems,
            format!(
                "content items are lost, damaged or in conflict: \"strongroom duplicate problems --institution {}\"",
                ended.sweep.institution
            ),
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

fn held(call: &OpContext, run: &str, context: &Context) -> Result<(), Failure> {
    let columns = ["space", "key", "source", "destination", "happened_at", "actor", "reason"];
    let mut table = context.output.table(&columns).with::<HeldDeletionView>(TableOptions::default()).wrapping();
    let mut count = 0_u64;
    app::each(
        |after| duplication::held(call, run, after),
        |deletion| {
            count += 1;
            table.row(&deletion)
        },
    )?;
    table.end("no deletion waits for a person")?;
    if count > 0 {
        tell(
            context,
            &format!(
                "\"strongroom duplicate run --allow-deletions {run}\" carries them out; to keep the copies, put the content items again, and run \
                 again"
            ),
        );
    }
    Ok(())
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
        "rule",
        "in_destination",
        "size",
        "source_etag",
        "destination_etag",
        "sha512",
        "verified_at",
        "since",
        "detail",
        "next",
    ];
    let is_in_full = options.long || options.csv;
    let mut table = context.output.table(&columns).with::<TroubledItemView>(options).in_full(&in_full);
    // The first of each kind, and how many there are.
    let mut kinds: BTreeMap<String, (TroubledItemView, u64)> = BTreeMap::new();
    app::each(
        |after| duplication::problems(call, institution, after),
        |item| {
            let cells: Vec<_> = item.size.map(|bytes| ("size", size(bytes))).into_iter().collect();
            table.row_with(&item, &cells)?;
            kinds.entry(item.outcome.clone()).or_insert_with(|| (item, 0)).1 += 1;
            Ok::<_, Failure>(())
        },
    )?;
    table.end("no content item is known to be lost, damaged or in conflict")?;
    if kinds.is_empty() {
        return Ok(Exit::Done);
    }
    if !context.output.is_json() && !is_in_full {
        for (outcome, (item, count)) in &kinds {
            let such =
                if *count > 1 { format!("{count} such as {}/{}", item.space, item.key) } else { item.key.clone() };
            context.output.say(printable(&format!("{outcome}: {such}: {}", item.detail)))?;
            context.output.say(printable(&format!("  next: {}", item.next)))?;
        }
        context.output.say("-l shows what was compared of each, and when")?;
    }
    Ok(Exit::No)
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
        Event::Import { file } => match import(call, &file)? {
            Imported::Recorded(recorded) => recorded,
            Imported::Refused(refused) => return tell_refused(&refused, &file, context),
        },
    };
    context.output.show(&recorded)?;
    if recorded.without_rule > 0 {
        let events = counted(recorded.without_rule, "event is", "events are");
        tell(context, &format!("{events} of a space that no rule copies from that store: nothing follows"));
    }
    if recorded.unknown > 0 {
        let deletions = counted(recorded.unknown, "deletion is", "deletions are");
        tell(
            context,
            &format!(
                "{deletions} of a content item of which nothing was known: compare the names with \"strongroom space items\""
            ),
        );
    }
    Ok(Exit::Done)
}

/// Says which lines are no events.
fn tell_refused(refused: &BadFile, path: &Path, context: &Context) -> Outcome {
    if context.output.is_json() {
        context.output.json(refused)?;
        return Ok(Exit::No);
    }
    for line in &refused.problems {
        let EventProblemView { problem, next } = &line.problem;
        context.output.say(printable(&format!("{} line {}: {problem}", path.display(), line.line)))?;
        if !next.is_empty() {
            context.output.say(printable(&format!("  next: {next}")))?;
        }
    }
    let more = refused.refused.saturating_sub(refused.problems.len() as u64);
    if more > 0 {
        context.output.say(format!("and {}", counted(more, "further line", "further lines")))?;
    }
    let lines = counted(refused.refused, "line", "lines");
    context.output.say(format!("refused: {lines} of {} cannot be recorded; no event was recorded", refused.lines))?;
    Ok(Exit::No)
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

/// What came of a file of events.
enum Imported {
    Recorded(RecordedEventsView),
    Refused(BadFile),
}

/// A file of which lines cannot be recorded, so that none was.
#[derive(Default, Serialize)]
struct BadFile {
    /// Lines with an event, or what should be one.
    lines: u64,
    /// Those that cannot be recorded.
    refused: u64,
    /// The first of them.
    problems: Vec<RefusedLine>,
}

/// A line that cannot be recorded.
#[derive(Serialize)]
struct RefusedLine {
    /// Its number, from 1.
    line: u64,
    #[serde(flatten)]
    problem: EventProblemView,
}

impl BadFile {
    fn add(&mut self, line: u64, problem: EventProblemView) {
        self.refused += 1;
        if self.problems.len() < SHOWN_LINES {
            self.problems.push(RefusedLine { line, problem });
        }
    }

    fn check(&mut self, call: &OpContext, page: &mut Vec<(u64, ReportedEvent)>) -> Result<(), Failure> {
        let (numbers, events): (Vec<u64>, Vec<ReportedEvent>) = page.drain(..).unzip();
        for (number, problem) in numbers.into_iter().zip(duplication::check_events(call, &events)?) {
            if let Some(problem) = problem {
                self.add(number, problem);
            }
        }
        Ok(())
    }
}

/// Records the events of a file, or none where a line of it is wrong: all are checked first, and kept in a temporary file meanwhile.
fn import(call: &OpContext, path: &Path) -> Result<Imported, Failure> {
    let unreadable = |error: io::Error| Failure::io("read the events", path, &error);
    let unkept = |error: io::Error| Failure::io("keep the events that were read", &std::env::temp_dir(), &error);
    let mut input: Box<dyn BufRead> = if path == Path::new(STANDARD_INPUT) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(unreadable)?))
    };
    let mut kept = BufWriter::new(tempfile::tempfile().map_err(unkept)?);
    let (mut refused, mut page, mut number) = (BadFile::default(), Vec::new(), 0);
    while let Some(line) = next_line(&mut input).map_err(unreadable)? {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        refused.lines += 1;
        match event_of(&line) {
            Ok(event) => {
                page.push((number, event));
                kept.write_all(&line).and_then(|()| kept.write_all(b"\n")).map_err(unkept)?;
            }
            Err(problem) => refused.add(number, problem),
        }
        if page.len() == LINES_AT_ONCE {
            refused.check(call, &mut page)?;
        }
    }
    refused.check(call, &mut page)?;
    if refused.refused > 0 {
        refused.problems.sort_by_key(|line| line.line);
        return Ok(Imported::Refused(refused));
    }
    let mut kept = kept.into_inner().map_err(|error| unkept(error.into_error()))?;
    kept.rewind().map_err(unkept)?;
    Ok(Imported::Recorded(record(call, BufReader::new(kept), unkept)?))
}

/// Records events that were checked, page by page.
fn record(
    call: &OpContext,
    mut kept: BufReader<File>,
    unkept: impl Fn(io::Error) -> Failure,
) -> Result<RecordedEventsView, Failure> {
    let (mut all, mut page) = (RecordedEventsView::default(), Vec::new());
    loop {
        let line = next_line(&mut kept).map_err(&unkept)?;
        let is_end = line.is_none();
        page.extend(line.and_then(|line| event_of(&line).ok()));
        if page.len() == LINES_AT_ONCE || (is_end && !page.is_empty()) {
            let recorded = duplication::record_events(call, &page)?;
            all.recorded += recorded.recorded;
            all.known += recorded.known;
            all.tasks += recorded.tasks;
            all.without_rule += recorded.without_rule;
            all.unknown += recorded.unknown;
            page.clear();
        }
        if is_end {
            return Ok(all);
        }
    }
}

/// The next line without its end; none at the end. Of one that is too long the beginning, which is one byte longer than a line may be.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > LONGEST_LINE {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

/// The event of a line, or why it is none.
fn event_of(line: &[u8]) -> Result<ReportedEvent, EventProblemView> {
    let form = "write {\"item\": \"STORE/SPACE/KEY\", \"kind\": \"put\"} in one line";
    let refused = |problem: String| EventProblemView { problem, next: form.to_owned() };
    if line.len() as u64 > LONGEST_LINE {
        return Err(refused(format!("it has more than {LONGEST_LINE} bytes")));
    }
    let read: Line = serde_json::from_slice(line).map_err(|error| {
        // The line within the line is always the first one.
        let (text, column) = (error.to_string(), error.column());
        let text = text.strip_suffix(&format!(" at line {} column {column}", error.line())).unwrap_or(&text);
        refused(format!("it is no event: {text}, at column {column}"))
    })?;
    let is_deletion = matches!(read.kind, Kind::Delete);
    Ok(ReportedEvent { item: read.item, is_deletion, happened_at: read.at, reason: read.reason })
}
