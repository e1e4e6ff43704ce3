//! What every stage has at hand.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use strongroom_download::Supervision;
use strongroom_ocfl::StorageRoot;
use strongroom_registry::discarding::Authority;
use strongroom_registry::interim::{self, StagingPlace};
use strongroom_registry::items::{self, Item};
use strongroom_registry::journal::{self, Actor};
use strongroom_registry::work::Claim;
use strongroom_registry::{ItemId, Registry, RegistryError, Time, Transaction};
use strongroom_storage::Store;

use super::StageError;
use crate::Home;
use crate::fixity::{Root, open_known_root, retired_and_wrong_roots};
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
    /// The stores in which the storage root of the item's institution was found wrong, once they were looked up in this attempt.
    pub(super) wrong_roots: Mutex<Option<BTreeSet<String>>>,
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

    /// Has something written in the transaction that records the end of the stage, where nothing goes wrong in the stage. That
    /// transaction checks the fence of the claim that the job is given, which no other transaction may be given. The job returns the
    /// topics that have new work by it. See [`Writes`] for what it may rely on.
    pub fn with_end<F>(&self, job: F)
    where
        F: Fn(&mut dyn Transaction, &Claim) -> Result<Vec<String>, RegistryError> + Send + Sync + 'static,
    {
        let item = self.item.id;
        let write: Box<Writes> = Box::new(move |tx, claim| match claim {
            Some(claim) => job(tx, claim),
            None => Err(RegistryError::FenceLost { what: "work item", id: item.to_string() }),
        });
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

    pub(crate) fn set_fact<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<(), StageError> {
        let (name, text) = (name.to_owned(), serde_json::to_string(value)?);
        self.write(move |tx, claim| interim::set_fact(tx, claim, &name, &text))
    }

    /// What a download asks while it waits: it stops with the stage.
    pub(crate) fn supervision(&self) -> Supervision<'static> {
        let task = self.task.clone();
        Supervision::new(move || task.check())
    }

    /// The authority of the worker that runs the stage.
    pub(crate) fn authority(&self) -> Authority {
        Authority::Worker(self.claim.clone())
    }

    /// What the stage before said, which is to be said of the item in the end as well. The note of the item may say something else by now:
    /// that its worker stopped, or what failed in the attempt before, or who requeued it.
    pub(crate) fn said_before(&self) -> Result<String, StageError> {
        let said = self.registry().read(|tx| items::note_at(tx, self.item.id, self.item.stage))?;
        Ok(said.unwrap_or_else(|| "ingested".to_owned()))
    }

    /// On whose behalf the item is worked on; none for items made before actors were kept.
    pub(crate) fn actor(&self) -> Result<Option<Actor>, StageError> {
        Ok(self.registry().read(|tx| journal::actor_of_item(tx, self.item.id))?)
    }

    /// The storage root of the item's institution in a store, made where nothing lies there yet, and declared again where its
    /// declaration was lost.
    pub(crate) fn open_root<'s>(&self, name: &str, store: &'s dyn Store) -> Result<StorageRoot<'s>, StageError> {
        let identifier = self.item.institution_identifier.as_str();
        let root = Root { store: name, institution: self.item.institution, identifier };
        let is_found_wrong = || {
            let mut known = self.wrong_roots.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.as_ref() {
                return Ok(known.contains(name));
            }
            let (_, found) = self.registry().read(|tx| retired_and_wrong_roots(tx, self.item.institution))?;
            Ok(known.insert(found).contains(name))
        };
        open_known_root(self.home, root, store, &is_found_wrong).map_err(|halt| match halt {
            OperationError::Engine(error) => error.into(),
            OperationError::Interrupted(reason) => reason.into(),
            busy @ OperationError::Busy(_) => StageError::Transient(busy.to_string()),
        })
    }

    /// The stores that are out of use, read within a transaction that reads other things too. With them it is looked up in which
    /// stores the storage root of the item's institution was found wrong, for every time that the attempt opens one.
    pub(crate) fn look_at_stores(&self, tx: &mut dyn Transaction) -> Result<BTreeSet<String>, RegistryError> {
        let (retired, found_wrong) = retired_and_wrong_roots(tx, self.item.institution)?;
        *self.wrong_roots.lock().unwrap_or_else(PoisonError::into_inner) = Some(found_wrong);
        Ok(retired)
    }
}

/// What stands before the keys of an item's staged bytes in this place; none where nothing that is staged can be used.
pub(crate) fn staging_prefix(item: ItemId, place: Option<StagingPlace>) -> Option<String> {
    let place = place.filter(|place| !place.is_discarded)?;
    Some(place.id.map_or_else(|| item.to_string(), |id| format!("{item}/{id}")))
}
