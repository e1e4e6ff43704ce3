//! harvest: reads the records of a source (`strongroom_harvest`), and keeps each as a document. A record is processed when it is read:
//! population and work are one. What could not be read is a failed record with its reason.
//!
//! The cursor of the source is kept in the transaction that adds its records, so another worker goes on there. A record that is read
//! twice is the same document. What earlier harvests of the same source made of a record that is deleted there is no longer valid; it
//! stays, and is valid again when the record is back.

mod earlier;
mod folder;
mod options;
mod patience;
mod state;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use strongroom_download::Supervision;
use strongroom_harvest::{
    Connection, ElementPath, Event, FileOptions, FileRecords, FileSource, HarvestError, JsonForm, JsonOptions,
    JsonSource, Limits, Notice, OaiClient, OaiOptions, OaiSource, Paging, Record, RecordSource, Window,
};
use strongroom_records::{Arrival, lists};
use strongroom_registry::activities::Activity;
use strongroom_registry::documents::{self, Document, MOST_BYTES};
use strongroom_registry::{InstitutionId, Origin, RegistryError, watermarks};

use self::earlier::Earlier;
use self::options::{DEFAULT_ID, Kind, Options, PagingKind};
use self::patience::{Attempt, LongWait, LongWaits, patience};
use self::state::State;
pub(crate) use self::state::deleted;
use crate::activities::agent::{
    Agent, AgentInput, AgentOption, Asked, Finding, Found, FoundPage, Makes, OpenAgent, Planned, RecordOutcome,
    Repeats, Work,
};
use crate::activities::error::{AgentError, Stop};
use crate::activities::options::parsed;
use crate::activities::repeats::mark;
use crate::provenance::file_iri;
use crate::{EngineError, Home, chain, places};

pub(crate) const NAME: &str = "harvest";
/// Records and bytes that are added in one transaction.
const RECORDS_AT_ONCE: usize = 500;
const BYTES_AT_ONCE: usize = 4 << 20;
/// Most bytes of the id of a record in a list.
const LONGEST_ID: usize = 1_024;
/// When a record is asked for again that could not be read now.
const AGAIN_AFTER: Duration = Duration::from_mins(1);
/// The longest wait that a provider can ask for before a record is asked for again.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// See the header of the file.
#[derive(Default)]
pub(super) struct Harvest {
    waits: LongWaits,
}

const fn option(name: &'static str, default: &'static str, meaning: &'static str) -> AgentOption {
    AgentOption { name, default, meaning }
}

const OPTIONS: &[AgentOption] = &[
    option("kind", "oai", "the kind of source: oai, json, jsonl, marcxml, folder"),
    option("url", "", "the URL of the source; its host is one of ingest.url_hosts"),
    option("path", "", "marcxml, folder: the file or folder of the server that has the XML files"),
    option("prefix", "oai_dc", "oai: the format that is asked for, metadataPrefix"),
    option("set", "", "oai: only this set; may be given several times"),
    option("from", "", "oai: not what was changed before this day or second (UTC)"),
    option("until", "", "oai: not what was changed after this day or second (UTC)"),
    option("records", "", "json: the JSON Pointer of the list of records; the whole answer where it is not given"),
    option("id", "/id", "json, jsonl: the JSON Pointer of the identifier; folder: its path below the root element"),
    option("datestamp", "", "json, jsonl: the JSON Pointer of the time of the last change"),
    option("deleted", "", "json, jsonl: the JSON Pointer of what is true where a record is deleted"),
    option("paging", "one", "json, jsonl: how pages follow each other: one, number, offset, next, link"),
    option("parameter", "", "json, jsonl: the parameter of number and offset; the JSON Pointer of next"),
    option("element", "", "folder: the name of the elements that are records; each file where it is not given"),
];

impl Agent for Harvest {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Read the records of a source, and keep each as a document"
    }

    fn options(&self) -> &'static [AgentOption] {
        OPTIONS
    }

    fn input(&self) -> AgentInput {
        AgentInput::Source
    }

    fn makes(&self) -> Makes {
        Makes::Documents
    }

    fn plan(&self, home: &Home, asked: &Asked<'_>) -> Result<Planned, EngineError> {
        let options: Options = parsed(NAME, asked.options)?;
        options.check()?;
        if options.kind.is_of_files() {
            places::check_may_name(asked.scope, options.location(), "give the URL of a source")?;
        }
        if let Some(path) = &options.path {
            let failed = |source| EngineError::Io { act: "read", path: path.display().to_string(), source };
            std::fs::metadata(path).map_err(failed)?;
        }
        if !options.kind.is_of_files() {
            folder::make(&home.directory)?;
        }
        // A wrong pointer, prefix or host is an error before anything is made.
        let first = Attempt { number: 1, workers: 1 };
        source(home, &options, None, (first, None)).map_err(|error| {
            EngineError::Usage(error.to_string())
                .next("check the options; workers read settings when they start: after a change of them, restart those that run")
        })?;
        let mut kept = asked.options.clone();
        if let (Some(path), Some(kept)) = (&options.path, kept.get_mut("path")) {
            // Workers run in other folders.
            let act = |source| EngineError::Io { act: "inspect", path: path.display().to_string(), source };
            let whole = path.canonicalize().map_err(act)?;
            let text = whole.to_str().ok_or_else(|| EngineError::Usage(format!("{} is not UTF-8", whole.display())))?;
            *kept = text.into();
        }
        let watermark = (options.kind == Kind::Oai).then(|| options.name());
        Ok(Planned { options: kept, watermark })
    }

    fn source(&self, activity: &Activity) -> Option<String> {
        let options: Options = parsed(NAME, &activity.options).ok()?;
        let location = options.location();
        Some(if options.kind.is_of_files() { file_iri(&location) } else { location })
    }

    /// Records of a provider alone can be asked for one by one.
    fn check_rerun(&self, activity: &Activity) -> Result<(), EngineError> {
        let (id, options) = (activity.id, parsed::<Options>(NAME, &activity.options)?);
        if options.kind == Kind::Oai {
            return Ok(());
        }
        let text = format!("activity {id} cannot be run again over the same records: its source gives none by itself");
        let next = format!("\"strongroom activity rerun {id} --anew\" reads the source again");
        Err(EngineError::Refused(text).next(next))
    }

    fn open(&self, _: &Arc<Home>, activity: &Activity) -> Result<Box<dyn OpenAgent>, EngineError> {
        let options = parsed(NAME, &activity.options)?;
        Ok(Box::new(Harvesting { options, waits: self.waits.clone(), away: OnceLock::new() }))
    }
}

struct Harvesting {
    options: Options,
    waits: LongWaits,
    /// That the source does not answer, and when it is to be asked again; noted by the first record that was asked for.
    away: OnceLock<(String, Option<Duration>)>,
}

/// How long an attempt waits for the source.
type Waiting<'w> = (Attempt, Option<&'w LongWait<'w>>);

/// The source that the options describe.
fn source(
    home: &Home,
    options: &Options,
    watermark: Option<&str>,
    waiting: Waiting<'_>,
) -> Result<Box<dyn RecordSource + Sync>, AgentError> {
    let url = options.url.clone().unwrap_or_default();
    Ok(match options.kind {
        Kind::Oai => Box::new(oai(home, options, watermark, waiting)?),
        Kind::Json | Kind::Jsonl => {
            let parameter = options.parameter.clone().unwrap_or_default();
            let form = match options.kind {
                Kind::Jsonl => JsonForm::Lines,
                _ => JsonForm::Document { records: options.records.clone().unwrap_or_default() },
            };
            let paging = match options.paging {
                PagingKind::One => Paging::One,
                PagingKind::Number => Paging::Number { parameter, first: 1 },
                PagingKind::Offset => Paging::Offset { parameter },
                PagingKind::Next => Paging::Pointer(parameter),
                PagingKind::Link => Paging::Link,
            };
            let id = options.id.clone().unwrap_or_else(|| DEFAULT_ID.to_owned());
            let (datestamp, deleted) = (options.datestamp.clone(), options.deleted.clone());
            Box::new(JsonSource::new(
                connection(home, waiting)?,
                JsonOptions { url, form, id, datestamp, deleted, paging },
            )?)
        }
        Kind::Marcxml => Box::new(files(options, FileRecords::Marc)?),
        Kind::Folder => {
            let id = options.id.as_deref().map(ElementPath::parse).transpose()?;
            let records = match (options.element.clone(), id) {
                (Some(name), Some(id)) => FileRecords::Elements { name, namespace: None, id },
                (_, id) => FileRecords::Files { id },
            };
            Box::new(files(options, records)?)
        }
    })
}

fn files(options: &Options, records: FileRecords) -> Result<FileSource, HarvestError> {
    FileSource::new(FileOptions { path: options.path.clone().unwrap_or_default(), records, limits: limits() })
}

fn oai(home: &Home, options: &Options, watermark: Option<&str>, waiting: Waiting<'_>) -> Result<OaiSource, AgentError> {
    let client = client(home, options, waiting)?;
    let (from, until) = options.window(watermark)?;
    Ok(OaiSource::new(
        client,
        OaiOptions {
            prefix: options.prefix().to_owned(),
            sets: options.set.clone(),
            window: Window { from, until },
            ..OaiOptions::default()
        },
    )?)
}

fn client(home: &Home, options: &Options, waiting: Waiting<'_>) -> Result<OaiClient, AgentError> {
    Ok(OaiClient::new(connection(home, waiting)?, options.url.as_deref().unwrap_or_default())?)
}

fn connection(home: &Home, (attempt, long): Waiting<'_>) -> Result<Connection, AgentError> {
    let client = home.downloads()?;
    let client = client.with_patience(patience(client.policy(), attempt, long));
    let agent = concat!("strongroom/", env!("CARGO_PKG_VERSION"));
    Ok(Connection::with_client(client)
        .user_agent(agent)
        .limits(limits())
        .temporary_files(folder::make(&home.directory)?))
}

/// A document is a value of a row.
fn limits() -> Limits {
    Limits { record_bytes: MOST_BYTES, ..Limits::default() }
}

/// Text from outside as an id: printable, and not too long. One that is changed for it is still another than others.
fn fit_id(text: &str) -> String {
    let printable = |character: char| if character.is_control() { char::REPLACEMENT_CHARACTER } else { character };
    let mut fit: String = text.chars().map(printable).collect();
    let end = (0..=LONGEST_ID.min(fit.len())).rev().find(|at| fit.is_char_boundary(*at)).unwrap_or_default();
    fit.truncate(end);
    match fit.as_str() {
        "" => "unnamed".to_owned(),
        same if same == text => fit,
        changed => format!("{changed} (shown otherwise, {})", mark(text)),
    }
}

/// A record of the source as one of the list.
fn found(record: Record, origin: &Origin, institution: Option<InstitutionId>) -> Found {
    let id = fit_id(&record.id);
    let failed =
        |error: &str| Found { id: id.clone(), arrival: Arrival::Failed { error: error.to_owned() }, document: None };
    if id != record.id {
        return failed("its identifier is empty, too long, or has control characters");
    }
    let Some(content) = record.document else { return failed("the source gives no document of it") };
    if content.bytes.len() > MOST_BYTES {
        return failed(&format!("it has {} bytes, and at most {MOST_BYTES} are kept", content.bytes.len()));
    }
    let document = Document {
        datestamp: record.datestamp,
        ..Document::new(institution, (origin.clone(), &record.id), content.media_type, content.bytes)
    };
    let result = Some(documents::entity(document.id));
    Found { id: record.id, arrival: Arrival::Processed { result }, document: Some(document) }
}

/// What could not be read as a record that failed; none where nothing is missing by it.
fn missing(notice: &Notice) -> Option<Found> {
    let id = match notice {
        Notice::Restarted { .. } | Notice::Changed { .. } => return None,
        Notice::Unreadable { id: Some(id), .. } if !id.is_empty() => fit_id(id),
        Notice::Unreadable { place, .. } => fit_id(&format!("a record at {place}")),
        Notice::SetFailed { set, .. } => fit_id(&format!("set {set}")),
        Notice::FileFailed { path, .. } => fit_id(&format!("file {path}")),
        other => fit_id(&other.to_string()),
    };
    Some(Found { id, arrival: Arrival::Failed { error: notice.to_string() }, document: None })
}

/// What was read and is not written yet.
#[derive(Default)]
struct Page {
    found: Vec<Found>,
    bytes: usize,
    /// Identifiers of records that are deleted.
    gone: Vec<String>,
    earlier: Earlier,
    repeats: Repeats,
}

impl Page {
    fn is_full(&self) -> bool {
        self.found.len() + self.gone.len() >= RECORDS_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }

    /// A record that the source says is deleted.
    fn delete(&mut self, id: String) {
        self.found.retain(|found| found.id != id);
        self.gone.push(id);
    }

    /// Writes it; how many records are new.
    fn add(&mut self, finding: &dyn Finding, saved: &mut State) -> Result<u64, AgentError> {
        let page = self.take(finding, saved)?;
        let added = finding.add_page(page)?;
        saved.invalidated += added.invalidated;
        Ok(added.new)
    }

    /// Writes it as the last one, and notes how far the source was read.
    fn complete(&mut self, finding: &dyn Finding, saved: &State, watermark: Option<String>) -> Result<(), AgentError> {
        let page = self.take(finding, saved)?;
        finding.add_page(FoundPage { is_last: true, watermark, ..page }).map(drop)
    }

    /// Takes what is to be written, with the cursor behind it.
    fn take(&mut self, finding: &dyn Finding, saved: &State) -> Result<FoundPage, AgentError> {
        let invalid = self.earlier.made_of(finding, &std::mem::take(&mut self.gone))?;
        let state = saved.clone();
        let cursor = move |ended: u64| state.text(ended);
        self.bytes = 0;
        let found = std::mem::take(&mut self.found);
        Ok(FoundPage { invalid, cursor: Arc::new(cursor), repeats: self.repeats, ..FoundPage::of(found, None) })
    }
}

impl Harvesting {
    /// Until when every record of the source was taken, where that can be said: a harvest of a window that does not begin at the
    /// watermark, or has an end, leaves records out that a later one would not ask for either.
    fn watermark(&self, finding: &dyn Finding, saved: &State) -> Result<Option<String>, AgentError> {
        let (from, until) = self.options.window(None)?;
        if until.is_some() {
            return Ok(None);
        }
        if let Some(from) = from {
            let activity = finding.activity();
            let Some(name) = activity.watermark.clone() else { return Ok(None) };
            let present = finding.home().registry.read(|tx| watermarks::get(tx, activity.institution, &name))?;
            let reached = present.and_then(|present| present.value.parse::<Timestamp>().ok());
            if reached.is_none_or(|reached| from > reached) {
                return Ok(None);
            }
        }
        Ok(saved.reached())
    }
}

/// A record that cannot be asked for by itself fails as it did, with what to do.
fn refused(record: &str, work: &Work<'_>) -> RecordOutcome {
    let Activity { id, list, watermark, .. } = work.activity;
    // A source that does not tell what has changed has no watermark.
    let or_changed = if watermark.is_some() { ", or one with --only-changed" } else { "" };
    let advice = format!(
        "it cannot be read by itself; next: run the harvest again: \"strongroom activity rerun {id} --anew\"{or_changed}"
    );
    let before = match work.home.registry.read(|tx| Ok::<_, RegistryError>(lists::find(tx, *list, record)?)) {
        Ok(before) => before.and_then(|record| record.error),
        Err(error) => return RecordOutcome::Stopped(error.into()),
    };
    RecordOutcome::Failed {
        error: match before {
            Some(error) if error.contains("it cannot be read by itself") => error,
            Some(error) => format!("{error}; {advice}"),
            None => advice,
        },
    }
}

impl OpenAgent for Harvesting {
    fn commits_each(&self) -> bool {
        true
    }

    fn find(&self, finding: &dyn Finding) -> Result<(), AgentError> {
        let activity = finding.activity();
        let attempt = Attempt { number: finding.attempt(), workers: finding.workers() };
        let mut long = self.waits.enter(attempt);
        let source =
            source(finding.home(), &self.options, activity.watermark_from.as_deref(), (attempt, long.as_ref()))?;
        let (location, origin, institution) = (self.options.location(), self.options.origin(), activity.institution);
        let mut saved = State::of(finding)?;
        let (mut deleted, mut new) = (saved.deleted, 0);
        // In OAI-PMH an identifier is that of one record (section 2.4).
        let repeats = if self.options.kind == Kind::Oai { Repeats::LaterState } else { Repeats::Another };
        let mut page = Page { earlier: Earlier::of(&self.options, activity), repeats, ..Page::default() };
        // An interrupted request fails with what interrupted it.
        let failed = |error: HarvestError| match finding.check() {
            Err(stop) => AgentError::from(stop),
            Ok(()) => error.into(),
        };
        let supervision = Supervision::new(|| finding.check());
        for event in source.records(saved.cursor.clone(), supervision).map_err(failed)? {
            finding.check()?;
            let event = event.map_err(failed)?;
            // It answers.
            drop(long.take());
            match event {
                Event::Record(record) if record.is_deleted => {
                    deleted += 1;
                    page.delete(record.id);
                }
                Event::Record(record) => {
                    page.bytes += record.document.as_ref().map_or(0, |document| document.bytes.len());
                    page.found.push(found(record, &origin, institution));
                }
                Event::Notice(notice) => {
                    match notice {
                        Notice::Restarted { .. } => deleted = saved.begin_again(),
                        // Its pages may have nothing new for a while.
                        Notice::Changed { .. } => saved.repeat(),
                        _ => {}
                    }
                    page.found.extend(missing(&notice));
                }
                Event::Page(cursor) => {
                    let has_deleted = deleted > saved.deleted;
                    saved.pass(cursor, deleted);
                    if !saved.is_finished() {
                        new += page.add(finding, &mut saved)?;
                        if self.options.has_pages() {
                            saved.judge(std::mem::take(&mut new), has_deleted, &location)?;
                        }
                    }
                }
            }
            if page.is_full() {
                // Read again from the last cursor, they are there already.
                new += page.add(finding, &mut saved)?;
            }
        }
        let watermark = self.watermark(finding, &saved)?;
        page.complete(finding, &saved, watermark)
    }

    /// A record that failed is asked for by itself.
    fn process(&self, record: &str, work: &Work<'_>) -> RecordOutcome {
        if !self.options.is_asked_for_alone(record) {
            return refused(record, work);
        }
        if let Some((reason, after)) = self.away.get() {
            return RecordOutcome::Stopped(AgentError::Away { reason: reason.clone(), after: *after });
        }
        let attempt = Attempt { number: work.attempt, workers: work.workers };
        let long = self.waits.enter(attempt);
        let client = match client(work.home, &self.options, (attempt, long.as_ref())) {
            Ok(client) => client,
            Err(error) => return RecordOutcome::Failed { error: error.to_string() },
        };
        let read = client.record(record, self.options.prefix(), &Supervision::new(|| work.check()));
        match read {
            Err(error) => match work.check() {
                Err(stop) => RecordOutcome::Stopped(stop.into()),
                Ok(()) if error.is_transient() => {
                    let (mut again_after, text) = (AGAIN_AFTER, chain(&error));
                    // The records behind it are not asked for in this attempt: each would wait for as long.
                    if let AgentError::Away { reason, after } = AgentError::from(error) {
                        again_after = again_after.max(after.unwrap_or_default().min(LONGEST_WAIT));
                        let _ = self.away.set((reason, after));
                    }
                    RecordOutcome::Later { after: again_after, error: text }
                }
                Ok(()) => RecordOutcome::Failed { error: chain(&error) },
            },
            Ok(None) => RecordOutcome::Failed { error: "the provider has no record of this identifier".to_owned() },
            Ok(Some(record)) if record.is_deleted => {
                RecordOutcome::Failed { error: "the provider says that it is deleted".to_owned() }
            }
            Ok(Some(record)) => {
                let Found { arrival, document, .. } = found(record, &self.options.origin(), work.activity.institution);
                match arrival {
                    Arrival::Processed { result } => RecordOutcome::Processed {
                        result,
                        writes: Some(Arc::new(move |tx, _| {
                            documents::put(tx, document.as_slice())?;
                            Ok(Vec::new())
                        })),
                    },
                    Arrival::Failed { error } => RecordOutcome::Failed { error },
                    Arrival::Todo => RecordOutcome::Stopped(Stop::Lost.into()),
                }
            }
        }
    }
}
