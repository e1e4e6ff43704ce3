//! Why a download failed. URLs in errors have no user name, password or query, which may contain secrets.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use strongroom_digest::{Algorithm, Digest};

/// Why a download failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// The policy does not allow it.
    #[error("{url} is not fetched: {reason}")]
    Refused {
        /// What was to be fetched.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The server answered, but not with the file.
    #[error("{url} was answered with status {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// When the server asks to try again.
        retry_after: Option<Duration>,
    },
    /// The server sends the file in a content coding, such as compressed, which was not asked for.
    #[error(
        "{url} is sent with Content-Encoding {coding:?}, although it was asked for as it is: what would be kept is not the file"
    )]
    Encoded {
        /// What was asked for.
        url: String,
        /// The coding.
        coding: String,
    },
    /// The server could not be reached, or did not answer.
    #[error("could not fetch {url}")]
    Transport {
        /// What was asked for.
        url: String,
        /// Why it failed.
        source: Box<ureq::Error>,
    },
    /// The connection is not safe: the certificate of the server is not valid, not for this host, or of an authority that is
    /// not trusted.
    #[error("could not fetch {url}: its host cannot be trusted")]
    Tls {
        /// What was asked for.
        url: String,
        /// Why it failed.
        source: Box<ureq::Error>,
    },
    /// The connection ended before the file did.
    #[error("the connection to {url} broke after {position} bytes")]
    Broken {
        /// What was fetched.
        url: String,
        /// Bytes of the file that had come.
        position: u64,
        /// Why it failed.
        source: io::Error,
    },
    /// The server sends too slowly.
    #[error("{url} stalled after {position} bytes: {received} bytes came within {} s", window.as_secs_f32())]
    Stalled {
        /// What was fetched.
        url: String,
        /// Bytes of the file that had come.
        position: u64,
        /// Bytes that came within the last window, those of TLS and HTTP included.
        received: u64,
        /// How long the rate was measured.
        window: Duration,
    },
    /// The file has another size than expected.
    #[error("{url} has {found} bytes, and {expected} were expected")]
    Length {
        /// What was fetched.
        url: String,
        /// Bytes expected.
        expected: u64,
        /// Bytes that the server states or sent.
        found: u64,
    },
    /// The file has more bytes than expected, or than are allowed.
    #[error("{url} has more than {most} bytes")]
    TooLong {
        /// What was fetched.
        url: String,
        /// Bytes expected or allowed.
        most: u64,
    },
    /// The bytes have another digest than expected.
    #[error("{url} has {algorithm}:{found}, expected was {algorithm}:{expected}")]
    Digest {
        /// What was fetched.
        url: String,
        /// The algorithm of both.
        algorithm: Algorithm,
        /// What was expected.
        expected: Box<Digest>,
        /// What the bytes have.
        found: Box<Digest>,
    },
    /// The file at the server is another one than before.
    #[error("{url} has changed: {detail}")]
    Changed {
        /// What was fetched.
        url: String,
        /// By what it is seen.
        detail: String,
    },
    /// The caller asked to stop.
    #[error("fetching {url} was interrupted")]
    Interrupted {
        /// What was fetched.
        url: String,
        /// The caller's reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file on this machine could not be read or written.
    #[error("could not {act} {}", path.display())]
    File {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The bytes could not be put where the caller wants them.
    #[error("could not store the bytes of {url}")]
    Sink {
        /// What was fetched.
        url: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A root certificate of the policy cannot be used.
    #[error("could not read root certificate {number}")]
    RootCertificate {
        /// Its number in the policy, from 1.
        number: usize,
        /// Why it failed.
        source: Box<ureq::Error>,
    },
}

impl DownloadError {
    /// Whether asking again later may help: the cause is the network, the load of the server or the machine, not what was asked for.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => is_transient_status(*status),
            Self::Transport { .. }
            | Self::Broken { .. }
            | Self::Stalled { .. }
            | Self::Changed { .. }
            | Self::Interrupted { .. } => true,
            Self::File { source, .. } | Self::Sink { source, .. } => source.kind() != io::ErrorKind::PermissionDenied,
            Self::Refused { .. }
            | Self::Encoded { .. }
            | Self::Tls { .. }
            | Self::Length { .. }
            | Self::TooLong { .. }
            | Self::Digest { .. }
            | Self::RootCertificate { .. } => false,
        }
    }

    /// The error of a download in an error of a reader, also where another reader put its own error around it.
    pub fn of(error: &io::Error) -> Option<&Self> {
        let mut inner: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = inner {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            // The source of an error of the standard library is the source of what is in it.
            inner = match error.downcast_ref::<io::Error>() {
                Some(outer) => outer.get_ref().map(|inner| inner as _),
                None => error.source(),
            };
        }
        None
    }

    /// Takes the error of a download out of an error of a reader, which is returned where there is none in it.
    pub fn from_io(error: io::Error) -> Result<Self, io::Error> {
        error.downcast()
    }

    /// What was fetched, as it is written in errors; empty where that is not known.
    pub fn url(&self) -> &str {
        match self {
            Self::Refused { url, .. }
            | Self::Status { url, .. }
            | Self::Encoded { url, .. }
            | Self::Transport { url, .. }
            | Self::Tls { url, .. }
            | Self::Broken { url, .. }
            | Self::Stalled { url, .. }
            | Self::Length { url, .. }
            | Self::TooLong { url, .. }
            | Self::Digest { url, .. }
            | Self::Changed { url, .. }
            | Self::Interrupted { url, .. }
            | Self::Sink { url, .. } => url,
            Self::File { .. } | Self::RootCertificate { .. } => "",
        }
    }

    /// Whether the same request may be sent again at once.
    pub(crate) fn is_retried(&self) -> bool {
        match self {
            Self::Status { status, .. } => is_transient_status(*status),
            Self::Transport { .. } | Self::Broken { .. } | Self::Stalled { .. } => true,
            _ => false,
        }
    }
}

/// Statuses after which a later request may be answered otherwise (RFC 9110 section 15, RFC 8470, RFC 6585).
pub(crate) fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502..=504 | 506..=599)
}

impl From<DownloadError> for io::Error {
    fn from(error: DownloadError) -> Self {
        let kind = match &error {
            DownloadError::Refused { .. } => io::ErrorKind::PermissionDenied,
            DownloadError::Status { status: 404 | 410, .. } => io::ErrorKind::NotFound,
            DownloadError::Broken { .. } => io::ErrorKind::ConnectionAborted,
            DownloadError::Stalled { .. } => io::ErrorKind::TimedOut,
            DownloadError::Length { .. }
            | DownloadError::TooLong { .. }
            | DownloadError::Digest { .. }
            | DownloadError::Changed { .. } => io::ErrorKind::InvalidData,
            // Never `Interrupted`: readers of the standard library read again after it.
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// Whether an error of a reader or a connection has an error of this type in it.
pub(crate) fn is_of<E: std::error::Error + 'static>(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<E>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_and_faults_of_the_server_are_transient_and_refusals_are_not() {
        for status in [408, 425, 429, 500, 502, 503, 504, 507, 520, 599] {
            assert!(is_transient_status(status), "{status}");
        }
        for status in [400, 401, 403, 404, 405, 410, 416, 451, 501, 505] {
            assert!(!is_transient_status(status), "{status}");
        }
    }

    #[test]
    fn the_error_of_a_download_is_recovered_from_that_of_a_reader() {
        let error = DownloadError::TooLong { url: "https://example.org/a".into(), most: 5 };
        let error = io::Error::from(error);
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(matches!(DownloadError::of(&error), Some(DownloadError::TooLong { most: 5, .. })));
        assert!(matches!(DownloadError::from_io(error), Ok(DownloadError::TooLong { .. })));
        assert!(DownloadError::of(&io::Error::other("other")).is_none());
        let error = DownloadError::TooLong { url: "https://example.org/a".into(), most: 5 };
        let wrapped = io::Error::other(io::Error::from(error));
        assert!(DownloadError::of(&wrapped).is_some());
    }
}
