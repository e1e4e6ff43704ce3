//! Which errors of a store say that the whole of it is out of reach, rather than something of one key.

#[cfg(feature = "s3")]
use std::error::Error;
use std::io::{self, ErrorKind};

use rustix::io::Errno;
#[cfg(feature = "s3")]
use strongroom_s3::Failure;
use strongroom_storage::StorageError;

/// Whether the error says that the store as a whole is out of reach.
pub(super) fn means_away(error: &StorageError) -> bool {
    match error {
        StorageError::Away { .. } => true,
        StorageError::Io { source, .. } => io_means_away(source),
        _ => false,
    }
}

fn io_means_away(error: &io::Error) -> bool {
    let devices = [Errno::NODEV, Errno::NXIO, Errno::STALE, Errno::NOTCONN, Errno::HOSTDOWN, Errno::SHUTDOWN];
    if error.raw_os_error().is_some_and(|code| devices.iter().any(|errno| errno.raw_os_error() == code)) {
        return true;
    }
    service_means_away(error)
}

/// Whether it is an answer of object storage, or a request to it, that says so.
#[cfg(feature = "s3")]
fn service_means_away(error: &io::Error) -> bool {
    let Some(failure) = error.get_ref().and_then(failure_of) else { return false };
    // It was asked as often as the settings allow by then.
    match failure.status {
        None => matches!(error.kind(), ErrorKind::NotConnected | ErrorKind::TimedOut),
        Some(status) => matches!(status, 500 | 502 | 503 | 504),
    }
}

/// Without object storage there is no such answer.
#[cfg(not(feature = "s3"))]
fn service_means_away(_: &io::Error) -> bool {
    false
}

/// The failure of a request to object storage that lies behind an error.
#[cfg(feature = "s3")]
fn failure_of<'e>(error: &'e (dyn Error + Send + Sync + 'static)) -> Option<&'e Failure> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some(failure);
    }
    error.downcast_ref::<io::Error>().and_then(io::Error::get_ref).and_then(failure_of)
}

/// Whether the error may be about one key or about the whole store, which opening the store anew says: the medium gave
/// up on the bytes (`EIO`), or the access was denied.
pub(super) fn may_mean_away(error: &StorageError) -> bool {
    let StorageError::Io { source, .. } = error else { return false };
    let is_medium = source.raw_os_error() == Some(Errno::IO.raw_os_error());
    is_medium || matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}
