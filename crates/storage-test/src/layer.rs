//! Layers: what is done around every call of a store, whichever store it is.
//!
//! A [`Layer`] says what happens around one call; [`Layered`] is the store that results, and wraps assemblies the same
//! way. Layers stack: each takes any `Arc<dyn Store>`.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use strongroom_storage::{
    Assembly, Body, Capabilities, Head, Key, Listed, Listing, PutOptions, RemovalHold, Retrieval, RetrievalRequest,
    StorageError, Store,
};
use uuid::Uuid;

/// What is asked of a store. What is asked of an assembly counts as the same operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// [`Store::head`], [`Store::removal_hold`] and [`Store::removal_hold_below`].
    Head,
    /// [`Store::open`], and the reading of what it gives.
    Open,
    /// [`Store::request_retrieval`].
    RequestRetrieval,
    /// [`Store::put`].
    Put,
    /// [`Store::sync`].
    Sync,
    /// [`Store::list`], until it gives the iterator.
    List,
    /// [`Store::delete`], [`Store::delete_match`], [`Store::purge`] and [`Store::purge_replaced`].
    Delete,
    /// [`Store::delete_all`], [`Store::purge_all`] and [`Store::sweep_unfinished`].
    DeleteAll,
    /// [`Store::assembly`] and [`Store::assemblies`].
    Assembly,
    /// [`Assembly::commit`].
    Commit,
    /// [`Assembly::discard`].
    Discard,
}

impl Operation {
    /// A short name, for errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Open => "open",
            Self::RequestRetrieval => "request_retrieval",
            Self::Put => "put",
            Self::Sync => "sync",
            Self::List => "list",
            Self::Delete => "delete",
            Self::DeleteAll => "delete_all",
            Self::Assembly => "assembly",
            Self::Commit => "commit",
            Self::Discard => "discard",
        }
    }
}

/// One call of a store, as a layer sees it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// What is asked.
    pub operation: Operation,
    /// The name of the store.
    pub store: &'a str,
    /// What it is asked of; the root where no key is named.
    pub key: &'a Key,
}

/// What is done around each call.
pub trait Layer: Send + Sync + 'static {
    /// Around a call without bytes.
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError>;

    /// Around a put.
    fn put(
        &self,
        call: Call<'_>,
        body: &mut dyn Read,
        act: &mut dyn FnMut(&mut dyn Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        self.call(call, &mut || act(body))
    }

    /// Around the opening of a body.
    fn open(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<Body, StorageError>) -> Result<Body, StorageError> {
        self.call(call, act)
    }
}

/// A store with a layer around it.
pub struct Layered<L> {
    inner: Arc<dyn Store>,
    layer: Arc<L>,
}

impl<L: Layer> Layered<L> {
    /// Puts a layer around a store.
    pub fn new(inner: Arc<dyn Store>, layer: L) -> Self {
        Self { inner, layer: Arc::new(layer) }
    }

    /// The layer, to read or steer it.
    pub fn layer(&self) -> &Arc<L> {
        &self.layer
    }

    fn of<'a>(&'a self, operation: Operation, key: &'a Key) -> Call<'a> {
        Call { operation, store: self.inner.name(), key }
    }
}

impl<L: Layer> Store for Layered<L> {
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
        self.layer.call(self.of(Operation::Head, key), &mut || self.inner.head(key))
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        self.layer.open(self.of(Operation::Open, key), &mut || self.inner.open(key, offset, length))
    }

    fn request_retrieval(&self, key: &Key, how: &RetrievalRequest) -> Result<Retrieval, StorageError> {
        self.layer.call(self.of(Operation::RequestRetrieval, key), &mut || self.inner.request_retrieval(key, how))
    }

    fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        self.layer.call(self.of(Operation::DeleteAll, &Key::ROOT), &mut || self.inner.sweep_unfinished(age))
    }

    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        self.layer.put(self.of(Operation::Put, key), body, &mut |body| self.inner.put(key, body, options))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::Sync, &Key::ROOT), &mut || self.inner.sync())
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        self.layer.call(self.of(Operation::List, prefix), &mut || self.inner.list(prefix))
    }

    fn list_after(&self, prefix: &Key, after: &Key) -> Result<Listing, StorageError> {
        self.layer.call(self.of(Operation::List, prefix), &mut || self.inner.list_after(prefix, after))
    }

    fn delete_match(&self, key: &Key, etag: &str, keep: &Key) -> Result<bool, StorageError> {
        self.layer.call(self.of(Operation::Delete, key), &mut || self.inner.delete_match(key, etag, keep))
    }

    fn delete(&self, key: &Key) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::Delete, key), &mut || self.inner.delete(key))
    }

    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::DeleteAll, prefix), &mut || self.inner.delete_all(prefix))
    }

    fn purge(&self, key: &Key) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::Delete, key), &mut || self.inner.purge(key))
    }

    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::DeleteAll, prefix), &mut || self.inner.purge_all(prefix))
    }

    fn purge_replaced(&self, key: &Key) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::Delete, key), &mut || self.inner.purge_replaced(key))
    }

    fn removal_hold(&self, key: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.layer.call(self.of(Operation::Head, key), &mut || self.inner.removal_hold(key))
    }

    fn removal_hold_below(&self, prefix: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.layer.call(self.of(Operation::Head, prefix), &mut || self.inner.removal_hold_below(prefix))
    }

    fn assembly(&self, id: &str, target: &Key) -> Result<Box<dyn Assembly>, StorageError> {
        let call = self.of(Operation::Assembly, target);
        let inner = self.layer.call(call, &mut || self.inner.assembly(id, target))?;
        let (store, layer) = (self.inner.name().to_owned(), Arc::clone(&self.layer));
        Ok(Box::new(LayeredAssembly { inner, layer, store, target: target.clone() }))
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        self.layer.call(self.of(Operation::Assembly, &Key::ROOT), &mut || self.inner.assemblies())
    }
}

struct LayeredAssembly<L> {
    inner: Box<dyn Assembly>,
    layer: Arc<L>,
    store: String,
    target: Key,
}

impl<L: Layer> LayeredAssembly<L> {
    fn of<'a>(&'a self, operation: Operation, key: &'a Key) -> Call<'a> {
        Call { operation, store: &self.store, key }
    }
}

impl<L: Layer> Assembly for LayeredAssembly<L> {
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        self.layer.put(self.of(Operation::Put, key), body, &mut |body| self.inner.put(key, body, options))
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.layer.call(self.of(Operation::Head, key), &mut || self.inner.head(key))
    }

    fn open(&self, key: &Key) -> Result<Body, StorageError> {
        self.layer.open(self.of(Operation::Open, key), &mut || self.inner.open(key))
    }

    fn list<'a>(
        &'a self,
        prefix: &Key,
    ) -> Result<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'a>, StorageError> {
        self.layer.call(self.of(Operation::List, prefix), &mut || self.inner.list(prefix))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::Sync, &self.target), &mut || self.inner.sync())
    }

    fn commit(&self) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::Commit, &self.target), &mut || self.inner.commit())
    }

    fn discard(&self) -> Result<(), StorageError> {
        self.layer.call(self.of(Operation::Discard, &self.target), &mut || self.inner.discard())
    }
}
