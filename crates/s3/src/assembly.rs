//! Versions being written where keys are final from the first put: one small object says that they are, and where.

use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use strongroom_storage::{Assembly, Body, Head, Key, PutCondition, PutOptions, StorageError};

use crate::list::Names;
use crate::store::{BOOKKEEPING, Inner};

/// The kind of bookkeeping, and its folder.
const KIND: &str = "assembly";

pub(crate) struct S3Assembly {
    inner: Arc<Inner>,
    /// The name of the object that says that this assembly is open.
    record: String,
    target: Key,
    /// Whether the record was seen or written through this handle, and the assembly not committed since.
    is_open: Mutex<bool>,
}

/// What the record says.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// Where the keys of the assembly lie.
    target: String,
    /// Whether something may have lain there before the assembly began. Then discarding removes nothing: it could be
    /// what another worker has committed under the same id in the meantime.
    found_something: bool,
}

impl S3Assembly {
    pub(crate) fn new(inner: Arc<Inner>, id: &str, target: &Key) -> Result<Self, StorageError> {
        let is_segment = Key::new(id).is_ok() && !id.is_empty() && !id.contains('/') && !id.starts_with('.');
        if !is_segment {
            return Err(inner.unusable(format!("{id:?} cannot name an assembly: it must be one segment of a key")));
        }
        let record = inner.name_of(&format!("{BOOKKEEPING}/{KIND}/{id}"))?;
        Ok(Self { inner, record, target: target.clone(), is_open: Mutex::new(false) })
    }

    fn place(&self, key: &Key) -> Result<Key, StorageError> {
        if key.is_root() {
            return Err(self.inner.unusable("the root of an assembly is no key"));
        }
        Ok(self.target.join(key.as_str())?)
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the assembly before its first put. The order keeps a worker that was thought dead from recording an empty
    /// target that was filled and committed while it slept: what it found is written only where its first record still
    /// lies.
    fn open_record(&self) -> Result<(), StorageError> {
        let mut is_open = self.lock();
        if *is_open {
            return Ok(());
        }
        if self.record()?.is_none_or(|record| record.found_something) {
            let begun = Record { target: self.target.to_string(), found_something: true };
            let first = self.inner.write_bookkeeping(&self.record, &begun)?;
            if self.is_target_empty()? {
                let record = Record { found_something: false, ..begun };
                let unchanged = PutCondition::IfMatch(first.etag);
                self.inner.write_bookkeeping_if(&self.record, &record, unchanged)?;
            }
        }
        *is_open = true;
        Ok(())
    }

    /// What is recorded of this assembly.
    fn record(&self) -> Result<Option<Record>, StorageError> {
        let Some(record) = self.inner.read_bookkeeping::<Record>(&self.record)? else { return Ok(None) };
        if record.target != self.target.as_str() {
            let (there, target) = (&record.target, &self.target);
            return Err(self.inner.unusable(format!("an assembly of this name is open for {there}, not for {target}")));
        }
        Ok(Some(record))
    }

    fn is_target_empty(&self) -> Result<bool, StorageError> {
        let mut names = Names::new(&self.inner, self.inner.names_below(&self.target)?, &self.target).limited(1);
        Ok(names.next().transpose()?.is_none())
    }
}

impl Assembly for S3Assembly {
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        let place = self.place(key)?;
        self.inner.object(&place)?;
        self.open_record()?;
        self.inner.put(&place, body, options)
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.inner.head(&self.place(key)?)
    }

    fn open(&self, key: &Key) -> Result<Body, StorageError> {
        crate::body::open(&self.inner, &self.place(key)?, 0, None)
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn commit(&self) -> Result<(), StorageError> {
        let mut is_open = self.lock();
        if self.record()?.is_some() {
            self.inner.delete_object(&self.record, &self.target)?;
        } else if self.is_target_empty()? {
            let reason = format!("nothing was put that could be committed to {}", self.target);
            return Err(self.inner.unusable(reason));
        }
        *is_open = false;
        Ok(())
    }

    fn discard(&self) -> Result<(), StorageError> {
        let mut is_open = self.lock();
        let Some(record) = self.record()? else { return Ok(()) };
        if !record.found_something {
            self.inner.delete_below(&self.target)?;
        }
        self.inner.delete_object(&self.record, &self.target)?;
        *is_open = false;
        Ok(())
    }
}

/// Ids of the assemblies that are open.
pub(crate) fn ids(inner: &Inner) -> Result<Vec<String>, StorageError> {
    let names = inner.names_of_bookkeeping(KIND)?;
    let ids = names.iter().filter_map(|name| name.rsplit_once('/').map(|(_, id)| id.to_owned()));
    Ok(ids.filter(|id| !id.is_empty()).collect())
}
