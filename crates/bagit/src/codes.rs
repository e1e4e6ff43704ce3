//! Every problem code there is, with its severity and meaning: the one place that `bag codes`, the book and the checks
//! read. A problem can only be made from a [`Rule`], so no code is ever reported that is not listed here.

use crate::problem::{Problem, Severity};
use crate::{profile, write};

/// A code with its severity, from which problems are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The stable dotted word.
    pub code: &'static str,
    /// How bad a breach is.
    pub severity: Severity,
}

impl Rule {
    /// A problem of this code; where it is, is added by [`Problem::in_file`], [`Problem::about`] and [`Problem::at_line`].
    pub fn problem(self, message: impl Into<String>) -> Problem {
        Problem {
            severity: self.severity,
            code: self.code.to_owned(),
            file: None,
            path: None,
            line: None,
            message: message.into(),
        }
    }
}

/// A problem `profile.unknown`.
pub(crate) fn profile_unknown(is_warning: bool, message: String) -> Problem {
    let severity = if is_warning { Severity::Warning } else { Severity::Error };
    Rule { code: "profile.unknown", severity }.problem(message)
}

impl Problem {
    /// Names the tag file or manifest in which it was found.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Names the path that it is about.
    #[must_use]
    pub fn about(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Names the line, from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}

macro_rules! codes {
    ($($name:ident $severity:ident $code:literal $meaning:literal;)*) => {
        $(#[doc = $meaning] pub(crate) const $name: Rule = Rule { code: $code, severity: Severity::$severity };)*

        /// The codes of this table; [`CODES`] adds those of profiles.
        const OWN: &[(&str, Severity, &str)] = &[$(($code, Severity::$severity, $meaning),)*];
    };
}

codes! {
    ARCHIVE_BOMB Error "archive.bomb" "the archive unpacks to more than the limits allow";
    ARCHIVE_CORRUPT Error "archive.corrupt" "the archive, or a member of it, is damaged";
    ARCHIVE_ENCRYPTED Error "archive.encrypted" "a member of the archive is encrypted";
    ARCHIVE_HIDDEN_MEMBER Warning "archive.hidden_member" "bytes of a zip archive begin as a member that its central directory does not name, and are not read";
    ARCHIVE_NO_BASE_DIRECTORY Error "archive.no_base_directory" "files are at the top of the archive, not in one \
                                     base directory (RFC 8493 section 4.2)";
    ARCHIVE_NO_END_MARK Warning "archive.no_end_mark" "the tar archive lacks the two blocks of zeros at its end";
    ARCHIVE_OVERLAP Error "archive.overlap" "two members of a zip archive claim the same bytes";
    ARCHIVE_SECOND_ARCHIVE Warning "archive.second_archive" "another tar archive follows the end of the first and is not read";
    ARCHIVE_SEVERAL_DIRECTORIES Error "archive.several_directories" "the archive has more than one top directory (RFC 8493 section 4.2)";
    ARCHIVE_SIZE_CONFLICT Error "archive.size_conflict" "two headers of one member state different sizes, so that two programs read two different archives";
    ARCHIVE_NAME_CONFLICT Error "archive.name_conflict" "two headers of one member state different names";
    ARCHIVE_TRAILING_DATA Warning "archive.trailing_data" "bytes follow the end of the archive and are not read";
    ARCHIVE_TRUNCATED Error "archive.truncated" "the archive ends too early";
    ARCHIVE_UNSUPPORTED_ENTRY Error "archive.unsupported_entry" "a member is stored in a way that is not read here";
    BAG_INFO_MALFORMED Error "bag_info.malformed" "a line of bag-info.txt is not a label, a colon, one space or tab, and a value (RFC 8493 section 2.2.2)";
    BAG_INFO_REPEATED Warning "bag_info.repeated" "a tag is repeated that should not be (RFC 8493 section 2.2.2)";
    BAG_INFO_VALUE Warning "bag_info.value" "the value of a reserved tag has not the form the standard gives it";
    BAG_INFO_WHITESPACE Warning "bag_info.whitespace" "white space around the colon or the value is not as the standard has it";
    BAGIT_DECLARATION Error "bagit.declaration" "bagit.txt is missing, or is not the two lines it has to be (RFC 8493 section 2.1.1)";
    BAGIT_DECLARATION_LOOSE Warning "bagit.declaration_loose" "bagit.txt has white space or blank lines that only versions before 1.0 let pass";
    BAGIT_ENCODING_UNSUPPORTED Error "bagit.encoding_unsupported" "the character encoding that bagit.txt names is not known here";
    BAGIT_VERSION_UNSUPPORTED Error "bagit.version_unsupported" "the BagIt version is not one of 0.93 to 0.97 and 1.0";
    ENCODING_BOM Error "encoding.bom" "a UTF-8 tag file starts with a byte order mark";
    ENCODING_BOM_ASSUMED Warning "encoding.bom_assumed" "a UTF-16 or UTF-32 tag file of a version before 1.0 has no byte order mark";
    ENCODING_BOM_MISSING Error "encoding.bom_missing" "a UTF-16 or UTF-32 tag file has no byte order mark";
    ENCODING_MALFORMED Error "encoding.malformed" "a line cannot be decoded with the character encoding of the bag";
    ENTRY_DUPLICATE Error "entry.duplicate" "the same path occurs more than once";
    ENTRY_NOT_A_FILE Error "entry.not_a_file" "a link, device, FIFO or socket, which is never opened or followed";
    ENTRY_UNREADABLE Error "entry.unreadable" "a file cannot be opened or read";
    FETCH_DUPLICATE Warning "fetch.duplicate" "fetch.txt names the same path more than once";
    FETCH_FAILED Error "fetch.failed" "a file named in fetch.txt cannot be downloaded, or is another one than the bag states; of deposits only";
    FETCH_LENGTH Error "fetch.length" "the length in fetch.txt is neither digits nor a hyphen";
    FETCH_LENGTH_MISMATCH Warning "fetch.length_mismatch" "a file that is present has another length than fetch.txt states";
    FETCH_MALFORMED Error "fetch.malformed" "a line of fetch.txt is not a URL, a length and a path (RFC 8493 section 2.2.3)";
    FETCH_PENDING Error "fetch.pending" "a file named in fetch.txt has not been fetched yet";
    FETCH_PRESENT Warning "fetch.present" "a file named in fetch.txt is in the bag, so that it is not downloaded; of deposits only";
    FETCH_TAG_FILE Error "fetch.tag_file" "fetch.txt names a tag file";
    FETCH_UNLISTED Error "fetch.unlisted" "a path of fetch.txt is not in every payload manifest (before 1.0: in none)";
    FETCH_URL Error "fetch.url" "the URL in fetch.txt is not absolute, or malformed";
    FILE_TOO_LARGE Error "tag_file.too_large" "a tag file, or a line of it, is larger than any real one";
    MANIFEST_ALGORITHM_UNSUPPORTED Error "manifest.algorithm_unsupported" "the digest algorithm of a manifest is not known here";
    MANIFEST_BLANK_LINE Warning "manifest.blank_line" "a manifest has a blank line";
    MANIFEST_DIGEST_MALFORMED Error "manifest.digest_malformed" "a digest is not hexadecimal, or not as long as the algorithm makes it";
    MANIFEST_DIGEST_MISMATCH Error "manifest.digest_mismatch" "the bytes of a file have not the digest that the manifest states";
    MANIFEST_DUPLICATE_ENTRY Error "manifest.duplicate_entry" "a manifest lists a path more than once (before 1.0: with different digests)";
    MANIFEST_DUPLICATE_ENTRY_EQUAL Warning "manifest.duplicate_entry_equal" "a manifest of a version before 1.0 lists a path more than once, with the same digest";
    MANIFEST_FILE_MISSING Error "manifest.file_missing" "a manifest lists a file that is not there";
    MANIFEST_FILE_UNLISTED Error "manifest.file_unlisted" "a payload file is not in every payload manifest (before 1.0: in none)";
    MANIFEST_LINE_MALFORMED Error "manifest.line_malformed" "a line of a manifest is not a digest, white space and a path";
    MANIFEST_MD5SUM_STYLE Warning "manifest.md5sum_style" "a line has the marks of md5sum and similar programs, \
                                   which are not strictly valid";
    MANIFEST_MISSING Error "manifest.missing" "there is no payload manifest";
    MANIFEST_NAME Warning "manifest.name" "the name of a manifest is not lower case alphanumeric";
    MANIFEST_OUTSIDE_PAYLOAD Error "manifest.outside_payload" "a payload manifest lists a path outside data/";
    MANIFEST_RELATIVE_PATH Warning "manifest.relative_path" "a path starts with ./, which is not strictly valid";
    MANIFEST_TOO_MANY Error "manifest.too_many" "there are more manifests than any real bag has";
    OXUM_MALFORMED Error "oxum.malformed" "Payload-Oxum is not two numbers with a full stop between them";
    OXUM_MISSING Error "oxum.missing" "bag-info.txt has no Payload-Oxum, and a fast check relies on it (not reported by other checks)";
    OXUM_MISMATCH Error "oxum.mismatch" "Payload-Oxum states other counts than the payload has";
    OXUM_REPEATED Error "oxum.repeated" "Payload-Oxum occurs more than once";
    PATH_AMBIGUOUS Error "path.ambiguous" "a listed path can mean two different files that both exist";
    PATH_BACKSLASH Warning "path.backslash" "a name has a backslash, which some systems take for a separator";
    PATH_CASE Warning "path.case" "two paths differ only in letter case or in normal form";
    PATH_CONTROL_CHARACTER Warning "path.control_character" "a name has control characters";
    PATH_LONG Warning "path.long" "a path is longer than some systems allow";
    PATH_NORMALIZATION Warning "path.normalization" "a listed path and the name of the file differ in Unicode normal form";
    PATH_NOT_UTF8 Warning "path.not_utf8" "a name is not UTF-8; the bytes that are not are shown escaped";
    PATH_PERCENT_ENCODING Warning "path.percent_encoding" "a path is not percent-encoded as the version asks, but only one file can be meant";
    PATH_RESERVED_NAME Warning "path.reserved_name" "a name cannot exist on Windows";
    PATH_SYSTEM_FILE Warning "path.system_file" "a file that operating systems leave behind";
    PATH_TOO_LONG Error "path.too_long" "a path has more than 4,096 bytes, or a name in it more than 255 bytes: no common file system can hold it";
    PATH_UNSAFE Error "path.unsafe" "a path leads out of the bag, or could on some system";
    PAYLOAD_DIRECTORY_MISSING Error "payload.directory_missing" "there is no directory data/";
    PROBLEMS_TRUNCATED Warning "problems.truncated" "there are more problems of one severity than are listed; the message states how many";
    TAG_MANIFEST_DIFFERENT_SETS Warning "tag_manifest.different_sets" "the tag manifests do not list the same files";
    TAG_MANIFEST_FILE_UNLISTED Warning "tag_manifest.file_unlisted" "a tag file is in no tag manifest";
    TAG_MANIFEST_LISTS_PAYLOAD Error "tag_manifest.lists_payload" "a tag manifest lists a payload file";
    TAG_MANIFEST_LISTS_TAG_MANIFEST Error "tag_manifest.lists_tag_manifest" "a tag manifest lists a tag manifest";
    TAG_MANIFEST_MANIFEST_UNLISTED Error "tag_manifest.manifest_unlisted" "a payload manifest is not in every tag manifest";
}

type Table = &'static [(&'static str, Severity, &'static str)];

/// The tables of this crate's parts.
const TABLES: [Table; 3] = [OWN, profile::CODES, write::CODES];

const COUNT: usize = TABLES[0].len() + TABLES[1].len() + TABLES[2].len();

const ALL: [(&str, Severity, &str); COUNT] = {
    let mut all = [OWN[0]; COUNT];
    let (mut table, mut at, mut next) = (0, 0, 0);
    while table < TABLES.len() {
        if next == TABLES[table].len() {
            (table, next) = (table + 1, 0);
        } else {
            all[at] = TABLES[table][next];
            (at, next) = (at + 1, next + 1);
        }
    }
    all
};

/// Every code that a check can report: the code, its severity, its meaning.
pub const CODES: &[(&str, Severity, &str)] = &ALL;

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_unique_dotted_words() {
        let mut seen = std::collections::BTreeSet::new();
        for (code, _, meaning) in CODES {
            assert!(seen.insert(code), "{code} is listed twice");
            assert!(code.contains('.') && !meaning.is_empty());
            assert!(code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '_'));
        }
    }
}
