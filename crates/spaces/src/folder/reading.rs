//! A file being read, which fails where it was changed meanwhile.

use std::fs::File;
use std::io::{self, Read};

use strongroom_storage::{Head, PlainFolder, StorageError};

/// The body of a content item. Its end is seen only where the file still is what was opened: a file that is written in place
/// has another size or time of modification then, unless the clock of the file system did not go on meanwhile.
pub(super) struct Reading {
    file: File,
    opened: Head,
    length: u64,
    /// The error, until it is given.
    changed: Option<StorageError>,
}

impl Reading {
    pub(super) fn new(file: File, opened: Head, changed: StorageError) -> Self {
        Self { file, opened, length: 0, changed: Some(changed) }
    }
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.length += length as u64;
        if length > 0 || buffer.is_empty() {
            return Ok(length);
        }
        if self.length == self.opened.size && PlainFolder::etag_of(&self.file)? == self.opened.etag {
            return Ok(0);
        }
        Err(self.changed.take().map_or_else(|| io::Error::other("the file was changed"), io::Error::other))
    }
}
