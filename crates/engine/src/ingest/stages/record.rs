//! record: the version becomes true. Marked `committing` it only goes forward: object root by object root in the stores,
//! each read back, then published in one short transaction.

use serde::{Deserialize, Serialize};
use strongroom_digest::Digest;
use strongroom_ocfl::InventorySeal;
use strongroom_registry::leases;
use strongroom_registry::objects::Object;
use strongroom_registry::versions;
use strongroom_registry::work::StageEnd;
use strongroom_registry::{Stage, VersionState};
use strongroom_storage::{Durability, Store};

use super::compare::{keep_object, object, placement, version};
use super::resolve::Resolved;
use super::write::assembly;
use crate::error::chain;
use crate::ingest::context::{StageContext, StageError};
use crate::{EngineError, Home, crash_point, mark};

/// Digest and size of the version's inventory, as an interim fact.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Seal {
    sha512: String,
    size: u64,
}

impl From<InventorySeal> for Seal {
    fn from(seal: InventorySeal) -> Self {
        Self { sha512: seal.digest.to_hex(), size: seal.size }
    }
}

impl Seal {
    pub(crate) fn inventory_seal(&self) -> Result<InventorySeal, StageError> {
        let digest = self.sha512.parse().map_err(|error| StageError::Transient(chain(&error)))?;
        Ok(InventorySeal { digest, size: self.size })
    }
}

pub(super) fn run(context: &StageContext<'_>) -> Result<StageEnd, StageError> {
    let resolved: Resolved = context.expect("resolved")?;
    if let Some(end) = keep_object(context, &resolved)? {
        return Ok(end);
    }
    let mut version = version(context)?;
    let (_, stores) = placement(context, &resolved)?;
    let seal = context.expect::<Seal>("seal")?.inventory_seal()?;
    if version.state == VersionState::Preparing {
        for (name, _) in &stores {
            let unproved = context.registry().read(|tx| versions::unproved(tx, &version, name))?;
            if unproved > 0 {
                let note = format!("{unproved} contents have no proved copy in {name}; writing again");
                return Ok(StageEnd::Back { to: Stage::Write, note });
            }
        }
        let committed = version.clone();
        context.write(move |tx, claim| versions::commit(tx, claim, &committed, seal.digest))?;
        version.state = VersionState::Committing;
        crash_point("ingest.record.committing");
    }
    if version.state == VersionState::Committing {
        let before = object(context, &resolved)?;
        let replaces =
            previous_inventory(context.home, &before).map_err(|error| StageError::Transient(error.chain()))?;
        let announced = mark::announce(context.home).map_err(|error| StageError::Transient(error.chain()))?;
        let marked: Vec<&dyn Store> = stores.iter().map(|(_, store)| store.as_ref()).collect();
        for store in &marked {
            // Synced with the assembly, before the version becomes visible.
            mark::advance(context.home, *store, &announced, Durability::OnSync)
                .map_err(|error| StageError::Transient(error.chain()))?;
        }
        crash_point("ingest.record.marked");
        for (_, store) in &stores {
            assembly(context, &version, store)?.commit(&seal, replaces.as_ref())?;
            crash_point("ingest.record.middle");
        }
        mark::confirm(context.home, &marked, &announced).map_err(|error| StageError::Transient(error.chain()))?;
    }
    let (institution, collection) = (context.item.institution, context.item.collection);
    let names: Vec<String> = stores.into_iter().map(|(name, _)| name).collect();
    context.write(move |tx, claim| {
        versions::publish(tx, claim, institution, collection, &names)?;
        leases::release_owner(tx, claim.item.0)
    })?;
    Ok(StageEnd::Next { next: Stage::Notify, note: format!("version {} is published", version.number) })
}

/// The digest of the root inventory that the stores should hold for an object now; none before its first version.
pub(crate) fn previous_inventory(home: &Home, object: &Object) -> Result<Option<Digest>, EngineError> {
    let published = home.registry.read(|tx| versions::list(tx, object.id, object.generation, false))?;
    Ok(published.last().and_then(|version| version.inventory))
}
