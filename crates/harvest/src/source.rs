//! What a source of records is, and what it gives.

use serde::{Deserialize, Serialize};
use strongroom_download::Supervision;

use crate::error::HarvestError;
use crate::files::FileCursor;
use crate::json::JsonCursor;
use crate::notice::Notice;
use crate::oai::OaiCursor;

/// A source of records, which can be read from its beginning or from a place that was noted before.
pub trait RecordSource {
    /// What the source says about itself.
    fn describe(&self, supervision: &Supervision<'_>) -> Result<Description, HarvestError>;

    /// Reads the records that come after a cursor, or all. Nothing is asked for before it is consumed.
    ///
    /// An error ends the iteration. Reading again from the last cursor gives what came after it: a record is never left out, and may be
    /// given twice.
    fn records<'s>(&'s self, from: Option<Cursor>, supervision: Supervision<'s>) -> Result<Records<'s>, HarvestError>;
}

/// What a source gives, in its order.
pub type Records<'s> = Box<dyn Iterator<Item = Result<Event, HarvestError>> + Send + 's>;

/// What a source says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The name, or what comes nearest to it.
    pub name: String,
    /// The URL without its query, or the path.
    pub location: String,
    /// What kind of source it is: `OAI-PMH 2.0`, `JSON`, `JSON Lines`, `XML`.
    pub kind: String,
    /// Whether deleted records are told: `no`, `transient` or `persistent` of OAI-PMH (section 2.5.1); none where the kind of source has
    /// no such statement.
    pub deleted_records: Option<String>,
}

/// What comes next from a source.
#[derive(Debug)]
pub enum Event {
    /// A record, which may be a deleted one.
    Record(Record),
    /// Something that is missing or was done again, while reading goes on.
    Notice(Notice),
    /// All that comes before this cursor was given. It is what to store so that reading can continue here.
    Page(Cursor),
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its identifier in the source.
    pub id: String,
    /// When it was changed, as the source writes it.
    pub datestamp: Option<String>,
    /// The sets that it is in.
    pub sets: Vec<String>,
    /// Whether the source says that it is deleted.
    pub is_deleted: bool,
    /// What the source has about it; none where it is deleted, or where only headers were asked for.
    pub document: Option<Document>,
    /// What the source says about the document, such as its provenance (`about` of OAI-PMH, section 2.5).
    pub about: Vec<Document>,
}

/// The bytes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Their media type.
    pub media_type: String,
    /// The bytes as the source has them. An element of XML has, besides, the declarations of namespaces that are in force where it is,
    /// so that it is a document by itself.
    pub bytes: Vec<u8>,
}

/// A place in a source, which can be stored and read from again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum Cursor {
    /// In the lists of a provider of OAI-PMH.
    Oai(OaiCursor),
    /// In the pages of an API.
    Json(JsonCursor),
    /// In the files of a folder.
    Files(FileCursor),
}

impl Cursor {
    /// Whether there is nothing after it.
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Oai(cursor) => cursor.is_finished,
            Self::Json(cursor) => cursor.is_finished,
            Self::Files(cursor) => cursor.is_finished,
        }
    }
}
