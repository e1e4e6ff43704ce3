//! A row as it is read: borrowed from the reader's line.

use std::borrow::Cow;
use std::fmt;

use crate::check::{DataLine, Stated};
use crate::checksum::Checksum;
use crate::column::Column;
use crate::forms::{decode, trim};
use crate::header::Header;

/// A row without errors. It borrows from the reader, so that a manifest of any length takes the memory of one line.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(crate) line: DataLine<'a>,
    pub(crate) header: &'a Header,
    pub(crate) stated: Stated,
    pub(crate) name: &'a str,
}

impl<'a> Row<'a> {
    /// The row, from 1: rows with errors count, directives, comments and blank lines do not.
    pub fn number(&self) -> u64 {
        self.line.row
    }

    /// The line of the file, from 1.
    pub fn line(&self) -> u64 {
        self.line.line
    }

    /// Where the file, container or manifest is fetched from, as it is written: http or https.
    pub fn url(&self) -> &'a str {
        self.line.cell(self.header, Column::FileUrl)
    }

    /// The digest that the fetched bytes must have, where one is stated.
    pub fn checksum(&self) -> Option<Checksum> {
        self.stated.checksum
    }

    /// The number of bytes that must be fetched, where it is stated.
    pub fn size(&self) -> Option<u64> {
        self.stated.size
    }

    /// When the file was last modified, as it is written: an ISO 8601 date, with or without a time.
    pub fn modified(&self) -> Option<&'a str> {
        self.stated.is_modified_a_date.then(|| self.line.cell(self.header, Column::FileLastModified))
    }

    /// The path in the object, or the name of the container or manifest: the one given, or the last part of the URL. It is relative
    /// and safe ([`strongroom_listing::unsafe_reason`]).
    pub fn file_name(&self) -> &'a str {
        self.name
    }

    /// The value of a column, decoded except for the URL; nothing where it is empty.
    pub fn text(&self, column: Column) -> Option<Cow<'a, str>> {
        let cell = self.line.cell(self.header, column);
        if cell.is_empty() {
            return None;
        }
        Some(if column == Column::FileUrl { Cow::Borrowed(cell) } else { decode(cell, column.is_metadata()) })
    }

    /// The values of a column: for a list ([`Column::is_list`]) those between semicolons, without the white space around them, without
    /// empty ones, each once, in their order; else the one there is.
    pub fn values(&self, column: Column) -> Vec<Cow<'a, str>> {
        if !column.is_list() {
            return self.text(column).into_iter().collect();
        }
        let mut values: Vec<Cow<'a, str>> = Vec::new();
        for part in self.line.cell(self.header, column).split(';').map(trim).filter(|part| !part.is_empty()) {
            let value = decode(part, column.is_metadata());
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("number", &self.number()).field("text", &self.line.text).finish_non_exhaustive()
    }
}
