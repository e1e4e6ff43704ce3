//! What a deletion leaves in the `logs/` of its object: what was deleted, who asked for it, who approved it and why, and the plan, by
//! which it can be carried out in a store that was away, and known again by a registry that was made from the stores.

use serde::{Deserialize, Serialize};
use strongroom_ocfl::{PurgePlan, PurgeScope, Tombstone};
use strongroom_registry::deletions::Deletion;
use strongroom_registry::events::EventRow;
use strongroom_registry::{DeletionId, FileId, GenerationId, InstitutionId, ItemId, ObjectId, Time};

use crate::logs;

/// The act of its log.
pub(crate) const ACT: &str = "deletion";
/// The form written today.
const FORM: u32 = 1;
/// The largest tombstone in bytes: half of what readers of logs take.
pub(super) const LARGEST: usize = logs::LARGEST_READ as usize / 2;

/// Why something is deleted, and by whom.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grounds {
    /// The request.
    pub(crate) request: String,
    /// Who asked for it.
    pub(crate) requested_by: String,
    /// When, in microseconds since the epoch.
    pub(crate) requested_at: i64,
    /// Why.
    pub(crate) reason: String,
    /// Who approved it.
    pub(crate) approved_by: String,
    /// When.
    pub(crate) approved_at: i64,
    /// With which words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// A file that is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeletedFile {
    pub(crate) file: FileId,
    /// The logical path.
    pub(crate) path: String,
}

/// A tombstone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DeletionLog {
    form: u32,
    act: String,
    pub(crate) deletion: DeletionId,
    pub(crate) item: ItemId,
    pub(crate) institution: InstitutionId,
    pub(crate) object: ObjectId,
    /// `<institution>/<name>`.
    pub(crate) identifier: String,
    pub(crate) generation: GenerationId,
    /// The newest version before it.
    pub(crate) version: u64,
    /// When it was begun, in microseconds since the epoch.
    pub(crate) time: i64,
    pub(crate) grounds: Grounds,
    /// The files, where not all of the object is deleted.
    pub(crate) files: Vec<DeletedFile>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) plan: PurgePlan,
}

/// What a tombstone is made of.
pub(super) struct NewLog {
    pub(super) id: DeletionId,
    pub(super) item: ItemId,
    pub(super) institution: InstitutionId,
    pub(super) object: ObjectId,
    pub(super) identifier: String,
    pub(super) generation: GenerationId,
    pub(super) version: u64,
    pub(super) begun_at: Time,
    pub(super) grounds: Grounds,
    pub(super) files: Vec<DeletedFile>,
    pub(super) events: Vec<EventRow>,
    pub(super) plan: PurgePlan,
}

impl DeletionLog {
    pub(super) fn new(new: NewLog) -> Self {
        Self {
            form: FORM,
            act: ACT.to_owned(),
            deletion: new.id,
            item: new.item,
            institution: new.institution,
            object: new.object,
            identifier: new.identifier,
            generation: new.generation,
            version: new.version,
            time: new.begun_at.0,
            grounds: new.grounds,
            files: new.files,
            events: new.events,
            plan: new.plan,
        }
    }

    /// Reads a log; none where it is of another act, or of a form that this program does not know.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut log: Self = serde_json::from_str(text).ok()?;
        if log.form != FORM || log.act != ACT {
            return None;
        }
        log.plan.tombstone = Tombstone { name: log.name(), text: text.to_owned() };
        Some(log)
    }

    /// Its name in `logs/`.
    pub(super) fn name(&self) -> String {
        logs::name(Time(self.time), ACT, self.deletion.0)
    }

    /// Whether all of the object is deleted.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.plan.scope, PurgeScope::Object { .. })
    }
}

/// The tombstone of a deletion that the registry has.
pub(super) fn of(deletion: &Deletion) -> Result<DeletionLog, crate::EngineError> {
    DeletionLog::read(&deletion.tombstone).ok_or_else(|| {
        crate::EngineError::Usage(format!(
            "the registry's record of the deletion {} cannot be read by this program; next: use the version that wrote it, or a later one",
            deletion.id
        ))
    })
}
