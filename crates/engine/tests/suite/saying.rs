//! A store that says other things of what lies in it than its folder does: classes, checksums, failures.

use std::io::Read;
use std::sync::Arc;

use strongroom_engine::Home;
use strongroom_storage::{
    Assembly, Body, Capabilities, Head, Key, Listed, Listing, PutOptions, RemovalHold, Retrieval, RetrievalRequest,
    StorageError, Store,
};
use uuid::Uuid;

use crate::fixture::TestHome;

/// What a store says.
pub(crate) trait Says: Send + Sync + 'static {
    /// What it honours.
    fn capabilities(&self, of: Capabilities) -> Capabilities {
        of
    }

    /// What lies under a key; `open` gives its bytes.
    fn head(
        &self,
        _key: &Key,
        head: Result<Head, StorageError>,
        _open: &dyn Fn() -> Result<Body, StorageError>,
    ) -> Result<Head, StorageError> {
        head
    }

    /// What it gives for a key.
    fn open(&self, _key: &Key, body: Result<Body, StorageError>) -> Result<Body, StorageError> {
        body
    }

    /// Hears how something is to be put.
    fn is_put(&self, _key: &Key, _options: &PutOptions) {}

    /// How far a retrieval is.
    fn request_retrieval(&self, key: &Key) -> Result<Retrieval, StorageError> {
        Err(StorageError::Unusable { store: String::new(), reason: format!("{key} cannot be retrieved") })
    }
}

/// A store that says what `S` says.
pub(crate) struct Saying<S> {
    inner: Arc<dyn Store>,
    says: Arc<S>,
}

/// The home over the same registry and stores, with what one store says.
pub(crate) fn saying<S: Says>(made: &TestHome, stores: impl IntoIterator<Item = (&'static str, Arc<S>)>) -> Home {
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    for (name, says) in stores {
        let inner = home.stores[name].clone();
        home.stores.insert(name.into(), Arc::new(Saying { inner, says }));
    }
    home
}

impl<S: Says> Store for Saying<S> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn id(&self) -> Option<Uuid> {
        self.inner.id()
    }

    fn check_presence(&self) -> Result<(), StorageError> {
        self.inner.check_presence()
    }

    fn capabilities(&self) -> Capabilities {
        self.says.capabilities(self.inner.capabilities())
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.says.head(key, self.inner.head(key), &|| self.inner.open(key, 0, None))
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        self.says.open(key, self.inner.open(key, offset, length))
    }

    fn request_retrieval(&self, key: &Key, _: &RetrievalRequest) -> Result<Retrieval, StorageError> {
        self.says.request_retrieval(key)
    }

    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        self.says.is_put(key, options);
        self.inner.put(key, body, options)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync()
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        self.inner.list(prefix)
    }

    fn delete_match(&self, key: &Key, etag: &str, keep: &Key) -> Result<bool, StorageError> {
        self.inner.delete_match(key, etag, keep)
    }

    fn delete(&self, key: &Key) -> Result<(), StorageError> {
        self.inner.delete(key)
    }

    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.inner.delete_all(prefix)
    }

    fn purge(&self, key: &Key) -> Result<(), StorageError> {
        self.inner.purge(key)
    }

    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.inner.purge_all(prefix)
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
        Ok(Box::new(SayingAssembly { inner, says: Arc::clone(&self.says) }))
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        self.inner.assemblies()
    }
}

struct SayingAssembly<S> {
    inner: Box<dyn Assembly>,
    says: Arc<S>,
}

impl<S: Says> Assembly for SayingAssembly<S> {
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        self.says.is_put(key, options);
        self.inner.put(key, body, options)
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.says.head(key, self.inner.head(key), &|| self.inner.open(key))
    }

    fn open(&self, key: &Key) -> Result<Body, StorageError> {
        self.says.open(key, self.inner.open(key))
    }

    fn list<'a>(
        &'a self,
        prefix: &Key,
    ) -> Result<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'a>, StorageError> {
        self.inner.list(prefix)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync()
    }

    fn commit(&self) -> Result<(), StorageError> {
        self.inner.commit()
    }

    fn discard(&self) -> Result<(), StorageError> {
        self.inner.discard()
    }
}
