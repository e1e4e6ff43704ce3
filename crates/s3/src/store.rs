//! The store itself: what every part of it shares, and the operations it offers.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use strongroom_storage::{
    Assembly, Body, Capabilities, Head, Key, Listing, PutOptions, Removal, RemovalHold, Retrieval, RetrievalRequest,
    StorageError, Store,
};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::assembly::S3Assembly;
use crate::buffers::Gauge;
use crate::failure::Failure;
use crate::key_locks::KeyLocks;
use crate::list::Pages;
use crate::probe::Probe;
use crate::resume::Swept;
use crate::versions::Scope;
use crate::{S3Settings, identity};

/// What the store keeps for itself lies below this, and is not listed.
pub(crate) const BOOKKEEPING: &str = ".strongroom";
/// Most bytes of a key (S3: object key names).
const LONGEST_KEY: usize = 1024;
/// For so long an answer proves that the bucket is there.
const BUCKET_SEEN_FOR: Duration = Duration::from_mins(1);

/// A store in a bucket of S3-compatible object storage. Any number of threads, processes and machines may use the same
/// one at once. Cloning gives another handle to the same store.
///
/// Put nothing that retries around it: it does so itself, see [`S3Settings::attempts`].
#[derive(Clone)]
pub struct S3Store {
    pub(crate) inner: Arc<Inner>,
}

/// What every part of the store shares.
pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) settings: S3Settings,
    pub(crate) prefix: Key,
    pub(crate) client: Client,
    pub(crate) runtime: Handle,
    pub(crate) gauge: Arc<Gauge>,
    pub(crate) id: Uuid,
    /// Whether the bucket is a space of a plain store: where it is missing, the space is, and the store is not away.
    pub(crate) is_space: bool,
    pub(crate) probe: RwLock<Probe>,
    pub(crate) permits: Arc<Semaphore>,
    /// Held by its key while an object is asked to be retrieved.
    pub(crate) retrieving: KeyLocks,
    bucket_seen: Mutex<Option<Instant>>,
    /// When the store's id was last read, or began to be.
    pub(crate) id_read: Mutex<Instant>,
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.inner;
        f.debug_struct("S3Store").field("name", &inner.name).field("settings", &inner.settings).finish_non_exhaustive()
    }
}

impl S3Store {
    /// Makes the bucket, or the part of it that the settings name, a store; opens it when it is one already. The bucket
    /// itself must exist.
    pub fn create(name: impl Into<String>, settings: S3Settings) -> Result<Self, StorageError> {
        identity::open(name.into(), settings, true)
    }

    /// Opens what was made a store by [`S3Store::create`]. Refuses anything else: a wrong bucket must never pass for a
    /// store that lost everything. Probes the server when that was not done lately.
    pub fn open(name: impl Into<String>, settings: S3Settings) -> Result<Self, StorageError> {
        identity::open(name.into(), settings, false)
    }

    /// Who this store is, wherever it lies and whatever the settings call it.
    pub fn id(&self) -> Uuid {
        self.inner.id
    }

    /// Its settings.
    pub fn settings(&self) -> &S3Settings {
        &self.inner.settings
    }

    /// What the server was found to honour.
    pub fn probed(&self) -> Probe {
        self.inner.probed()
    }

    /// Finds out anew what the server honours, and records it.
    pub fn probe(&self) -> Result<Probe, StorageError> {
        identity::probe_and_record(&self.inner)
    }

    /// Drops large puts that were begun longer than `age` ago and never finished: their parts cost money and are not
    /// listed. `age` is longer than any put may take.
    pub fn sweep_uploads(&self, age: Duration) -> Result<Swept, StorageError> {
        self.inner.sweep_uploads(age)
    }

    /// Most bytes of bodies that puts of this store held in memory at once.
    pub fn most_buffered(&self) -> u64 {
        self.inner.gauge.most()
    }
}

impl Inner {
    pub(crate) fn new(name: String, settings: S3Settings, prefix: Key, client: Client, runtime: Handle) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(settings.max_requests)),
            name,
            settings,
            prefix,
            client,
            runtime,
            gauge: Arc::default(),
            id: Uuid::nil(),
            is_space: false,
            probe: RwLock::default(),
            retrieving: KeyLocks::default(),
            bucket_seen: Mutex::default(),
            id_read: Mutex::new(Instant::now()),
        }
    }

    /// A space of this store: what lies below a prefix of a bucket, or the whole bucket, as `is_space` says. Limits on requests and memory are those of both together.
    pub(crate) fn space(&self, bucket: String, prefix: Key, is_space: bool) -> Self {
        let settings = S3Settings { bucket, prefix: prefix.to_string(), ..self.settings.clone() };
        let inner = Self::new(self.name.clone(), settings, prefix, self.client.clone(), self.runtime.clone());
        Self {
            permits: Arc::clone(&self.permits),
            gauge: Arc::clone(&self.gauge),
            probe: RwLock::new(self.probed()),
            is_space,
            ..inner
        }
    }

    pub(crate) fn probed(&self) -> Probe {
        *self.probe.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request in this thread.
    pub(crate) fn ask<T, E>(
        &self,
        sending: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> Result<T, Failure>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        self.runtime.block_on(self.asking(sending))
    }

    /// Sends a request when there is room for one.
    pub(crate) async fn asking<T, E>(
        &self,
        sending: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> Result<T, Failure>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        let answer = sending.await.map_err(|error| Failure::of(&error));
        if answer.is_ok() {
            self.note_bucket();
        }
        answer
    }

    fn note_bucket(&self) {
        *self.bucket_seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// The error of a failed act. The answer to HEAD does not tell a key that is not there from a bucket that is not
    /// there; nothing is called absent before the bucket was seen.
    pub(crate) fn failed(&self, failure: Failure, act: &'static str, key: &Key) -> StorageError {
        if failure.is_not_found() && !failure.is("NoSuchKey") {
            let seen = *self.bucket_seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.is_none_or(|seen| seen.elapsed() > BUCKET_SEEN_FOR) {
                let head = self.client.head_bucket().bucket(&self.settings.bucket);
                match self.ask(head.send()) {
                    Err(missing) if missing.is_not_found() => return self.no_bucket(),
                    Err(other) => return other.into_error(self, act, key),
                    Ok(_) => {}
                }
            }
        }
        failure.into_error(self, act, key)
    }

    pub(crate) fn no_bucket(&self) -> StorageError {
        if self.is_space {
            return StorageError::NotFound { store: self.name.clone(), key: Key::ROOT };
        }
        let (bucket, endpoint) = (&self.settings.bucket, self.settings.shown_endpoint());
        let reason = format!("bucket {bucket} does not exist at {endpoint}: create it first");
        StorageError::Away { store: self.name.clone(), reason }
    }

    pub(crate) fn unusable(&self, reason: impl Into<String>) -> StorageError {
        StorageError::Unusable { store: self.name.clone(), reason: reason.into() }
    }

    pub(crate) fn mismatch(&self, key: &Key, declared: String, found: String) -> StorageError {
        StorageError::Mismatch { store: self.name.clone(), key: key.clone(), declared, found }
    }

    /// Refuses the root and everything that belongs to the bookkeeping; gives the name of the object.
    pub(crate) fn object(&self, key: &Key) -> Result<String, StorageError> {
        if key.is_root() {
            return Err(self.unusable("the root of a store is no key"));
        }
        self.check_prefix(key)?;
        self.name_of(key.as_str())
    }

    pub(crate) fn check_prefix(&self, prefix: &Key) -> Result<(), StorageError> {
        let first = prefix.as_str().split('/').next().unwrap_or_default();
        if is_reserved(first) {
            return Err(self.unusable(format!("{prefix} is not for keys: {first} belongs to the store itself")));
        }
        Ok(())
    }

    /// The name of the object for a key, or for something of the bookkeeping.
    pub(crate) fn name_of(&self, relative: &str) -> Result<String, StorageError> {
        let name = if self.prefix.is_root() { relative.to_owned() } else { format!("{}/{relative}", self.prefix) };
        if name.len() > LONGEST_KEY {
            let prefix = &self.prefix;
            return Err(self
                .unusable(format!("{relative} is longer than {LONGEST_KEY} bytes together with the prefix {prefix}")));
        }
        Ok(name)
    }

    /// What names of objects below a key begin with.
    pub(crate) fn names_below(&self, prefix: &Key) -> Result<String, StorageError> {
        let mut name = match (self.prefix.is_root(), prefix.is_root()) {
            (true, true) => return Ok(String::new()),
            (false, true) => self.prefix.as_str().to_owned(),
            _ => self.name_of(prefix.as_str())?,
        };
        name.push('/');
        Ok(name)
    }
}

/// Whether the first segment of a key belongs to the store itself.
pub(crate) fn is_reserved(first: &str) -> bool {
    first.starts_with(BOOKKEEPING)
}

impl Store for S3Store {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn id(&self) -> Option<Uuid> {
        Some(self.inner.id)
    }

    fn check_presence(&self) -> Result<(), StorageError> {
        identity::check_lately(&self.inner)
    }

    fn check_identity(&self) -> Result<(), StorageError> {
        identity::check(&self.inner)
    }

    fn capabilities(&self) -> Capabilities {
        let probe = self.inner.probed();
        Capabilities {
            conditional_put: probe.if_none_match && probe.if_match,
            strong_checksum: probe.has_strong_checksums(),
            atomic_assembly: false,
        }
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.inner.head(key)
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        crate::body::open(&self.inner, key, offset, length)
    }

    fn request_retrieval(&self, key: &Key, how: &RetrievalRequest) -> Result<Retrieval, StorageError> {
        self.inner.request_retrieval(key, how)
    }

    fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        let swept = self.inner.sweep_uploads(age)?;
        Ok(swept.uploads + swept.records)
    }

    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        self.inner.put(key, body, options)
    }

    fn sync(&self) -> Result<(), StorageError> {
        // What the service has answered for is durable.
        Ok(())
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        self.inner.check_prefix(prefix)?;
        Ok(Box::new(Pages::new(&self.inner, prefix)?))
    }

    fn list_after(&self, prefix: &Key, after: &Key) -> Result<Listing, StorageError> {
        self.inner.check_prefix(prefix)?;
        Ok(Box::new(Pages::new(&self.inner, prefix)?.after(after)?))
    }

    fn delete_match(&self, key: &Key, etag: &str, _keep: &Key) -> Result<bool, StorageError> {
        let name = self.inner.object(key)?;
        let removal = self.inner.delete_match(&name, key, etag)?;
        Ok(removal != Removal::Changed)
    }

    fn delete(&self, key: &Key) -> Result<(), StorageError> {
        let name = self.inner.object(key)?;
        self.inner.delete_object(&name, key)
    }

    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.inner.object(prefix)?;
        self.inner.delete_below(prefix)
    }

    fn purge(&self, key: &Key) -> Result<(), StorageError> {
        identity::check_lately(&self.inner)?;
        self.inner.purge(&Scope::one(&self.inner, key)?)
    }

    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError> {
        identity::check_lately(&self.inner)?;
        self.inner.purge(&Scope::below(&self.inner, prefix)?)
    }

    fn purge_replaced(&self, key: &Key) -> Result<(), StorageError> {
        identity::check_lately(&self.inner)?;
        self.inner.purge_replaced(&Scope::one(&self.inner, key)?)
    }

    fn removal_hold(&self, key: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.inner.removal_hold(&Scope::one(&self.inner, key)?)
    }

    fn removal_hold_below(&self, prefix: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.inner.removal_hold(&Scope::below(&self.inner, prefix)?)
    }

    fn assembly(&self, id: &str, target: &Key) -> Result<Box<dyn Assembly>, StorageError> {
        self.inner.object(target)?;
        Ok(Box::new(S3Assembly::new(Arc::clone(&self.inner), id, target)?))
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        // What belongs to an assembly its keys say themselves.
        Ok(Vec::new())
    }
}
