//! What is kept of damage: the bad bytes in quarantine with a note of where they lay, and one small file for each act in
//! the object's `logs/`, so that a registry can be made from the stores alone.

use serde::Serialize;
use strongroom_digest::{Algorithm, Digest};
use strongroom_registry::events::EventRow;
use strongroom_registry::{ContentId, EventId, FindingId, GenerationId, InstitutionId, ObjectId, Time};
use strongroom_storage::{Key, PutOptions, StorageError, Store};

use super::check::{self, Interruptible};
use super::{GoOn, Halt, ObjectHold};
use crate::logs;
use crate::{AGENT, EngineError, Home};

/// The form of log files written today.
const FORM: u32 = 1;

/// What an event is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    pub(super) institution: InstitutionId,
    pub(super) object: ObjectId,
    pub(super) content: Option<ContentId>,
}

impl About {
    /// An event of now.
    pub(super) fn event(self, time: Time, kind: &str, outcome: &str, detail: String, came_of_it: String) -> EventRow {
        EventRow {
            id: EventId::new(),
            institution: self.institution,
            object: Some(self.object),
            file: None,
            content: self.content,
            item: None,
            version: None,
            kind: kind.into(),
            expansion: None,
            time: time.0,
            outcome: outcome.into(),
            detail: Some(detail),
            outcome_detail: Some(came_of_it),
            agent: AGENT.into(),
        }
    }
}

/// Bad bytes on their way to quarantine.
pub(super) struct Witness<'a> {
    pub(super) institution: &'a str,
    pub(super) object: ObjectId,
    pub(super) finding: FindingId,
    pub(super) store: &'a dyn Store,
    pub(super) key: &'a Key,
    /// The digest that should have been found.
    pub(super) expected: Option<Digest>,
    /// Size and digest that were found.
    pub(super) found: (u64, Digest),
    pub(super) found_at: Time,
}

#[derive(Serialize)]
struct Note<'a> {
    form: u32,
    finding: FindingId,
    object: ObjectId,
    store: &'a str,
    key: &'a str,
    expected_sha512: Option<String>,
    found_sha512: String,
    found_size: u64,
    found_at: String,
    agent: &'a str,
}

/// Keeps bad bytes: copied, read back, and described. Repeating it copies nothing twice.
pub(super) fn quarantine(
    home: &Home,
    hold: &ObjectHold<'_>,
    witness: &Witness<'_>,
    go_on: &GoOn<'_>,
) -> Result<Key, Halt> {
    let (size, sha512) = witness.found;
    let hex = sha512.to_hex();
    let text = format!("{}/{}/{hex}", witness.institution, witness.finding);
    let key = Key::new(text).map_err(StorageError::from)?;
    let to = home.roles.quarantine.as_ref();
    if !lies_there(to, &key, witness.found, go_on)? {
        let body = witness.store.open(witness.key, 0, None)?;
        let mut body = hold.keeping(Interruptible { body, go_on });
        let digest = Some((Algorithm::Sha512, sha512));
        to.put(&key, &mut body, &PutOptions { digest, size: Some(size), ..PutOptions::default() })?;
        if !lies_there(to, &key, witness.found, go_on)? {
            return Err(Halt::from(EngineError::Usage(format!(
                "the store {} does not give back what was put into it: {key}",
                to.name()
            ))));
        }
    }
    let note = Note {
        form: FORM,
        finding: witness.finding,
        object: witness.object,
        store: witness.store.name(),
        key: witness.key.as_str(),
        expected_sha512: witness.expected.map(|digest| digest.to_hex()),
        found_sha512: hex,
        found_size: size,
        found_at: witness.found_at.to_string(),
        agent: AGENT,
    };
    let note = serde_json::to_vec_pretty(&note).map_err(|error| EngineError::Usage(error.to_string()))?;
    let beside = Key::new(format!("{key}.json")).map_err(StorageError::from)?;
    to.put(&beside, &mut note.as_slice(), &PutOptions { size: Some(note.len() as u64), ..PutOptions::default() })?;
    Ok(key)
}

fn lies_there(store: &dyn Store, key: &Key, expected: (u64, Digest), go_on: &GoOn<'_>) -> Result<bool, Halt> {
    match check::read(store, key, go_on) {
        Ok(found) => Ok(found == expected),
        Err(Halt::Engine(EngineError::Storage(error))) if error.is_not_found() => Ok(false),
        Err(halt) => Err(halt),
    }
}

/// One act, as it is kept in an object's `logs/`: `damage` when it was found and kept, then `repair` or `unrepairable`.
#[derive(Debug, Serialize)]
pub(super) struct Log<'a> {
    pub(super) act: &'a str,
    pub(super) finding: FindingId,
    pub(super) object: ObjectId,
    pub(super) content: Option<ContentId>,
    pub(super) store: &'a str,
    pub(super) key: &'a str,
    pub(super) kind: &'a str,
    pub(super) detail: &'a str,
    pub(super) expected_sha512: Option<String>,
    pub(super) found_sha512: Option<String>,
    pub(super) quarantine_key: Option<&'a str>,
    pub(super) repaired_from: Option<&'a str>,
    #[serde(serialize_with = "as_text")]
    pub(super) time: Time,
    /// The events of the act, whole.
    pub(super) events: &'a [EventRow],
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the serializer's own form
fn as_text<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

#[derive(Serialize)]
struct Formed<'a> {
    form: u32,
    #[serde(flatten)]
    log: &'a Log<'a>,
}

/// Puts the log into every store that holds the object.
pub(super) fn put_log(home: &Home, institution: &str, generation: GenerationId, log: &Log<'_>) -> Result<(), Halt> {
    let bytes = serde_json::to_vec_pretty(&Formed { form: FORM, log })
        .map_err(|error| EngineError::Usage(error.to_string()))?;
    let name = logs::name(log.time, log.act, log.finding.0);
    Ok(logs::put(home, institution, log.object, generation, &name, &bytes)?)
}
