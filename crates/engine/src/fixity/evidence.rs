//! What is kept of damage: the bad bytes in quarantine with a note of where they lay, and one small file for each act in
//! the object's `logs/`, so that a registry can be made from the stores alone.

use serde::Serialize;
use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_registry::events::EventRow;
use strongroom_registry::{ContentId, EventId, FindingId, GenerationId, InstitutionId, ObjectId, Time};
use strongroom_storage::{Key, PutCondition, PutOptions, StorageError, Store};

use super::check;
use super::{GoOn, ObjectHold, OperationError};
use crate::interruptible::Interruptible;
use crate::logs;
use crate::{AGENT, EngineError, Home};

/// The form of log files written today.
const FORM: u32 = 1;

/// What an event is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) institution: InstitutionId,
    pub(crate) object: ObjectId,
    pub(crate) content: Option<ContentId>,
}

impl About {
    /// An event of now.
    pub(crate) fn event(self, time: Time, kind: &str, outcome: &str, detail: String, came_of_it: String) -> EventRow {
        EventRow {
            id: EventId::new(),
            institution: self.institution,
            object: Some(self.object),
            file: None,
            content: self.content,
            item: None,
            version: None,
            kind: kind.into(),
            components: None,
            time: time.0,
            outcome: outcome.into(),
            detail: Some(detail),
            outcome_detail: Some(came_of_it),
            store: None,
            agent: AGENT.into(),
            actor: None,
        }
    }
}

/// Bad bytes on their way to quarantine.
pub(super) struct DamagedCopy<'a> {
    pub(super) institution: &'a str,
    pub(super) object: ObjectId,
    /// The file that should be there, `<institution>/<object>: <path>`.
    pub(super) name: String,
    pub(super) finding: FindingId,
    pub(super) store: &'a dyn Store,
    pub(super) key: &'a Key,
    /// The digest that should have been found.
    pub(super) expected: Option<Digest>,
    /// What was found.
    pub(super) found: FoundBytes<'a>,
    pub(super) found_at: Time,
}

/// Bad bytes, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(super) enum FoundBytes<'a> {
    /// They were read: their size and digest.
    Read(u64, Digest),
    /// The medium cannot read them: their size, and what it said.
    Unreadable(u64, &'a str),
}

#[derive(Serialize)]
struct Note<'a> {
    form: u32,
    finding: FindingId,
    object: ObjectId,
    store: &'a str,
    key: &'a str,
    expected_sha512: Option<String>,
    found_sha512: Option<String>,
    found_size: u64,
    /// Why there are no bytes beside this note.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<&'a str>,
    found_at: String,
    agent: &'a str,
}

/// Keeps what is known of bad bytes. Where they can be read they are copied, read back and described; where the medium
/// cannot read them, a note says so. Returns the key of the bytes, or of the note. Repeating it copies nothing twice.
pub(super) fn quarantine(
    home: &Home,
    hold: &ObjectHold<'_>,
    witness: &DamagedCopy<'_>,
    go_on: &GoOn<'_>,
) -> Result<Key, OperationError> {
    let folder = format!("{}/{}", witness.institution, witness.finding);
    match witness.found {
        FoundBytes::Read(size, sha512) => {
            let key = Key::new(format!("{folder}/{sha512}")).map_err(StorageError::from)?;
            keep_bytes(home, hold, witness, &key, (size, sha512), go_on)?;
            put_note(home, hold, witness, &Key::new(format!("{key}.json")).map_err(StorageError::from)?)?;
            Ok(key)
        }
        FoundBytes::Unreadable(..) => {
            let name = hash_reader(witness.key.as_str().as_bytes(), &[Algorithm::Sha256])
                .ok()
                .and_then(|(_, digests)| digests.get(Algorithm::Sha256))
                .map_or_else(String::new, |digest| digest.to_hex());
            // Of one finding several files may be unreadable: each has a note of its own, named by its key.
            let key = Key::new(format!("{folder}/unreadable-{name}.json")).map_err(StorageError::from)?;
            put_note(home, hold, witness, &key)?;
            Ok(key)
        }
    }
}

/// The event of bad bytes that were kept under `key`, or of which only a note could be kept there.
pub(super) fn quarantined(
    about: About,
    witness: &DamagedCopy<'_>,
    home: &Home,
    key: &Key,
) -> Result<EventRow, OperationError> {
    let place = format!("{} in store {} ({})", witness.name, witness.store.name(), witness.key);
    let to = home.roles.quarantine.name();
    let (outcome, detail, came_of_it) = match witness.found {
        FoundBytes::Read(_, sha512) => {
            ("success", format!("the bytes found as {place} are kept in store {to}"), format!("{key} sha512:{sha512}"))
        }
        FoundBytes::Unreadable(size, reason) => (
            "failure",
            format!("the {size} bytes found as {place} could not be read ({reason}); a note is kept in store {to}"),
            key.to_string(),
        ),
    };
    Ok(about.event(super::now(home)?, "quarantine", outcome, detail, came_of_it).in_store(witness.store.name()))
}

fn keep_bytes(
    home: &Home,
    hold: &ObjectHold<'_>,
    witness: &DamagedCopy<'_>,
    key: &Key,
    found: (u64, Digest),
    go_on: &GoOn<'_>,
) -> Result<(), OperationError> {
    let to = home.roles.quarantine.as_ref();
    if lies_there(to, key, found, go_on)? {
        return Ok(());
    }
    // Only what was just seen not to be these bytes is replaced.
    let condition = condition_of(to, key)?;
    let body = witness.store.open(witness.key, 0, None)?;
    hold.keep()?;
    let mut body = hold.keeping(Interruptible::new(body, go_on));
    let digest = Some((Algorithm::Sha512, found.1));
    to.put(key, &mut body, &PutOptions { digest, size: Some(found.0), condition, ..PutOptions::default() })?;
    if lies_there(to, key, found, go_on)? {
        return Ok(());
    }
    Err(OperationError::from(EngineError::Usage(format!(
        "the store {} returns other bytes than were put into it: {key}",
        to.name()
    ))))
}

fn put_note(home: &Home, hold: &ObjectHold<'_>, witness: &DamagedCopy<'_>, key: &Key) -> Result<(), OperationError> {
    let (found_sha512, found_size, unreadable) = match witness.found {
        FoundBytes::Read(size, sha512) => (Some(sha512.to_hex()), size, None),
        FoundBytes::Unreadable(size, reason) => (None, size, Some(reason)),
    };
    let note = Note {
        form: FORM,
        finding: witness.finding,
        object: witness.object,
        store: witness.store.name(),
        key: witness.key.as_str(),
        expected_sha512: witness.expected.map(|digest| digest.to_hex()),
        found_sha512,
        found_size,
        unreadable,
        found_at: witness.found_at.to_string(),
        agent: AGENT,
    };
    let note = serde_json::to_vec_pretty(&note).map_err(|error| EngineError::Usage(error.to_string()))?;
    let to = home.roles.quarantine.as_ref();
    let condition = condition_of(to, key)?;
    hold.keep()?;
    let options = PutOptions { size: Some(note.len() as u64), condition, ..PutOptions::default() };
    to.put(key, &mut note.as_slice(), &options)?;
    Ok(())
}

/// The condition that a put replaces what lies under a key now, and nothing else. Stores that honour no conditions are put
/// to in any case.
pub(super) fn condition_of(store: &dyn Store, key: &Key) -> Result<PutCondition, StorageError> {
    let etag = match store.head(key) {
        Ok(head) => Some(head.etag),
        Err(error) if error.is_absent() => None,
        Err(error) => return Err(error),
    };
    Ok(replacing(store, etag.as_deref()))
}

/// The condition that a put replaces what has this etag, or nothing where there is none.
pub(super) fn replacing(store: &dyn Store, etag: Option<&str>) -> PutCondition {
    match etag {
        _ if !store.capabilities().conditional_put => PutCondition::Always,
        Some(etag) => PutCondition::IfMatch(etag.to_owned()),
        None => PutCondition::IfAbsent,
    }
}

fn lies_there(store: &dyn Store, key: &Key, expected: (u64, Digest), go_on: &GoOn<'_>) -> Result<bool, OperationError> {
    match check::read(store, key, go_on) {
        Ok(found) => Ok(found == expected),
        Err(OperationError::Engine(EngineError::Storage(error))) if error.is_absent() => Ok(false),
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
    /// What the medium said, where it cannot read what lies there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unreadable: Option<&'a str>,
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

/// Puts the log into every store that holds the object, by one who holds it now.
pub(super) fn put_log(
    home: &Home,
    hold: &ObjectHold<'_>,
    institution: &str,
    generation: GenerationId,
    log: &Log<'_>,
) -> Result<(), OperationError> {
    let bytes = serde_json::to_vec_pretty(&Formed { form: FORM, log })
        .map_err(|error| EngineError::Usage(error.to_string()))?;
    let name = logs::name(log.time, log.act, log.finding.0);
    hold.keep()?;
    Ok(logs::put(home, institution, log.object, generation, &name, &bytes)?)
}
