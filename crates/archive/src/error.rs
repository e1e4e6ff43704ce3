//! Why an archive could not be read, or not further.

use std::io;

/// What is wrong with an archive, or with the source that it is read from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Its headers make no sense.
    #[error("{0}")]
    Malformed(String),
    /// It ends where more must follow.
    #[error("{0}")]
    Truncated(String),
    /// Its headers state sizes or names that programs read in different ways.
    #[error("{0}")]
    Conflict(String),
    /// It is in order, but made in a way that is not read here.
    #[error("{0}")]
    Unsupported(String),
    /// The source could not be read.
    #[error("could not read {place}")]
    Io {
        /// The part of the archive that was read.
        place: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl ArchiveError {
    /// The error of a read: a source that ends too early is a truncated archive.
    pub(crate) fn reading(place: impl Into<String>, source: io::Error) -> Self {
        let place = place.into();
        if source.kind() == io::ErrorKind::UnexpectedEof {
            Self::Truncated(format!("the archive ends in the middle of {place}"))
        } else {
            Self::Io { place, source }
        }
    }
}

impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> Self {
        let kind = match error {
            ArchiveError::Io { source, .. } => return source,
            ArchiveError::Truncated(_) => io::ErrorKind::UnexpectedEof,
            ArchiveError::Malformed(_) | ArchiveError::Conflict(_) => io::ErrorKind::InvalidData,
            ArchiveError::Unsupported(_) => io::ErrorKind::Unsupported,
        };
        Self::new(kind, error)
    }
}
