//! One object whose files were identified with other signature files, page by page. Bytes are read in ranges from the first
//! copy that can be read; an answer that changed is believed only of a copy that proves right. Reading takes no lease: what
//! changed is recorded under the object's, in its logs first.

use strongroom_digest::Digest;
use strongroom_registry::events::{self, EventRow, FORMAT_IDENTIFICATION};
use strongroom_registry::identification::{self as record, FileBehind, NewFormat};
use strongroom_registry::objects::{self, Copy, Object};
use strongroom_registry::{CopyState, Format, ObjectId, Scope, Time};
use strongroom_storage::{Key, StorageError};
use uuid::Uuid;

use super::log::{ACT, FORM, Log};
use super::{Identifying, ReidentifySummary, SourceTrouble, StoredSource};
use crate::content_name::in_package;
use crate::error::chain;
use crate::fixity::{About, SuspectCopy, check_attempts, is_unreadable, read_copy, report_suspect};
use crate::hold::{GoOn, ObjectHold, OperationError, now};
use crate::{EngineError, Home, crash_point, logs, paging};

/// Files listed and recorded at once.
const FILES_AT_ONCE: usize = 200;
/// An object of which this many files could not be read is left alone for now.
const FAILURES: u64 = 10;
/// Reasons kept in a summary.
const ERRORS_KEPT: usize = 5;

/// An object, with what its files are identified with.
pub(super) struct Renewal<'a> {
    pub(super) home: &'a Home,
    pub(super) object: ObjectId,
    pub(super) with: &'a Identifying,
    pub(super) go_on: &'a GoOn<'a>,
}

/// What came of one file.
enum Outcome {
    Found(Format),
    /// Its copies cannot be read before they are retrieved.
    Cold,
    /// No copy could be read, for these reasons.
    Failed(String),
}

/// What came of one copy.
enum Attempt {
    Found(Format),
    Cold,
    Refused(String),
}

impl Renewal<'_> {
    /// Identifies what is behind. What is done is recorded, also where this returns early.
    pub(super) fn renew(&self, summary: &mut ReidentifySummary) -> Result<(), OperationError> {
        let Some(object) = self.home.registry.read(|tx| objects::get(tx, Scope::System, self.object))? else {
            return Ok(());
        };
        // While a worker works on the object nothing could be recorded: reading would be for nothing.
        drop(ObjectHold::take(self.home, object.id)?);
        let give_up_at = summary.failed + FAILURES;
        let list = |after, limit| -> Result<_, OperationError> {
            self.go_on.check()?;
            let signatures = self.with.signatures();
            Ok(self.home.registry.read(|tx| record::files_behind(tx, self.object, signatures, after, limit))?)
        };
        for page in paging::pages(FILES_AT_ONCE, |file: &FileBehind| (file.version, file.file), list) {
            let page = page?;
            let mut found = Vec::with_capacity(page.len());
            let looked = self.look_at(&object, &page, give_up_at, &mut found, summary);
            self.record(&object, &found, summary)?;
            looked?;
            if summary.failed >= give_up_at {
                break;
            }
        }
        summary.objects += 1;
        Ok(())
    }

    /// Identifies the files of a page, until there are too many failures.
    fn look_at<'p>(
        &self,
        object: &Object,
        page: &'p [FileBehind],
        give_up_at: u64,
        found: &mut Vec<(&'p FileBehind, Format)>,
        summary: &mut ReidentifySummary,
    ) -> Result<(), OperationError> {
        for file in page {
            match self.identify(file)? {
                Outcome::Found(format) => found.push((file, format)),
                Outcome::Cold => summary.cold += 1,
                Outcome::Failed(reason) => {
                    summary.failed += 1;
                    if summary.errors.len() < ERRORS_KEPT {
                        let path = in_package(&file.path);
                        summary.errors.push(format!("{}: {path}: {reason}", object.identifier));
                    }
                    if summary.failed >= give_up_at {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn identify(&self, file: &FileBehind) -> Result<Outcome, OperationError> {
        let copies = self.home.registry.read(|tx| objects::copies(tx, file.content))?;
        let mut reasons = Vec::new();
        let mut is_cold = false;
        for copy in copies.iter().filter(|copy| copy.state == CopyState::Kept) {
            self.go_on.check()?;
            match self.look(file, copy)? {
                Attempt::Found(format) => return Ok(Outcome::Found(format)),
                Attempt::Cold => is_cold = true,
                Attempt::Refused(reason) => reasons.push(format!("{}: {reason}", copy.store)),
            }
        }
        if reasons.is_empty() && is_cold {
            return Ok(Outcome::Cold);
        }
        if reasons.is_empty() {
            reasons.push("no copy of it is known to be correct".into());
        }
        Ok(Outcome::Failed(reasons.join("; ")))
    }

    /// Identifies a file from one of its copies.
    fn look(&self, file: &FileBehind, copy: &Copy) -> Result<Attempt, OperationError> {
        let store = match self.home.store(&copy.store) {
            Ok(store) => store.as_ref(),
            Err(error) => return Ok(Attempt::Refused(error.chain())),
        };
        let key = Key::new(copy.key.as_str()).map_err(StorageError::from)?;
        match store.head(&key) {
            Ok(head) if !head.readable => return Ok(Attempt::Cold),
            Ok(head) if head.size != file.size => {
                let reason = format!("it has {} bytes and not {}", head.size, file.size);
                return self.refuse_wrong(file, copy, false, reason);
            }
            Ok(_) => {}
            Err(error) => return self.refuse(file, copy, &error),
        }
        let source = StoredSource::new(store, &key, 0, file.size, self.go_on);
        let format = match self.with.of_stored(&file.path, &source).map_err(StoredSource::trouble) {
            Ok(format) => format,
            Err(SourceTrouble::Interrupted(reason)) => return Err(reason.into()),
            Err(SourceTrouble::Store(error)) => return self.refuse(file, copy, &error),
            Err(SourceTrouble::Other(error)) => return Ok(Attempt::Refused(error.to_string())),
        };
        if !format.agrees_with(&file.format) {
            match read_copy(store, &key, self.go_on) {
                Ok((size, sha512)) if is_right(file, size, &sha512) => {}
                Ok((size, sha512)) => {
                    let reason = format!("its bytes are not the recorded ones: {size} bytes with sha512:{sha512}");
                    return self.refuse_wrong(file, copy, false, reason);
                }
                Err(OperationError::Engine(EngineError::Storage(error))) => return self.refuse(file, copy, &error),
                Err(OperationError::Engine(error)) => return Ok(Attempt::Refused(error.chain())),
                Err(halt) => return Err(halt),
            }
        }
        Ok(Attempt::Found(format))
    }

    /// A copy that its store did not give: missing, unreadable, or nothing known of it.
    fn refuse(&self, file: &FileBehind, copy: &Copy, error: &StorageError) -> Result<Attempt, OperationError> {
        if error.is_not_found() || is_unreadable(error) {
            return self.refuse_wrong(file, copy, error.is_not_found(), chain(error));
        }
        Ok(Attempt::Refused(chain(error)))
    }

    /// A copy that is wrong: a finding, which has it checked next.
    fn refuse_wrong(
        &self,
        file: &FileBehind,
        copy: &Copy,
        is_missing: bool,
        reason: String,
    ) -> Result<Attempt, OperationError> {
        let suspect = SuspectCopy {
            content: file.content,
            store: copy.store.clone(),
            is_missing,
            detail: format!("found by a re-identification: {reason}"),
        };
        let attempts = check_attempts(self.home);
        self.home.registry.write_and_wake(move |tx| report_suspect(tx, &suspect, attempts))?;
        Ok(Attempt::Refused(reason))
    }

    /// Records what was found: what changed under the object's lease, and in its logs; of what did not, the signature files.
    fn record(
        &self,
        object: &Object,
        found: &[(&FileBehind, Format)],
        summary: &mut ReidentifySummary,
    ) -> Result<(), OperationError> {
        let of_now = found.iter().filter(|(file, _)| file.generation == object.generation);
        let (same, changed): (Vec<_>, Vec<_>) =
            of_now.partition(|(file, format)| Format { signatures: None, ..format.clone() } == before(file));
        let (id, generation) = (object.id, object.generation);
        summary.unchanged += same.len() as u64;
        if !same.is_empty() {
            let formats = new_formats(&same);
            self.home.registry.write(move |tx| record::set_formats(tx, id, generation, &formats))?;
        }
        if changed.is_empty() {
            return Ok(());
        }
        let hold = ObjectHold::take(self.home, id)?;
        let now_of = self.home.registry.read(|tx| objects::get(tx, Scope::System, id))?;
        if now_of.is_none_or(|now_of| now_of.generation != generation) {
            // It was taken out and deposited again while its files were read.
            return Ok(());
        }
        let time = now(self.home)?;
        let formats = new_formats(&changed);
        let mut acts = Vec::new();
        for (file, format) in changed.iter().filter(|(file, format)| !format.agrees_with(&file.format)) {
            acts.push(self.event(object, file, format, time)?);
        }
        let log = Log {
            form: FORM,
            act: ACT,
            object: id,
            generation,
            signatures: self.with.signatures(),
            time: time.to_string(),
            formats: &formats,
            events: &acts,
        };
        let bytes = serde_json::to_vec(&log).map_err(|error| EngineError::Usage(error.to_string()))?;
        let name = logs::name(time, ACT, Uuid::now_v7());
        logs::put(self.home, &object.institution_identifier, id, generation, &name, &bytes)?;
        crash_point("signatures.reidentify.logged");
        summary.changed += acts.len() as u64;
        summary.unchanged += (formats.len() - acts.len()) as u64;
        hold.write(move |tx| {
            record::set_formats(tx, id, generation, &formats)?;
            events::append(tx, &acts)
        })
    }

    /// The event of an answer that changed. Its identifier follows from how many there were before, so that one whose recording
    /// was cut short after the log is reported once.
    fn event(
        &self,
        object: &Object,
        file: &FileBehind,
        format: &Format,
        time: Time,
    ) -> Result<EventRow, OperationError> {
        let earlier_acts = self.home.registry.read(|tx| events::count_of_file(tx, file.file, FORMAT_IDENTIFICATION))?;
        let label = format!("{FORMAT_IDENTIFICATION} {} v{} {earlier_acts}", file.generation, file.version);
        let (outcome, found) = events::identified(format);
        let earlier = file.format.signatures.as_ref();
        let (detail, came_of_it) = match earlier {
            Some(signatures) => {
                let detail = format!("{}; before with {signatures}", events::identification_detail(format));
                (detail, format!("{} -> {found}", events::identified(&file.format).1))
            }
            None => (events::identification_detail(format), found),
        };
        let about = About { institution: object.institution, object: object.id, content: Some(file.content) };
        Ok(EventRow {
            id: events::derived_id(file.file.0, &label),
            file: Some(file.file),
            ..about.event(time, FORMAT_IDENTIFICATION, outcome, detail, came_of_it)
        })
    }
}

/// What was known, but for the signature files that it was found with.
fn before(file: &FileBehind) -> Format {
    Format { signatures: None, ..file.format.clone() }
}

fn is_right(file: &FileBehind, size: u64, sha512: &Digest) -> bool {
    size == file.size && *sha512 == file.sha512
}

fn new_formats(found: &[&(&FileBehind, Format)]) -> Vec<NewFormat> {
    let new = |(file, format): &&(&FileBehind, Format)| NewFormat {
        version: file.version,
        file: file.file,
        format: format.clone(),
    };
    found.iter().map(new).collect()
}
