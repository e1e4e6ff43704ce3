//! What tools have found in files that are kept, such as a virus. A finding is open until the same tool passes the same bytes, or a
//! person dismisses it; nothing is done with the file by it. There is one for each file, content and tool, so that what is found again
//! is found once.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::model::ids::derived;
use crate::{ContentId, FileId, InstitutionId, ObjectId, RegistryError, Scope, ToolFindingId, ToolFindingState};

/// Something that a tool has found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFinding {
    /// Its identifier.
    pub id: ToolFindingId,
    /// Whose the file is.
    pub institution: InstitutionId,
    /// The same by domain name.
    pub institution_identifier: String,
    /// The object.
    pub object: ObjectId,
    /// The object by its name.
    pub object_identifier: String,
    /// The file.
    pub file: FileId,
    /// Its logical path.
    pub path: String,
    /// The content that the file had.
    pub content: ContentId,
    /// The tool.
    pub tool: String,
    /// What it has found, in its words.
    pub detail: String,
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
    /// Whose the file is.
    pub institution: InstitutionId,
    /// The object.
    pub object: ObjectId,
    /// The file.
    pub file: FileId,
    /// The content that it has.
    pub content: ContentId,
    /// The tool.
    pub tool: String,
    /// What it has found, in its words.
    pub detail: String,
    /// When.
    pub found_at: Time,
}

/// The identifier of what a tool finds in a file with a content.
pub fn id_of(file: FileId, content: ContentId, tool: &str) -> ToolFindingId {
    ToolFindingId(derived(file.0, &format!("tool finding:{content}:{tool}")))
}

/// Opens a finding. One that is open stays as it is, and so does one that a person has dismissed, unless the tool says something else.
pub fn open(tx: &mut dyn Transaction, new: &NewToolFinding) -> Result<(), RegistryError> {
    let values = [
        id_of(new.file, new.content, &new.tool).into(),
        new.institution.into(),
        new.object.into(),
        new.file.into(),
        new.content.into(),
        (&new.tool).into(),
        (&new.detail).into(),
        new.found_at.into(),
    ];
    tx.execute(Statement("tool_findings.open"), &values)?;
    Ok(())
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

/// Findings within a scope in order of their identifiers, after `after`; also those that are settled, where they are asked for.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    settled_too: bool,
    after: Option<ToolFindingId>,
    limit: usize,
) -> Result<Vec<ToolFinding>, RegistryError> {
    let after = after.unwrap_or(ToolFindingId(Uuid::nil()));
    let values = [after.into(), scope.value(), settled_too.into(), limit.into()];
    tx.query(Statement("tool_findings.list"), &values)?.iter().map(finding_row).collect()
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

fn finding_row(row: &Row) -> Result<ToolFinding, RegistryError> {
    Ok(ToolFinding {
        id: ToolFindingId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        object: ObjectId(row.uuid("object_id")?),
        object_identifier: row.text("object_identifier")?.to_owned(),
        file: FileId(row.uuid("file_id")?),
        path: row.text("path")?.to_owned(),
        content: ContentId(row.uuid("content_id")?),
        tool: row.text("tool")?.to_owned(),
        detail: row.text("detail")?.to_owned(),
        state: row.text("state")?.parse()?,
        found_at: row.time("found_at")?,
        settled_at: row.optional_time("settled_at")?,
        note: row.optional_text("note")?.map(str::to_owned),
    })
}
