//! Identification of the formats of files and folders: paths are walked to in a fixed order, files are inspected by several
//! threads, members of archives are identified like files, and answers come in walking order, in several forms.
//!
//! It knows no stores, no registry and no command line. Memory does not grow with the number of files, nor with their sizes.

mod archives;
pub use strongroom_listing::csv;
mod droid;
mod entry;
mod error;
mod examine;
mod report;
mod siegfried;
mod spool;
mod threads;
mod walk;

use std::path::PathBuf;

pub use archives::{ARCHIVE_BYTES, Archives, DEPTH, MEMBER_BYTES};
pub use entry::{Examined, Folder, IdentifiedFile, Unidentified, UnidentifiedKind};
pub use error::IdentifyError;
pub use examine::Examiner;
pub use report::{Form, Printable, Reporter};
pub use siegfried::Siegfried;
pub use threads::run;

/// What is inspected.
#[derive(Debug, Clone)]
pub enum Target {
    /// A path; a folder until it is walked.
    File(PathBuf),
    /// Standard input.
    StandardInput {
        /// The name that it is identified by; it may be empty.
        name: String,
    },
}
