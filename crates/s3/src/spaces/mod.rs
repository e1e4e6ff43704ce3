//! The plain store in object storage: spaces are the first-level prefixes below a place in a bucket, or the buckets whose
//! names match a pattern.
//!
//! Reading writes nothing. Before the first write of a process, what the service honours is found out by small objects below
//! `.strongroom/probe/`, removed afterwards, which are never listed. Uploads in parts that a kill leaves unfinished are
//! not aborted here, because others upload to the same buckets: a lifecycle rule of the bucket does that.

mod form;
mod head;
mod header_text;
mod list;
mod properties;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use strongroom_digest::Algorithm;
use strongroom_spaces::{
    Description, Expected, ItemHead, ItemPut, Items, ListedName, PlainCapabilities, PlainStore, Removal, SpaceName,
    Spaces, shown_key, why_not_carried,
};
use strongroom_storage::{Body, Key, PutOptions, Retrieval, RetrievalRequest, StorageError};

use self::form::Form;
use crate::probe::Probe;
use crate::put::Headers;
use crate::store::{BOOKKEEPING, Inner, is_reserved};
use crate::{S3Settings, client};

/// Spaces of which the connection is kept.
const MOST_KEPT: usize = 256;

/// A plain store in S3-compatible object storage. Cloning gives another handle to the same store.
///
/// Put nothing that retries around it: it does so itself, see [`S3Settings::attempts`].
#[derive(Clone)]
pub struct S3Spaces {
    shared: Arc<Shared>,
}

struct Shared {
    /// The place of all spaces; of buckets by a pattern, only the service.
    base: Arc<Inner>,
    form: Form,
    kept: Mutex<BTreeMap<String, Arc<Inner>>>,
    /// What the service was found to honour, once something is written.
    probe: Mutex<Option<Probe>>,
}

impl fmt::Debug for S3Spaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = &self.shared.base;
        f.debug_struct("S3Spaces").field("name", &base.name).field("settings", &base.settings).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl S3Spaces {
    /// Opens a place in object storage. Where the bucket of the settings has a `*`, each bucket whose name matches is a space,
    /// named as what stands for the `*`; there is no prefix then. Else each first-level prefix below the prefix is a space.
    ///
    /// # Errors
    /// [`StorageError::Away`] where the place is not there, and [`StorageError::Unusable`] where it is a preservation store.
    pub fn open(name: impl Into<String>, settings: S3Settings) -> Result<Self, StorageError> {
        let name = name.into();
        let unusable = |reason: String| StorageError::Unusable { store: name.clone(), reason };
        if let Some(fault) = settings.fault() {
            return Err(unusable(fault));
        }
        let form = Form::of(&settings).map_err(&unusable)?;
        let prefix = Key::new(settings.prefix.as_str()).map_err(|error| unusable(format!("prefix: {error}")))?;
        if prefix.as_str().split('/').any(is_reserved) {
            return Err(unusable(format!("prefix {prefix} belongs to Strongroom itself")));
        }
        let runtime = client::runtime().map_err(&unusable)?;
        let client = runtime.block_on(client::client(&settings)).map_err(unusable)?;
        let is_aws = settings.is_aws();
        let base = Inner::new(name, settings, prefix, client, runtime);
        if is_aws {
            // What S3 promises of what it keeps; conditions are found out by trying.
            let promised = Probe { checks_sha256: true, returns_sha256: true, keeps_class: true, ..Probe::default() };
            *base.probe.write().unwrap_or_else(PoisonError::into_inner) = promised;
        }
        let base = Arc::new(base);
        let shared = Shared { base, form, kept: Mutex::default(), probe: Mutex::default() };
        let store = Self { shared: Arc::new(shared) };
        store.check_presence()?;
        store.refuse_preservation_store()?;
        Ok(store)
    }

    /// Its settings.
    pub fn settings(&self) -> &S3Settings {
        &self.base().settings
    }

    fn base(&self) -> &Arc<Inner> {
        &self.shared.base
    }

    fn refuse_preservation_store(&self) -> Result<(), StorageError> {
        if matches!(self.shared.form, Form::Buckets(_)) {
            return Ok(());
        }
        let base = self.base();
        let description = base.name_of(&format!("{BOOKKEEPING}/store.json"))?;
        match base.head_object(&description) {
            Ok(_) => Err(base.unusable(format!(
                "bucket {} is a preservation store, as {description} in it says: choose another place for a plain store",
                base.settings.bucket
            ))),
            Err(failure) if failure.is_not_found() => match base.failed(failure, "inspect", &Key::ROOT) {
                error if error.is_not_found() => Ok(()),
                error => Err(error),
            },
            Err(failure) => Err(base.failed(failure, "inspect", &Key::ROOT)),
        }
    }

    /// What requests for a space go through.
    fn space(&self, space: &SpaceName) -> Result<Arc<Inner>, StorageError> {
        let base = self.base();
        let mut kept = lock(&self.shared.kept);
        if let Some(inner) = kept.get(space.as_str()) {
            return Ok(Arc::clone(inner));
        }
        let inner = match &self.shared.form {
            Form::Prefixes => base.space(base.settings.bucket.clone(), base.prefix.join(space.as_str())?, false),
            Form::Buckets(pattern) => {
                let bucket = pattern.bucket_of(space).map_err(|reason| base.unusable(reason))?;
                base.space(bucket, Key::ROOT, true)
            }
        };
        let inner = Arc::new(inner);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(space.to_string(), Arc::clone(&inner));
        Ok(inner)
    }

    /// The same for a request that writes: what the service honours is known then.
    fn writable(&self, space: &SpaceName) -> Result<Arc<Inner>, StorageError> {
        let inner = self.space(space)?;
        let mut known = lock(&self.shared.probe);
        let probe = if let Some(probe) = *known {
            probe
        } else {
            let place = match self.shared.form {
                Form::Prefixes => self.base(),
                Form::Buckets(_) => &inner,
            };
            let found = place.find_out().map_err(|error| error.below(space.as_key()))?;
            let found = found.under(inner.settings.checksums);
            *self.base().probe.write().unwrap_or_else(PoisonError::into_inner) = found;
            *known.insert(found)
        };
        *inner.probe.write().unwrap_or_else(PoisonError::into_inner) = probe;
        Ok(inner)
    }

    fn check(&self, space: &SpaceName, key: &Key) -> Result<(), StorageError> {
        match why_not_carried(key) {
            Some(reason) => Err(self.base().unusable(format!("{space}: the key {:?} {reason}", key.as_str()))),
            None => Ok(()),
        }
    }

    fn changed(&self, space: &SpaceName, key: &Key, etag: &str) -> StorageError {
        StorageError::Changed { store: self.base().name.clone(), key: shown_key(space, key), etag: etag.to_owned() }
    }
}

impl PlainStore for S3Spaces {
    fn name(&self) -> &str {
        &self.base().name
    }

    fn capabilities(&self) -> PlainCapabilities {
        let probe = self.base().probed();
        PlainCapabilities {
            keeps_properties: true,
            keeps_content_types: true,
            keeps_empty_spaces: matches!(self.shared.form, Form::Buckets(_)),
            conditional_put: probe.if_none_match && probe.if_match,
            conditional_delete: probe.delete_if_match,
            vouched: if probe.has_strong_checksums() { &[Algorithm::Sha256] } else { &[] },
            may_be_archived: true,
        }
    }

    fn check_presence(&self) -> Result<(), StorageError> {
        let base = self.base();
        match &self.shared.form {
            Form::Prefixes => {
                let request = base.client.head_bucket().bucket(&base.settings.bucket);
                match base.ask(request.send()) {
                    Ok(_) => Ok(()),
                    Err(failure) if failure.is_not_found() => Err(base.no_bucket()),
                    Err(failure) => Err(base.failed(failure, "inspect", &Key::ROOT)),
                }
            }
            Form::Buckets(pattern) => list::page_of_buckets(base, pattern, None, Some(1)).map(|_| ()),
        }
    }

    fn spaces(&self, after: Option<&SpaceName>) -> Result<Spaces, StorageError> {
        let after = after.cloned();
        match &self.shared.form {
            Form::Prefixes => Ok(Box::new(list::Prefixes::new(self.base(), after)?)),
            Form::Buckets(pattern) => Ok(Box::new(list::buckets(self.base(), pattern, after.as_ref())?)),
        }
    }

    fn has_space(&self, space: &SpaceName) -> Result<bool, StorageError> {
        let inner = self.space(space)?;
        if matches!(self.shared.form, Form::Prefixes) {
            return list::is_anything_in(&inner).map_err(|error| error.below(space.as_key()));
        }
        match inner.ask(inner.client.head_bucket().bucket(&inner.settings.bucket).send()) {
            Ok(_) => Ok(true),
            Err(failure) if failure.is_not_found() || failure.is("NoSuchBucket") => Ok(false),
            Err(failure) => Err(inner.failed(failure, "inspect", space.as_key())),
        }
    }

    fn create_space(&self, space: &SpaceName) -> Result<bool, StorageError> {
        if matches!(self.shared.form, Form::Prefixes) || self.has_space(space)? {
            return Ok(false);
        }
        form::create_bucket(&*self.space(space)?, space)
    }

    fn delete_space_if_empty(&self, space: &SpaceName) -> Result<Removal, StorageError> {
        if matches!(self.shared.form, Form::Prefixes) {
            return Ok(if self.has_space(space)? { Removal::Changed } else { Removal::Absent });
        }
        form::delete_bucket(&*self.space(space)?, space)
    }

    fn list(&self, space: &SpaceName, after: &ListedName) -> Result<Items, StorageError> {
        Ok(Box::new(list::ItemPages::new(&self.space(space)?, space, after)?))
    }

    fn head(&self, space: &SpaceName, key: &Key) -> Result<ItemHead, StorageError> {
        self.check(space, key)?;
        let inner = self.space(space)?;
        head::head(&inner, key).map(|(head, _)| head).map_err(|error| error.below(space.as_key()))
    }

    fn open(&self, space: &SpaceName, key: &Key, etag: &str) -> Result<Body, StorageError> {
        self.check(space, key)?;
        let inner = self.space(space)?;
        crate::body::open_match(&inner, key, etag).map_err(|error| error.below(space.as_key()))
    }

    fn put(&self, space: &SpaceName, key: &Key, body: &mut dyn Read, how: &ItemPut) -> Result<ItemHead, StorageError> {
        self.check(space, key)?;
        let inner = self.writable(space)?;
        let mut expected = Expected::new(body, how);
        let options = PutOptions {
            size: how.size,
            class: how.class.clone().or_else(|| inner.settings.storage_class.clone()),
            condition: how.condition.clone(),
            ..PutOptions::default()
        };
        let put = inner.put_item(key, &mut expected, &options, &headers(&how.description));
        let shown = shown_key(space, key);
        let put = put.map_err(|error| expected.error(&inner.name, &shown, error.below(space.as_key())))?;
        Ok(ItemHead {
            size: put.size,
            etag: put.etag,
            revision: None,
            modified: None,
            description: how.description.clone(),
            checksums: put.checksum.into_iter().collect(),
            is_archived: crate::head::is_cold(put.class.as_deref()),
            class: put.class,
            is_readable: put.readable,
        })
    }

    fn set_properties(
        &self,
        space: &SpaceName,
        key: &Key,
        etag: &str,
        description: &Description,
    ) -> Result<ItemHead, StorageError> {
        self.check(space, key)?;
        let inner = self.writable(space)?;
        match properties::set(&inner, key, etag, &headers(description)) {
            Ok(Some(head)) => Ok(head),
            Ok(None) => Err(self.changed(space, key, etag)),
            Err(error) => Err(error.below(space.as_key())),
        }
    }

    fn delete(&self, space: &SpaceName, key: &Key, etag: &str) -> Result<Removal, StorageError> {
        self.check(space, key)?;
        let inner = match self.writable(space) {
            // There is no space.
            Err(error) if error.is_not_found() => return Ok(Removal::Absent),
            inner => inner?,
        };
        match inner.object(key).and_then(|name| inner.delete_match(&name, key, etag)) {
            // An etag that nothing has: nothing may lie there all the same.
            Ok(Removal::Changed) => match head::head(&inner, key) {
                Err(error) if error.is_not_found() => Ok(Removal::Absent),
                Err(StorageError::Unusable { .. }) | Ok(_) => Ok(Removal::Changed),
                Err(error) => Err(error.below(space.as_key())),
            },
            outcome => outcome.map_err(|error| error.below(space.as_key())),
        }
    }

    fn request_retrieval(
        &self,
        space: &SpaceName,
        key: &Key,
        how: &RetrievalRequest,
    ) -> Result<Retrieval, StorageError> {
        self.check(space, key)?;
        self.space(space)?.request_retrieval(key, how).map_err(|error| error.below(space.as_key()))
    }
}

fn headers(description: &Description) -> Headers {
    let properties = description.properties().iter();
    Headers {
        content_type: description.content_type().map(str::to_owned),
        metadata: properties.map(|(name, value)| (name.to_owned(), header_text::encoded(value))).collect(),
    }
}
