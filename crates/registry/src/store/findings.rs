//! What checks of copies found wrong, and what became of it. Part of [`crate::fixity`].

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::problems;
use crate::{
    ContentId, FindingId, FindingKind, FindingState, InstitutionId, ObjectId, RegistryError, Scope, WaitReason,
};

/// Something wrong that was found, and what became of it.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Its identifier.
    pub id: FindingId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// Whose it is, by domain name.
    pub institution_identifier: String,
    /// The object.
    pub object: ObjectId,
    /// The object by its name.
    pub object_identifier: String,
    /// The content; none where inventories or declarations are wrong.
    pub content: Option<ContentId>,
    /// The store.
    pub store: String,
    /// The key within it; for inventories the object root.
    pub key: String,
    /// What is wrong.
    pub kind: FindingKind,
    /// What became of it.
    pub state: FindingState,
    /// In words.
    pub detail: String,
    /// Where the bad bytes are kept.
    pub quarantine_key: Option<String>,
    /// When it was found.
    pub found_at: Time,
    /// When it was repaired.
    pub repaired_at: Option<Time>,
    /// What its repair waits for; none while it does not wait.
    pub wait_reason: Option<WaitReason>,
}

/// A finding to be opened.
#[derive(Debug, Clone)]
pub struct NewFinding {
    /// Fixed by the caller.
    pub id: FindingId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The object.
    pub object: ObjectId,
    /// The content, if it is about one.
    pub content: Option<ContentId>,
    /// The store.
    pub store: String,
    /// The key within it.
    pub key: String,
    /// What is wrong.
    pub kind: FindingKind,
    /// In words.
    pub detail: String,
}

/// Opens a finding, or says anew what is wrong in one that is not solved: its repair waits for nothing then.
pub fn open_finding(tx: &mut dyn Transaction, new: &NewFinding) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(
        Statement("findings.insert"),
        &[
            new.id.into(),
            new.institution.into(),
            new.object.into(),
            new.content.into(),
            (&new.store).into(),
            (&new.key).into(),
            new.kind.as_str().into(),
            (&new.detail).into(),
            now.into(),
        ],
    )?;
    tx.execute(Statement("findings.reopen"), &[new.id.into(), new.kind.as_str().into(), (&new.detail).into()])?;
    problems::open_for_finding(tx, new)
}

/// Notes what the repair of an open finding waits for.
pub fn set_waiting(tx: &mut dyn Transaction, id: FindingId, reason: WaitReason) -> Result<(), RegistryError> {
    tx.execute(Statement("findings.wait"), &[id.into(), reason.as_str().into()])?;
    Ok(())
}

/// Notes where a finding's bad bytes are kept.
pub fn set_quarantined(tx: &mut dyn Transaction, id: FindingId, key: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("findings.quarantined"), &[id.into(), key.into()])?;
    Ok(())
}

/// Says what became of a finding.
pub fn close_finding(
    tx: &mut dyn Transaction,
    id: FindingId,
    state: FindingState,
    detail: &str,
) -> Result<(), RegistryError> {
    let repaired_at = if state == FindingState::Repaired { Some(tx.now()?) } else { None };
    tx.execute(Statement("findings.close"), &[id.into(), state.as_str().into(), detail.into(), repaired_at.into()])?;
    if state == FindingState::Repaired {
        problems::resolve_for_finding(tx, id, detail)?;
    }
    Ok(())
}

/// The finding of a copy (of an object's inventories where `content` is none) that is not solved.
pub fn unsolved(
    tx: &mut dyn Transaction,
    object: ObjectId,
    store: &str,
    content: Option<ContentId>,
) -> Result<Option<Finding>, RegistryError> {
    let values = [object.into(), store.into(), content.into()];
    tx.query_one(Statement("findings.unsolved"), &values)?.as_ref().map(finding_row).transpose()
}

/// A finding by its identifier.
pub fn finding(tx: &mut dyn Transaction, scope: Scope, id: FindingId) -> Result<Option<Finding>, RegistryError> {
    tx.query_one(Statement("findings.get"), &[id.into(), scope.value()])?.as_ref().map(finding_row).transpose()
}

/// Which findings are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct FindingFilter<'a> {
    /// Only those in this store.
    pub store: Option<&'a str>,
    /// What was repaired, and what was found in a store that is out of use, as well.
    pub repaired_too: bool,
}

/// Findings in order of their making, after `after`.
pub fn findings(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: FindingFilter<'_>,
    after: Option<FindingId>,
    limit: usize,
) -> Result<Vec<Finding>, RegistryError> {
    let after = after.unwrap_or(FindingId(Uuid::nil()));
    let values = [after.into(), scope.value(), filter.repaired_too.into(), limit.into(), filter.store.into()];
    tx.query(Statement("findings.list"), &values)?.iter().map(finding_row).collect()
}

fn finding_row(row: &Row) -> Result<Finding, RegistryError> {
    Ok(Finding {
        id: FindingId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        object: ObjectId(row.uuid("object_id")?),
        object_identifier: row.text("object_identifier")?.to_owned(),
        content: row.optional_uuid("content_id")?.map(ContentId),
        store: row.text("store")?.to_owned(),
        key: row.text("key")?.to_owned(),
        kind: row.text("kind")?.parse()?,
        state: row.text("state")?.parse()?,
        detail: row.text("detail")?.to_owned(),
        quarantine_key: row.optional_text("quarantine_key")?.map(str::to_owned),
        found_at: row.time("found_at")?,
        repaired_at: row.optional_time("repaired_at")?,
        wait_reason: row.optional_text("wait_reason")?.map(str::parse).transpose()?,
    })
}
