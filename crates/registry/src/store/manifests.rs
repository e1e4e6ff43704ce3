//! What is kept, row by row: the files of objects with the copies of their contents, for manifests, and the objects in a store, for
//! its catalogue. A version that was published does not change: what is read of it later is the same, but for what was deleted meanwhile.

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::interim::digest;
use crate::objects::Digests;
use crate::{CollectionId, CopyState, GenerationId, InstitutionId, ObjectId, RegistryError, Scope};

/// An object that is kept, as it is at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptObject {
    /// Its identifier in records.
    pub id: ObjectId,
    /// Its name, `<institution>/<name>`.
    pub identifier: String,
    /// The domain name of its institution.
    pub institution: String,
    /// The short name of its collection.
    pub collection: Option<String>,
    /// Its generation in the stores.
    pub generation: GenerationId,
    /// Its newest version.
    pub head: u64,
}

/// A content that a path of an object has had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// The logical path.
    pub path: String,
    /// The version that gave the path this content.
    pub version: u64,
    /// Bytes.
    pub size: u64,
    /// Its digests.
    pub digests: Digests,
    /// The PRONOM identifier of its format.
    pub puid: Option<String>,
    /// The MIME type of that.
    pub mime: Option<String>,
}

/// A content that a path has had, with one copy of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCopy {
    /// The file.
    pub file: KeptFile,
    /// When the version was published that gave the path this content.
    pub deposited_at: Option<Time>,
    /// The copy; none where there is none.
    pub copy: Option<StoredCopy>,
}

/// A copy in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCopy {
    /// The store.
    pub store: String,
    /// The key there.
    pub key: String,
    /// What is known of it.
    pub state: CopyState,
    /// When it was put.
    pub stored_at: Time,
    /// When it was verified after that.
    pub verified_at: Option<Time>,
    /// When its digest was last found right.
    pub last_fixity_at: Option<Time>,
}

/// A content in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredContent {
    /// The key.
    pub key: String,
    /// Bytes.
    pub size: u64,
    /// Its digests.
    pub digests: Digests,
    /// The MIME type that the first of its files has.
    pub mime: Option<String>,
}

/// An object in a store, with what people know it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CataloguedObject {
    /// Its name, `<institution>/<name>`.
    pub identifier: String,
    /// Its title.
    pub title: Option<String>,
    /// The short name of its collection.
    pub collection: Option<String>,
    /// Its ARK.
    pub ark: Option<String>,
    /// Its local identifiers.
    pub local_ids: Vec<String>,
    /// Its generation in the stores.
    pub generation: GenerationId,
    /// How many versions it has.
    pub versions: u64,
    /// Files of the package at the newest version.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was first deposited.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Where a list of the files of an object goes on: behind this content of this path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileCursor {
    /// The path.
    pub path: String,
    /// The version.
    pub version: u64,
}

/// Which contents of the files of an object are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// Those of the newest version.
    Newest,
    /// Those of every version.
    All,
}

/// Most local identifiers that are read of an object; a deposit gives fewer.
const MOST_LOCAL_IDS: usize = 1_000;

/// Objects that are kept, in the order of their identifiers in records: those of a scope, or of a collection within it.
pub fn objects(
    tx: &mut dyn Transaction,
    scope: Scope,
    collection: Option<CollectionId>,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<KeptObject>, RegistryError> {
    let mut values = vec![after.unwrap_or(ObjectId(Uuid::nil())).into(), scope.value(), limit.into()];
    let statement = match collection {
        None => Statement("manifests.objects"),
        Some(collection) => {
            values.push(collection.into());
            Statement("manifests.objects_of_collection")
        }
    };
    let row = |row: &Row| {
        Ok(KeptObject {
            id: ObjectId(row.uuid("id")?),
            identifier: row.text("identifier")?.to_owned(),
            institution: row.text("institution_identifier")?.to_owned(),
            collection: row.optional_text("collection_identifier")?.map(str::to_owned),
            generation: GenerationId(row.uuid("generation")?),
            head: row.count("head")?,
        })
    };
    tx.query(statement, &values)?.iter().map(row).collect()
}

/// Files of an object up to the version that is given with it, in the order of their paths and versions, after `after`.
pub fn files(
    tx: &mut dyn Transaction,
    object: &KeptObject,
    versions: Versions,
    after: &FileCursor,
    limit: usize,
) -> Result<Vec<KeptFile>, RegistryError> {
    tx.query(Statement("manifests.files"), &page(object, versions, after, limit))?.iter().map(file_row).collect()
}

/// The same with the copies in stores that are in use, in the order of these; in one store where it is named. A file that has several copies
/// comes several times, and `limit` counts files.
pub fn copies(
    tx: &mut dyn Transaction,
    object: &KeptObject,
    (versions, store): (Versions, Option<&str>),
    after: &FileCursor,
    limit: usize,
) -> Result<Vec<KeptCopy>, RegistryError> {
    let mut values = page(object, versions, after, limit);
    values.push(store.into());
    let row = |row: &Row| {
        let copy = |store: &str| {
            Ok::<_, RegistryError>(StoredCopy {
                store: store.to_owned(),
                key: row.text("key")?.to_owned(),
                state: row.text("state")?.parse()?,
                stored_at: row.time("stored_at")?,
                verified_at: row.optional_time("verified_at")?,
                last_fixity_at: row.optional_time("last_fixity_at")?,
            })
        };
        Ok(KeptCopy {
            file: file_row(row)?,
            deposited_at: row.optional_time("published_at")?,
            copy: row.optional_text("store")?.map(copy).transpose()?,
        })
    };
    tx.query(Statement("manifests.copies"), &values)?.iter().map(row).collect()
}

fn page(object: &KeptObject, versions: Versions, after: &FileCursor, limit: usize) -> Vec<Value> {
    vec![
        object.id.into(),
        object.generation.into(),
        object.head.into(),
        after.path.as_str().into(),
        after.version.into(),
        (versions == Versions::All).into(),
        limit.into(),
    ]
}

fn file_row(row: &Row) -> Result<KeptFile, RegistryError> {
    Ok(KeptFile {
        path: row.text("path")?.to_owned(),
        version: row.count("version")?,
        size: row.count("size")?,
        digests: digests_row(row)?,
        puid: row.optional_text("puid")?.map(str::to_owned),
        mime: row.optional_text("mime")?.map(str::to_owned),
    })
}

fn digests_row(row: &Row) -> Result<Digests, RegistryError> {
    Ok(Digests {
        md5: digest(row, "md5")?,
        sha1: digest(row, "sha1")?,
        sha256: digest(row, "sha256")?,
        sha512: digest(row, "sha512")?,
    })
}

/// What a store holds of an object up to the version that is given with it, in the order of the SHA-512, which is `after`.
pub fn contents(
    tx: &mut dyn Transaction,
    object: &KeptObject,
    store: &str,
    after: &[u8],
    limit: usize,
) -> Result<Vec<StoredContent>, RegistryError> {
    let values =
        [object.id.into(), object.generation.into(), object.head.into(), store.into(), after.into(), limit.into()];
    let row = |row: &Row| {
        Ok(StoredContent {
            key: row.text("key")?.to_owned(),
            size: row.count("size")?,
            digests: digests_row(row)?,
            mime: row.optional_text("mime")?.map(str::to_owned),
        })
    };
    tx.query(Statement("manifests.contents"), &values)?.iter().map(row).collect()
}

/// Objects of an institution that a store holds, in the order of their names, after `after`.
pub fn objects_in_store(
    tx: &mut dyn Transaction,
    store: &str,
    institution: InstitutionId,
    after: &str,
    limit: usize,
) -> Result<Vec<CataloguedObject>, RegistryError> {
    let values = [store.into(), institution.into(), after.into(), limit.into()];
    let mut found = Vec::new();
    for row in tx.query(Statement("manifests.objects_in_store"), &values)? {
        let object = ObjectId(row.uuid("id")?);
        let mut local_ids = Vec::new();
        if row.bool("has_local_ids")? {
            for row in tx.query(Statement("manifests.local_ids"), &[object.into(), MOST_LOCAL_IDS.into()])? {
                local_ids.push(row.text("local_id")?.to_owned());
            }
        }
        found.push(CataloguedObject {
            identifier: row.text("identifier")?.to_owned(),
            title: row.optional_text("title")?.map(str::to_owned),
            collection: row.optional_text("collection_identifier")?.map(str::to_owned),
            ark: row.optional_text("ark")?.map(str::to_owned),
            local_ids,
            generation: GenerationId(row.uuid("generation")?),
            versions: row.count("head")?,
            files: row.count("files")?,
            bytes: row.count("bytes")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        });
    }
    Ok(found)
}
