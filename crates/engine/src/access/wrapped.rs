//! The operations of a store that may be away: each asks the open store, and what the store then says is judged. Bodies are
//! read and put no faster than the limit of the store allows.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use strongroom_storage::{
    Assembly, Body, Capabilities, Head, Key, Listed, Listing, PutOptions, RemovalHold, Retrieval, RetrievalRequest,
    StorageError, Store,
};
use uuid::Uuid;

use super::rate::Limited;
use super::{Inner, Refusal, StoreAccess};

impl StoreAccess {
    fn call<T>(&self, act: impl FnOnce(&dyn Store) -> Result<T, StorageError>) -> Result<T, StorageError> {
        let store = self.inner.current()?;
        act(store.as_ref()).map_err(|error| self.inner.judge(&store, error))
    }

    fn list_with(
        &self,
        act: impl FnOnce(&dyn Store) -> Result<Listing, StorageError>,
    ) -> Result<Listing, StorageError> {
        let store = self.inner.current()?;
        let listing = act(store.as_ref()).map_err(|error| self.inner.judge(&store, error))?;
        Ok(Box::new(Lines { access: self.inner.clone(), store, listing: Some(listing) }))
    }
}

impl Store for StoreAccess {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn id(&self) -> Option<Uuid> {
        self.inner.current().ok().and_then(|store| store.id())
    }

    fn check_presence(&self) -> Result<(), StorageError> {
        self.inner.current().map(|_| ())
    }

    fn check_identity(&self) -> Result<(), StorageError> {
        let store = self.inner.current()?;
        store.check_identity().map_err(|error| self.inner.lose(&store, Refusal::away(&error)))
    }

    fn check_writable(&self) -> Result<(), StorageError> {
        self.call(|store| store.check_writable())
    }

    fn capabilities(&self) -> Capabilities {
        match self.inner.current() {
            Ok(store) => store.capabilities(),
            Err(_) => self.inner.lock().capabilities,
        }
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.call(|store| store.head(key))
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        let store = self.inner.current()?;
        let body = store.open(key, offset, length).map_err(|error| self.inner.judge(&store, error))?;
        Ok(Bytes::limited(&self.inner, store, key, body))
    }

    fn request_retrieval(&self, key: &Key, how: &RetrievalRequest) -> Result<Retrieval, StorageError> {
        self.call(|store| store.request_retrieval(key, how))
    }

    fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        self.call(|store| store.sweep_unfinished(age))
    }

    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        let mut body = Limited::new(body, self.inner.rate.clone());
        self.call(|store| store.put(key, &mut body, options))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.call(|store| store.sync())
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        self.list_with(|store| store.list(prefix))
    }

    fn list_after(&self, prefix: &Key, after: &Key) -> Result<Listing, StorageError> {
        self.list_with(|store| store.list_after(prefix, after))
    }

    fn delete_match(&self, key: &Key, etag: &str, keep: &Key) -> Result<bool, StorageError> {
        self.call(|store| store.delete_match(key, etag, keep))
    }

    fn delete(&self, key: &Key) -> Result<(), StorageError> {
        self.call(|store| store.delete(key))
    }

    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.call(|store| store.delete_all(prefix))
    }

    fn purge(&self, key: &Key) -> Result<(), StorageError> {
        self.call(|store| store.purge(key))
    }

    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.call(|store| store.purge_all(prefix))
    }

    fn purge_replaced(&self, key: &Key) -> Result<(), StorageError> {
        self.call(|store| store.purge_replaced(key))
    }

    fn removal_hold(&self, key: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.call(|store| store.removal_hold(key))
    }

    fn removal_hold_below(&self, prefix: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.call(|store| store.removal_hold_below(prefix))
    }

    fn assembly(&self, id: &str, target: &Key) -> Result<Box<dyn Assembly>, StorageError> {
        let store = self.inner.current()?;
        let assembly = store.assembly(id, target).map_err(|error| self.inner.judge(&store, error))?;
        Ok(Box::new(Assembling { access: self.inner.clone(), store, assembly }))
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        self.call(|store| store.assemblies())
    }
}

/// An assembly in a store that may be lost meanwhile. It belongs to the store as it was opened: when the store comes back,
/// the assembly is opened anew.
struct Assembling {
    access: Arc<Inner>,
    store: Arc<dyn Store>,
    assembly: Box<dyn Assembly>,
}

impl Assembling {
    fn call<T>(&self, act: impl FnOnce(&dyn Assembly) -> Result<T, StorageError>) -> Result<T, StorageError> {
        if let Err(error) = self.store.check_presence() {
            return Err(self.access.judge(&self.store, error));
        }
        act(self.assembly.as_ref()).map_err(|error| self.access.judge(&self.store, error))
    }
}

impl Assembly for Assembling {
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        let mut body = Limited::new(body, self.access.rate.clone());
        self.call(|assembly| assembly.put(key, &mut body, options))
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.call(|assembly| assembly.head(key))
    }

    fn open(&self, key: &Key) -> Result<Body, StorageError> {
        let body = self.call(|assembly| assembly.open(key))?;
        Ok(Bytes::limited(&self.access, self.store.clone(), key, body))
    }

    fn list<'a>(
        &'a self,
        prefix: &Key,
    ) -> Result<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'a>, StorageError> {
        self.store.check_presence().map_err(|error| self.access.judge(&self.store, error))?;
        let listing = self.assembly.list(prefix).map_err(|error| self.access.judge(&self.store, error))?;
        Ok(Box::new(Lines { access: self.access.clone(), store: self.store.clone(), listing: Some(listing) }))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.call(|assembly| assembly.sync())
    }

    fn commit(&self) -> Result<(), StorageError> {
        self.call(|assembly| assembly.commit())
    }

    fn discard(&self) -> Result<(), StorageError> {
        self.call(|assembly| assembly.discard())
    }
}

/// Bytes that say so when the store is lost while they are read.
struct Bytes {
    access: Arc<Inner>,
    store: Arc<dyn Store>,
    key: Key,
    body: Body,
}

impl Bytes {
    fn limited(access: &Arc<Inner>, store: Arc<dyn Store>, key: &Key, body: Body) -> Body {
        let bytes = Self { access: access.clone(), store, key: key.clone(), body };
        match &access.rate {
            Some(rate) => Box::new(Limited::new(bytes, Some(rate.clone()))),
            None => Box::new(bytes),
        }
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.body.read(buffer) {
            Err(source) if source.kind() != io::ErrorKind::Interrupted => {
                let store = self.access.name.clone();
                let error = StorageError::Io { store, act: "read", key: self.key.clone(), source };
                Err(match self.access.judge(&self.store, error) {
                    StorageError::Io { source, .. } => source,
                    other => io::Error::new(io::ErrorKind::NotConnected, other),
                })
            }
            outcome => outcome,
        }
    }
}

/// A listing that does not end before its time when the store is lost.
struct Lines<'l> {
    access: Arc<Inner>,
    store: Arc<dyn Store>,
    listing: Option<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'l>>,
}

impl Iterator for Lines<'_> {
    type Item = Result<Listed, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.listing.as_mut()?.next() {
            Some(Ok(listed)) => Some(Ok(listed)),
            Some(Err(error)) => {
                let error = self.access.judge(&self.store, error);
                if error.is_away() {
                    self.listing = None;
                }
                Some(Err(error))
            }
            None => {
                self.listing = None;
                // A folder that was removed meanwhile looks as if it had come to its end.
                let error = self.store.check_presence().err()?;
                Some(Err(self.access.judge(&self.store, error)))
            }
        }
    }
}
