//! Which problems of a package are permanent: the package fails by them again, however often it is read.

use super::item::ItemProblem;

/// Codes of problems, or what they begin with up to a full stop, by which a package fails again: it has to be corrected and deposited
/// again. The others may pass: settings, profiles, files at URLs and identifiers can be changed while the package stays the same.
pub const PERMANENT_CODES: &[&str] = &[
    "archive.corrupt",
    "archive.encrypted",
    "archive.name_conflict",
    "archive.no_base_directory",
    "archive.overlap",
    "archive.second_archive",
    "archive.several_directories",
    "archive.size_conflict",
    "archive.truncated",
    "archive.unsupported_entry",
    "bag_info.",
    "bagit.",
    "date.",
    "declaration.",
    "delete.also_sent",
    "digest.",
    "directive.",
    "encoding.",
    "entry.duplicate",
    "entry.not_a_file",
    "eof.",
    "fetch.length",
    "fetch.malformed",
    "fetch.tag_file",
    "fetch.unlisted",
    "fetch.url",
    "fields.",
    "manifest.",
    "media_type.",
    "metadata.unreadable",
    "modified.",
    "name.",
    "oxum.",
    "package.control_file_not_utf8",
    "package.digest_mismatch",
    "package.empty",
    "package.infected",
    "package.other_type",
    "package.size_mismatch",
    "path.",
    "payload.",
    "prefix.",
    "primary_identifier.",
    "row.",
    "rows.",
    "size.",
    "tag_manifest.",
    "text.",
    "url.",
];

/// Whether a package that has an error of this code fails by it again.
pub fn is_permanent_code(code: &str) -> bool {
    PERMANENT_CODES.iter().any(|known| match known.strip_suffix('.') {
        Some(family) => code.split_once('.').is_some_and(|(first, _)| first == family),
        None => code == *known,
    })
}

impl ItemProblem {
    /// Whether a package that has this problem fails by it again.
    pub fn is_permanent(&self) -> bool {
        self.severity == "error" && is_permanent_code(&self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOK: &str = include_str!("../../../../docs/batches.md");

    fn problem(severity: &str, code: &str) -> ItemProblem {
        ItemProblem {
            severity: severity.to_owned(),
            code: code.to_owned(),
            file: None,
            path: None,
            line: None,
            message: String::new(),
        }
    }

    #[test]
    fn codes_are_compared_whole_or_by_their_family_and_as_errors_only() {
        assert!(problem("error", "manifest.digest_mismatch").is_permanent());
        assert!(problem("error", "fetch.url").is_permanent());
        assert!(!problem("warning", "manifest.name").is_permanent());
        for code in ["profile.tag_required", "fetch.failed", "fetch.urls", "package.not_fetched", "limit.rows"] {
            assert!(!problem("error", code).is_permanent(), "{code}");
        }
    }

    #[test]
    fn the_book_lists_the_codes() {
        let (_, section) = BOOK.split_once("## Failures that cannot be requeued").expect("the section");
        let table = section.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
        let mut told: Vec<String> =
            table.flat_map(|line| line.split('`').skip(1).step_by(2)).map(|code| code.replace('*', "")).collect();
        told.sort_unstable();
        assert_eq!(told, PERMANENT_CODES, "docs/batches.md");
    }
}
