//! Reconciliation: the listing of a store beside the record, both in byte order of the key, and what only one of them knows.
//! Nothing is changed, but that what lies in a store of a version which was given up, or was assembled again of one that is over,
//! is swept by the next turn of the schedule, and what was deleted is removed again by the background task. Whatever seems to
//! differ is compared again under the object's lease before it is reported, so that work that goes on meanwhile is no difference.

mod finding;
mod keys;
mod left_behind;
mod object;
mod place;
mod sorted;

use std::collections::BTreeSet;

use strongroom_registry::counted;
use strongroom_registry::rebuild::{self as rows, StoredObject};
use strongroom_registry::{ObjectId, ObjectState, RegistryError, Scope, deletions, objects};
use strongroom_storage::{StorageError, Store};

use crate::logs::object_root;
use crate::{EngineError, Home, backfill};
use object::Comparison;

pub use finding::{Code, Difference};

/// What was compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    /// Keys listed in the stores.
    pub keys: u64,
    /// Objects of the record, once for each store.
    pub objects: u64,
    /// Differences told.
    pub differences: u64,
}

/// Compares a store with the record; `tell` hears of each difference. A preservation store is compared key by key, any
/// store for what was left behind by work that has ended.
pub fn run(
    home: &Home,
    store: &str,
    tell: &mut dyn FnMut(Difference) -> Result<(), EngineError>,
) -> Result<Compared, EngineError> {
    let in_store = home.store(store)?.as_ref();
    let mut reconciling = Reconciling {
        home,
        store: in_store,
        tell,
        compared: Compared::default(),
        busy: Vec::new(),
        deleted_again: None,
        institutions: BTreeSet::new(),
    };
    if home.preservation_stores().iter().any(|kept| kept.name() == store) {
        reconciling.keys()?;
        reconciling.earlier()?;
        reconciling.roots()?;
        reconciling.assemblies()?;
        reconciling.lacking()?;
    }
    if home.roles.staging.name() == store {
        reconciling.staging()?;
    }
    Ok(reconciling.compared)
}

/// Reports each key that the registry has of an object in a store and that a listing of the object does not show with its
/// recorded size; the object root where nothing is shown. Takes no lease: work that goes on meanwhile may seem missing.
pub(crate) fn missing_of_object(
    home: &Home,
    store: &dyn Store,
    object: ObjectId,
    tell: &mut dyn FnMut(&str),
) -> Result<(), EngineError> {
    let stored = home.registry.read(|tx| rows::stored_object(tx, store.name(), object))?;
    let Some(stored) = stored else {
        tell("");
        return Ok(());
    };
    let root = object_root(&stored.institution, stored.generation)?;
    let mut comparison = Comparison::begin(home, store.name(), stored)?;
    let mut hear = |code: Code, path: &str, _: Option<String>| {
        if matches!(code, Code::CopyMissing | Code::CopySize | Code::InventoryMissing | Code::ObjectMissing) {
            tell(path);
        }
        Ok(())
    };
    for listed in store.list(&root)? {
        match listed {
            Ok(listed) => comparison.see(listed.key.as_str(), listed.size, &mut hear)?,
            // No key of ours has such a name.
            Err(StorageError::Key(_) | StorageError::Unusable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    comparison.end(&mut hear)
}

struct Reconciling<'a> {
    home: &'a Home,
    store: &'a dyn Store,
    tell: &'a mut dyn FnMut(Difference) -> Result<(), EngineError>,
    compared: Compared,
    busy: Vec<StoredObject>,
    /// The object of which what was deleted is removed again.
    deleted_again: Option<ObjectId>,
    /// Those that the record has objects of in this store.
    institutions: BTreeSet<String>,
}

impl Reconciling<'_> {
    fn differs(
        &mut self,
        code: Code,
        path: &str,
        object: Option<ObjectId>,
        detail: Option<String>,
    ) -> Result<(), EngineError> {
        match (code, object) {
            (Code::VersionDiscarded, _) => self.sweep_again(path)?,
            (Code::CopyDeleted, Some(object)) => self.delete_again(object)?,
            _ => {}
        }
        self.compared.differences += 1;
        (self.tell)(Difference { store: self.store.name().to_owned(), code, path: path.to_owned(), object, detail })
    }

    /// Whether all of an object is still to be removed from the store: what it lacks comes with that.
    fn is_deleted(&self, object: ObjectId) -> Result<bool, EngineError> {
        let (found, pending) = self.home.registry.read(|tx| {
            Ok::<_, RegistryError>((
                objects::get(tx, Scope::System, object)?,
                deletions::pending_in(tx, object, self.store.name())?,
            ))
        })?;
        let is_deleted = found.is_some_and(|found| found.state == ObjectState::Deleted);
        Ok(is_deleted && !pending.is_empty())
    }

    /// What the store lacks of the objects of its placements.
    fn lacking(&mut self) -> Result<(), EngineError> {
        let (home, name) = (self.home, self.store.name());
        backfill::each_lacking((&home.settings, &home.registry), Scope::System, Some(name), &mut |lacking| {
            let of = &lacking.object;
            if self.is_deleted(of.object)? {
                return Ok(());
            }
            let root = object_root(&of.institution_identifier, of.generation)?;
            let inventories = if of.has_inventories { "" } else { ", and its inventories" };
            let detail =
                format!("{}: {}{inventories}", of.object_identifier, counted(of.contents, "content", "contents"));
            self.differs(Code::ObjectLacking, root.as_str(), Some(of.object), Some(detail))
        })
    }
}
