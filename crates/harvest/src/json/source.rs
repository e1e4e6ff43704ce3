//! An API as a source of records: its options, and the URLs of its pages.

use strongroom_download::{Supervision, shown_url};
use url::Url;

use crate::connection::Connection;
use crate::error::{HarvestError, Place};
use crate::json::cursor::JsonCursor;
use crate::json::pages::JsonRecords;
use crate::json::paging::{Paging, check_pointer};
use crate::source::{Cursor, Description, RecordSource, Records};

/// How the records of an answer are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonForm {
    /// One document, which has the records in an array at this JSON Pointer (RFC 6901); empty where the document is the array. It is kept
    /// in memory.
    Document {
        /// The pointer.
        records: String,
    },
    /// One record per line. It is read line by line.
    Lines,
}

/// What is read of an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonOptions {
    /// The URL of the first page, with its query.
    pub url: String,
    /// How records are written.
    pub form: JsonForm,
    /// The JSON Pointer of the identifier within a record, which is a text or a number.
    pub id: String,
    /// The JSON Pointer of the datestamp within a record.
    pub datestamp: Option<String>,
    /// The JSON Pointer of what says within a record that it is deleted, by `true`.
    pub deleted: Option<String>,
    /// How the next page is found.
    pub paging: Paging,
}

/// An API as a source of records.
#[derive(Debug)]
pub struct JsonSource {
    pub(crate) connection: Connection,
    pub(crate) options: JsonOptions,
    url: Url,
}

impl JsonSource {
    /// Reads the records of an API.
    pub fn new(connection: Connection, options: JsonOptions) -> Result<Self, HarvestError> {
        let url = connection.check(&options.url)?;
        if let JsonForm::Document { records } = &options.form {
            check_pointer("the pointer to the records", records)?;
        }
        check_pointer("the pointer to the identifier", &options.id)?;
        for pointer in [&options.datestamp, &options.deleted].into_iter().flatten() {
            check_pointer("a pointer within a record", pointer)?;
        }
        if let Paging::Pointer(pointer) = &options.paging {
            check_pointer("the pointer to the next page", pointer)?;
            if options.form == JsonForm::Lines {
                let reason = "JSON Lines have no place for it".to_owned();
                let value = pointer.clone();
                return Err(HarvestError::Setting { what: "the pointer to the next page", value, reason });
            }
        }
        Ok(Self { connection, options, url })
    }

    /// The URL of the page that comes next.
    pub(crate) fn page_url(&self, cursor: &JsonCursor) -> String {
        let (parameter, value) = match (&cursor.next, &self.options.paging) {
            (Some(next), _) => return next.clone(),
            (None, Paging::Number { parameter, first }) => (parameter, first.saturating_add(cursor.pages)),
            (None, Paging::Offset { parameter }) => (parameter, cursor.records),
            (None, Paging::One | Paging::Pointer(_) | Paging::Link) => return self.url.to_string(),
        };
        let mut url = self.url.clone();
        let others = self.url.query_pairs().filter(|(name, _)| name != parameter.as_str());
        url.query_pairs_mut().clear().extend_pairs(others).append_pair(parameter, &value.to_string());
        url.into()
    }

    /// What a page is called in errors.
    pub(crate) fn place(&self, cursor: &JsonCursor) -> Place {
        let source = shown_url(&self.page_url(cursor));
        Place { source, page: Some(cursor.pages.saturating_add(1)), ..Place::default() }
    }
}

impl RecordSource for JsonSource {
    fn describe(&self, _: &Supervision<'_>) -> Result<Description, HarvestError> {
        let kind = match self.options.form {
            JsonForm::Document { .. } => "JSON",
            JsonForm::Lines => "JSON Lines",
        };
        Ok(Description {
            name: self.url.host_str().unwrap_or_default().to_owned(),
            location: shown_url(self.url.as_str()),
            kind: kind.to_owned(),
            deleted_records: None,
        })
    }

    fn records<'s>(&'s self, from: Option<Cursor>, supervision: Supervision<'s>) -> Result<Records<'s>, HarvestError> {
        let cursor = match from {
            None => JsonCursor::default(),
            Some(Cursor::Json(cursor)) => cursor,
            Some(_) => return Err(HarvestError::Cursor { reason: "it is of another kind of source".to_owned() }),
        };
        Ok(Box::new(JsonRecords::new(self, cursor, supervision)))
    }
}
