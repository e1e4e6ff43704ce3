//! What was done with content items of plain stores, and what was found of them. Acts are appended, and never changed or removed: the database
//! refuses that.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::content_events::ContentEvent;
use super::objects::optional_count;
use crate::{ContentActKind, InstitutionId, RegistryError, Scope};

/// Longer details are cut, in characters: parts of them come from stores.
const LONGEST_DETAIL: usize = 2_000;

/// An act on a content item, or with an empty key on a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentAct {
    /// Whose rule it was; none for an event of what no rule copies.
    pub institution: Option<InstitutionId>,
    /// When, by the clock of the registry.
    pub time: Time,
    /// What was done, or found.
    pub kind: ContentActKind,
    /// The type of the PREMIS event.
    pub event_type: String,
    /// `success`, `failure` or `warning`.
    pub outcome: String,
    /// Who acted, or reported.
    pub actor: String,
    /// The store that is read, or of which an event was reported.
    pub source: String,
    /// The store that is written; none of an event.
    pub destination: Option<String>,
    /// The space.
    pub space: String,
    /// The key; empty for the space itself.
    pub key: String,
    /// The length in bytes.
    pub size: Option<u64>,
    /// The SHA-512 of the bytes, where they were read.
    pub sha512: Option<Vec<u8>>,
    /// The etag in the source.
    pub source_etag: Option<String>,
    /// The etag in the destination before the act; of what was found, as it was recorded.
    pub etag_before: Option<String>,
    /// The etag in the destination after it; of what was found, as it was found.
    pub etag_after: Option<String>,
    /// The task in which it was done.
    pub task: Option<ActTask>,
    /// The event of the source for which it was done.
    pub event: Option<ActEvent>,
    /// In words.
    pub detail: String,
}

/// A task in which something was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActTask {
    /// Its number.
    pub id: i64,
    /// Its topic.
    pub topic: String,
    /// Its attempt, from 1.
    pub attempt: u64,
    /// The version of the policy that applied.
    pub policy_version: u64,
}

/// An event for which something was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActEvent {
    /// Its identifier.
    pub id: Uuid,
    /// When it happened, by the clock of who reported it.
    pub happened_at: Time,
    /// Who reported it.
    pub actor: String,
    /// What they said of it.
    pub reason: String,
}

impl From<&ContentEvent> for ActEvent {
    fn from(event: &ContentEvent) -> Self {
        let ContentEvent { id, happened_at, actor, reason, .. } = event;
        Self { id: *id, happened_at: *happened_at, actor: actor.clone(), reason: reason.clone() }
    }
}

/// An act that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAct {
    /// Its number, in the order in which acts were written.
    pub id: u64,
    /// The domain name of the institution.
    pub institution_identifier: Option<String>,
    /// What it was.
    pub act: ContentAct,
}

/// Appends an act.
pub fn append(tx: &mut dyn Transaction, act: &ContentAct) -> Result<(), RegistryError> {
    // PostgreSQL holds no U+0000 in a text.
    let cut = |text: &str| text.replace('\0', "\u{fffd}").chars().take(LONGEST_DETAIL).collect::<String>();
    let (task, event) = (act.task.as_ref(), act.event.as_ref());
    let values = [
        act.institution.into(),
        act.time.into(),
        act.kind.as_str().into(),
        (&act.event_type).into(),
        (&act.outcome).into(),
        (&act.actor).into(),
        (&act.source).into(),
        act.destination.as_deref().into(),
        (&act.space).into(),
        (&act.key).into(),
        act.size.into(),
        act.sha512.clone().into(),
        act.source_etag.as_deref().into(),
        act.etag_before.as_deref().into(),
        act.etag_after.as_deref().into(),
        task.map(|task| task.id).into(),
        task.map(|task| task.topic.as_str()).into(),
        task.map(|task| task.attempt).into(),
        task.map(|task| task.policy_version).into(),
        event.map(|event| event.id).into(),
        event.map(|event| event.happened_at).into(),
        event.map(|event| event.actor.as_str()).into(),
        event.map(|event| cut(&event.reason)).into(),
        cut(&act.detail).into(),
    ];
    tx.execute(Statement("content_acts.append"), &values)?;
    Ok(())
}

/// The acts on a content item in a store within a scope, behind one, in the order in which they were written: those that read it there, wrote it
/// there, or were reported of it there.
pub fn of_item(
    tx: &mut dyn Transaction,
    scope: Scope,
    (store, space, key): (&str, &str, &str),
    after: u64,
    limit: usize,
) -> Result<Vec<RecordedAct>, RegistryError> {
    let place = [store.into(), space.into(), key.into(), after.into(), limit.into()];
    let rows = match scope {
        Scope::System => tx.query(Statement("content_acts.of_item"), &place)?,
        Scope::Institution(own) => {
            let [store, space, key, after, limit] = place;
            tx.query(Statement("content_acts.of_item_of"), &[store, space, key, after, limit, own.into()])?
        }
    };
    rows.iter().map(act_row).collect()
}

/// What was done last with a space of a destination: whether it was made or removed there.
pub fn last_of_space(
    tx: &mut dyn Transaction,
    (destination, space): (&str, &str),
) -> Result<Option<ContentActKind>, RegistryError> {
    let row = tx.query_one(Statement("content_acts.last_of_space"), &[destination.into(), space.into()])?;
    row.map(|row| row.text("act")?.parse()).transpose()
}

fn act_row(row: &Row) -> Result<RecordedAct, RegistryError> {
    let owned = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
    let task = row.optional_integer("task_id")?.map(|id| {
        Ok::<_, RegistryError>(ActTask {
            id,
            topic: owned("topic")?.unwrap_or_default(),
            attempt: optional_count(row, "attempt")?.unwrap_or_default(),
            policy_version: optional_count(row, "policy_version")?.unwrap_or_default(),
        })
    });
    let event = row.optional_uuid("event_id")?.map(|id| {
        Ok::<_, RegistryError>(ActEvent {
            id,
            happened_at: row.time("event_at")?,
            actor: owned("event_actor")?.unwrap_or_default(),
            reason: owned("event_reason")?.unwrap_or_default(),
        })
    });
    let act = ContentAct {
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        time: row.time("time")?,
        kind: row.text("act")?.parse()?,
        event_type: row.text("event_type")?.to_owned(),
        outcome: row.text("outcome")?.to_owned(),
        actor: row.text("actor")?.to_owned(),
        source: row.text("source")?.to_owned(),
        destination: owned("destination")?,
        space: row.text("space")?.to_owned(),
        key: row.text("key")?.to_owned(),
        size: optional_count(row, "size")?,
        sha512: row.optional_bytes("sha512")?.map(<[u8]>::to_vec),
        source_etag: owned("source_etag")?,
        etag_before: owned("etag_before")?,
        etag_after: owned("etag_after")?,
        task: task.transpose()?,
        event: event.transpose()?,
        detail: row.text("detail")?.to_owned(),
    };
    Ok(RecordedAct { id: row.count("id")?, institution_identifier: owned("institution_identifier")?, act })
}
