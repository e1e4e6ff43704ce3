//! Every code a profile check reports, with its severity and meaning.

use crate::Severity::{self, Error, Warning};

/// Code, severity, meaning. The crate's table of codes takes these up.
pub(crate) const CODES: &[(&str, Severity, &str)] = &[
    ("profile.document.field_missing", Error, "the profile lacks a field that BagIt Profiles requires"),
    ("profile.document.field_type", Error, "a field of the profile has the wrong JSON type"),
    ("profile.document.field_value", Error, "a field of the profile has a value that is not allowed there"),
    ("profile.document.field_unknown", Warning, "the profile has a field that no known version defines"),
    ("profile.document.not_allowed", Error, "the profile requires what its list of allowed things leaves out"),
    ("profile.document.contradiction", Error, "two fields of the profile contradict each other"),
    ("profile.document.needless", Warning, "the profile lists something that it should not list there"),
    (
        "profile.unknown",
        Error,
        "bag-info.txt names a profile that is not known here, so that its rules cannot be checked (a warning where that is chosen)",
    ),
    ("profile.identifier_missing", Error, "bag-info.txt has no BagIt-Profile-Identifier"),
    ("profile.identifier_other", Error, "bag-info.txt names other profiles than the one checked"),
    ("profile.serialization", Error, "the profile does not allow the bag's container, or its lack of one"),
    ("profile.version", Error, "the profile does not allow the bag's BagIt version"),
    ("profile.encoding", Error, "the profile does not allow the bag's tag file encoding"),
    ("profile.fetch_not_allowed", Error, "the bag has a fetch.txt, which the profile does not allow"),
    ("profile.fetch_required", Error, "the bag has no fetch.txt, which the profile requires"),
    ("profile.manifest_required", Error, "a payload manifest that the profile requires is missing"),
    ("profile.manifest_not_allowed", Error, "the bag has a payload manifest that the profile does not allow"),
    ("profile.tag_manifest_required", Error, "a tag manifest that the profile requires is missing"),
    ("profile.tag_manifest_not_allowed", Error, "the bag has a tag manifest that the profile does not allow"),
    ("profile.tag_file_required", Error, "a tag file that the profile requires is missing"),
    ("profile.tag_file_not_allowed", Error, "the bag has a tag file that the profile does not allow"),
    ("profile.payload_file_required", Error, "a payload file or directory that the profile requires is missing"),
    ("profile.payload_file_not_allowed", Error, "the bag has a payload file that the profile does not allow"),
    ("profile.data_not_empty", Error, "the profile requires an empty payload, and this bag's is not"),
    ("profile.tag_required", Error, "a tag that the profile requires is missing"),
    ("profile.tag_empty", Error, "a tag that must have a value is empty"),
    ("profile.tag_value", Error, "a tag has a value that the profile does not allow"),
    ("profile.tag_repeated", Error, "a tag that must not be repeated is"),
    (
        "profile.base_directory_name",
        Error,
        "the bag's top directory is not named like its archive (a caller may soften this)",
    ),
    ("profile.name_control_character", Error, "a file name has a control character, or the escaped text of one"),
];

/// The severity of a code of this table.
pub(super) fn severity(code: &str) -> Severity {
    CODES.iter().find(|(known, _, _)| *known == code).map_or(Error, |(_, severity, _)| *severity)
}
