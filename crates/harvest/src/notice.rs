//! What is missing of a source or was done again, while reading goes on.

use std::error::Error;
use std::fmt;

use crate::error::{HarvestError, Place, shown};

/// Something that is missing or was done again, while reading goes on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A record could not be read.
    Unreadable {
        /// Its identifier, where that could be read.
        id: Option<String>,
        /// Where it is.
        place: Place,
        /// What is wrong with it.
        reason: String,
    },
    /// A set could not be read to its end. Its name is in the cursors from here on.
    SetFailed {
        /// The set.
        set: String,
        /// Why.
        error: HarvestError,
    },
    /// The token of a list has expired, and the list begins again: records are given again.
    Restarted {
        /// The set; none where the whole source is read.
        set: Option<String>,
        /// The datestamp that the list begins at; none for the beginning of the window.
        from: Option<String>,
    },
    /// A file or an answer is read on within which a cursor was stored, and what comes before the cursor is not what was read then: it begins again, and
    /// records are given again.
    Changed {
        /// The file or the answer.
        place: Place,
    },
    /// A file could not be read to its end, or is not read.
    FileFailed {
        /// Its path, as it was found.
        path: String,
        /// Why.
        error: HarvestError,
    },
}

impl Notice {
    /// Where it is; none where that is a set or a file by itself.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Unreadable { place, .. } | Self::Changed { place } => Some(place),
            Self::SetFailed { .. } | Self::Restarted { .. } | Self::FileFailed { .. } => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { id, place, reason } => {
                let id =
                    id.as_deref().map_or_else(|| "a record".to_owned(), |id| format!("the record {:?}", shown(id)));
                write!(f, "could not read {id} at {place}: {reason}")
            }
            Self::SetFailed { set, error } => {
                write!(f, "could not read the set {:?} to its end: {}", shown(set), chain(error))
            }
            Self::Restarted { set, from } => {
                let list =
                    set.as_deref().map_or_else(|| "the list".to_owned(), |set| format!("the set {:?}", shown(set)));
                let from = from.as_deref().map_or_else(String::new, |from| format!(" at {}", shown(from)));
                write!(f, "the resumption token of {list} has expired, and it begins again{from}")
            }
            Self::Changed { place } => {
                write!(
                    f,
                    "what was read of {place} before is another content now, and it is read again from its beginning"
                )
            }
            Self::FileFailed { path, error } => {
                write!(f, "could not read {:?} to its end: {}", shown(path), chain(error))
            }
        }
    }
}

/// An error with those that it comes from.
fn chain(error: &HarvestError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
