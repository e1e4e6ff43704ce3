//! Every code the bagger reports about what it is asked to bag, with its severity and meaning.

use crate::Severity::{self, Error, Warning};

pub(super) const NOT_A_FILE: &str = "write.not_a_file";
pub(super) const NAME_NOT_UTF8: &str = "write.name_not_utf8";
pub(super) const NAME_CASE: &str = "write.name_case";
pub(super) const NAME_NORMAL_FORM: &str = "write.name_normal_form";
pub(super) const EMPTY_DIRECTORY: &str = "write.empty_directory";
pub(super) const EMPTY_PAYLOAD: &str = "write.empty_payload";

/// Code, severity, meaning. The crate's table of codes takes these up. The two about names are warnings or errors as the
/// caller's policy has it; what stands here is the default.
pub(crate) const CODES: &[(&str, Severity, &str)] = &[
    (NOT_A_FILE, Error, "a link, device, FIFO or socket, which is not bagged"),
    (NAME_NOT_UTF8, Error, "a name is not UTF-8, so no manifest can list it"),
    (NAME_CASE, Warning, "two paths differ only in letter case (RFC 8493 section 6)"),
    (NAME_NORMAL_FORM, Error, "two paths differ only in Unicode normal form (RFC 8493 section 6)"),
    (EMPTY_PAYLOAD, Warning, "the directory has no files: the bag has an empty payload"),
    (EMPTY_DIRECTORY, Warning, "an empty directory is left out; a .keep file in it would keep it"),
];
