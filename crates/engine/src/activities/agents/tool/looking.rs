//! Runs the tool for what a record stands for, and keeps what it says.

use std::sync::Arc;
use std::time::{Duration, Instant};

use strongroom_registry::activities::Activity;
use strongroom_registry::documents::{self, Document};
use strongroom_registry::tool_findings::Outcomes;
use strongroom_registry::{
    FileId, ItemId, ObjectId, RegistryError, Scope, activities, objects, provenance, tool_findings,
};
use strongroom_tool::{Outcome, Run, Subject, ToolError};

use super::deposited::Deposited;
use super::outcome::{Kept, OfFile, is_of_file, keep, keep_of_document, of_document, sum};
use super::record::{Record, file_record};
use super::{NAME, Running};
use crate::activities::agent::{RecordOutcome, Work};
use crate::activities::error::Stop;
use crate::activities::input::document_of;
use crate::content_name::in_package;
use crate::hold::{ObjectHold, OperationError};
use crate::runtime::Interrupted;
use crate::tools::{Provided, Providing, StoredFile, Unprovided, provide};
use crate::{EngineError, chain};

/// Files of a work item whose outcomes are kept at once.
const FILES_AT_ONCE: usize = 100;
/// How long an object is waited for that another worker works on, and how often it is asked for.
const PATIENCE: Duration = Duration::from_mins(1);
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Why a record is not processed.
pub(super) enum Halt {
    Stopped(Stop),
    Later(String),
    /// Something else has to end first.
    Waits {
        after: Duration,
        reason: String,
    },
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

impl Running {
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
    fn look_at_document(&self, document: &Document, work: &Work<'_>) -> Result<(Document, Kept), Halt> {
        let provided = Provided::copy_of(&self.workshop.scratch, &document.record, &mut document.bytes.as_slice())
            .map_err(|error| Halt::Later(format!("cannot copy it for the tool: {}", chain(&error))))?;
        let values = [
            ("name", document.record.clone()),
            ("mime", document.media_type.clone()),
            ("size", document.bytes.len().to_string()),
            ("record", documents::entity(document.id)),
        ];
        let run = self.run(&provided, &values, work)?;
        let kept = keep_of_document(&self.tool, work, document, &run)?;
        Ok((of_document(&self.tool, document, &run), kept))
    }

    pub(super) fn process_record(&self, record: &str, work: &Work<'_>) -> Result<RecordOutcome, Halt> {
        let unknown = || Halt::Failed("it is no file, work item or document, for which a tool could be run".to_owned());
        match Record::parse(record).ok_or_else(unknown)? {
            Record::File(file, version) => self.process_file((file, version), record, work),
            Record::Item(item) => self.process_item(item, record, work),
            Record::Document(_) => {
                let document = match document_of(record, work) {
                    Ok(document) => document,
                    Err(outcome) => return Ok(outcome),
                };
                if let Some((file, version)) = said_of_file(&document, record, work)? {
                    return self.process_file((file, version), record, work);
                }
                let (made, kept) = self.look_at_document(&document, work)?;
                Ok(processed(Some(made), kept, record, work))
            }
        }
    }

    fn process_file(&self, of: (FileId, u64), record: &str, work: &Work<'_>) -> Result<RecordOutcome, Halt> {
        let looked = self.look(of, work)?;
        let document = looked.document(&self.tool);
        let kept = keep(&self.tool, work, &[looked], |object| held_object(work, object))?;
        Ok(processed(Some(document), kept, record, work))
    }

    /// Runs the tool for the files that a work item has deposited.
    fn process_item(&self, item: ItemId, record: &str, work: &Work<'_>) -> Result<RecordOutcome, Halt> {
        let deposited = Deposited::of(self.institution, item, work)?;
        let mut after = String::new();
        let mut outcomes = Outcomes::default();
        loop {
            let page = deposited.page(&after, FILES_AT_ONCE, work)?;
            let mut looked = Vec::with_capacity(page.files.len());
            for of in &page.files {
                looked.push(self.look(*of, work)?);
            }
            let mut kept = keep(&self.tool, work, &looked, |object| held_object(work, object))?;
            outcomes = sum(outcomes, kept.outcomes);
            let Some(next) = page.next else {
                kept.outcomes = outcomes;
                return Ok(processed(None, kept, record, work));
            };
            // Processed again, the same events are there already. They are counted when the record ends.
            work.home.registry.write(move |tx| kept.write(tx))?;
            after = next;
        }
    }
}

/// The file that a document is about: one that this agent has made of a file. Any other stands for its own bytes, also where its record is called
/// as a file is.
fn said_of_file(document: &Document, entity: &str, work: &Work<'_>) -> Result<Option<(FileId, u64)>, Halt> {
    let Some(Record::File(file, version)) = Record::parse(&document.record) else { return Ok(None) };
    let is_ours = work.home.registry.read(|tx| {
        let Some(entity) = provenance::get(tx, document.institution, entity)? else { return Ok(false) };
        let Some(first) = provenance::history(tx, &entity, None, 1)?.pop() else { return Ok(false) };
        Ok::<_, RegistryError>(activities::find(tx, Scope::System, first.activity)?.agent == NAME)
    })?;
    Ok((is_ours && is_of_file(document)).then_some((file, version)))
}

/// A record that was processed, with what is written at its end.
fn processed(document: Option<Document>, kept: Kept, record: &str, work: &Work<'_>) -> RecordOutcome {
    let result = document.as_ref().map(|document| documents::entity(document.id));
    let (Activity { id, run, .. }, record) = (work.activity, record.to_owned());
    let of_run = (*id, *run);
    let writes = move |tx: &mut dyn strongroom_registry::Transaction, _: &_| {
        documents::put(tx, document.as_slice())?;
        kept.write(tx)?;
        tool_findings::count(tx, of_run, &record, kept.outcomes)?;
        Ok(Vec::new())
    };
    RecordOutcome::Processed { result, writes: Some(Arc::new(writes)) }
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
