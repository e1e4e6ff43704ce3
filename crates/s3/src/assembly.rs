//! Versions being written where keys are final from the first put: every key has the id of its assembly as a segment, so
//! that nothing but the keys themselves has to say what belongs to it.

use std::io::Read;
use std::sync::Arc;

use strongroom_storage::{Assembly, Body, Head, Key, Listed, PutOptions, StorageError};

use crate::list::Pages;
use crate::store::Inner;

pub(crate) struct S3Assembly {
    inner: Arc<Inner>,
    id: String,
    target: Key,
}

impl S3Assembly {
    pub(crate) fn new(inner: Arc<Inner>, id: &str, target: &Key) -> Result<Self, StorageError> {
        let is_segment = Key::new(id).is_ok() && !id.is_empty() && !id.contains('/') && !id.starts_with('.');
        if !is_segment {
            return Err(inner.unusable(format!("{id:?} cannot name an assembly: it must be one segment of a key")));
        }
        Ok(Self { inner, id: id.to_owned(), target: target.clone() })
    }

    fn place(&self, key: &Key) -> Result<Key, StorageError> {
        if key.is_root() {
            return Err(self.inner.unusable("the root of an assembly is no key"));
        }
        Ok(self.target.join(key.as_str())?)
    }
}

impl Assembly for S3Assembly {
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        if !key.as_str().split('/').any(|segment| segment == self.id) {
            let reason = format!("{key} cannot be put: keys of assembly {} have its id as a segment", self.id);
            return Err(self.inner.unusable(reason));
        }
        let place = self.place(key)?;
        self.inner.object(&place)?;
        self.inner.put(&place, body, options)
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.inner.head(&self.place(key)?)
    }

    fn open(&self, key: &Key) -> Result<Body, StorageError> {
        crate::body::open(&self.inner, &self.place(key)?, 0, None)
    }

    fn list<'a>(
        &'a self,
        prefix: &Key,
    ) -> Result<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'a>, StorageError> {
        let below = if prefix.is_root() { self.target.clone() } else { self.target.join(prefix.as_str())? };
        let pages = Pages::new(&self.inner, &below)?;
        Ok(Box::new(pages.map(move |line| {
            let listed = line?;
            let key = Key::new(listed.key.below(&self.target).unwrap_or_default())?;
            Ok(Listed { key, ..listed })
        })))
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn commit(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn discard(&self) -> Result<(), StorageError> {
        self.inner.delete_segment_below(&self.target, &self.id)
    }
}
