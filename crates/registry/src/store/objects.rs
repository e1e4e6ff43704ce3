//! Objects, their files, contents and copies, as readers see them: published versions only.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_digest::Digest;
use unicode_normalization::UnicodeNormalization as _;
use uuid::Uuid;

use crate::interim::digest;
use crate::leases::{self, LeaseState};
use crate::versions::{self, Version};
use crate::{
    CollectionId, ContentId, CopyState, FileId, Format, GenerationId, InstitutionId, ItemId, ObjectId, ObjectState,
    Order, Part, RegistryError, Scope, named,
};

/// The prefix of logical paths that people see, count and get back.
pub const DEPOSIT: &str = "deposit/";

/// The four digests of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digests {
    /// MD5.
    pub md5: Digest,
    /// SHA-1.
    pub sha1: Digest,
    /// SHA-256.
    pub sha256: Digest,
    /// SHA-512.
    pub sha512: Digest,
}

/// What a deposit says an object is; kept with the version and taken over by the object when it is published.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Description {
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// `consortia`, `institution` or `restricted`.
    pub access: Option<String>,
    /// The placement its copies belong in.
    pub placement: Option<String>,
    /// Whether a deposit named the placement: if not, it is that of the collection, also after a change. None where that was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement_requested: Option<bool>,
    /// The profile it was checked against.
    pub profile: Option<String>,
    /// Which version of that profile ([`crate::profiles`]); none where that was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_version: Option<u64>,
    /// The SHA-512 of the document of that version, in hexadecimal digits; kept with the version of the object only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_sha512: Option<String>,
    /// `Source-Organization`.
    pub source_organization: Option<String>,
    /// `Bag-Group-Identifier`.
    pub bag_group_identifier: Option<String>,
    /// `Internal-Sender-Identifier`.
    pub internal_sender_identifier: Option<String>,
    /// `Internal-Sender-Description`.
    pub internal_sender_description: Option<String>,
    /// The name of the folder that the deposit came in, which a version restores with its submission.
    pub base_directory: Option<String>,
    /// Which part of the object the deposit was, where it came in parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Identifiers the depositor uses.
    pub local_ids: Vec<String>,
    /// Those among them by which deposits find the object: unique within the institution.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deposit_ids: Vec<String>,
    /// Who made what the object holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// When, in the words of the depositor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Whether its paths are those of a bag.
    #[serde(skip_serializing_if = "Layout::is_bag")]
    pub layout: Layout,
    /// ERC and Dublin Core, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Value>,
}

/// What the paths of an object are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Those of a bag: `data/` and tag files.
    #[default]
    Bag,
    /// Those of the files that were deposited.
    Files,
}

impl Layout {
    /// Whether they are those of a bag.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_bag(&self) -> bool {
        *self == Self::Bag
    }

    /// As it stands in a row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bag => "bag",
            Self::Files => "files",
        }
    }
}

/// An object as it stands.
#[derive(Debug, Clone)]
pub struct Object {
    /// Its identifier in records.
    pub id: ObjectId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The institution's domain name.
    pub institution_identifier: String,
    /// The collection's short name.
    pub collection_identifier: Option<String>,
    /// `<institution>/<name>`.
    pub identifier: String,
    /// The generation its copies belong to.
    pub generation: GenerationId,
    /// Where it is.
    pub state: ObjectState,
    /// What the deposits said.
    pub description: Description,
    /// Its ARK, where one was minted.
    pub ark: Option<String>,
    /// The latest published version; 0 while there is none.
    pub head: u64,
    /// Files that people see.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was first deposited.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// Whether a version begins it anew, behind a deletion: see [`Object::anew`].
    pub is_anew: bool,
}

/// A file with its content at one version.
#[derive(Debug, Clone)]
pub struct File {
    /// Without end.
    pub id: FileId,
    /// The logical path, with its prefix.
    pub path: String,
    /// When it was last modified, by the depositor's word.
    pub modified: Option<Timestamp>,
    /// The content.
    pub content: ContentId,
    /// Bytes.
    pub size: u64,
    /// All four.
    pub digests: Digests,
    /// What it is.
    pub format: Format,
    /// The version in which the path got this content.
    pub since: u64,
    /// The version whose folder holds the bytes.
    pub stored_in: u64,
}

/// One content in one store.
#[derive(Debug, Clone)]
pub struct Copy {
    /// The store's name.
    pub store: String,
    /// The key within the store.
    pub key: String,
    /// The storage class, where the store has them.
    pub class: Option<String>,
    /// Where it is.
    pub state: CopyState,
    /// When it was put.
    pub stored_at: Time,
    /// When it was proved after that.
    pub verified_at: Option<Time>,
    /// When its digest was last right.
    pub last_fixity_at: Option<Time>,
}

/// A content with what is needed to find and prove it.
#[derive(Debug, Clone)]
pub struct Content {
    /// Its identifier.
    pub id: ContentId,
    /// The object it is of.
    pub object: ObjectId,
    /// The generation it is of.
    pub generation: GenerationId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The institution's domain name.
    pub institution_identifier: String,
    /// Bytes.
    pub size: u64,
    /// All four.
    pub digests: Digests,
    /// The version whose folder holds the bytes.
    pub stored_in: u64,
}

impl Object {
    /// As it stands for a deposit that begins it anew, in a generation of its own: it was deleted, and nothing of that generation is
    /// published. Its identifiers stay.
    #[must_use]
    pub fn anew(self, generation: GenerationId) -> Self {
        let local_ids = self.description.local_ids;
        let description = Description { local_ids, ..Description::default() };
        Self { generation, description, state: ObjectState::New, head: 0, files: 0, bytes: 0, is_anew: true, ..self }
    }

    /// As it stands for a version that is made of it: anew, where that is of a later generation.
    #[must_use]
    pub fn for_version(self, version: Option<&Version>) -> Self {
        match version {
            Some(version) if version.generation > self.generation => self.anew(version.generation),
            _ => self,
        }
    }
}

/// Makes an object that nothing is published of yet, or finds the one of this identifier.
pub fn find_or_make(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    collection: Option<CollectionId>,
    identifier: &str,
    id: ObjectId,
    generation: GenerationId,
) -> Result<Object, RegistryError> {
    let now = tx.now()?;
    tx.execute(
        Statement("objects.insert"),
        &[id.into(), institution.into(), collection.into(), identifier.into(), generation.into(), now.into()],
    )?;
    by_identifier(tx, Scope::Institution(institution), identifier)?
        .ok_or_else(|| RegistryError::NotFound { what: "object", id: identifier.into() })
}

/// An object by its identifier, `<institution>/<name>`.
pub fn by_identifier(
    tx: &mut dyn Transaction,
    scope: Scope,
    identifier: &str,
) -> Result<Option<Object>, RegistryError> {
    tx.query_one(Statement("objects.by_identifier"), &[identifier.into(), scope.value()])?
        .as_ref()
        .map(object_row)
        .transpose()
}

/// An object by its identifier in records.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: ObjectId) -> Result<Option<Object>, RegistryError> {
    tx.query_one(Statement("objects.get"), &[id.into(), scope.value()])?.as_ref().map(object_row).transpose()
}

/// An object with the version that an item makes of it, and with its lease as the item sees it; none where the object is gone. A
/// version that was discarded is none.
pub fn with_version(
    tx: &mut dyn Transaction,
    item: ItemId,
    id: ObjectId,
) -> Result<Option<(Object, Option<Version>, LeaseState)>, RegistryError> {
    let Some(row) = tx.query_one(Statement("objects.with_version"), &[item.into(), id.into()])? else {
        return Ok(None);
    };
    let version = versions::version_beside_object(&row)?;
    Ok(Some((object_row(&row)?.for_version(version.as_ref()), version, leases::lease_row(&row, item.0)?)))
}

/// An object by `<institution>/<name>`, or by its identifier in records as [`named::find`] takes it. Of `<institution>/<name>` a
/// beginning and an end with `…` or `...` between them suffice, where no other object has both.
pub fn find(tx: &mut dyn Transaction, scope: Scope, name: &str) -> Result<Object, RegistryError> {
    let found = if name.contains('/') {
        let mut found = by_identifier(tx, scope, name)?.filter(|object| object.state != ObjectState::New);
        if found.is_none() {
            found = by_other_form(tx, scope, name)?;
        }
        if found.is_none() {
            found = by_ends(tx, scope, name)?;
        }
        found
    } else {
        match named::find::<ObjectId>(tx, scope, name) {
            Ok(id) => get(tx, scope, id)?,
            Err(RegistryError::NotFound { .. }) => by_ends(tx, scope, name)?,
            Err(error) => return Err(error),
        }
    };
    found
        .filter(|object| object.state != ObjectState::New)
        .ok_or_else(|| RegistryError::NotFound { what: "object", id: name.into() })
}

/// The one object whose `<institution>/<name>` is the same text in another normalization form of Unicode (Unicode Standard Annex 15): a
/// name looks the same composed and decomposed, and people cannot choose which they type.
///
/// # Errors
/// There is one of each form: [`RegistryError::Ambiguous`] names their identifiers, by which they can be told from each other.
fn by_other_form(tx: &mut dyn Transaction, scope: Scope, name: &str) -> Result<Option<Object>, RegistryError> {
    if name.is_ascii() {
        return Ok(None);
    }
    let mut forms: Vec<String> = vec![name.nfc().collect(), name.nfd().collect()];
    forms.dedup();
    let mut found = Vec::new();
    for form in forms.iter().filter(|form| *form != name) {
        found.extend(by_identifier(tx, scope, form)?.filter(|object| object.state != ObjectState::New));
    }
    if found.len() > 1 {
        return Err(RegistryError::Ambiguous {
            what: "object",
            id: name.to_owned(),
            candidates: named::listed(found.iter().map(|object| object.id.to_string()).collect()),
        });
    }
    Ok(found.pop())
}

/// The one object whose `<institution>/<name>` begins and ends as a shortened one says; none where the text is not shortened.
fn by_ends(tx: &mut dyn Transaction, scope: Scope, name: &str) -> Result<Option<Object>, RegistryError> {
    let Some((beginning, end)) = named::ends_of(name) else { return Ok(None) };
    let values = [beginning.into(), end.into(), scope.value(), (named::CANDIDATES + 1).into()];
    let rows = tx.query(Statement("objects.by_ends"), &values)?;
    let mut found = rows.iter().map(object_row).collect::<Result<Vec<_>, _>>()?;
    if found.len() > 1 {
        let identifiers = found.into_iter().map(|object| object.identifier);
        return Err(RegistryError::Ambiguous {
            what: "object",
            id: name.to_owned(),
            candidates: named::listed(identifiers.collect()),
        });
    }
    Ok(found.pop())
}

/// The content of an object that has these bytes, by their SHA-512.
pub fn content_by_digest(
    tx: &mut dyn Transaction,
    object: &Object,
    sha512: &Digest,
) -> Result<Option<ContentId>, RegistryError> {
    let key = vec![object.id.into(), object.generation.into(), sha512.as_bytes().into()];
    let found = tx.query_many(Statement("contents.by_digest"), &mut std::iter::once(key))?;
    found.into_iter().flatten().map(|row| Ok(ContentId(row.uuid("id")?))).next().transpose()
}

/// Which objects are listed.
#[derive(Debug, Clone, Default)]
pub struct ObjectFilter {
    /// Only this state.
    pub state: Option<ObjectState>,
    /// Only those of the collection of this short name.
    pub collection: Option<String>,
    /// Only those first deposited since.
    pub since: Option<Time>,
    /// In which order.
    pub order: Order,
}

/// Published objects in the order that the filter says, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &ObjectFilter,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<Object>, RegistryError> {
    let (statement, start) = match filter.order {
        Order::OldestFirst => (Statement("objects.list"), Uuid::nil()),
        Order::NewestFirst => (Statement("objects.newest"), Uuid::max()),
    };
    let values = [
        after.unwrap_or(ObjectId(start)).into(),
        scope.value(),
        filter.state.map(ObjectState::as_str).into(),
        filter.collection.clone().into(),
        filter.since.into(),
        limit.into(),
    ];
    tx.query(statement, &values)?.iter().map(object_row).collect()
}

/// A content as `compare` needs it: identifier, SHA-512, size in bytes.
pub type ContentBrief = (ContentId, Digest, u64);

/// What a path has now: the file, and its content where it has one.
pub type CurrentFile = (FileId, Option<ContentBrief>);

/// The content a path has now.
pub fn current(tx: &mut dyn Transaction, object: ObjectId, path: &str) -> Result<Option<CurrentFile>, RegistryError> {
    Ok(current_of(tx, object, &mut std::iter::once(path))?.pop().flatten())
}

/// The same of several paths, in their order.
pub fn current_of(
    tx: &mut dyn Transaction,
    object: ObjectId,
    paths: &mut dyn Iterator<Item = &str>,
) -> Result<Vec<Option<CurrentFile>>, RegistryError> {
    let rows = tx.query_many(Statement("files.current"), &mut paths.map(|path| vec![object.into(), path.into()]))?;
    rows.iter().map(|row| row.as_ref().map(current_row).transpose()).collect()
}

fn current_row(row: &Row) -> Result<CurrentFile, RegistryError> {
    let content = match row.optional_uuid("content_id")? {
        None => None,
        Some(id) => Some((ContentId(id), digest(row, "sha512")?, row.count("size")?)),
    };
    Ok((FileId(row.uuid("file_id")?), content))
}

/// Files at a version in byte order of their logical path, after `after`; only those under `prefix` (which ends in `/`, or
/// is empty for all).
pub fn files(
    tx: &mut dyn Transaction,
    object: ObjectId,
    version: u64,
    prefix: &str,
    after: &str,
    limit: usize,
) -> Result<Vec<File>, RegistryError> {
    // '0' is the character after '/': everything under the prefix lies before it.
    let end = match prefix.strip_suffix('/') {
        Some(folder) => format!("{folder}0"),
        None => "\u{10ffff}".to_owned(),
    };
    let after = if after < prefix { prefix } else { after };
    tx.query(Statement("files.list"), &[object.into(), after.into(), end.into(), limit.into(), version.into()])?
        .iter()
        .map(file_row)
        .collect()
}

/// One file by its identifier, with its object, at a version; at the head where none is given.
pub fn file(
    tx: &mut dyn Transaction,
    scope: Scope,
    id: FileId,
    version: Option<u64>,
) -> Result<Option<(Object, File)>, RegistryError> {
    let Some(row) = tx.query_one(Statement("files.get"), &[id.into(), scope.value()])? else { return Ok(None) };
    let Some(object) = get(tx, scope, ObjectId(row.uuid("object_id")?))? else { return Ok(None) };
    let row = tx.query_one(Statement("files.one"), &[id.into(), scope.value(), version.into()])?;
    Ok(row.as_ref().map(file_row).transpose()?.map(|file| (object, file)))
}

/// The file of an object that was found within a scope that has a logical path at a version.
pub fn file_at(
    tx: &mut dyn Transaction,
    object: ObjectId,
    version: u64,
    path: &str,
) -> Result<Option<File>, RegistryError> {
    let row = tx.query_one(Statement("files.at"), &[object.into(), path.into(), version.into()])?;
    row.as_ref().map(file_row).transpose()
}

/// The copies of a content of an object that was found within a scope.
pub fn copies(tx: &mut dyn Transaction, content: ContentId) -> Result<Vec<Copy>, RegistryError> {
    copies_by(tx, Statement("copies.of_content"), content)
}

/// The same without copies in stores that are out of use: they do not count as kept.
pub fn copies_in_use(tx: &mut dyn Transaction, content: ContentId) -> Result<Vec<Copy>, RegistryError> {
    copies_by(tx, Statement("copies.in_use"), content)
}

fn copies_by(tx: &mut dyn Transaction, statement: Statement, content: ContentId) -> Result<Vec<Copy>, RegistryError> {
    tx.query(statement, &[content.into()])?
        .iter()
        .map(|row| {
            Ok(Copy {
                store: row.text("store")?.to_owned(),
                key: row.text("key")?.to_owned(),
                class: row.optional_text("class")?.map(str::to_owned),
                state: row.text("state")?.parse()?,
                stored_at: row.time("stored_at")?,
                verified_at: row.optional_time("verified_at")?,
                last_fixity_at: row.optional_time("last_fixity_at")?,
            })
        })
        .collect()
}

/// The logical paths under which published versions of an object have a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentPaths {
    /// The first, in byte order.
    pub first: String,
    /// How many others there are.
    pub more: u64,
}

/// The paths of a content of an object that was found within a scope; none where no published version has it.
pub fn paths(tx: &mut dyn Transaction, content: ContentId) -> Result<Option<ContentPaths>, RegistryError> {
    content_paths(tx.query_one(Statement("contents.paths"), &[content.into()])?)
}

/// The paths of a content in a version of its object and those before it, for workers: the version need not be published.
pub fn paths_within(
    tx: &mut dyn Transaction,
    content: ContentId,
    version: &Version,
) -> Result<Option<ContentPaths>, RegistryError> {
    let values = [content.into(), version.generation.into(), version.number.into()];
    content_paths(tx.query_one(Statement("contents.paths_within"), &values)?)
}

fn content_paths(row: Option<Row>) -> Result<Option<ContentPaths>, RegistryError> {
    let Some(row) = row else { return Ok(None) };
    Ok(match row.optional_text("first_path")? {
        Some(first) => Some(ContentPaths { first: first.to_owned(), more: row.count("paths")?.saturating_sub(1) }),
        None => None,
    })
}

/// A content by its identifier, for workers: it takes no scope.
pub fn content(tx: &mut dyn Transaction, id: ContentId) -> Result<Option<Content>, RegistryError> {
    let Some(row) = tx.query_one(Statement("contents.get"), &[id.into()])? else { return Ok(None) };
    Ok(Some(Content {
        id: ContentId(row.uuid("id")?),
        object: ObjectId(row.uuid("object_id")?),
        generation: GenerationId(row.uuid("generation")?),
        digests: Digests {
            sha512: digest(&row, "sha512")?,
            md5: digest(&row, "md5")?,
            sha1: digest(&row, "sha1")?,
            sha256: digest(&row, "sha256")?,
        },
        size: row.count("size")?,
        stored_in: row.count("version")?,
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
    }))
}

/// The stores that an object's inventories lie in, with when they were last checked.
pub fn object_copies(
    tx: &mut dyn Transaction,
    object: ObjectId,
) -> Result<Vec<(String, CopyState, Time)>, RegistryError> {
    object_copies_by(tx, Statement("object_copies.of_object"), object)
}

/// The same without stores that are out of use.
pub fn object_copies_in_use(
    tx: &mut dyn Transaction,
    object: ObjectId,
) -> Result<Vec<(String, CopyState, Time)>, RegistryError> {
    object_copies_by(tx, Statement("object_copies.in_use"), object)
}

fn object_copies_by(
    tx: &mut dyn Transaction,
    statement: Statement,
    object: ObjectId,
) -> Result<Vec<(String, CopyState, Time)>, RegistryError> {
    tx.query(statement, &[object.into()])?
        .iter()
        .map(|row| Ok((row.text("store")?.to_owned(), row.text("state")?.parse()?, row.time("checked_at")?)))
        .collect()
}

fn object_row(row: &Row) -> Result<Object, RegistryError> {
    let text = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
    let local_ids = row.text("local_ids")?;
    let local_ids = serde_json::from_str(local_ids).map_err(|_| RegistryError::Corrupt {
        wanted: "identifiers that the depositor uses",
        found: local_ids.to_owned(),
    })?;
    Ok(Object {
        id: ObjectId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        collection_identifier: text("collection_identifier")?,
        identifier: row.text("identifier")?.to_owned(),
        generation: GenerationId(row.uuid("generation")?),
        state: row.text("state")?.parse()?,
        description: Description {
            title: text("title")?,
            description: text("description")?,
            access: text("access")?,
            placement: text("placement")?,
            placement_requested: row.optional_integer("placement_requested")?.map(|requested| requested != 0),
            profile: text("profile")?,
            profile_version: optional_count(row, "profile_version")?,
            profile_sha512: None,
            source_organization: text("source_organization")?,
            bag_group_identifier: text("bag_group_identifier")?,
            internal_sender_identifier: text("internal_sender_identifier")?,
            internal_sender_description: text("internal_sender_description")?,
            base_directory: None,
            part: None,
            local_ids,
            deposit_ids: Vec::new(),
            creator: text("creator")?,
            date: text("date")?,
            layout: match row.optional_text("layout")? {
                Some("files") => Layout::Files,
                _ => Layout::Bag,
            },
            metadata: text("metadata")?.map(|text| metadata(&text)).transpose()?,
        },
        ark: text("ark")?,
        head: row.count("head")?,
        files: row.count("files")?,
        bytes: row.count("bytes")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        is_anew: false,
    })
}

fn metadata(text: &str) -> Result<serde_json::Value, RegistryError> {
    serde_json::from_str(text).map_err(|_| RegistryError::Corrupt { wanted: "metadata", found: text.to_owned() })
}

fn file_row(row: &Row) -> Result<File, RegistryError> {
    Ok(File {
        id: FileId(row.uuid("id")?),
        path: row.text("path")?.to_owned(),
        modified: row.optional_time("modified")?.map(Time::timestamp),
        content: ContentId(row.uuid("content_id")?),
        size: row.count("size")?,
        digests: Digests {
            md5: digest(row, "md5")?,
            sha1: digest(row, "sha1")?,
            sha256: digest(row, "sha256")?,
            sha512: digest(row, "sha512")?,
        },
        format: Format::of_row(row)?,
        since: row.count("since")?,
        stored_in: row.count("stored_in")?,
    })
}

/// A column of a whole number that may be absent.
pub(crate) fn optional_count(row: &Row, column: &'static str) -> Result<Option<u64>, RegistryError> {
    let value = row.optional_integer(column)?;
    value
        .map(|value| {
            u64::try_from(value).map_err(|_| RegistryError::Corrupt { wanted: "a number", found: value.to_string() })
        })
        .transpose()
}
