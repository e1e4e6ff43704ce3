//! Why a bag could not be inspected, as opposed to what is wrong with it (that is a [`crate::Problem`]).

use std::io;
use std::path::{Path, PathBuf};

use strongroom_download::DownloadError;

/// What stopped an act on a bag.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BagError {
    /// The system refused something.
    #[error("could not {act} {}", path.display())]
    Io {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Nothing there.
    #[error("there is nothing at {}", path.display())]
    NotFound {
        /// The path given.
        path: PathBuf,
    },
    /// Neither a directory nor a tar, tar.gz, tar.bz2 or zip archive.
    #[error("{} is neither a directory nor a tar, tar.gz, tar.bz2 or zip archive", path.display())]
    UnknownSerialization {
        /// The path given.
        path: PathBuf,
    },
    /// The caller's visitor stopped the scan; this is its own error.
    #[error(transparent)]
    Visit(io::Error),
    /// A stream that is no file could not be read to its end.
    #[error("could not read the stream of the bag")]
    Stream(#[source] io::Error),
    /// What grows with the number of files could not be kept in temporary files.
    #[error("could not keep records in temporary files")]
    Spill(#[source] io::Error),
    /// The caller's evidence could not say what is in the bag.
    #[error("could not read what is in the bag")]
    Evidence(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A profile could not be used.
    #[error("{0}")]
    Profile(String),
}

impl BagError {
    pub(crate) fn io(act: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { act, path: path.to_owned(), source }
    }

    /// Whether trying again may help: the trouble is with the machine, not with the bag or the call.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() != io::ErrorKind::PermissionDenied,
            Self::Stream(source) => DownloadError::of(source).is_none_or(DownloadError::is_transient),
            Self::Spill(_) | Self::Visit(_) | Self::Evidence(_) => true,
            Self::NotFound { .. } | Self::UnknownSerialization { .. } | Self::Profile(_) => false,
        }
    }
}
