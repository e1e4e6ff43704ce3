//! Marks: a small file in each preservation store, beside its storage roots, that says which registry the store belongs to
//! and how many acts that registry has announced. An act is announced in the registry, then marked, then done in the
//! store. So a registry that knows fewer acts than a mark says is an older state of itself, whatever it was restored from.
//!
//! After the act the mark is written once more, and the registry notes how often it has been written. So a store whose mark was
//! written less often holds an older state of itself, and one that lies in another place does not pass for it.

mod comparing;
mod writing;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use strongroom_registry::epoch::RegistryEpoch;
use strongroom_storage::{Key, PutCondition, PutOptions, StorageError, Store};
use uuid::Uuid;

pub(crate) use comparing::{behind, check_epoch, contradiction, refusal};
pub(crate) use writing::{Confirmed, advance, announce, claim, confirm, confirm_in_each, confirm_since, note_first};

/// Where a mark lies. No institution can have this name, so no storage root holds it.
pub(crate) const KEY: &str = "_strongroom/registry.json";
/// The form written today.
const FORM: u32 = 1;
/// No mark is near this long.
const LONGEST: u64 = 16 * 1024;
/// What a store says of its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    form: u32,
    /// The registry.
    pub registry: Uuid,
    /// Its term: raised by each adoption.
    pub term: u64,
    /// How many acts it had announced before the latest one in this store was begun.
    pub acts: u64,
    /// How often it was written.
    #[serde(default)]
    pub revision: u64,
    /// The store that it was written into; none in marks of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Uuid>,
}

impl Watermark {
    fn of(epoch: RegistryEpoch, store: &dyn Store) -> Self {
        let RegistryEpoch { registry, term, acts } = epoch;
        Self { form: FORM, registry, term, acts, revision: 0, store: store.id() }
    }

    /// The same in this store, written once more behind `before`.
    fn behind(self, before: Option<&Self>) -> Self {
        Self { revision: before.map_or(0, |before| before.revision) + 1, ..self }
    }

    /// Whether it was written by the registry of this epoch, in its term.
    fn is_by(&self, epoch: &RegistryEpoch) -> bool {
        self.registry == epoch.registry && self.term == epoch.term
    }

    /// Whether it was written by an earlier state of the registry of this epoch.
    fn is_before(&self, epoch: &RegistryEpoch) -> bool {
        self.registry == epoch.registry && self.term < epoch.term
    }

    /// Whether it was written into this store, as far as it says.
    fn is_of(&self, store: &dyn Store) -> bool {
        self.store.is_none() || self.store == store.id()
    }
}

/// What lies where a store's mark belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredWatermark {
    /// Nothing: no registry has kept anything there yet.
    None,
    /// A mark.
    Watermark(Watermark),
    /// Something that is no mark, and why not.
    Unreadable(String),
}

impl StoredWatermark {
    fn mark(&self) -> Option<&Watermark> {
        match self {
            Self::Watermark(mark) => Some(mark),
            Self::None | Self::Unreadable(_) => None,
        }
    }
}

/// The marks that this process has written, by store; one thread at a time writes the mark of a store.
#[derive(Default)]
pub(crate) struct Marks {
    stores: Mutex<BTreeMap<String, Arc<Written>>>,
}

#[derive(Default)]
struct Written {
    /// How many have asked for the mark to be written behind their act.
    asked: AtomicU64,
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    /// The mark that this process wrote last, and its etag.
    last: Option<(Watermark, String)>,
    /// The latest mark behind acts, and how many had asked for it before it was begun: it is written for all of them.
    confirmed: Option<(u64, Watermark)>,
}

impl Marks {
    fn of(&self, store: &str) -> Arc<Written> {
        lock(&self.stores).entry(store.to_owned()).or_default().clone()
    }

    /// Forgets what was written last: another process has written it since.
    fn forget(&self, store: &str) {
        lock(&self.of(store).slot).last = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key() -> Result<Key, StorageError> {
    Ok(Key::new(KEY)?)
}

/// Reads the mark of a store.
pub fn read(store: &dyn Store) -> Result<StoredWatermark, StorageError> {
    Ok(read_with_etag(store)?.0)
}

fn read_with_etag(store: &dyn Store) -> Result<(StoredWatermark, Option<String>), StorageError> {
    let key = key()?;
    let head = match store.head(&key) {
        Ok(head) => head,
        Err(error) if error.is_not_found() => return Ok((StoredWatermark::None, None)),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let body = match store.open(&key, 0, Some(LONGEST)) {
        Ok(body) => body,
        Err(error) if error.is_not_found() => return Ok((StoredWatermark::None, None)),
        Err(error) => return Err(error),
    };
    body.take(LONGEST).read_to_end(&mut bytes).map_err(|source| StorageError::Io {
        store: store.name().to_owned(),
        act: "read",
        key,
        source,
    })?;
    let found = match serde_json::from_slice::<Watermark>(&bytes) {
        Ok(mark) if mark.form == FORM => StoredWatermark::Watermark(mark),
        Ok(mark) => StoredWatermark::Unreadable(format!("it has form {}, this program knows {FORM}", mark.form)),
        Err(error) => StoredWatermark::Unreadable(error.to_string()),
    };
    Ok((found, Some(head.etag)))
}

/// Puts a mark where what lies there is still what `etag` says (none: nothing); its etag, or none where it is not.
fn put(store: &dyn Store, mark: &Watermark, etag: Option<&str>) -> Result<Option<String>, StorageError> {
    let mut bytes = serde_json::to_vec(mark).unwrap_or_default();
    bytes.push(b'\n');
    let condition = match etag {
        _ if !store.capabilities().conditional_put => PutCondition::Always,
        Some(etag) => PutCondition::IfMatch(etag.to_owned()),
        None => PutCondition::IfAbsent,
    };
    let options = PutOptions { size: Some(bytes.len() as u64), condition, ..PutOptions::default() };
    match store.put(&key()?, &mut bytes.as_slice(), &options) {
        Ok(head) => Ok(Some(head.etag)),
        Err(StorageError::Condition { .. }) => Ok(None),
        // Gone since it was read.
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
