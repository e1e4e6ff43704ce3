//! A package that is one file by itself, which passes the gate as every file does.

use std::io::Read;

use super::gate::{self, EntryKind, Gate, Passage};
use super::{BagFile, Visitor};
use crate::error::BagError;

/// What is known of a file before it is read.
#[derive(Debug, Clone)]
pub struct SingleFile {
    /// Its name, which is checked as the name of a file of a container is.
    pub name: Vec<u8>,
    /// Bytes, where that is known.
    pub size: Option<u64>,
    /// When it was last modified, where that is known.
    pub modified: Option<jiff::Timestamp>,
}

pub(super) fn scan(
    file: &SingleFile,
    body: Box<dyn Read + Send>,
    gate: &mut Gate,
    mut visit: Visitor<'_>,
) -> Result<(), BagError> {
    let size = file.size.unwrap_or_default();
    let Passage::File(path) = gate.admit(&file.name, EntryKind::File, size)? else { return Ok(()) };
    let entry = BagFile { path, size, modified: file.modified, location: 0 };
    match gate::show(&entry, body, &mut visit)? {
        Ok(_) => Ok(()),
        // The place failed, not the file.
        Err(error) => Err(BagError::Stream(error)),
    }
}
