//! tool: runs a program of other people for each file that is kept, such as a virus scanner. What it says of a file becomes an event of the
//! object and a document; what it could not tell fails the record. Nothing is ever removed or changed by it: a virus opens a finding, which
//! people see in `status`.
//!
//! A record is a file at a version of its object, `FILE@VERSION`. Of another activity, a record is also a work item, which stands for the
//! files of the version that it made; a document that this agent made, for the file that it is about; and one that was harvested,
//! for its own bytes.

mod limits;
mod outcome;
mod record;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use strongroom_records::{Arrival, Takes};
use strongroom_registry::activities::Activity;
use strongroom_registry::documents::{self, Document};
use strongroom_registry::objects::{self, ObjectFilter};
use strongroom_registry::tool_findings;
use strongroom_registry::{
    FileId, InstitutionId, ItemId, ObjectId, ObjectState, RegistryError, Scope, VersionState, tenants, versions,
};
use strongroom_tool::{Outcome, Run, Subject, ToolError};

use self::outcome::{OfFile, keep, of_document};
use self::record::{Record, file_record};
use crate::activities::agent::{
    Agent, AgentInput, AgentOption, Asked, Finding, Found, OpenAgent, Planned, RecordOutcome, Work,
};
use crate::activities::error::{AgentError, Stop};
use crate::activities::options::parsed;
use crate::arks::find_object;
use crate::content_name::in_package;
use crate::hold::{ObjectHold, OperationError};
use crate::runtime::Interrupted;
use crate::tools::{
    ConfiguredTool, Provided, Providing, StoredFile, ToolLimits, Unprovided, Workshop, configured, provide,
};
use crate::{EngineError, Home, chain};

pub(crate) use self::outcome::{ACT, VIRUS_CHECK};

const NAME: &str = "tool";
/// Records that are added in one transaction, and objects that are listed at once.
const AT_ONCE: usize = 500;
/// Files of a work item whose outcomes are kept at once.
const FILES_AT_ONCE: usize = 100;
/// When a record is tried again that could not be processed now.
const AGAIN_AFTER: Duration = Duration::from_mins(1);
/// How long an object is waited for that another worker works on, and how often it is asked for.
const PATIENCE: Duration = Duration::from_mins(1);
const ASK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    tool: Option<String>,
    #[serde(deserialize_with = "limits::time")]
    time_limit: Option<Duration>,
    #[serde(deserialize_with = "limits::size")]
    memory_limit: Option<u64>,
    collection: Option<String>,
    object: Option<String>,
}

impl Options {
    /// The tool as the settings and these options have it.
    fn configured(&self, home: &Home) -> Result<ConfiguredTool, EngineError> {
        let Some(name) = &self.tool else {
            return Err(EngineError::Usage("no tool is named".into()).next("add --option tool=NAME, such as clamdscan"));
        };
        configured(home, name, ToolLimits { time: self.time_limit, memory: self.memory_limit })
    }
}

/// See the header of the file.
pub(super) struct Tool;

const fn option(name: &'static str, default: &'static str, meaning: &'static str) -> AgentOption {
    AgentOption { name, default, meaning }
}

const OPTIONS: &[AgentOption] = &[
    option("tool", "", "the tool: clamdscan, clamscan, jhove, mediainfo, verapdf, or one of [tools] of the settings"),
    option("time_limit", "", "how long one run may take, such as 10m; as the tool says where it is not given"),
    option(
        "memory_limit",
        "",
        "how much memory one run may use, such as \"2 GiB\"; as the tool says where it is not given",
    ),
    option("collection", "", "only the objects of the collection of this short name; not with --input"),
    option("object", "", "only this object; not with --input"),
];

impl Agent for Tool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Run a program for each file that is kept, such as a virus scanner"
    }

    fn options(&self) -> &'static [AgentOption] {
        OPTIONS
    }

    fn input(&self) -> AgentInput {
        AgentInput::SourceOrActivity(Takes::Results)
    }

    fn plan(&self, home: &Home, asked: &Asked<'_>) -> Result<Planned, EngineError> {
        let options: Options = parsed(NAME, asked.options)?;
        options.configured(home)?;
        let Some(institution) = asked.institution else {
            return Err(EngineError::Usage("files belong to an institution, and the input belongs to none".into()));
        };
        if asked.has_input && (options.collection.is_some() || options.object.is_some()) {
            let reason = "the files are those that another activity has processed, not those of a collection or object";
            return Err(
                EngineError::Usage(reason.into()).next("leave --input out, or the options collection and object")
            );
        }
        let scope = Scope::Institution(institution);
        if let Some(name) = &options.collection {
            let found = home.registry.read(|tx| tenants::collection(tx, scope, institution, name))?;
            if found.is_none() {
                return Err(EngineError::NotFound { what: "collection", name: name.clone(), hint: String::new() }
                    .next("\"strongroom collection list\" shows those there are"));
            }
        }
        let mut kept = asked.options.clone();
        if let (Some(name), Some(kept)) = (&options.object, kept.get_mut("object")) {
            let found = home.registry.read(|tx| find_object(tx, scope, name))?;
            // Its name may change.
            *kept = found.id.to_string().into();
        }
        Ok(Planned { options: kept, watermark: None })
    }

    fn open(&self, home: &Arc<Home>, activity: &Activity) -> Result<Box<dyn OpenAgent>, EngineError> {
        let options: Options = parsed(NAME, &activity.options)?;
        let tool = options.configured(home)?;
        let Some(institution) = activity.institution else {
            return Err(EngineError::Usage("files belong to an institution".into()));
        };
        let workshop = home.tools.workshop(&home.directory)?;
        Ok(Box::new(Running { options, tool, institution, workshop }))
    }
}

/// How far the files were listed, as the cursor of the list keeps it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Place {
    /// The object whose files were added last, or are being added.
    object: ObjectId,
    /// Behind which file of a version it goes on within that object; none where all of them were added.
    file: Option<(u64, FileId)>,
}

impl Place {
    fn text(self) -> Option<String> {
        serde_json::to_string(&self).ok()
    }
}

/// Why a record is not processed.
enum Halt {
    Stopped(Stop),
    Later(String),
    Failed(String),
}

impl From<RegistryError> for Halt {
    fn from(error: RegistryError) -> Self {
        if error.is_transient() { Self::Later(chain(&error)) } else { Self::Failed(chain(&error)) }
    }
}

impl From<EngineError> for Halt {
    fn from(error: EngineError) -> Self {
        if error.is_transient() || error.away().is_some() {
            Self::Later(error.chain())
        } else {
            Self::Failed(error.chain())
        }
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// The agent for an activity.
struct Running {
    options: Options,
    tool: ConfiguredTool,
    institution: InstitutionId,
    workshop: Arc<Workshop>,
}

impl Running {
    /// Objects whose files are listed, behind one.
    fn objects(&self, home: &Home, after: Option<ObjectId>) -> Result<Vec<ObjectId>, RegistryError> {
        let scope = Scope::Institution(self.institution);
        if let Some(text) = &self.options.object {
            let one = home.registry.read(|tx| objects::find(tx, scope, text))?;
            return Ok(if after.is_none() { vec![one.id] } else { Vec::new() });
        }
        let collection = self.options.collection.clone();
        let filter = ObjectFilter { state: Some(ObjectState::Active), collection, ..ObjectFilter::default() };
        let found = home.registry.read(|tx| objects::list(tx, scope, &filter, after, AT_ONCE))?;
        Ok(found.into_iter().map(|object| object.id).collect())
    }

    /// Runs the tool for a file that lies ready.
    fn run(&self, provided: &Provided, values: &[(&str, String)], work: &Work<'_>) -> Result<Run, Halt> {
        let subject = values.iter().fold(Subject::of(&provided.path), |subject, (name, value)| {
            // A zero byte ends an argument.
            subject.with(*name, value.replace('\0', " "))
        });
        let check = || work.check().map_err(|stop| Box::new(stop) as Box<_>);
        match self.workshop.runner.run(&self.tool.tool, &subject, &check) {
            Ok(run) => match run.outcome {
                Outcome::Pass | Outcome::Fail => Ok(run),
                Outcome::Error => {
                    Err(Halt::Failed(format!("the tool {} could not tell: {}", self.tool.name(), run.message)))
                }
                Outcome::Transient => {
                    Err(Halt::Later(format!("the tool {} cannot tell now: {}", self.tool.name(), run.message)))
                }
            },
            Err(ToolError::Interrupted { .. }) => Err(Halt::Stopped(work.check().err().unwrap_or(Stop::NotAtWork))),
            Err(error) if error.is_transient() => Err(Halt::Later(chain(&error))),
            Err(error) => Err(Halt::Failed(chain(&error))),
        }
    }

    /// Runs the tool for a file of an object at a version.
    fn look(&self, (file, version): (FileId, u64), work: &Work<'_>) -> Result<OfFile, Halt> {
        work.check()?;
        let scope = Scope::Institution(self.institution);
        let found = work.home.registry.read(|tx| objects::file(tx, scope, file, Some(version)))?;
        let Some((object, found)) = found else {
            return Err(Halt::Failed("the file is not kept any more".to_owned()));
        };
        let path = in_package(&found.path).to_owned();
        let go_on = || {
            work.check().map_err(|stop| match stop {
                Stop::Interrupted(reason) => reason,
                Stop::NotAtWork | Stop::Lost => Interrupted::LeaseLost,
            })
        };
        let with = Providing {
            home: work.home,
            scratch: &self.workshop.scratch,
            max_copied: self.tool.max_copied,
            go_on: &go_on,
        };
        let stored = StoredFile { content: found.content, path, size: found.size, sha512: found.digests.sha512 };
        let provided = provide(&with, &stored).map_err(|error| match error {
            Unprovided::Interrupted(reason) => Halt::Stopped(work.check().err().unwrap_or(Stop::Interrupted(reason))),
            Unprovided::Later(reason) => Halt::Later(reason),
            Unprovided::Failed(reason) => Halt::Failed(reason),
        })?;
        let values = [
            ("name", stored.path.clone()),
            ("puid", found.format.puid.clone().unwrap_or_default()),
            ("mime", found.format.mime.clone().unwrap_or_default()),
            ("size", found.size.to_string()),
            ("object", object.identifier.clone()),
            ("institution", object.institution_identifier.clone()),
            ("version", version.to_string()),
            ("record", file_record(file, version)),
        ];
        let run = self.run(&provided, &values, work)?;
        Ok(OfFile { object, file: found, version, run })
    }

    /// Runs the tool for the bytes of a document that was harvested.
    fn look_at_document(&self, document: &Document, work: &Work<'_>) -> Result<Document, Halt> {
        let provided = Provided::copy_of(&self.workshop.scratch, &document.record, &mut document.bytes.as_slice())
            .map_err(|error| Halt::Later(format!("cannot copy it for the tool: {}", chain(&error))))?;
        let values = [
            ("name", document.record.clone()),
            ("mime", document.media_type.clone()),
            ("size", document.bytes.len().to_string()),
            ("record", documents::entity(document.id)),
        ];
        let run = self.run(&provided, &values, work)?;
        Ok(of_document(&self.tool, document, &run))
    }

    fn process_record(&self, record: &str, work: &Work<'_>) -> Result<RecordOutcome, Halt> {
        let unknown = || Halt::Failed("it is no file, work item or document, for which a tool could be run".to_owned());
        match Record::parse(record).ok_or_else(unknown)? {
            Record::File(file, version) => self.process_file((file, version), work),
            Record::Item(item) => self.process_item(item, work),
            Record::Document(id) => {
                let found = work.home.registry.read(|tx| documents::get(tx, id))?;
                let Some(document) = found.filter(|found| found.institution == Some(self.institution)) else {
                    return Err(Halt::Failed("the document was removed after its time".to_owned()));
                };
                if let Some(Record::File(file, version)) = Record::parse(&document.record) {
                    return self.process_file((file, version), work);
                }
                let made = self.look_at_document(&document, work)?;
                let result = Some(documents::entity(made.id));
                let writes = move |tx: &mut dyn strongroom_registry::Transaction, _: &_| {
                    documents::put(tx, std::slice::from_ref(&made))?;
                    Ok(Vec::new())
                };
                Ok(RecordOutcome::Processed { result, writes: Some(Arc::new(writes)) })
            }
        }
    }

    fn process_file(&self, of: (FileId, u64), work: &Work<'_>) -> Result<RecordOutcome, Halt> {
        let looked = self.look(of, work)?;
        let document = looked.document(&self.tool);
        let result = Some(documents::entity(document.id));
        let kept = keep(&self.tool, work, &[looked], |object| held_object(work, object))?;
        let writes = move |tx: &mut dyn strongroom_registry::Transaction, _: &_| {
            documents::put(tx, std::slice::from_ref(&document))?;
            kept.write(tx)?;
            Ok(Vec::new())
        };
        Ok(RecordOutcome::Processed { result, writes: Some(Arc::new(writes)) })
    }

    /// Runs the tool for the files that a work item has deposited.
    fn process_item(&self, item: ItemId, work: &Work<'_>) -> Result<RecordOutcome, Halt> {
        let version = work.home.registry.read(|tx| versions::of_item(tx, item))?;
        let Some(version) = version.filter(|version| version.state == VersionState::Published) else {
            return Err(Halt::Later(
                "its work item has not made a version that is published; next: when it has succeeded, have the failed records \
                 processed again (activity retry-failed)"
                    .to_owned(),
            ));
        };
        let mut after = (version.number, FileId(uuid::Uuid::nil()));
        loop {
            let (object, from) = (version.object, after);
            let page = work.home.registry.read(|tx| tool_findings::files(tx, object, from, FILES_AT_ONCE))?;
            let is_last = page.len() < FILES_AT_ONCE || page.iter().any(|(number, _)| *number > version.number);
            let of_version: Vec<_> = page.into_iter().filter(|(number, _)| *number == version.number).collect();
            let mut looked = Vec::with_capacity(of_version.len());
            for (number, file) in &of_version {
                looked.push(self.look((*file, *number), work)?);
            }
            let kept = keep(&self.tool, work, &looked, |object| held_object(work, object))?;
            if is_last {
                let writes = move |tx: &mut dyn strongroom_registry::Transaction, _: &_| {
                    kept.write(tx)?;
                    Ok(Vec::new())
                };
                return Ok(RecordOutcome::Processed { result: None, writes: Some(Arc::new(writes)) });
            }
            // Processed again, the same events are there already.
            work.home.registry.write(move |tx| kept.write(tx))?;
            if let Some(last) = of_version.last() {
                after = *last;
            }
        }
    }
}

/// The lease of an object, for which another worker is waited for.
fn held_object<'h>(work: &Work<'h>, object: ObjectId) -> Result<ObjectHold<'h>, Halt> {
    let began = Instant::now();
    loop {
        match ObjectHold::take(work.home, object) {
            Ok(hold) => return Ok(hold),
            Err(OperationError::Busy(_)) if began.elapsed() < PATIENCE => {
                work.check()?;
                std::thread::park_timeout(ASK_EVERY);
            }
            Err(OperationError::Busy(until)) => {
                return Err(Halt::Later(format!("another worker holds the object until {until}")));
            }
            Err(OperationError::Interrupted(reason)) => return Err(Halt::Stopped(reason.into())),
            Err(OperationError::Engine(error)) => return Err(error.into()),
        }
    }
}

impl OpenAgent for Running {
    fn chunk(&self) -> usize {
        10
    }

    fn commits_each(&self) -> bool {
        true
    }

    fn find(&self, finding: &dyn Finding) -> Result<(), AgentError> {
        let mut place: Option<Place> = match finding.cursor() {
            None => None,
            Some(text) => Some(
                serde_json::from_str(&text)
                    .map_err(|error| AgentError::Fatal(format!("the cursor of the list cannot be read: {error}")))?,
            ),
        };
        let home = finding.home();
        let mut page = Vec::new();
        // The object in the middle of which it stopped.
        let mut open: Vec<ObjectId> =
            place.filter(|place| place.file.is_some()).map(|place| place.object).into_iter().collect();
        loop {
            for object in open {
                let mut after = place.filter(|place| place.object == object).and_then(|place| place.file);
                loop {
                    finding.check()?;
                    let from = after.unwrap_or((0, FileId(uuid::Uuid::nil())));
                    let found = home.registry.read(|tx| tool_findings::files(tx, object, from, AT_ONCE))?;
                    let is_last = found.len() < AT_ONCE;
                    after = found.last().copied().filter(|_| !is_last);
                    let record = |(version, file)| Found {
                        id: file_record(file, version),
                        arrival: Arrival::Todo,
                        document: None,
                    };
                    page.extend(found.into_iter().map(record));
                    place = Some(Place { object, file: after });
                    if page.len() >= AT_ONCE {
                        finding.add(std::mem::take(&mut page), place.and_then(Place::text))?;
                    }
                    if is_last {
                        break;
                    }
                }
            }
            open = self.objects(home, place.map(|place| place.object))?;
            if open.is_empty() {
                return finding.complete(page, place.and_then(Place::text), None);
            }
        }
    }

    fn process(&self, record: &str, work: &Work<'_>) -> RecordOutcome {
        match self.process_record(record, work) {
            Ok(outcome) => outcome,
            Err(Halt::Stopped(stop)) => RecordOutcome::Stopped(stop.into()),
            Err(Halt::Later(error)) => RecordOutcome::Later { after: AGAIN_AFTER, error },
            Err(Halt::Failed(error)) => RecordOutcome::Failed { error },
        }
    }
}
