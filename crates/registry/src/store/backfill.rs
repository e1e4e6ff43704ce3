//! Which stores lack what: objects of a placement that a store of it does not hold whole, and stores that are out of use.
//! What is lacking is derived from the rows of copies each time it is asked for, so it is also right after a rebuild.

use std::collections::BTreeSet;

use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_digest::Digest;
use uuid::Uuid;

use crate::interim::digest;
use crate::{ContentId, GenerationId, InstitutionId, ObjectId, RegistryError, Scope, statistics, tenants};

/// An object that a store should hold whole and does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The object.
    pub object: ObjectId,
    /// Whose it is, by domain name.
    pub institution_identifier: String,
    /// `<institution>/<name>`.
    pub object_identifier: String,
    /// The generation it is of.
    pub generation: GenerationId,
    /// Contents of it that the store lacks.
    pub contents: u64,
    /// Whether the store has its inventories.
    pub has_inventories: bool,
}

/// Objects of a placement that `store` does not hold whole, in order of their making, after `after`.
pub fn lacking_objects(
    tx: &mut dyn Transaction,
    scope: Scope,
    (placement, store): (&str, &str),
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<Lacking>, RegistryError> {
    let after = after.unwrap_or(ObjectId(Uuid::nil()));
    let values = [after.into(), placement.into(), store.into(), scope.value(), limit.into()];
    tx.query(Statement("backfill.lacking_objects"), &values)?.iter().map(lacking).collect()
}

/// How many objects of a placement `store` does not hold whole.
pub fn count_lacking(tx: &mut dyn Transaction, placement: &str, store: &str) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("backfill.count_lacking"), &[placement.into(), store.into()])?;
    row.map_or(Ok(0), |row| Ok(row.count("objects")?))
}

/// How many objects of a placement `store` does not hold whole, and the bytes of the contents that it lacks of them.
pub fn amount_lacking(tx: &mut dyn Transaction, placement: &str, store: &str) -> Result<(u64, u64), RegistryError> {
    let row = tx.query_one(Statement("backfill.amount_lacking"), &[placement.into(), store.into()])?;
    row.map_or(Ok((0, 0)), |row| Ok((row.count("objects")?, row.count("bytes")?)))
}

/// Objects of a placement that lie in the store `held_in` and of which `store` lacks verified copies, in order of their
/// making, after `after`. The counts are of what is not verified.
pub fn unverified_objects(
    tx: &mut dyn Transaction,
    (placement, store): (&str, &str),
    held_in: &str,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<Lacking>, RegistryError> {
    let after = after.unwrap_or(ObjectId(Uuid::nil()));
    let values = [after.into(), placement.into(), store.into(), held_in.into(), limit.into()];
    tx.query(Statement("backfill.unverified_objects"), &values)?.iter().map(lacking).collect()
}

fn lacking(row: &Row) -> Result<Lacking, RegistryError> {
    Ok(Lacking {
        object: ObjectId(row.uuid("id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        object_identifier: row.text("object_identifier")?.to_owned(),
        generation: GenerationId(row.uuid("generation")?),
        contents: row.count("lacking_contents")?,
        has_inventories: row.bool("has_inventories")?,
    })
}

/// Whether published objects lie in a store, as the registry knows it.
pub fn holds_objects(tx: &mut dyn Transaction, store: &str) -> Result<bool, RegistryError> {
    Ok(tx.query_one(Statement("backfill.holds_objects"), &[store.into()])?.is_some())
}

/// The placements, in lower case, of the objects that lie in a store; the empty one for objects without.
pub fn placements_in_store(tx: &mut dyn Transaction, store: &str) -> Result<Vec<String>, RegistryError> {
    let rows = tx.query(Statement("backfill.placements_in_store"), &[store.into()])?;
    rows.iter().map(|row| Ok(row.text("placement")?.to_owned())).collect()
}

/// A published content that a store lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LackingContent {
    /// The content.
    pub id: ContentId,
    /// Its SHA-512.
    pub sha512: Digest,
    /// Its SHA-256.
    pub sha256: Digest,
    /// Bytes.
    pub size: u64,
}

/// Published contents of an object that have no copy in a store, in order of their SHA-512, after `after`.
pub fn lacking_contents(
    tx: &mut dyn Transaction,
    object: ObjectId,
    store: &str,
    after: Option<Digest>,
    limit: usize,
) -> Result<Vec<LackingContent>, RegistryError> {
    let after = after.map_or_else(Vec::new, |digest| digest.as_bytes().to_vec());
    let values = [object.into(), after.into(), store.into(), limit.into()];
    tx.query(Statement("backfill.lacking_contents"), &values)?
        .iter()
        .map(|row| {
            Ok(LackingContent {
                id: ContentId(row.uuid("id")?),
                sha512: digest(row, "sha512")?,
                sha256: digest(row, "sha256")?,
                size: row.count("size")?,
            })
        })
        .collect()
}

/// How a copy that was brought into a store is known to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyProof {
    /// It was read back.
    Read,
    /// The store's own strong checksum of it was compared.
    Attested,
    /// Not at all: something lies there that was not put now. It is due to be read at once.
    None,
}

/// A copy that was brought into a store.
#[derive(Debug, Clone)]
pub struct BroughtCopy {
    /// The content.
    pub content: ContentId,
    /// Its key in the store.
    pub key: String,
    /// Its storage class, where one was asked for.
    pub class: Option<String>,
    /// How it is known to be right.
    pub proof: CopyProof,
}

/// Puts the rows of copies that were brought into a store.
pub fn put_copies(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    object: ObjectId,
    store: &str,
    copies: &[BroughtCopy],
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    for copy in copies {
        let mut values = vec![
            copy.content.into(),
            store.into(),
            institution.into(),
            object.into(),
            (&copy.key).into(),
            copy.class.clone().into(),
            now.into(),
        ];
        let only = |proof| if copy.proof == proof { Some(now) } else { None };
        let statement = match copy.proof {
            CopyProof::None => Statement("backfill.insert_unread_copy"),
            CopyProof::Read | CopyProof::Attested => {
                values.push(only(CopyProof::Read).into());
                values.push(only(CopyProof::Attested).into());
                Statement("backfill.insert_copy")
            }
        };
        tx.execute(statement, &values)?;
    }
    statistics::mark(tx, object)
}

/// Declaration and inventories of an object in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectCopy {
    /// Whose it is.
    pub institution: InstitutionId,
    /// The object.
    pub object: ObjectId,
    /// Of which generation.
    pub generation: GenerationId,
    /// The store.
    pub store: String,
}

/// Notes that a store holds declaration and inventories of an object as the record has them: `is_read` where they were read
/// back now, else they are due to be read.
pub fn put_object_copy(tx: &mut dyn Transaction, copy: &ObjectCopy, is_read: bool) -> Result<(), RegistryError> {
    let mut values = vec![copy.object.into(), (&copy.store).into(), copy.institution.into(), copy.generation.into()];
    if is_read {
        values.push(tx.now()?.into());
        tx.execute(Statement("backfill.insert_object_copy"), &values)?;
    } else {
        tx.execute(Statement("rebuild.insert_object_copy"), &values)?;
    }
    Ok(())
}

/// The fact that says that a store is out of use.
/// What stands before the name of a store in the fact that it is out of use.
const RETIRED: &str = "store.retired/";

fn retired_fact(store: &str) -> String {
    format!("{RETIRED}{store}")
}

/// When a store was taken out of use; none while it is in use.
pub fn retired_at(tx: &mut dyn Transaction, store: &str) -> Result<Option<String>, RegistryError> {
    tenants::fact(tx, &retired_fact(store))
}

/// Every store that is out of use.
pub fn retired(tx: &mut dyn Transaction) -> Result<BTreeSet<String>, RegistryError> {
    let rows = tx.query(Statement("stores.retired"), &[])?;
    let name = |row: &Row| Ok(row.text("name")?.trim_start_matches(RETIRED).to_owned());
    rows.iter().map(name).collect()
}

/// Every store that is out of use, and the stores in which a finding of `owner` - the inventories of an object, or the declaration
/// of an institution's storage root - is not solved.
pub fn retired_and_found_wrong(
    tx: &mut dyn Transaction,
    owner: ObjectId,
) -> Result<(BTreeSet<String>, BTreeSet<String>), RegistryError> {
    let (mut retired, mut found_wrong) = (BTreeSet::new(), BTreeSet::new());
    for row in tx.query(Statement("stores.retired_and_found_wrong"), &[owner.into()])? {
        let name = row.text("name")?;
        match name.strip_prefix(RETIRED) {
            Some(store) => retired.insert(store.to_owned()),
            None => found_wrong.insert(name.to_owned()),
        };
    }
    Ok((retired, found_wrong))
}

/// Takes a store back into use.
pub fn use_again(tx: &mut dyn Transaction, store: &str) -> Result<(), RegistryError> {
    tenants::delete_fact(tx, &retired_fact(store))
}

/// Takes a store out of use.
pub fn retire(tx: &mut dyn Transaction, store: &str) -> Result<Time, RegistryError> {
    let now = tx.now()?;
    tenants::set_fact(tx, &retired_fact(store), &now.to_string())?;
    Ok(now)
}
