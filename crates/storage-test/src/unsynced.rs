//! A power cut on purpose: a store that loses what was put or removed and not synced since.
//!
//! Every put with [`Durability::OnSync`], every put into an assembly and every removal is noted until a sync that began
//! after it returns. [`Unsynced::cut`] then loses all of them at once. Nothing else of the store changes, so that what is
//! built on a store can be run over it unaltered. The bytes that a noted change replaced are kept in memory: for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use strongroom_storage::{
    Assembly, Body, Capabilities, Durability, Head, Key, Listed, Listing, PutOptions, RemovalHold, Retrieval,
    RetrievalRequest, StorageError, Store,
};
use uuid::Uuid;

/// What becomes of changes that had not reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// They never happened: what was put is gone, what was replaced or removed is back.
    Undone,
    /// The names reached the disk and the bytes only in part: what was put ends after half of its bytes.
    Torn,
}

/// A store over another that remembers what a power cut would take. Cloning gives another handle to the same store.
#[derive(Clone)]
pub struct Unsynced {
    inner: Arc<dyn Store>,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Default)]
struct Memory {
    /// Changes seen so far: the time by which a sync tells what it covers.
    count: u64,
    keys: BTreeMap<Key, Change>,
    assemblies: BTreeMap<String, Assembled>,
}

/// A change that has not reached the disk.
struct Change {
    at: u64,
    /// What lay there when the disk last agreed with what is read.
    before: Option<Vec<u8>>,
}

#[derive(Default)]
struct Assembled {
    target: Key,
    put: BTreeSet<Key>,
    loose: BTreeMap<Key, Change>,
}

impl Unsynced {
    /// Everything that `inner` holds now counts as synced.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, memory: Arc::default() }
    }

    /// How many keys a power cut would lose now.
    pub fn loose(&self) -> usize {
        let memory = self.lock();
        memory.keys.len() + memory.assemblies.values().map(|assembled| assembled.loose.len()).sum::<usize>()
    }

    /// Cuts the power: loses every change that was not synced; how many keys those were. Nobody else uses the store
    /// meanwhile, as after a power cut.
    pub fn cut(&self, loss: Loss) -> Result<usize, StorageError> {
        let lost = self.loose();
        let Memory { keys, assemblies, .. } = std::mem::take(&mut *self.lock());
        for (key, change) in keys {
            match (loss, change.before) {
                (Loss::Undone, Some(before)) => self.lay(&key, &before)?,
                (Loss::Undone, None) => self.inner.delete(&key)?,
                (Loss::Torn, _) => {
                    if let Some(bytes) = self.bytes(&key)? {
                        self.lay(&key, half(&bytes))?;
                    }
                }
            }
        }
        for (id, assembled) in assemblies {
            self.cut_assembly(&id, &assembled, loss)?;
        }
        self.inner.sync()?;
        Ok(lost)
    }

    fn cut_assembly(&self, id: &str, assembled: &Assembled, loss: Loss) -> Result<(), StorageError> {
        if assembled.loose.is_empty() {
            return Ok(());
        }
        let assembly = self.inner.assembly(id, &assembled.target)?;
        let mut left = BTreeMap::new();
        for key in &assembled.put {
            let found = read(assembly.open(key))?;
            let bytes = match (assembled.loose.get(key), loss) {
                (None, _) => found,
                (Some(change), Loss::Undone) => change.before.clone(),
                (Some(_), Loss::Torn) => found.map(|bytes| half(&bytes).to_vec()),
            };
            left.extend(bytes.map(|bytes| (key, bytes)));
        }
        assembly.discard()?;
        for (key, bytes) in left {
            assembly.put(key, &mut &*bytes, &PutOptions::default())?;
        }
        Ok(())
    }

    fn lay(&self, key: &Key, bytes: &[u8]) -> Result<(), StorageError> {
        self.inner.put(key, &mut &*bytes, &PutOptions::default()).map(|_| ())
    }

    fn bytes(&self, key: &Key) -> Result<Option<Vec<u8>>, StorageError> {
        read(self.inner.open(key, 0, None))
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a key of the store was changed; `before` is what lay there.
    fn note(&self, key: &Key, before: Option<Vec<u8>>) {
        let mut memory = self.lock();
        memory.count += 1;
        let at = memory.count;
        memory.keys.entry(key.clone()).and_modify(|change| change.at = at).or_insert(Change { at, before });
    }

    /// Syncs by `act`, and forgets what changed before it began.
    fn synced(&self, act: impl FnOnce() -> Result<(), StorageError>) -> Result<(), StorageError> {
        let begun = self.lock().count;
        act()?;
        let mut memory = self.lock();
        memory.keys.retain(|_, change| change.at > begun);
        for assembled in memory.assemblies.values_mut() {
            assembled.loose.retain(|_, change| change.at > begun);
        }
        Ok(())
    }

    fn put_loose(&self, key: &Key, put: &mut dyn FnMut() -> Result<Head, StorageError>) -> Result<Head, StorageError> {
        let before = self.bytes(key)?;
        let head = put()?;
        self.note(key, before);
        Ok(head)
    }
}

fn read(opened: Result<Body, StorageError>) -> Result<Option<Vec<u8>>, StorageError> {
    let mut bytes = Vec::new();
    match opened {
        Ok(mut body) => match body.read_to_end(&mut bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(source) => Err(StorageError::Io { store: "unsynced".to_owned(), act: "read", key: Key::ROOT, source }),
        },
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn half(bytes: &[u8]) -> &[u8] {
    bytes.split_at(bytes.len() / 2).0
}

impl Store for Unsynced {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn id(&self) -> Option<Uuid> {
        self.inner.id()
    }

    fn check_presence(&self) -> Result<(), StorageError> {
        self.inner.check_presence()
    }

    fn check_identity(&self) -> Result<(), StorageError> {
        self.inner.check_identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.inner.head(key)
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        self.inner.open(key, offset, length)
    }

    fn request_retrieval(&self, key: &Key, how: &RetrievalRequest) -> Result<Retrieval, StorageError> {
        self.inner.request_retrieval(key, how)
    }

    fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        self.inner.sweep_unfinished(age)
    }

    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        if options.durability == Durability::OnSync {
            return self.put_loose(key, &mut || self.inner.put(key, body, options));
        }
        let head = self.inner.put(key, body, options)?;
        self.lock().keys.remove(key);
        Ok(head)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.synced(|| self.inner.sync())
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        self.inner.list(prefix)
    }

    fn list_after(&self, prefix: &Key, after: &Key) -> Result<Listing, StorageError> {
        self.inner.list_after(prefix, after)
    }

    fn delete_match(&self, key: &Key, etag: &str, keep: &Key) -> Result<bool, StorageError> {
        let before = self.bytes(key)?;
        let is_gone = self.inner.delete_match(key, etag, keep)?;
        if is_gone && before.is_some() {
            self.note(key, before);
        }
        Ok(is_gone)
    }

    fn delete(&self, key: &Key) -> Result<(), StorageError> {
        let before = self.bytes(key)?;
        self.inner.delete(key)?;
        if before.is_some() {
            self.note(key, before);
        }
        Ok(())
    }

    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError> {
        let mut before = Vec::new();
        if !prefix.is_root() {
            for line in self.inner.list(prefix)? {
                let Ok(Listed { key, .. }) = line else { continue };
                before.extend(self.bytes(&key)?.map(|bytes| (key, bytes)));
            }
        }
        self.inner.delete_all(prefix)?;
        for (key, bytes) in before {
            self.note(&key, Some(bytes));
        }
        Ok(())
    }

    fn purge(&self, key: &Key) -> Result<(), StorageError> {
        self.inner.purge(key)?;
        self.lock().keys.remove(key);
        Ok(())
    }

    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.inner.purge_all(prefix)?;
        self.lock().keys.retain(|key, _| key.below(prefix).is_none());
        Ok(())
    }

    fn purge_replaced(&self, key: &Key) -> Result<(), StorageError> {
        self.inner.purge_replaced(key)
    }

    fn removal_hold(&self, key: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.inner.removal_hold(key)
    }

    fn removal_hold_below(&self, prefix: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.inner.removal_hold_below(prefix)
    }

    fn assembly(&self, id: &str, target: &Key) -> Result<Box<dyn Assembly>, StorageError> {
        let inner = self.inner.assembly(id, target)?;
        Ok(Box::new(UnsyncedAssembly { store: self.clone(), inner, id: id.to_owned(), target: target.clone() }))
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        self.inner.assemblies()
    }
}

struct UnsyncedAssembly {
    store: Unsynced,
    inner: Box<dyn Assembly>,
    id: String,
    target: Key,
}

impl Assembly for UnsyncedAssembly {
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        if !self.store.capabilities().atomic_assembly {
            let place = self.target.join(key.as_str())?;
            return self.store.put_loose(&place, &mut || self.inner.put(key, body, options));
        }
        let before = read(self.inner.open(key))?;
        let head = self.inner.put(key, body, options)?;
        let mut memory = self.store.lock();
        memory.count += 1;
        let at = memory.count;
        let assembled = memory.assemblies.entry(self.id.clone()).or_default();
        assembled.target = self.target.clone();
        assembled.put.insert(key.clone());
        assembled.loose.entry(key.clone()).and_modify(|change| change.at = at).or_insert(Change { at, before });
        Ok(head)
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.inner.head(key)
    }

    fn open(&self, key: &Key) -> Result<Body, StorageError> {
        self.inner.open(key)
    }

    fn list<'a>(
        &'a self,
        prefix: &Key,
    ) -> Result<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'a>, StorageError> {
        self.inner.list(prefix)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.store.synced(|| self.inner.sync())
    }

    fn commit(&self) -> Result<(), StorageError> {
        self.inner.commit()?;
        self.store.lock().assemblies.remove(&self.id);
        Ok(())
    }

    fn discard(&self) -> Result<(), StorageError> {
        self.inner.discard()?;
        self.store.lock().assemblies.remove(&self.id);
        Ok(())
    }
}
