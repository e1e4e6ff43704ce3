//! Rows made from what the preservation stores say, into a registry that no process works with. Everything may be
//! repeated: what is there already stays as it is. As in an ingest, readers see an object once its versions are
//! published, all at once.

use strongroom_database::{Statement, Time, Transaction};
use strongroom_digest::Digest;

pub use super::recorded::{RecordedContent, RecordedCopy, RecordedFile, put_copies, put_files, put_removals, uncopied};
pub use super::stored::{StoredObject, copies_by_key, objects_in_store, open_generations, stored_object};
use crate::backfill::{ObjectCopy, put_object_copy};
use crate::versions::{ROWS_AT_ONCE, Version};
use crate::{
    CollectionId, Description, EventId, GenerationId, InstitutionId, ItemId, ObjectId, ObjectState, Origin,
    RegistryError, Scope, VersionId, VersionState, discarding, object_ids, profiles, tenants, versions,
};

/// The fact that says that a rebuild was begun and has not ended.
const UNDER_WAY: &str = "rebuild";

/// Refuses a registry that holds work, or objects that no rebuild has begun to put there; marks it as being rebuilt.
pub fn begin(tx: &mut dyn Transaction) -> Result<(), RegistryError> {
    let row = tx.query_one(Statement("rebuild.in_use"), &[])?;
    let in_use = |column| row.as_ref().map_or(Ok(false), |row| row.bool(column));
    let (objects, work) = (in_use("has_objects")?, in_use("has_work_items")? || in_use("has_batches")?);
    let is_under_way = tenants::fact(tx, UNDER_WAY)?.as_deref() == Some("begun");
    if work || objects && !is_under_way {
        return Err(RegistryError::State {
            what: "registry",
            id: "of this data directory".into(),
            state: if work { "in use: it has work items".into() } else { "in use: it has objects".into() },
            act: "rebuild it".into(),
        });
    }
    tenants::set_fact(tx, UNDER_WAY, "begun")
}

/// Marks the rebuild as ended: from here the registry is in use.
pub fn end(tx: &mut dyn Transaction) -> Result<(), RegistryError> {
    tenants::set_fact(tx, UNDER_WAY, "ended")
}

/// Makes the institution of a record. One of the same domain name but another identifier gives way, with its collections,
/// as long as it has no objects.
pub fn put_institution(
    tx: &mut dyn Transaction,
    id: InstitutionId,
    identifier: &str,
    name: &str,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let known = tenants::institution(tx, Scope::System, identifier)?;
    let Some(known) = known else {
        return tenants::add_institution(tx, id, identifier, name);
    };
    if known.id == id {
        return Ok(());
    }
    let state = if known.active { "active" } else { "deactivated" };
    let aside = format!("{identifier} gives way");
    tx.execute(Statement("rebuild.rename_institution"), &[known.id.into(), aside.into()])?;
    tx.execute(
        Statement("rebuild.insert_institution"),
        &[id.into(), identifier.into(), known.name.into(), state.into(), known.created_at.into(), now.into()],
    )?;
    tx.execute(Statement("rebuild.move_collections"), &[known.id.into(), id.into()])?;
    // Refused by the database where anything else refers to it.
    tx.execute(Statement("rebuild.drop_institution"), &[known.id.into()])?;
    Ok(())
}

/// The collection of this short name, made where there is none.
pub fn put_collection(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    identifier: &str,
) -> Result<CollectionId, RegistryError> {
    if let Some(known) = tenants::collection(tx, Scope::System, institution, identifier)? {
        return Ok(known.id);
    }
    let id = CollectionId::new();
    let rules = tenants::CollectionRules { name: identifier.to_owned(), ..tenants::CollectionRules::default() };
    tenants::add_collection(tx, id, institution, identifier, (&rules, "rebuild"))?;
    Ok(id)
}

/// An object as a record names it.
#[derive(Debug, Clone)]
pub struct RecordedObject {
    /// Its identifier.
    pub id: ObjectId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The collection it was first deposited for.
    pub collection: Option<CollectionId>,
    /// `<institution>/<name>`.
    pub identifier: String,
    /// The generation.
    pub generation: GenerationId,
    /// Its ARK.
    pub ark: Option<String>,
    /// When it was first deposited.
    pub created_at: Time,
}

/// A version as a record names it.
#[derive(Debug, Clone)]
pub struct RecordedVersion {
    /// Its identifier.
    pub id: VersionId,
    /// From 1, within the generation.
    pub number: u64,
    /// The work item that made it.
    pub item: ItemId,
    /// Why it was made.
    pub message: String,
    /// Who had it made.
    pub user: String,
    /// What it was harvested from; none where it was not harvested.
    pub harvested_from: Option<Origin>,
    /// What the object is from it on.
    pub description: Description,
    /// When it was begun.
    pub created_at: Time,
    /// Whether its contents lie under its identifier.
    pub owns_contents: bool,
}

/// Puts an object, which no process sees yet; refused where another has its name.
pub fn put_object(tx: &mut dyn Transaction, object: &RecordedObject) -> Result<(), RegistryError> {
    tx.execute(
        Statement("rebuild.insert_object"),
        &[
            object.id.into(),
            object.institution.into(),
            object.collection.into(),
            (&object.identifier).into(),
            object.generation.into(),
            object.ark.clone().into(),
            object.created_at.into(),
        ],
    )?;
    let scope = Scope::Institution(object.institution);
    let known = crate::objects::by_identifier(tx, scope, &object.identifier)?;
    if known.is_none_or(|known| known.id != object.id) {
        return Err(RegistryError::Exists { what: "another object", id: object.identifier.clone() });
    }
    Ok(())
}

/// Puts the ARK that the record of a version says its object has. Where it is recorded for another object, it stays that one's.
pub fn put_ark(tx: &mut dyn Transaction, object: &RecordedObject, ark: &str) -> Result<(), RegistryError> {
    object_ids::choose_ark(tx, object.institution, &object.identifier, &[ark.to_owned()])?;
    object_ids::set_ark(tx, object.id, ark).map(drop)
}

/// Puts an object and one of its versions, which no process sees yet.
///
/// # Errors
/// Another version has its number, or it was discarded: what the store holds is taken up only as what it says it is.
pub fn put_version(
    tx: &mut dyn Transaction,
    object: &RecordedObject,
    version: &RecordedVersion,
) -> Result<(), RegistryError> {
    put_object(tx, object)?;
    let description = serde_json::to_string(&version.description)
        .map_err(|_| RegistryError::Corrupt { wanted: "a description", found: format!("{:?}", version.description) })?;
    // A row of it that was given up has nothing left; the store holds it all the same.
    forget_version(tx, version.id)?;
    tx.execute(
        Statement("rebuild.insert_version"),
        &[
            version.id.into(),
            object.id.into(),
            object.generation.into(),
            version.number.into(),
            version.item.into(),
            (&version.message).into(),
            (&version.user).into(),
            description.into(),
            version.created_at.into(),
            version.owns_contents.into(),
            version.harvested_from.as_ref().map(|origin| origin.location.as_str()).into(),
            version.harvested_from.as_ref().and_then(|origin| origin.part.as_deref()).into(),
        ],
    )?;
    note_profile(tx, &version.description)?;
    check_number(tx, object, version)
}

/// Notes the version of a profile that a version was checked against.
fn note_profile(tx: &mut dyn Transaction, said: &Description) -> Result<(), RegistryError> {
    match (&said.profile, said.profile_version, said.profile_sha512.as_ref().and_then(|digest| digest.parse().ok())) {
        (Some(name), Some(version), Some(sha512)) => profiles::note(tx, name, version, sha512),
        _ => Ok(()),
    }
}

/// Refuses where a version's number belongs to another, or to one of its identifier that was given up.
fn check_number(
    tx: &mut dyn Transaction,
    object: &RecordedObject,
    version: &RecordedVersion,
) -> Result<(), RegistryError> {
    let key = [object.id.into(), object.generation.into(), version.number.into()];
    let found = tx.query_one(Statement("rebuild.number_taken"), &key)?;
    let (id, state) = match &found {
        Some(row) => (row.uuid("id")?, row.text("state")?),
        None => return Err(taken(version, "not available: the registry has discarded it")),
    };
    match state.parse::<VersionState>()? {
        VersionState::Preparing | VersionState::Committing | VersionState::Published if id == version.id.0 => Ok(()),
        state => Err(taken(version, &format!("taken by version {id}, which is {state}"))),
    }
}

fn taken(version: &RecordedVersion, why: &str) -> RegistryError {
    RegistryError::State {
        what: "version",
        id: version.number.to_string(),
        state: why.to_owned(),
        act: format!("import version {} of the store; nothing is changed", version.id),
    }
}

/// The versions of a generation that were not dropped, oldest first, whatever their state; with the object they are of.
pub fn of_generation(tx: &mut dyn Transaction, generation: GenerationId) -> Result<Vec<Version>, RegistryError> {
    versions::of_generation(tx, generation)
}

/// Drops some rows of a version that could not be taken up; whether all are gone, and the version with them, so that one of
/// the same identifier can be taken up. The caller holds the object.
pub fn drop_version(tx: &mut dyn Transaction, version: &Version) -> Result<bool, RegistryError> {
    discarding::mark(tx, version)?;
    let all_gone = discarding::drop_rows(tx, version)?;
    if all_gone {
        forget_version(tx, version.id)?;
    }
    Ok(all_gone)
}

fn forget_version(tx: &mut dyn Transaction, version: VersionId) -> Result<(), RegistryError> {
    tx.execute(Statement("version_stores.drop"), &[version.into()])?;
    tx.execute(Statement("rebuild.forget_version"), &[version.into()])?;
    Ok(())
}

/// Marks a version that was being prepared as discarded: another of its number was published. The caller holds the object.
pub fn discard_version(tx: &mut dyn Transaction, version: &Version) -> Result<(), RegistryError> {
    discarding::mark(tx, version)
}

/// The discarded versions of a generation that keep their numbers, oldest first.
pub fn unswept_of_generation(
    tx: &mut dyn Transaction,
    generation: GenerationId,
) -> Result<Vec<Version>, RegistryError> {
    versions::unswept_of_generation(tx, generation)
}

/// Whether an event is in the record.
pub fn has_event(tx: &mut dyn Transaction, event: EventId) -> Result<bool, RegistryError> {
    Ok(tx.query_one(Statement("rebuild.has_event"), &[event.into()])?.is_some())
}

/// Lets every object's lease go: those that hold them are of a registry that was lost.
pub fn clear_leases(tx: &mut dyn Transaction) -> Result<(), RegistryError> {
    tx.execute(Statement("rebuild.clear_leases"), &[])?;
    Ok(())
}

/// Lets readers see an object: its versions, oldest first, each with the digest of its inventory where it still has one, and
/// the stores that hold it.
pub fn publish(
    tx: &mut dyn Transaction,
    object: &RecordedObject,
    recorded: &[(RecordedVersion, Option<Digest>)],
    stores: &[String],
    state: ObjectState,
) -> Result<(), RegistryError> {
    tx.execute(Statement("rebuild.set_generation"), &[object.id.into(), object.generation.into()])?;
    let known = crate::objects::get(tx, Scope::System, object.id)?;
    // An older generation is kept for its versions; what the object is now, the newest says.
    let is_newest = known.is_some_and(|known| known.generation == object.generation);
    for (version, inventory) in recorded {
        let key = [object.id.into(), object.generation.into(), version.number.into()];
        let totals = tx.query_one(Statement("versions.totals"), &key)?;
        let (files, bytes) = match totals {
            Some(row) => (row.count("files")?, row.count("bytes")?),
            None => (0, 0),
        };
        let inventory = inventory.map(|digest| digest.as_bytes().to_vec());
        let [id, generation, number] = key;
        let published = tx.execute(
            Statement("rebuild.publish_version"),
            &[version.id.into(), id, generation, inventory.into(), files.into(), bytes.into(), number],
        )?;
        if published != 1 {
            let state = versions::get(tx, version.id)?.map(|version| version.state);
            match state {
                // It was so before.
                Some(VersionState::Published) => {}
                Some(state) => return Err(taken(version, &format!("in the registry as {state}"))),
                None => return Err(taken(version, "not in the registry")),
            }
        }
        tx.execute(Statement("version_stores.drop"), &[version.id.into()])?;
        tx.execute(Statement("items.set_committed_of_version"), &[version.id.into()])?;
    }
    if is_newest {
        for version in versions::list(tx, object.id, object.generation, false)? {
            versions::set_head(tx, &version, object.collection)?;
        }
        tx.execute(Statement("rebuild.set_state"), &[object.id.into(), state.as_str().into()])?;
    }
    for store in stores {
        let (institution, generation, store) = (object.institution, object.generation, store.clone());
        put_object_copy(tx, &ObjectCopy { institution, object: object.id, generation, store }, false)?;
    }
    Ok(())
}

/// Drops up to [`ROWS_AT_ONCE`] rows of a generation that could not be read to its end; whether all are gone.
pub fn drop_rows(tx: &mut dyn Transaction, object: ObjectId, generation: GenerationId) -> Result<bool, RegistryError> {
    let key = [object.into(), generation.into(), ROWS_AT_ONCE.into()];
    for statement in [
        Statement("rebuild.drop_events"),
        Statement("rebuild.drop_entries"),
        Statement("rebuild.drop_copies"),
        Statement("rebuild.drop_contents"),
        Statement("rebuild.drop_deleted_entries"),
        Statement("rebuild.drop_deleted_contents"),
    ] {
        if tx.execute(statement, &key)? > 0 {
            return Ok(false);
        }
    }
    if tx.execute(Statement("rebuild.drop_files"), &[object.into(), ROWS_AT_ONCE.into()])? > 0 {
        return Ok(false);
    }
    tx.execute(Statement("rebuild.drop_versions"), &[object.into(), generation.into()])?;
    tx.execute(Statement("rebuild.drop_lease"), &[object.into()])?;
    tx.execute(Statement("rebuild.drop_object"), &[object.into()])?;
    Ok(true)
}
