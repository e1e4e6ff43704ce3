//! A place in the pages of an API, which can be stored.

use serde::{Deserialize, Serialize};

use crate::passed::Passed;
use crate::repetition::Repetition;

/// A place in the pages of an API: which page comes next, and how much of it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
// A cursor that was stored before a field was added is read as well.
#[serde(default)]
pub struct JsonCursor {
    /// The URL of the page, where the page before it named it; none where it follows from the number or the offset.
    pub(crate) next: Option<String>,
    /// Pages that were read.
    pub(crate) pages: u64,
    /// Records of the pages that were read, which is the offset of the next one.
    pub(crate) records: u64,
    /// Lines of the page that were read, and how many of them were records.
    pub(crate) lines: u64,
    pub(crate) line_records: u64,
    /// What shows that a page begins with these lines.
    pub(crate) passed: Passed,
    pub(crate) repetition: Repetition,
    pub(crate) is_finished: bool,
}

impl JsonCursor {
    /// The pages that were read.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}
