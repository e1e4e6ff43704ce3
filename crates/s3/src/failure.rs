//! What the service or the way to it answered instead of what was asked, distinguished by what can be done about it.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::RequestId;
use strongroom_storage::{Key, StorageError};

use crate::store::Inner;

/// Why a request to the service failed. It is the source of a [`StorageError::Io`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The service's code, such as `SlowDown`.
    pub code: Option<String>,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// What the service or the connection said.
    pub message: String,
    /// The service's name for the request, for asking its operators.
    pub request_id: Option<String>,
    kind: ErrorKind,
    has_no_credentials: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut separator = " (";
        if let Some(code) = &self.code {
            write!(f, "{separator}{code}")?;
            separator = ", ";
        }
        if let Some(status) = self.status {
            write!(f, "{separator}status {status}")?;
            separator = ", ";
        }
        if let Some(request_id) = &self.request_id {
            write!(f, "{separator}request {request_id}")?;
            separator = ", ";
        }
        f.write_str(if separator == " (" { "" } else { ")" })
    }
}

impl Error for Failure {}

impl Failure {
    pub(crate) fn of<E>(error: &SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let request_id = error.request_id().map(str::to_owned);
        let status = error.raw_response().map(|response| response.status().as_u16());
        let Some(service) = error.as_service_error() else {
            let (kind, message) = match error {
                SdkError::TimeoutError(_) => (ErrorKind::TimedOut, "no answer in time".to_owned()),
                SdkError::DispatchFailure(failure) if failure.is_timeout() => {
                    (ErrorKind::TimedOut, "no connection in time".to_owned())
                }
                SdkError::DispatchFailure(failure) if failure.is_io() => (ErrorKind::NotConnected, innermost(error)),
                SdkError::ConstructionFailure(_) => (ErrorKind::InvalidInput, innermost(error)),
                _ => (ErrorKind::Other, innermost(error)),
            };
            let has_no_credentials = names_credentials(error);
            return Self { code: None, status, message, request_id, kind, has_no_credentials };
        };
        let code = service.code().filter(|code| !code.is_empty()).map(str::to_owned);
        let message = service.message().filter(|message| !message.is_empty());
        let message = message.unwrap_or("the service refused the request").to_owned();
        let kind = kind_of(code.as_deref(), status);
        Self { code, status, message, request_id, kind, has_no_credentials: false }
    }

    /// An answer that cannot be what was asked for.
    pub(crate) fn answer(message: impl Into<String>) -> Self {
        let (kind, message) = (ErrorKind::InvalidData, message.into());
        Self { code: None, status: None, message, request_id: None, kind, has_no_credentials: false }
    }

    /// What cannot be done while others do the contrary.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::ResourceBusy, ..Self::answer(message) }
    }

    /// A refusal of one key of a request for many.
    pub(crate) fn of_one(code: Option<&str>, message: Option<&str>) -> Self {
        let message = message.unwrap_or("the service refused one of the keys").to_owned();
        let kind = kind_of(code, None);
        Self { code: code.map(str::to_owned), status: None, message, request_id: None, kind, has_no_credentials: false }
    }

    pub(crate) fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// Nothing lies there. An answer to HEAD has a status only.
    pub(crate) fn is_not_found(&self) -> bool {
        self.is("NoSuchKey") || self.is("NotFound") || (self.status == Some(404) && self.code.is_none())
    }

    /// A condition of the request does not hold.
    pub(crate) fn is_condition(&self) -> bool {
        self.status == Some(412) || self.is("PreconditionFailed")
    }

    /// Someone else changed the key at the same moment, so the condition could not be decided.
    pub(crate) fn is_conflict(&self) -> bool {
        self.is("ConditionalRequestConflict") || self.is("OperationAborted")
    }

    /// The service does not know what was asked, or not in this form.
    pub(crate) fn is_unsupported(&self) -> bool {
        let codes =
            ["NotImplemented", "MethodNotAllowed", "InvalidRequest", "MissingContentMD5", "InvalidStorageClass"];
        self.status == Some(501) || self.code.as_deref().is_some_and(|code| codes.contains(&code))
    }

    /// The service answered and refused, for no reason that may pass and none of rights.
    pub(crate) fn is_refusal(&self) -> bool {
        self.status.is_some_and(|status| (400..500).contains(&status) || status == 501)
            && !matches!(self.kind, ErrorKind::PermissionDenied | ErrorKind::TimedOut)
            && !self.is("NoSuchBucket")
    }

    pub(crate) fn may_pass(&self) -> bool {
        matches!(self.kind, ErrorKind::Other | ErrorKind::TimedOut | ErrorKind::NotConnected)
    }

    /// Whether this may be the answer to the removal of what is locked: most services say that access is denied, and some that
    /// the request is wrong.
    pub(crate) fn may_be_of_a_lock(&self) -> bool {
        self.is_denied() || self.names_a_lock()
    }

    /// Whether a refusal names a lock. AWS: `AccessDenied` with "protected by object lock"; `MinIO`: `InvalidRequest` with "WORM
    /// protected"; Wasabi: `AccessDenied` with words on its retention.
    pub(crate) fn names_a_lock(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        (self.is_denied() || self.is("InvalidRequest") || self.is("ObjectLocked"))
            && ["object lock", "worm", "retention", "retain", "legal hold", "immutab"]
                .iter()
                .any(|word| message.contains(word))
    }

    pub(crate) fn is_denied(&self) -> bool {
        self.kind == ErrorKind::PermissionDenied
    }

    /// Why the service cannot be used at all, and what to do.
    fn advice(&self, inner: &Inner) -> Option<String> {
        let (bucket, endpoint) = (&inner.settings.bucket, inner.settings.shown_endpoint());
        if self.has_no_credentials {
            return Some(format!(
                "no credentials for {endpoint}: set access_key and secret_key, or those of the usual environment ({self})"
            ));
        }
        match self.code.as_deref()? {
            "NoSuchBucket" => Some(format!("bucket {bucket} does not exist at {endpoint}: create it first ({self})")),
            "InvalidAccessKeyId"
            | "NotSignedUp"
            | "SignatureDoesNotMatch"
            | "InvalidToken"
            | "ExpiredToken"
            | "InvalidClientTokenId" => {
                Some(format!("{endpoint} refuses the credentials: check access_key and secret_key ({self})"))
            }
            "RequestTimeTooSkewed" => Some(format!("the clock of this machine and that of {endpoint} differ ({self})")),
            "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" => {
                Some(format!("bucket {bucket} is in another region or at another endpoint: check both ({self})"))
            }
            _ => None,
        }
    }

    /// The error of the store that this failure is, for an act on a key.
    pub(crate) fn into_error(self, inner: &Inner, act: &'static str, key: &Key) -> StorageError {
        let store = inner.name.clone();
        if inner.is_space && self.is("NoSuchBucket") {
            return StorageError::NotFound { store, key: Key::ROOT };
        }
        if let Some(reason) = self.advice(inner) {
            return StorageError::Away { store, reason };
        }
        if self.is_not_found() {
            return StorageError::NotFound { store, key: key.clone() };
        }
        if self.is("InvalidObjectState") {
            return StorageError::NotReadable { store, key: key.clone(), class: None };
        }
        StorageError::Io { store, act, key: key.clone(), source: self.into() }
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        Self::new(failure.kind, failure)
    }
}

/// What can be done about it: kinds as [`StorageError::is_transient`] reads them.
fn kind_of(code: Option<&str>, status: Option<u16>) -> ErrorKind {
    match (code.unwrap_or_default(), status.unwrap_or_default()) {
        ("QuotaExceeded" | "XMinioStorageFull", _) | (_, 507) => ErrorKind::StorageFull,
        ("AccessDenied" | "AllAccessDisabled" | "AccountProblem", _) | (_, 401 | 403) => ErrorKind::PermissionDenied,
        ("RequestTimeout", _) | (_, 408 | 504) => ErrorKind::TimedOut,
        ("KeyTooLongError", _) => ErrorKind::InvalidFilename,
        ("NotImplemented" | "MethodNotAllowed", _) | (_, 501 | 405) => ErrorKind::Unsupported,
        // Of damage on the way (the digests were made from the very bytes that were sent), of an upload that someone else
        // dropped, and of haste.
        (
            "BadDigest"
            | "IncompleteBody"
            | "XAmzContentSHA256Mismatch"
            | "NoSuchUpload"
            | "OperationAborted"
            | "ConditionalRequestConflict"
            | "SlowDown"
            | "ThrottlingException",
            _,
        )
        | (_, 429) => ErrorKind::Other,
        (_, 400..=499) => ErrorKind::InvalidInput,
        _ => ErrorKind::Other,
    }
}

/// What lies at the bottom of an error: the layers above only name themselves.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

fn names_credentials(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<CredentialsError>() {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_told_from_what_stays() {
        let is_transient = |code: &str, status| {
            let source = io::Error::from(kind_of(Some(code), Some(status)));
            StorageError::Io { store: "s".into(), act: "put", key: Key::ROOT, source }.is_transient()
        };
        for (code, status) in [
            ("SlowDown", 503),
            ("InternalError", 500),
            ("", 502),
            ("RequestTimeout", 400),
            ("BadDigest", 400),
            ("", 429),
            ("OperationAborted", 409),
            ("QuotaExceeded", 403),
        ] {
            assert!(is_transient(code, status), "{code} {status}");
        }
        for (code, status) in [("AccessDenied", 403), ("NotImplemented", 501), ("InvalidArgument", 400), ("", 403)] {
            assert!(!is_transient(code, status), "{code} {status}");
        }
    }
}
