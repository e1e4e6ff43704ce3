//! record: the version becomes true. Marked `committing` it only goes forward: object root by object root in the stores,
//! each read back, then published in one short transaction.

use serde::{Deserialize, Serialize};
use strongroom_digest::Digest;
use strongroom_ocfl::InventorySeal;
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::objects::Object;
use strongroom_registry::versions::{self, Version};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{Description, GenerationId, ObjectId, Stage, VersionState, parts};
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
        if !commit(context, &resolved, &version, seal.digest)? {
            let note = "the object was free for others in between; comparing anew".to_owned();
            return Ok(StageEnd::Back { to: Stage::Compare, note });
        }
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
    crash_point("ingest.record.published");
    let standing = standing(context, &version.description, version.object, version.generation, version.number)?;
    Ok(StageEnd::Next { next: Stage::Notify, note: format!("version {} is published{standing}", version.number) })
}

/// Marks the version as committing, if nobody else has had the object since the stage began; whether it did.
fn commit(
    context: &StageContext<'_>,
    resolved: &Resolved,
    version: &Version,
    inventory: Digest,
) -> Result<bool, StageError> {
    let (object, version) = (resolved.object, version.clone());
    let lease = context.task.settings().lease_microseconds();
    context.write(move |tx, claim| {
        let until = tx.now()?.plus(lease);
        match leases::hold(tx, object, claim.item.0, until)? {
            Hold::Held { kept: true, .. } => versions::commit(tx, claim, &version, inventory).map(|()| true),
            _ => Ok(false),
        }
    })
}

/// How the object stands with a part, to be put behind a note: `: part 1 of 3, incomplete: parts 2, 3 missing`. Nothing for
/// a deposit that is no part.
pub(super) fn standing(
    context: &StageContext<'_>,
    said: &Description,
    object: ObjectId,
    generation: GenerationId,
    version: u64,
) -> Result<String, StageError> {
    let Some(part) = said.part else { return Ok(String::new()) };
    let all = context.registry().read(|tx| parts::at(tx, object, generation, version))?;
    Ok(all.map_or_else(String::new, |all| format!(": {part}, {all}")))
}

/// The digest of the root inventory that the stores should hold for an object now; none before its first version.
pub(crate) fn previous_inventory(home: &Home, object: &Object) -> Result<Option<Digest>, EngineError> {
    let published = home.registry.read(|tx| versions::list(tx, object.id, object.generation, false))?;
    Ok(published.last().and_then(|version| version.inventory))
}
