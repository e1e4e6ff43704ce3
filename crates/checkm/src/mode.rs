//! How a manifest is read: strictly or leniently, and within which limits.

use crate::profile::ManifestProfile;

/// How closely a manifest has to keep the format.
///
/// Both modes report the same problems with the same codes, and read every value in the same way. They differ in severity: what
/// [`crate::CODES`] lists as an error when read strictly and a warning when read leniently refuses a row in the first mode, and is
/// reported and passed over in the second. What would lose or mix up files is an error in both: a missing `#%eof`, a digest that
/// cannot be one, a name that is unsafe or occurs twice.
///
/// | read leniently | what becomes of it |
/// |---|---|
/// | no declaration, or one of another version; a byte order mark | read as version 0.7 |
/// | no `#%fields` | the columns of the profile, in its order |
/// | a column without its prefix, or with another | taken for the known column of that name |
/// | an unknown column, a value beyond the last column | ignored |
/// | an algorithm without a digest, or the reverse | no digest: [`crate::Row::checksum`] is `None` |
/// | a modification date or a date of the object that is not ISO 8601 | the first is ignored, the second is kept as it is |
/// | a host without a dot, credentials, characters that URLs do not have | the URL is kept as it is |
/// | a name that is no container's or manifest's in a batch of such | the name is kept as it is |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Every rule binds.
    #[default]
    Strict,
    /// What can be read without doubt is read, with a warning.
    Lenient,
}

/// How much is read. What is beyond a limit is a problem with a code `limit.*`, never passed over in silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a line without its end. Memory grows with the longest line up to this.
    pub line_bytes: usize,
    /// Most columns of a line.
    pub columns: usize,
    /// Most rows of a manifest.
    pub rows: u64,
    /// Most bytes of a manifest.
    pub bytes: u64,
}

impl Default for Limits {
    /// Lines of 1 MiB with 256 columns, 10,000,000 rows, 16 GiB.
    fn default() -> Self {
        Self { line_bytes: 1 << 20, columns: 256, rows: 10_000_000, bytes: 16 << 30 }
    }
}

/// How a manifest is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// How closely it has to keep the format.
    pub mode: Mode,
    /// How much of it is read.
    pub limits: Limits,
    /// The profile that the caller knows it must have. A manifest of another one has the problem `profile.mismatch`; one that names
    /// none is read as this, with `profile.assumed`.
    pub profile: Option<ManifestProfile>,
}
