//! What tools have found in files and documents that are kept, such as a virus. A finding is open until the same tool passes the same
//! bytes, or a person dismisses it; nothing is done with the file by it. There is one for each file, content and tool, and for each
//! document and tool, so that what is found again is found once. How many files and documents a tool has passed and failed is counted
//! for each run of an activity.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::model::ids::derived;
use crate::{
    ActivityId, ContentId, DocumentId, FileId, InstitutionId, ObjectId, RegistryError, Scope, ToolFindingId,
    ToolFindingState,
};

/// Rows over which the counts of a run are spread.
const SLOTS: u8 = 16;

/// What a tool has looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Examined {
    /// A file of an object.
    File {
        /// The object.
        object: ObjectId,
        /// The file.
        file: FileId,
        /// The content that the file had.
        content: ContentId,
    },
    /// A document.
    Document {
        /// The document.
        document: DocumentId,
        /// The record that it was made of.
        record: String,
    },
}

impl Examined {
    /// The identifier of what a tool finds in it.
    pub fn finding_id(&self, tool: &str) -> ToolFindingId {
        ToolFindingId(match self {
            Self::File { file, content, .. } => derived(file.0, &format!("tool finding:{content}:{tool}")),
            Self::Document { document, .. } => derived(document.0, &format!("tool finding:{tool}")),
        })
    }
}

/// How many files and documents a tool has passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Passed.
    pub passed: u64,
    /// Failed, such as those in which it has found a virus.
    pub failed: u64,
}

/// Something that a tool has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFinding {
    /// Its identifier.
    pub id: ToolFindingId,
    /// Whose the file or document is.
    pub institution: InstitutionId,
    /// The same by domain name.
    pub institution_identifier: String,
    /// What it was found in.
    pub examined: Examined,
    /// The object by its name, where it is a file.
    pub object_identifier: Option<String>,
    /// The logical path of the file, where it is one.
    pub path: Option<String>,
    /// The tool.
    pub tool: String,
    /// What it has found, in its words.
    pub detail: String,
    /// The activity that found it last, where that is known.
    pub activity: Option<ActivityId>,
    /// What became of it.
    pub state: ToolFindingState,
    /// When it was found, or found again after it was settled.
    pub found_at: Time,
    /// When it was settled.
    pub settled_at: Option<Time>,
    /// Why a person has dismissed it.
    pub note: Option<String>,
}

/// A finding to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToolFinding {
    /// Whose the file or document is.
    pub institution: InstitutionId,
    /// What it was found in.
    pub examined: Examined,
    /// The tool.
    pub tool: String,
    /// What it has found, in its words.
    pub detail: String,
    /// The activity that found it, where that is known.
    pub activity: Option<ActivityId>,
    /// When.
    pub found_at: Time,
}

/// Opens a finding. One that is open stays as it is, and so does one that a person has dismissed, unless the tool says something else;
/// each knows the activity that found it last, and each activity what it has found.
pub fn open(tx: &mut dyn Transaction, new: &NewToolFinding) -> Result<(), RegistryError> {
    let id = new.examined.finding_id(&new.tool);
    let (object, file, content, document, record) = match &new.examined {
        Examined::File { object, file, content } => (Some(*object), Some(*file), Some(*content), None, None),
        Examined::Document { document, record } => (None, None, None, Some(*document), Some(record.as_str())),
    };
    let values = [
        id.into(),
        new.institution.into(),
        object.into(),
        file.into(),
        content.into(),
        document.into(),
        record.into(),
        (&new.tool).into(),
        (&new.detail).into(),
        new.found_at.into(),
    ];
    tx.execute(Statement("tool_findings.open"), &values)?;
    if let Some(activity) = new.activity {
        tx.execute(Statement("tool_findings.found_by"), &[id.into(), activity.into()])?;
        tx.execute(Statement("tool_findings.found_in"), &[id.into(), activity.into()])?;
    }
    Ok(())
}

/// Adds to the counts of a run of an activity, in the transaction that ends the record.
pub fn count(
    tx: &mut dyn Transaction,
    (activity, run): (ActivityId, u64),
    record: &str,
    outcomes: Outcomes,
) -> Result<(), RegistryError> {
    let slot = u64::from(derived(activity.0, record).as_bytes()[15] % SLOTS);
    let values = [activity.into(), run.into(), slot.into(), outcomes.passed.into(), outcomes.failed.into()];
    tx.execute(Statement("tool_outcomes.add"), &values)?;
    Ok(())
}

/// What a tool has passed and failed in a run of an activity.
pub fn outcomes(tx: &mut dyn Transaction, (activity, run): (ActivityId, u64)) -> Result<Outcomes, RegistryError> {
    let mut sum = Outcomes::default();
    for row in tx.query(Statement("tool_outcomes.of_run"), &[activity.into(), run.into()])? {
        sum.passed += row.count("passed")?;
        sum.failed += row.count("failed")?;
    }
    Ok(sum)
}

/// Settles a finding that is open, because the tool has passed the file.
pub fn pass(tx: &mut dyn Transaction, id: ToolFindingId) -> Result<(), RegistryError> {
    settle(tx, id, ToolFindingState::Passed, None)
}

fn settle(
    tx: &mut dyn Transaction,
    id: ToolFindingId,
    state: ToolFindingState,
    note: Option<&str>,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("tool_findings.settle"), &[id.into(), state.as_str().into(), now.into(), note.into()])?;
    Ok(())
}

/// Settles a finding that is open, because a person has decided that it is nothing.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is none within the scope, [`RegistryError::State`] where it is settled already.
pub fn dismiss(
    tx: &mut dyn Transaction,
    scope: Scope,
    id: ToolFindingId,
    note: &str,
) -> Result<ToolFinding, RegistryError> {
    let found = find(tx, scope, id)?;
    if found.state != ToolFindingState::Open {
        return Err(RegistryError::State {
            what: "finding of a tool",
            id: id.to_string(),
            state: found.state.as_str().to_owned(),
            act: "dismiss it".to_owned(),
        });
    }
    settle(tx, id, ToolFindingState::Dismissed, Some(note))?;
    find(tx, scope, id)
}

/// A finding within a scope.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is none.
pub fn find(tx: &mut dyn Transaction, scope: Scope, id: ToolFindingId) -> Result<ToolFinding, RegistryError> {
    let row = tx.query_one(Statement("tool_findings.get"), &[id.into(), scope.value()])?;
    let missing = || RegistryError::NotFound { what: "finding of a tool", id: id.to_string() };
    finding_row(&row.ok_or_else(missing)?)
}

/// Whether a finding is open.
pub fn is_open(tx: &mut dyn Transaction, id: ToolFindingId) -> Result<bool, RegistryError> {
    let row = tx.query_one(Statement("tool_findings.state"), &[id.into()])?;
    Ok(match row {
        Some(row) => row.text("state")? == ToolFindingState::Open.as_str(),
        None => false,
    })
}

/// Which findings are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolFindingFilter {
    /// Also those that are settled.
    pub settled_too: bool,
    /// All that this activity has found, settled or not, also what a later one has found again.
    pub activity: Option<ActivityId>,
}

/// Findings within a scope in order of their identifiers, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: ToolFindingFilter,
    after: Option<ToolFindingId>,
    limit: usize,
) -> Result<Vec<ToolFinding>, RegistryError> {
    let after = after.unwrap_or(ToolFindingId(Uuid::nil()));
    let (statement, which) = match filter.activity {
        Some(activity) => (Statement("tool_findings.of_activity"), activity.into()),
        None => (Statement("tool_findings.list"), filter.settled_too.into()),
    };
    let values = [after.into(), scope.value(), which, limit.into()];
    tx.query(statement, &values)?.iter().map(finding_row).collect()
}

/// How many findings are open.
pub fn count_open(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("tool_findings.count"), &[])?;
    row.map_or(Ok(0), |row| Ok(row.count("findings")?))
}

/// What paths of an object hold, each from a version on, after one of a version: what tools are run for.
pub fn files(
    tx: &mut dyn Transaction,
    object: ObjectId,
    after: (u64, FileId),
    limit: usize,
) -> Result<Vec<(u64, FileId)>, RegistryError> {
    tx.query(Statement("tools.files"), &[object.into(), after.0.into(), after.1.into(), limit.into()])?
        .iter()
        .map(|row| Ok((row.count("version")?, FileId(row.uuid("file_id")?))))
        .collect()
}

fn examined(row: &Row) -> Result<Examined, RegistryError> {
    Ok(match row.optional_uuid("document_id")? {
        Some(document) => Examined::Document {
            document: DocumentId(document),
            record: row.optional_text("record")?.unwrap_or_default().to_owned(),
        },
        None => Examined::File {
            object: ObjectId(row.uuid("object_id")?),
            file: FileId(row.uuid("file_id")?),
            content: ContentId(row.uuid("content_id")?),
        },
    })
}

fn finding_row(row: &Row) -> Result<ToolFinding, RegistryError> {
    Ok(ToolFinding {
        id: ToolFindingId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        examined: examined(row)?,
        object_identifier: row.optional_text("object_identifier")?.map(str::to_owned),
        path: row.optional_text("path")?.map(str::to_owned),
        tool: row.text("tool")?.to_owned(),
        detail: row.text("detail")?.to_owned(),
        activity: row.optional_uuid("activity_id")?.map(ActivityId),
        state: row.text("state")?.parse()?,
        found_at: row.time("found_at")?,
        settled_at: row.optional_time("settled_at")?,
        note: row.optional_text("note")?.map(str::to_owned),
    })
}
