//! Passed fixity checks: one row of kind `fixity check` for the copies of an object in a store that were read one after
//! another, with the time of each copy (decision 14). A row is expanded on reading into an event for each copy;
//! the key and the digest of a copy come from the rows that the check compared it with.

use serde::{Deserialize, Serialize};
use strongroom_database::{Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::counted;
use crate::events::{Event, EventRow, derived_id};
use crate::interim::digest;
use crate::journal::Actor;
use crate::{ContentId, EventId, FileId, InstitutionId, ObjectId, RegistryError};

/// The act of comparing a copy with its recorded digest, by its term.
pub const FIXITY_CHECK: &str = "fixity check";

/// Copies of one object in one store that were read and have the recorded digests.
#[derive(Debug, Clone)]
pub struct PassedChecks {
    /// The identifier of the row, fixed by the caller.
    pub id: EventId,
    /// Whose the object is.
    pub institution: InstitutionId,
    /// The object.
    pub object: ObjectId,
    /// The store.
    pub store: String,
    /// What checked.
    pub agent: String,
    /// On whose behalf; an actor that the registry knows.
    pub actor: Option<Actor>,
    /// The copies.
    pub copies: Vec<PassedCopy>,
}

/// One copy of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassedCopy {
    /// The content.
    pub content: ContentId,
    /// The time of its check before, as it was listed.
    pub seen: Time,
    /// When it was read to its end.
    pub at: Time,
}

/// What the column `components` of such a row holds.
#[derive(Debug, Serialize, Deserialize)]
struct Components {
    passed: Passed,
}

#[derive(Debug, Serialize, Deserialize)]
struct Passed {
    store: String,
    /// Content, and microseconds before the time of the row.
    copies: Vec<(Uuid, i64)>,
}

/// A row of passed checks, read.
pub(crate) struct PassedRow {
    pub(crate) id: EventId,
    pub(crate) object: Option<ObjectId>,
    pub(crate) time: Time,
    pub(crate) agent: String,
    actor: Option<Actor>,
    components: Components,
}

impl PassedRow {
    /// Takes a row, where its components are those of passed checks.
    pub(crate) fn parse(components: &str, row: &EventRow) -> Option<Self> {
        let components = is_passed(components).then(|| serde_json::from_str(components).ok()).flatten()?;
        let (agent, actor) = (row.agent.clone(), row.actor.clone());
        Some(Self { id: row.id, object: row.object, time: Time(row.time), agent, actor, components })
    }

    /// Adds an event for each copy; only for those of a file's contents, where `of` names them.
    pub(crate) fn expand(
        &self,
        tx: &mut dyn Transaction,
        of: Option<&[ContentId]>,
        events: &mut Vec<Event>,
    ) -> Result<(), RegistryError> {
        let Passed { store, copies } = &self.components.passed;
        for (content, before) in copies {
            let content = ContentId(*content);
            if of.is_some_and(|contents| !contents.contains(&content)) {
                continue;
            }
            let row = tx.query_one(Statement("checks.copy"), &[content.into(), store.into()])?;
            let (key, sha512) = match &row {
                Some(row) => (row.optional_text("key")?.map(str::to_owned), Some(digest(row, "sha512")?)),
                None => (None, None),
            };
            let place = key.unwrap_or_else(|| format!("content {content}"));
            events.push(Event {
                id: derived_id(self.id.0, &content.to_string()),
                kind: FIXITY_CHECK.to_owned(),
                time: Time(self.time.0.saturating_sub(*before)),
                outcome: "success".to_owned(),
                detail: Some(format!("read from store {store}: {place}")),
                outcome_detail: sha512.map(|sha512| format!("sha512:{sha512}")),
                object: self.object,
                file: None,
                path: None,
                stores: vec![store.clone()],
                agent: self.agent.clone(),
                actor: self.actor.clone(),
            });
        }
        Ok(())
    }
}

/// Whether the components of a row are those of passed checks.
pub(crate) fn is_passed(components: &str) -> bool {
    components.starts_with("{\"passed\":")
}

/// The store and the number of copies of passed checks.
pub(crate) fn copies_of(components: &str) -> Option<(String, u64)> {
    let components: Components = is_passed(components).then(|| serde_json::from_str(components).ok()).flatten()?;
    Some((components.passed.store, components.passed.copies.len() as u64))
}

/// The contents that a file had at any version.
pub(crate) fn contents_of_file(tx: &mut dyn Transaction, file: FileId) -> Result<Vec<ContentId>, RegistryError> {
    let rows = tx.query(Statement("checks.contents_of_file"), &[file.into()])?;
    rows.iter().map(|row| Ok(ContentId(row.uuid("content_id")?))).collect()
}

/// Records that copies were read and are right: the time of each, and one event for all, together. A copy that was recorded
/// otherwise since it was listed gets neither. At most [`ROWS_AT_ONCE`](crate::versions::ROWS_AT_ONCE) at a time; how many
/// were recorded.
pub fn record(tx: &mut dyn Transaction, checks: &PassedChecks) -> Result<usize, RegistryError> {
    let mut recorded = Vec::with_capacity(checks.copies.len());
    for copy in &checks.copies {
        // A check in the same microsecond as the last still moves the clock on.
        let at = Time(copy.at.0.max(copy.seen.0.saturating_add(1)));
        let values = [copy.content.into(), (&checks.store).into(), copy.seen.into(), at.into()];
        if tx.execute(Statement("fixity.passed"), &values)? == 1 {
            recorded.push((copy.content.0, at));
        }
    }
    let Some(time) = recorded.iter().map(|(_, at)| *at).max() else { return Ok(0) };
    let copies = recorded.iter().map(|(content, at)| (*content, time.0.saturating_sub(at.0))).collect();
    let components = Components { passed: Passed { store: checks.store.clone(), copies } };
    let components = serde_json::to_string(&components).map_err(|_| RegistryError::Corrupt {
        wanted: "the components of passed checks",
        found: format!("{} copies", recorded.len()),
    })?;
    let none = Value::Null;
    let values: [Value; 16] = [
        checks.id.into(),
        checks.institution.into(),
        checks.object.into(),
        none.clone(),
        none.clone(),
        none.clone(),
        none,
        FIXITY_CHECK.into(),
        components.into(),
        time.into(),
        "success".into(),
        format!("{} read from store {}", counted(recorded.len() as u64, "copy", "copies"), checks.store).into(),
        Value::Null,
        (&checks.agent).into(),
        checks.actor.as_ref().map(|actor| actor.id).into(),
        (&checks.store).into(),
    ];
    tx.execute(Statement("events.insert"), &values)?;
    Ok(recorded.len())
}
