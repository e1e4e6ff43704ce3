//! Documents: what was harvested, as it came. Each state of a record is a row, whose identifier follows from institution, origin, record
//! and bytes, so that the same state harvested again is the same document. They are kept for as long as the settings say.

use strongroom_database::{Statement, Time, Transaction};
use strongroom_digest::{Algorithm, MultiHasher};
use uuid::Uuid;

use crate::model::ids::derived;
use crate::{DocumentId, InstitutionId, Origin, RegistryError};

/// The most bytes of a document: it is a value of a row.
pub const MOST_BYTES: usize = 1 << 20;

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its identifier; see [`Document::new`].
    pub id: DocumentId,
    /// Whose it is; none for one of the installation.
    pub institution: Option<InstitutionId>,
    /// Where it was found.
    pub origin: Origin,
    /// The identifier of the record there.
    pub record: String,
    /// The media type of the bytes.
    pub media_type: String,
    /// When it was changed there, in the words of the source.
    pub datestamp: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What the names of documents as entities begin with.
pub const URN: &str = "urn:uuid:";

impl Document {
    /// The document of a record of a source, with the identifier that follows from it.
    pub fn new(
        institution: Option<InstitutionId>,
        (origin, record): (impl Into<Origin>, &str),
        media_type: impl Into<String>,
        bytes: Vec<u8>,
    ) -> Self {
        let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
        hasher.update(&bytes);
        let digest = hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
        let origin = origin.into();
        let (source, part) = (&origin.location, origin.part.as_deref().unwrap_or_default());
        let mut label = format!("document:{}:{source}{}:{record}:{digest}", source.len(), record.len());
        // Those of the whole have the identifiers that they had before parts were told apart.
        if !part.is_empty() {
            label.push_str(":part:");
            label.push_str(part);
        }
        let id = DocumentId(derived(institution.map_or(Uuid::nil(), |id| id.0), &label));
        let (record, media_type) = (record.to_owned(), media_type.into());
        Self { id, institution, origin, record, media_type, datestamp: None, bytes }
    }
}

/// The name of a document as an entity.
pub fn entity(id: DocumentId) -> String {
    format!("{URN}{id}")
}

/// The document that an entity of this name is; none where it is something else.
pub fn of_entity(entity: &str) -> Option<DocumentId> {
    entity.strip_prefix(URN)?.parse().ok()
}

/// Keeps documents; one that is there already stays as it is, and the time for which it is kept begins anew.
///
/// # Errors
/// [`RegistryError::State`] where one is longer than [`MOST_BYTES`].
pub fn put<'d>(
    tx: &mut dyn Transaction,
    documents: impl IntoIterator<Item = &'d Document>,
) -> Result<(), RegistryError> {
    let documents: Vec<&Document> = documents.into_iter().collect();
    let now = tx.now()?;
    if let Some(document) = documents.iter().find(|document| document.bytes.len() > MOST_BYTES) {
        return Err(RegistryError::State {
            what: "document",
            id: document.record.clone(),
            state: format!("given {} bytes", document.bytes.len()),
            act: format!("keep more than {MOST_BYTES}"),
        });
    }
    let mut rows = documents.iter().map(|document| {
        vec![
            document.id.into(),
            document.institution.into(),
            document.origin.location.as_str().into(),
            document.origin.part.as_deref().unwrap_or_default().into(),
            document.record.as_str().into(),
            document.media_type.as_str().into(),
            document.datestamp.as_deref().into(),
            document.bytes.as_slice().into(),
            now.into(),
        ]
    });
    tx.execute_each(Statement("documents.insert"), &mut rows)?;
    Ok(())
}

/// The document of this identifier.
pub fn get(tx: &mut dyn Transaction, id: DocumentId) -> Result<Option<Document>, RegistryError> {
    let Some(row) = tx.query_one(Statement("documents.get"), &[id.into()])? else { return Ok(None) };
    Ok(Some(Document {
        id: DocumentId(row.uuid("id")?),
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        origin: Origin { location: row.text("source")?.to_owned(), part: Some(row.text("part")?.to_owned()) },
        record: row.text("record")?.to_owned(),
        media_type: row.text("media_type")?.to_owned(),
        datestamp: row.optional_text("datestamp")?.map(str::to_owned),
        bytes: row.bytes("bytes")?.to_vec(),
    }))
}

/// The bytes that a document has, in number; none where there is no such document.
pub fn size(tx: &mut dyn Transaction, id: DocumentId) -> Result<Option<u64>, RegistryError> {
    let row = tx.query_one(Statement("documents.size"), &[id.into()])?;
    row.map(|row| Ok(row.count("bytes")?)).transpose()
}

/// Removes up to `limit` documents that were kept before a time; how many.
pub fn drop(tx: &mut dyn Transaction, before: Time, limit: usize) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("documents.drop"), &[before.into(), limit.into()])?)
}
