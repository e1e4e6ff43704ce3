//! A place in the files of a folder, which can be stored.

use serde::{Deserialize, Serialize};

use crate::passed::Passed;

/// A place in the files of a folder: the file that is read, and how many of its records were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
// A cursor that was stored before a field was added is read as well.
#[serde(default)]
pub struct FileCursor {
    /// The path of the file below the folder, with slashes; empty before the first one, and where the source is one file.
    pub(crate) file: String,
    /// Records of the file that were read, and what shows that a file begins with these.
    pub(crate) records: u64,
    pub(crate) passed: Passed,
    /// Whether the file was read to its end.
    pub(crate) is_read: bool,
    /// Files that could not be read to their ends.
    pub(crate) failures: u64,
    /// Records that were found in all files, also those that cannot be read.
    pub(crate) found: u64,
    /// Files that were opened.
    pub(crate) files: u64,
    /// Names of elements that are there while no record was found.
    pub(crate) others: Vec<String>,
    pub(crate) is_finished: bool,
}

impl FileCursor {
    /// The path of the file below the folder, with slashes.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// How many files could not be read to their ends, or were not read.
    pub fn failures(&self) -> u64 {
        self.failures
    }
}
