//! A store in memory, atomic in its assemblies or not, that can be told to fail from some write on.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use strongroom_digest::{Algorithm, hash_reader};
use strongroom_storage::{
    Assembly, Body, Capabilities, Head, Key, Listed, Listing, PutCondition, PutOptions, RemovalHold, StorageError,
    Store,
};

type Files = BTreeMap<Key, Vec<u8>>;

#[derive(Default)]
struct State {
    files: Files,
    assemblies: BTreeMap<String, Files>,
    committed: Vec<String>,
    /// Writes that still succeed, when any are to fail.
    writes_left: Option<usize>,
    altered: Option<Key>,
    interference: Option<(Key, Vec<u8>)>,
    unreadable: Option<Key>,
    opened: Vec<Key>,
    puts: Vec<Put>,
}

/// A put that was asked for, also one that was refused.
#[derive(Debug, Clone)]
pub(crate) struct Put {
    pub(crate) key: String,
    /// The key is one of an assembly.
    pub(crate) is_assembled: bool,
    pub(crate) options: PutOptions,
}

#[derive(Clone)]
pub(crate) struct MemoryStore {
    atomic: bool,
    /// Whether puts honour their condition; else they overwrite whatever they were told.
    conditional: bool,
    /// Whether heads carry a checksum that counts as strong.
    vouches: Option<Algorithm>,
    state: Arc<Mutex<State>>,
}

struct MemoryAssembly {
    store: MemoryStore,
    id: String,
    target: Key,
}

impl MemoryStore {
    /// A store of its own that holds the same.
    pub(crate) fn fork(&self) -> Self {
        let forked = if self.atomic { Self::folder() } else { Self::bucket() };
        {
            let (from, mut to) = (self.lock(), forked.lock());
            to.files.clone_from(&from.files);
            to.assemblies.clone_from(&from.assemblies);
            to.committed.clone_from(&from.committed);
        }
        forked
    }

    /// As a folder: assemblies are renamed in.
    pub(crate) fn folder() -> Self {
        Self { atomic: true, conditional: true, vouches: None, state: Arc::default() }
    }

    /// As S3: keys are final from the first put.
    pub(crate) fn bucket() -> Self {
        Self { atomic: false, conditional: true, vouches: None, state: Arc::default() }
    }

    /// As S3 at a maker whose service ignores conditions.
    pub(crate) fn unconditional() -> Self {
        Self { conditional: false, ..Self::bucket() }
    }

    /// The same, with the store's own word on digests of this algorithm.
    pub(crate) fn vouching(self, algorithm: Algorithm) -> Self {
        Self { vouches: Some(algorithm), ..self }
    }

    /// From the next put on, the bytes under `key` are altered after the put of it was answered.
    pub(crate) fn alter_after_put(&self, key: &str) {
        self.lock().altered = Some(Key::new(key).unwrap());
    }

    /// Before the next put of `key`, somebody else puts `bytes` there.
    pub(crate) fn interfere(&self, key: &str, bytes: &[u8]) {
        self.lock().interference = Some((Key::new(key).unwrap(), bytes.to_vec()));
    }

    /// Reads of `key` fail, for a reason other than its absence.
    pub(crate) fn unreadable(&self, key: &str) {
        self.lock().unreadable = Some(Key::new(key).unwrap());
    }

    /// Keys of an assembly that is not committed.
    pub(crate) fn assembled(&self, id: &str) -> Vec<String> {
        self.lock().assemblies.get(id).into_iter().flatten().map(|(key, _)| key.to_string()).collect()
    }

    /// Replaces what lies in an assembly that is not committed.
    pub(crate) fn set_assembled(&self, id: &str, key: &str, bytes: &[u8]) {
        self.lock().assemblies.entry(id.to_owned()).or_default().insert(Key::new(key).unwrap(), bytes.to_vec());
    }

    /// How often `key` is opened while `act` runs.
    pub(crate) fn reads(&self, key: &str, act: impl FnOnce()) -> usize {
        self.lock().opened.clear();
        act();
        let key = Key::new(key).unwrap();
        self.lock().opened.iter().filter(|opened| **opened == key).count()
    }

    /// Everything that was asked to be put while `act` ran.
    pub(crate) fn puts<T>(&self, act: impl FnOnce() -> T) -> (Vec<Put>, T) {
        self.lock().puts.clear();
        let outcome = act();
        (self.lock().puts.clone(), outcome)
    }

    fn note(&self, key: &Key, is_assembled: bool, options: &PutOptions) {
        self.lock().puts.push(Put { key: key.to_string(), is_assembled, options: options.clone() });
    }

    fn check_readable(&self, key: &Key) -> Result<(), StorageError> {
        if self.lock().unreadable.as_ref() == Some(key) {
            let source = std::io::Error::other("told to be unreadable");
            return Err(StorageError::Io { store: "memory".into(), act: "read", key: key.clone(), source });
        }
        Ok(())
    }

    fn head_of(&self, bytes: &[u8]) -> Head {
        let checksum = self.vouches.map(|algorithm| {
            let digests = hash_reader(bytes, &[algorithm]).unwrap().1;
            (algorithm, digests.get(algorithm).unwrap())
        });
        Head { checksum, ..head_of(bytes) }
    }

    /// Everything below a directory of the disk.
    pub(crate) fn load(directory: &Path) -> Self {
        let store = Self::folder();
        store.load_below(directory, &Key::ROOT);
        store
    }

    fn load_below(&self, directory: &Path, prefix: &Key) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let key = prefix.join(entry.file_name().to_str().unwrap()).unwrap();
            if entry.file_type().unwrap().is_dir() {
                self.load_below(&entry.path(), &key);
            } else {
                self.set(key.as_str(), &std::fs::read(entry.path()).unwrap());
            }
        }
    }

    pub(crate) fn set(&self, key: &str, bytes: &[u8]) {
        self.lock().files.insert(Key::new(key).unwrap(), bytes.to_vec());
    }

    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.lock().files.get(&Key::new(key).unwrap()).cloned()
    }

    pub(crate) fn remove(&self, key: &str) {
        self.lock().files.remove(&Key::new(key).unwrap());
    }

    pub(crate) fn files(&self) -> Files {
        self.lock().files.clone()
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.lock().files.keys().map(ToString::to_string).collect()
    }

    /// Lets `count` more writes succeed, or all of them.
    pub(crate) fn fail_after(&self, count: Option<usize>) {
        self.lock().writes_left = count;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn not_found(key: &Key) -> StorageError {
        StorageError::NotFound { store: "memory".into(), key: key.clone() }
    }

    fn write(&self, key: &Key) -> Result<MutexGuard<'_, State>, StorageError> {
        let mut state = self.lock();
        if let Some(left) = state.writes_left.as_mut() {
            if *left == 0 {
                let source = std::io::Error::other("told to fail");
                return Err(StorageError::Io { store: "memory".into(), act: "write", key: key.clone(), source });
            }
            *left -= 1;
        }
        Ok(state)
    }

    fn checked(key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Vec<u8>, StorageError> {
        let mut bytes = Vec::new();
        let source = |source| StorageError::Source { store: "memory".into(), key: key.clone(), source };
        body.read_to_end(&mut bytes).map_err(source)?;
        let declared_size = options.size.unwrap_or(bytes.len() as u64);
        let digest_holds = options.digest.is_none_or(|(algorithm, digest)| {
            hash_reader(&*bytes, &[algorithm]).unwrap().1.get(algorithm) == Some(digest)
        });
        if declared_size != bytes.len() as u64 || !digest_holds {
            return Err(StorageError::Mismatch {
                store: "memory".into(),
                key: key.clone(),
                declared: format!("{:?}", options.digest),
                found: "other bytes".into(),
            });
        }
        Ok(bytes)
    }
}

fn head_of(bytes: &[u8]) -> Head {
    let etag = hash_reader(bytes, &[Algorithm::Md5]).unwrap().1;
    let etag = etag.get(Algorithm::Md5).unwrap().to_hex();
    Head { size: bytes.len() as u64, etag, class: None, readable: true, checksum: None }
}

impl Store for MemoryStore {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn capabilities(&self) -> Capabilities {
        let strong_checksum = self.vouches.is_some();
        Capabilities { conditional_put: self.conditional, strong_checksum, atomic_assembly: self.atomic }
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.check_readable(key)?;
        self.lock().files.get(key).map(|bytes| self.head_of(bytes)).ok_or_else(|| Self::not_found(key))
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        self.check_readable(key)?;
        self.lock().opened.push(key.clone());
        let bytes = self.lock().files.get(key).cloned().ok_or_else(|| Self::not_found(key))?;
        let mut cursor = Cursor::new(bytes);
        cursor.set_position(offset);
        Ok(Box::new(cursor.take(length.unwrap_or(u64::MAX))))
    }

    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        self.note(key, false, options);
        let bytes = Self::checked(key, body, options)?;
        let head = head_of(&bytes);
        let mut state = self.write(key)?;
        if let Some((_, bytes)) = state.interference.take_if(|(at, _)| at == key) {
            state.files.insert(key.clone(), bytes);
        }
        let existing = state.files.get(key).map(|bytes| head_of(bytes).etag);
        let holds = match &options.condition {
            PutCondition::Always => true,
            _ if !self.conditional => panic!("a condition was asked of a store that honours none"),
            PutCondition::IfAbsent => existing.is_none(),
            PutCondition::IfMatch(etag) => existing.as_ref() == Some(etag),
        };
        if !holds {
            let condition = format!("{:?}", options.condition);
            return Err(StorageError::Condition { store: "memory".into(), key: key.clone(), condition });
        }
        state.files.insert(key.clone(), bytes);
        if state.altered.take_if(|altered| altered == key).is_some() {
            state.files.entry(key.clone()).or_default().push(b'!');
        }
        Ok(head)
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        let prefix = prefix.clone();
        let files = self.lock().files.clone().into_iter();
        Ok(Box::new(
            files
                .filter(move |(key, _)| key.below(&prefix).is_some())
                .map(|(key, bytes)| Ok(Listed { key, size: bytes.len() as u64, etag: head_of(&bytes).etag })),
        ))
    }

    fn delete(&self, key: &Key) -> Result<(), StorageError> {
        self.write(key)?.files.remove(key);
        Ok(())
    }

    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.write(prefix)?.files.retain(|key, _| key != prefix && key.below(prefix).is_none());
        Ok(())
    }

    fn purge(&self, key: &Key) -> Result<(), StorageError> {
        self.delete(key)
    }

    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.delete_all(prefix)
    }

    fn purge_replaced(&self, key: &Key) -> Result<(), StorageError> {
        self.write(key).map(drop)
    }

    fn removal_hold(&self, key: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.check_readable(key).map(|()| None)
    }

    fn removal_hold_below(&self, prefix: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.check_readable(prefix).map(|()| None)
    }

    fn assembly(&self, id: &str, target: &Key) -> Result<Box<dyn Assembly>, StorageError> {
        self.lock().assemblies.entry(id.to_owned()).or_default();
        Ok(Box::new(MemoryAssembly { store: self.clone(), id: id.to_owned(), target: target.clone() }))
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        Ok(self.lock().assemblies.keys().cloned().collect())
    }
}

impl MemoryAssembly {
    fn bytes(&self, key: &Key) -> Result<Vec<u8>, StorageError> {
        self.store.check_readable(key)?;
        let state = self.store.lock();
        let pending = state.assemblies.get(&self.id).and_then(|files| files.get(key));
        let visible = self.target.join(key.as_str()).ok().and_then(|key| state.files.get(&key).cloned());
        pending.cloned().or(visible).ok_or_else(|| MemoryStore::not_found(key))
    }
}

impl Assembly for MemoryAssembly {
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        if !self.store.atomic {
            // As S3 refuses it: what is not the assembly's own could not be told from others' when it is discarded.
            assert!(key.as_str().split('/').any(|segment| segment == self.id), "{key} is no key of {}", self.id);
            return self.store.put(&self.target.join(key.as_str())?, body, options);
        }
        self.store.note(key, true, options);
        let bytes = MemoryStore::checked(key, body, options)?;
        let head = head_of(&bytes);
        let mut state = self.store.write(key)?;
        state.assemblies.entry(self.id.clone()).or_default().insert(key.clone(), bytes);
        Ok(head)
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        Ok(head_of(&self.bytes(key)?))
    }

    fn open(&self, key: &Key) -> Result<Body, StorageError> {
        Ok(Box::new(Cursor::new(self.bytes(key)?)))
    }

    fn list<'a>(
        &'a self,
        prefix: &Key,
    ) -> Result<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'a>, StorageError> {
        let state = self.store.lock();
        let pending = state.assemblies.get(&self.id).filter(|files| !files.is_empty()).cloned();
        let visible = || {
            let below = state.files.iter();
            below.filter_map(|(key, bytes)| Some((Key::new(key.below(&self.target)?).ok()?, bytes.clone()))).collect()
        };
        let files: Files = pending.unwrap_or_else(visible);
        let prefix = prefix.clone();
        Ok(Box::new(
            files
                .into_iter()
                .filter(move |(key, _)| key.below(&prefix).is_some())
                .map(|(key, bytes)| Ok(Listed { key, size: bytes.len() as u64, etag: head_of(&bytes).etag })),
        ))
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn commit(&self) -> Result<(), StorageError> {
        let mut state = self.store.write(&self.target)?;
        let exists = state.files.keys().any(|key| key.below(&self.target).is_some());
        if !self.store.atomic || state.committed.contains(&self.id) {
            return Ok(());
        }
        if exists {
            let reason = format!("{} exists", self.target);
            return Err(StorageError::Unusable { store: "memory".into(), reason });
        }
        for (key, bytes) in state.assemblies.remove(&self.id).unwrap_or_default() {
            state.files.insert(self.target.join(key.as_str())?, bytes);
        }
        state.committed.push(self.id.clone());
        Ok(())
    }

    fn discard(&self) -> Result<(), StorageError> {
        let mut state = self.store.write(&self.target)?;
        state.assemblies.remove(&self.id);
        if !self.store.atomic {
            let target = self.target.clone();
            let is_owned = |below: &str| below.split('/').any(|segment| segment == self.id);
            state.files.retain(|key, _| !key.below(&target).is_some_and(is_owned));
        }
        Ok(())
    }
}
