//! How a version becomes true: committed, and published as the object's head. Part of [`crate::versions`].

use strongroom_database::{DatabaseError, Statement, Transaction};
use strongroom_digest::Digest;

use super::versions::{Version, claimed_state, of_item, refusal, state_of};
use crate::model::claim::Claim;
use crate::{CollectionId, InstitutionId, RegistryError, VersionState, object_ids, parts, work};

/// From here only forward: fixes the digest of the version's inventory. Repeating it with the same digest changes nothing;
/// with another it is refused.
pub fn commit(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    inventory: Digest,
) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    let values = [version.object.into(), version.generation.into(), version.number.into()];
    let totals = tx.query_one(Statement("versions.totals"), &values)?;
    let (files, bytes) =
        totals.map_or(Ok((0, 0)), |row| Ok::<_, DatabaseError>((row.count("files")?, row.count("bytes")?)))?;
    let changed = tx.execute(
        Statement("versions.commit"),
        &[version.id.into(), inventory.as_bytes().into(), files.into(), bytes.into()],
    )?;
    if changed == 1 {
        return work::set_committed(tx, claim.item);
    }
    let state = state_of(tx, version)?;
    Err(refusal(version, state, "commit it with this inventory"))
}

/// Makes a committed version the object's head: one short transaction. `stores` are those that hold it.
pub fn publish(
    tx: &mut dyn Transaction,
    claim: &Claim,
    institution: InstitutionId,
    collection: Option<CollectionId>,
    stores: &[String],
) -> Result<(), RegistryError> {
    let Some(version) = of_item(tx, claim.item)? else {
        work::check_fence(tx, claim)?;
        return Err(RegistryError::NotFound { what: "version of work item", id: claim.item.to_string() });
    };
    if claimed_state(tx, claim, &version)? == VersionState::Published {
        return Ok(());
    }
    let now = tx.now()?;
    if tx.execute(Statement("versions.publish"), &[version.id.into(), now.into()])? != 1 {
        return Err(refusal(&version, version.state, "publish it"));
    }
    tx.execute(Statement("version_stores.drop"), &[version.id.into()])?;
    set_head(tx, &version, collection)?;
    tx.execute_each(
        Statement("object_copies.insert"),
        &mut stores.iter().map(|store| {
            vec![version.object.into(), store.into(), institution.into(), version.generation.into(), now.into()]
        }),
    )?;
    Ok(())
}

pub(crate) fn set_head(
    tx: &mut dyn Transaction,
    version: &Version,
    collection: Option<CollectionId>,
) -> Result<(), RegistryError> {
    let said = version.description.clone();
    tx.execute(
        Statement("objects.publish"),
        &[
            version.object.into(),
            version.number.into(),
            version.files.into(),
            version.bytes.into(),
            said.title.into(),
            said.description.into(),
            said.access.into(),
            said.placement.into(),
            said.profile.into(),
            said.source_organization.into(),
            said.bag_group_identifier.into(),
            said.internal_sender_identifier.into(),
            said.internal_sender_description.into(),
            // The time that the stores know too, so that a registry made from them says the same.
            version.created_at.into(),
            collection.into(),
            said.profile_version.into(),
            said.creator.into(),
            said.date.into(),
            said.layout.as_str().into(),
            said.metadata.map(|metadata| metadata.to_string()).into(),
            version.generation.into(),
            said.placement_requested.into(),
        ],
    )?;
    if let Some(part) = version.description.part {
        parts::put(tx, version, part)?;
    }
    if !version.description.deposit_ids.is_empty() {
        object_ids::keep(tx, version.object, &version.description.deposit_ids)?;
    }
    let local_ids = &version.description.local_ids;
    if !local_ids.is_empty() {
        let mut rows = local_ids.iter().map(|local_id| vec![version.object.into(), local_id.into()]);
        tx.execute_each(Statement("local_ids.insert"), &mut rows)?;
    }
    Ok(())
}
