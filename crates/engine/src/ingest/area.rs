//! In which part of an object a file of a package is kept: with what was deposited, with what described the package, or with what
//! describes the object. Rows of a package hold paths; those that do not belong to what was deposited begin with a `/`, which no
//! path of a package does.

use strongroom_registry::Layout;
use strongroom_registry::objects::DEPOSIT;

use super::intake::is_submission_file;

/// A part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    /// `deposit/`: what people see, count and get back.
    Deposit,
    /// `submission/vN/`: what described the package of a version.
    Submission,
    /// `metadata/vN/`: what describes the object from a version on.
    Metadata,
}

/// What begins the path of a row that belongs to the submission.
const SUBMISSION: &str = "/submission/";
/// What begins the path of a row that belongs to the metadata.
const METADATA: &str = "/metadata/";

/// The path of a row for a file that describes the package.
pub(crate) fn submission_row(name: &str) -> String {
    format!("{SUBMISSION}{name}")
}

/// The path of a row for a file that describes the object.
pub(crate) fn metadata_row(name: &str) -> String {
    format!("{METADATA}{name}")
}

/// Where a row of a package of this layout is kept, and its path there.
pub(crate) fn area_of(layout: Layout, path: &str) -> (Area, &str) {
    if let Some(name) = path.strip_prefix(SUBMISSION) {
        (Area::Submission, name)
    } else if let Some(name) = path.strip_prefix(METADATA) {
        (Area::Metadata, name)
    } else if layout == Layout::Bag && is_submission_file(path) {
        (Area::Submission, path)
    } else {
        (Area::Deposit, path)
    }
}

/// Whether a row is a file that was deposited.
pub(crate) fn is_deposited(layout: Layout, path: &str) -> bool {
    area_of(layout, path).0 == Area::Deposit
}

/// The logical path of a row in a version.
pub(crate) fn logical_path(layout: Layout, path: &str, version: u64) -> String {
    match area_of(layout, path) {
        (Area::Deposit, path) => format!("{DEPOSIT}{path}"),
        (Area::Submission, path) => format!("submission/v{version}/{path}"),
        (Area::Metadata, path) => format!("metadata/v{version}/{path}"),
    }
}
