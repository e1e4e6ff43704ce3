//! Validation of objects and storage roots over any store, with the codes of the specification.
//!
//! A store has keys and no directories, so what only an empty directory or a link could show (E024, E073, E090, W003) is
//! found by [`validate_directory`] alone.

mod algorithms;
mod contents;
mod directory;
mod facts;
mod object;
mod paths;
mod report;
mod root;
mod states;

pub use directory::{Validated, validate_directory};
pub use object::validate_object;
pub use report::{Problem, Report};
pub use root::validate_root;

use strongroom_digest::Progress;

use crate::Limits;

/// How to validate.
#[derive(Debug, Clone)]
pub struct ValidateOptions {
    /// Whether contents are left unread: names and inventories are checked, digests of contents are not.
    pub quick: bool,
    /// How many contents are read at a time.
    pub threads: usize,
    /// What is refused.
    pub limits: Limits,
    /// Counts the contents that are read, and their bytes.
    pub progress: Progress,
}

impl Default for ValidateOptions {
    /// Everything is read, on as many threads as the machine has cores.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { quick: false, threads, limits: Limits::default(), progress: Progress::default() }
    }
}

/// Names of the extensions that the community has registered (`OCFL/extensions`, docs 0001 to 0012, and `initial`).
const REGISTERED_EXTENSIONS: [&str; 13] = [
    "0001-digest-algorithms",
    "0002-flat-direct-storage-layout",
    "0003-hash-and-id-n-tuple-storage-layout",
    "0004-hashed-n-tuple-storage-layout",
    "0005-mutable-head",
    "0006-flat-omit-prefix-storage-layout",
    "0007-n-tuple-omit-prefix-storage-layout",
    "0008-schema-registry",
    "0009-digest-algorithms",
    "0010-differential-n-tuple-omit-prefix-storage-layout",
    "0011-direct-clean-path-layout",
    "0012-hash-and-no-prefix-id-n-tuple-storage-layout",
    "initial",
];
