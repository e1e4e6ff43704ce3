//! What every stage has at hand.

use std::sync::{Arc, Mutex, PoisonError};

use strongroom_ocfl::StorageRoot;
use strongroom_registry::discarding::Authority;
use strongroom_registry::items::Item;
use strongroom_registry::journal::{self, Actor};
use strongroom_registry::work::Claim;
use strongroom_registry::{Part, Registry, RegistryError, Time, Transaction, interim, parts, tenants};
use strongroom_storage::Store;

use super::StageError;
use crate::Home;
use crate::fixity::{Root, open_root};
use crate::hold::OperationError;
use crate::runtime::{TaskContext, Writes};

/// What a stage works with.
pub struct StageContext<'a> {
    /// The home.
    pub home: &'a Home,
    /// The item as it was claimed.
    pub item: &'a Item,
    /// The claim that every write of the stage carries.
    pub claim: &'a Claim,
    /// Whether to go on.
    pub task: &'a TaskContext,
    /// What is written with the end of the stage.
    pub(super) writes: Mutex<Vec<Box<Writes>>>,
}

impl StageContext<'_> {
    pub(crate) fn registry(&self) -> &Registry {
        &self.home.registry
    }

    /// Runs a write transaction with the claim at hand; every operation in it checks the fence.
    pub(crate) fn write<T, F>(&self, mut job: F) -> Result<T, StageError>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Transaction, &Claim) -> Result<T, RegistryError> + Send + 'static,
    {
        let claim = self.claim.clone();
        Ok(self.home.registry.write(move |tx| job(tx, &claim))?)
    }

    /// Has something written in the transaction that records the end of the stage, where nothing goes wrong in the stage; every
    /// operation in it checks the fence. The job returns the topics that have new work by it. See [`Writes`] for what it may
    /// rely on.
    pub fn with_end<F>(&self, job: F)
    where
        F: Fn(&mut dyn Transaction, &Claim) -> Result<Vec<String>, RegistryError> + Send + Sync + 'static,
    {
        let claim = self.claim.clone();
        let write: Box<Writes> = Box::new(move |tx| job(tx, &claim));
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).push(write);
    }

    pub(crate) fn now(&self) -> Result<Time, StageError> {
        Ok(self.home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?)
    }

    pub(crate) fn staging(&self) -> &Arc<dyn Store> {
        &self.home.roles.staging
    }

    /// A fact that an earlier stage left behind.
    pub(crate) fn fact<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StageError> {
        let text = self.home.registry.read(|tx| interim::fact(tx, self.item.id, name))?;
        Ok(text.as_deref().map(serde_json::from_str).transpose()?)
    }

    /// A fact that an earlier stage must have left behind; without it the item begins anew.
    pub(crate) fn expect<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, StageError> {
        self.fact(name)?.ok_or_else(|| StageError::StagingLost(format!("what an earlier stage knew is gone ({name})")))
    }

    pub(crate) fn set_fact<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<(), StageError> {
        let (name, text) = (name.to_owned(), serde_json::to_string(value)?);
        self.write(move |tx, claim| interim::set_fact(tx, claim, &name, &text))
    }

    /// The authority of the worker that runs the stage.
    pub(crate) fn authority(&self) -> Authority {
        Authority::Worker(self.claim.clone())
    }

    /// On whose behalf the item is worked on; none for items made before actors were kept.
    pub(crate) fn actor(&self) -> Result<Option<Actor>, StageError> {
        Ok(self.registry().read(|tx| journal::actor_of_item(tx, self.item.id))?)
    }

    /// What stands before the keys of the item's staged bytes; none where nothing that is staged can be used.
    pub(crate) fn staging_prefix(&self) -> Result<Option<String>, StageError> {
        let item = self.item.id;
        let place = self.registry().read(|tx| interim::staging_place(tx, item))?.filter(|place| !place.is_discarded);
        Ok(place.map(|place| place.id.map_or_else(|| item.to_string(), |id| format!("{item}/{id}"))))
    }

    /// Which part of its object the deposit is, where it is one.
    pub(crate) fn part(&self) -> Result<Option<Part>, StageError> {
        Ok(self.registry().read(|tx| parts::of_item(tx, self.item.id))?)
    }

    /// The storage root of the item's institution in a store, made where nothing lies there yet, and declared again where its
    /// declaration was lost.
    pub(crate) fn open_root<'s>(&self, name: &str, store: &'s dyn Store) -> Result<StorageRoot<'s>, StageError> {
        let identifier = self.item.institution_identifier.as_str();
        let root = Root { store: name, institution: self.item.institution, identifier };
        open_root(self.home, root, store).map_err(|halt| match halt {
            OperationError::Engine(error) => error.into(),
            OperationError::Interrupted(reason) => reason.into(),
            busy @ OperationError::Busy(_) => StageError::Transient(busy.to_string()),
        })
    }

    /// The placement and profile that the item's collection asks for.
    pub(crate) fn collection_rules(&self) -> Result<Option<tenants::Collection>, StageError> {
        let Some(collection) = self.item.collection else { return Ok(None) };
        Ok(self.registry().read(|tx| tenants::collection_by_id(tx, collection))?)
    }
}
