//! PREMIS events: append-only. Acts that always come together when a file is ingested are one row, expanded on
//! reading: a payload file's fixity checks against its manifests, its four digest calculations, the identification of
//! its format, its ingestion, its identifiers, its replication. The identifiers of the parts follow from that of the
//! row, so that they never change.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use strongroom_database::{DatabaseError, Row, Statement, Time, Transaction};
use strongroom_digest::Algorithm;
use uuid::Uuid;

use crate::checks::{self, PassedRow};
use crate::interim::digest;
use crate::journal::{self, Actor};
use crate::model::ids::derived;
use crate::{ContentId, Digests, EventId, FileId, Format, InstitutionId, ItemId, ObjectId, RegistryError, Scope};

/// An event as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    /// Its identifier.
    pub id: EventId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The object it is about.
    pub object: Option<ObjectId>,
    /// The file it is about.
    pub file: Option<FileId>,
    /// The content it is about.
    pub content: Option<ContentId>,
    /// The work item it happened in.
    pub item: Option<ItemId>,
    /// The version it belongs to; readers see it once that is published.
    pub version: Option<u64>,
    /// The act, by its term in the Library of Congress vocabulary where it has one.
    pub kind: String,
    /// For a row that stands for several acts: which.
    // The key in the records that lie in stores.
    #[serde(rename = "expansion")]
    pub components: Option<Components>,
    /// When, in microseconds since the epoch.
    pub time: i64,
    /// `success`, `failure` or `warning`.
    pub outcome: String,
    /// What was done.
    pub detail: Option<String>,
    /// What came of it.
    pub outcome_detail: Option<String>,
    /// The store that it is about, for an act on one copy or on what lies beside the copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// What did it.
    pub agent: String,
    /// On whose behalf, where that is known; an actor that the registry knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

impl EventRow {
    /// The same, on behalf of an actor that the registry knows; none where the program acted by itself.
    #[must_use]
    pub fn on_behalf_of(self, actor: Option<&Actor>) -> Self {
        Self { actor: actor.cloned(), ..self }
    }

    /// The same, about what lies in a store.
    #[must_use]
    pub fn in_store(self, store: &str) -> Self {
        Self { store: Some(store.to_owned()), ..self }
    }
}

/// Which acts a row of kind `ingestion` stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Components {
    /// The file is new: its identifiers were assigned.
    pub new: bool,
    /// The algorithms of the payload manifests that it was checked against.
    pub checked: Vec<Algorithm>,
    /// The stores that hold it.
    pub stores: Vec<String>,
    /// What its format was found to be; none where it was not identified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

/// One event as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its identifier.
    pub id: EventId,
    /// The act.
    pub kind: String,
    /// When.
    pub time: Time,
    /// How it went.
    pub outcome: String,
    /// What was done.
    pub detail: Option<String>,
    /// What came of it.
    pub outcome_detail: Option<String>,
    /// The object.
    pub object: Option<ObjectId>,
    /// The file.
    pub file: Option<FileId>,
    /// The path of the file within the object.
    pub path: Option<String>,
    /// The stores that it is about; none where it is about no copies, or was recorded without them.
    pub stores: Vec<String>,
    /// What did it.
    pub agent: String,
    /// On whose behalf; none where that is not known.
    pub actor: Option<Actor>,
}

/// A listing ends early when it has so many events: one row may stand for hundreds.
const EVENTS_AT_ONCE: usize = 10_000;

/// The act of finding out a file's format, by its term.
pub const FORMAT_IDENTIFICATION: &str = "format identification";

/// The outcome of an identification, and what was found: all PRONOM identifiers, the file's format first, or `unknown`.
pub fn identified(format: &Format) -> (&'static str, String) {
    match (&format.puid, &format.others) {
        (Some(puid), Some(others)) => ("success", format!("{puid} {others}")),
        (Some(puid), None) => ("success", puid.clone()),
        (None, _) => ("warning", "unknown".to_owned()),
    }
}

/// How a format was identified, with what it rests on, what to be wary of, and by which signature files.
pub fn identification_detail(format: &Format) -> String {
    let method = format.method.as_ref().map(|method| format!("by {method}"));
    let found = [method, format.basis.clone(), format.warning.clone(), format.signatures.clone()];
    found.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// An identifier that follows from others, so that making it again makes the same one.
pub fn derived_id(from: Uuid, label: &str) -> EventId {
    EventId(derived(from, label))
}

/// Appends events; those that are there already stay as they are.
pub fn append(tx: &mut dyn Transaction, events: &[EventRow]) -> Result<(), RegistryError> {
    let mut lists = Vec::with_capacity(events.len());
    for event in events {
        let components = event.components.as_ref().map(serde_json::to_string).transpose();
        let components = components.map_err(|_| RegistryError::Corrupt {
            wanted: "an event's parts",
            found: format!("{:?}", event.components),
        })?;
        lists.push(vec![
            event.id.into(),
            event.institution.into(),
            event.object.into(),
            event.file.into(),
            event.content.into(),
            event.item.into(),
            event.version.into(),
            (&event.kind).into(),
            components.into(),
            event.time.into(),
            (&event.outcome).into(),
            event.detail.clone().into(),
            event.outcome_detail.clone().into(),
            (&event.agent).into(),
            event.actor.as_ref().map(|actor| actor.id).into(),
            event.store.clone().into(),
        ]);
    }
    tx.execute_each(Statement("events.insert"), &mut lists.into_iter())?;
    Ok(())
}

/// Appends events that a store names, whose actors the registry may not know.
pub fn import(tx: &mut dyn Transaction, events: &[EventRow]) -> Result<(), RegistryError> {
    let actors: BTreeSet<&Actor> = events.iter().filter_map(|event| event.actor.as_ref()).collect();
    for actor in actors {
        journal::know(tx, actor)?;
    }
    append(tx, events)
}

/// Where a listing of events goes on.
#[derive(Debug, Clone, Copy)]
pub struct EventCursor(Time, EventId);

impl EventCursor {
    /// Before the first.
    pub const START: Self = Self::since(Time(i64::MIN));

    /// Before the first of that time.
    pub const fn since(time: Time) -> Self {
        Self(time, EventId(Uuid::nil()))
    }
}

/// Events of an object (of one of its files when given) in the order of the rows by time: at most `rows` rows, each
/// expanded into its acts, fewer where these are many, and where to go on; `None` at the end.
pub fn of_object(
    tx: &mut dyn Transaction,
    scope: Scope,
    object: ObjectId,
    file: Option<FileId>,
    after: EventCursor,
    rows: usize,
) -> Result<(Vec<Event>, Option<EventCursor>), RegistryError> {
    let found = tx.query(
        Statement("events.of_object"),
        &[object.into(), scope.value(), after.0.into(), after.1.into(), file.into(), rows.into()],
    )?;
    let contents = file.map(|file| checks::contents_of_file(tx, file)).transpose()?;
    let mut events = Vec::new();
    let mut cursor = None;
    let mut is_last = found.len() < rows;
    for (index, row) in found.iter().enumerate() {
        let event = event_row(row)?;
        cursor = Some(EventCursor(Time(event.time), event.id));
        let components = row.optional_text("components")?;
        if let Some(passed) = components.and_then(|text| PassedRow::parse(text, &event)) {
            passed.expand(tx, contents.as_deref(), &mut events)?;
        } else {
            expand_row(row, &event, &mut events)?;
        }
        if events.len() >= EVENTS_AT_ONCE && index + 1 < found.len() {
            is_last = false;
            break;
        }
    }
    Ok((events, if is_last { None } else { cursor }))
}

/// Adds the acts that a row stands for, or the one that it is.
fn expand_row(row: &Row, event: &EventRow, events: &mut Vec<Event>) -> Result<(), RegistryError> {
    let path = row.optional_text("path")?;
    let digests = match row.optional_bytes("md5")? {
        None => None,
        Some(_) => Some(Digests {
            md5: digest(row, "md5")?,
            sha1: digest(row, "sha1")?,
            sha256: digest(row, "sha256")?,
            sha512: digest(row, "sha512")?,
        }),
    };
    expand(event, path, digests.as_ref(), events);
    Ok(())
}

/// How many rows of a kind a file has.
pub fn count_of_file(tx: &mut dyn Transaction, file: FileId, kind: &str) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("events.count_of_file"), &[file.into(), kind.into()])?;
    Ok(row.map_or(Ok(0), |row| row.count("events"))?)
}

/// Hands over the rows of a version, as they are kept with it in the stores.
pub fn of_version(
    tx: &mut dyn Transaction,
    object: ObjectId,
    version: u64,
    take: &mut dyn FnMut(EventRow) -> Result<(), DatabaseError>,
) -> Result<(), RegistryError> {
    tx.query_each(Statement("events.of_version"), &[object.into(), version.into()], &mut |row| {
        take(event_row(&row).map_err(|error| DatabaseError::Aborted(error.to_string()))?)
    })?;
    Ok(())
}

fn expand(row: &EventRow, path: Option<&str>, digests: Option<&Digests>, events: &mut Vec<Event>) {
    let shown = path.map(|path| path.strip_prefix(crate::objects::DEPOSIT).unwrap_or(path));
    let part = |label: &str, kind: &str, detail: String, outcome_detail: Option<String>| Event {
        id: if label.is_empty() { row.id } else { derived_id(row.id.0, label) },
        kind: kind.to_owned(),
        time: Time(row.time),
        outcome: row.outcome.clone(),
        detail: Some(detail),
        outcome_detail,
        object: row.object,
        file: row.file,
        path: shown.map(str::to_owned),
        stores: row.store.clone().into_iter().collect(),
        agent: row.agent.clone(),
        actor: row.actor.clone(),
    };
    let (Some(parts), Some(digests)) = (&row.components, digests) else {
        events.push(Event {
            detail: row.detail.clone(),
            ..part("", &row.kind, String::new(), row.outcome_detail.clone())
        });
        return;
    };
    let all = [
        (Algorithm::Md5, digests.md5),
        (Algorithm::Sha1, digests.sha1),
        (Algorithm::Sha256, digests.sha256),
        (Algorithm::Sha512, digests.sha512),
    ];
    if parts.new {
        let file = row.file.map(|file| file.to_string()).unwrap_or_default();
        events.push(part(
            "path",
            "identifier assignment",
            "path within the object".into(),
            Some(shown.unwrap_or_default().to_owned()),
        ));
        events.push(part("uuid", "identifier assignment", "lasting identifier of the file".into(), Some(file)));
    }
    for (algorithm, digest) in all {
        let detail = format!("calculated {algorithm} while the file was read");
        let label = format!("digest {algorithm}");
        events.push(part(&label, "message digest calculation", detail, Some(format!("{algorithm}:{digest}"))));
    }
    for (algorithm, digest) in all.into_iter().filter(|(algorithm, _)| parts.checked.contains(algorithm)) {
        let detail = format!("compared with manifest-{algorithm}.txt");
        events.push(part(&format!("check {algorithm}"), "fixity check", detail, Some(format!("{algorithm}:{digest}"))));
    }
    if let Some(format) = &parts.format {
        let (outcome, found) = identified(format);
        let detail = identification_detail(format);
        let act = part("format", FORMAT_IDENTIFICATION, detail, Some(found));
        events.push(Event { outcome: outcome.to_owned(), ..act });
    }
    let stored = format!("stored and read back from {}", parts.stores.join(", "));
    let in_stores = |event: Event| Event { stores: parts.stores.clone(), ..event };
    events.push(in_stores(part("", &row.kind, stored, row.outcome_detail.clone())));
    if parts.stores.len() > 1 {
        let copies = format!("{} copies: {}", parts.stores.len(), parts.stores.join(", "));
        let act = part("replication", "replication", "copied to more than one store".into(), Some(copies));
        events.push(in_stores(act));
    }
}

pub(crate) fn event_row(row: &Row) -> Result<EventRow, RegistryError> {
    let components = row
        .optional_text("components")?
        .filter(|text| !checks::is_passed(text))
        .map(|text| {
            serde_json::from_str(text)
                .map_err(|_| RegistryError::Corrupt { wanted: "an event's parts", found: text.to_owned() })
        })
        .transpose()?;
    Ok(EventRow {
        id: EventId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        object: row.optional_uuid("object_id")?.map(ObjectId),
        file: row.optional_uuid("file_id")?.map(FileId),
        content: row.optional_uuid("content_id")?.map(ContentId),
        item: row.optional_uuid("item_id")?.map(ItemId),
        version: row.optional_integer("version")?.map(i64::unsigned_abs),
        kind: row.text("type")?.to_owned(),
        components,
        time: row.integer("time")?,
        outcome: row.text("outcome")?.to_owned(),
        detail: row.optional_text("detail")?.map(str::to_owned),
        outcome_detail: row.optional_text("outcome_detail")?.map(str::to_owned),
        store: row.optional_text("store")?.map(str::to_owned),
        agent: row.text("agent")?.to_owned(),
        actor: journal::optional_actor_row(row, "actor_id")?,
    })
}
