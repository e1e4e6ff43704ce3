//! What the server is strict about: as AWS by default, or as some other maker's server.

use std::time::Duration;

/// How a server answers `ListObjectVersions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionListing {
    /// With every version; without versions, with each object as the version `null`.
    Right,
    /// As [`Self::Right`], so many of them on a page.
    Pages(usize),
    /// With nothing.
    Empty,
    /// That it does not know the operation.
    Unknown,
}

/// What the server honours.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// `If-None-Match: *` of a put is honoured; where not, it is ignored.
    pub if_none_match: bool,
    /// `If-Match` of a put is honoured; where not, it is ignored.
    pub if_match: bool,
    /// `If-Match` of a deletion is honoured; where not, it is ignored.
    pub delete_if_match: bool,
    /// A body that differs from its `x-amz-checksum-sha256` or `Content-MD5` is refused; where not, it is kept.
    pub checks_digests: bool,
    /// SHA-256 checksums are kept and given back by HEAD, GET and the listing of parts.
    pub returns_checksums: bool,
    /// The composite checksum of a multipart upload is made, given back, and compared with what its parts declared.
    pub composite_checksums: bool,
    /// Storage classes are kept; where not, everything is in the standard class.
    pub keeps_classes: bool,
    /// `DeleteObjects` exists.
    pub deletes_many: bool,
    /// `copy-source-if-match` of copies is honoured; where not, it is ignored.
    pub copy_if_match: bool,
    /// Buckets are listed by prefix and in pages; where not, all at once.
    pub pages_buckets: bool,
    /// `encoding-type=url` of listings is honoured.
    pub encodes_keys: bool,
    /// What is replaced or deleted is kept as a version.
    pub keeps_versions: bool,
    /// How versions are listed.
    pub lists_versions: VersionListing,
    /// The bucket has Object Lock. Then it keeps versions.
    pub locks: bool,
    /// Most objects of one page of a listing.
    pub most_listed: usize,
    /// Fewest bytes of a part that is not the last.
    pub least_part: u64,
    /// How long a restoration from a cold class takes, by the server's own clock.
    pub restoration_takes: Duration,
}

impl Rules {
    /// As AWS.
    pub const AWS: Self = Self {
        if_none_match: true,
        if_match: true,
        delete_if_match: true,
        checks_digests: true,
        returns_checksums: true,
        composite_checksums: true,
        keeps_classes: true,
        deletes_many: true,
        copy_if_match: true,
        pages_buckets: true,
        encodes_keys: true,
        keeps_versions: false,
        lists_versions: VersionListing::Right,
        locks: false,
        most_listed: 1_000,
        least_part: 5 << 20,
        restoration_takes: Duration::from_hours(4),
    };

    /// As AWS, of a bucket that keeps versions.
    pub const VERSIONED: Self = Self { keeps_versions: true, ..Self::AWS };

    /// As AWS, of a bucket that was made with Object Lock.
    pub const LOCKED: Self = Self { locks: true, ..Self::VERSIONED };

    /// As Garage 2.5: no conditions, no classes, no versions.
    pub const GARAGE: Self = Self {
        if_none_match: false,
        if_match: false,
        delete_if_match: false,
        keeps_classes: false,
        pages_buckets: false,
        lists_versions: VersionListing::Unknown,
        ..Self::AWS
    };

    /// As a server that knows no more than S3 of 2010 did.
    pub const PLAIN: Self = Self {
        if_none_match: false,
        if_match: false,
        delete_if_match: false,
        checks_digests: false,
        returns_checksums: false,
        composite_checksums: false,
        keeps_classes: false,
        deletes_many: false,
        copy_if_match: false,
        pages_buckets: false,
        encodes_keys: false,
        lists_versions: VersionListing::Empty,
        ..Self::AWS
    };
}

impl Default for Rules {
    fn default() -> Self {
        Self::AWS
    }
}
