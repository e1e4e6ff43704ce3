//! Documents that activities have made.

use serde::Serialize;
use strongroom_registry::documents::{self, Document};

/// A document without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentView {
    /// Its name, `urn:uuid:...`.
    pub document: String,
    /// The domain name of its institution.
    pub institution: String,
    /// The media type of its bytes.
    pub media_type: String,
    /// How many bytes it has.
    pub size: u64,
    /// The URL or path that it was harvested from, or the tool that has said it.
    pub source: String,
    /// The part of what is there, such as `prefix marcxml`; none for the whole.
    pub part: Option<String>,
    /// The record there.
    pub record: String,
    /// When it was changed there, in the words of the source.
    pub datestamp: Option<String>,
    /// Its bytes as a text; none where they are not UTF-8.
    pub text: Option<String>,
}

impl DocumentView {
    /// The view of a document of an institution, and the bytes.
    pub(crate) fn of(document: Document, institution: String) -> (Self, Vec<u8>) {
        let view = Self {
            document: documents::entity(document.id),
            institution,
            media_type: document.media_type,
            size: document.bytes.len() as u64,
            source: document.origin.location,
            part: document.origin.part.filter(|part| !part.is_empty()),
            record: document.record,
            datestamp: document.datestamp,
            text: std::str::from_utf8(&document.bytes).ok().map(str::to_owned),
        };
        (view, document.bytes)
    }
}
