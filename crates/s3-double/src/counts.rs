//! What the server was asked for, and how many bytes went through.

use std::collections::BTreeMap;

/// A request of S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of the S3 API")]
pub enum Operation {
    HeadBucket,
    ListBuckets,
    CreateBucket,
    DeleteBucket,
    CopyObject,
    UploadPartCopy,
    HeadObject,
    GetObject,
    PutObject,
    DeleteObject,
    DeleteObjects,
    ListObjects,
    RestoreObject,
    CreateMultipartUpload,
    UploadPart,
    CompleteMultipartUpload,
    AbortMultipartUpload,
    ListParts,
    ListMultipartUploads,
    ListObjectVersions,
    GetObjectLockConfiguration,
    GetObjectRetention,
    GetObjectLegalHold,
}

/// Requests that were let in (signed rightly), and bytes of bodies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests of each operation, also those that were then refused.
    pub requests: BTreeMap<Operation, u64>,
    /// Bytes taken in by `PutObject` and `UploadPart`.
    pub bytes_in: u64,
    /// Bodies of `PutObject` and `UploadPart` that came without a digest.
    pub undeclared: u64,
    /// Bytes given out by `GetObject`.
    pub bytes_out: u64,
}

impl Counts {
    /// Requests of one operation.
    pub fn of(&self, operation: Operation) -> u64 {
        self.requests.get(&operation).copied().unwrap_or_default()
    }

    /// Requests of all operations.
    pub fn all(&self) -> u64 {
        self.requests.values().sum()
    }
}
