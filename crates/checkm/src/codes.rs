//! Every problem code there is, with its severity in each mode and its meaning: the one place that the checks, `checkm codes` and the
//! book read. A problem is only made from a [`Rule`], so no code is reported that is not listed here.

use crate::mode::Mode;
use crate::problem::Severity;

/// A code with its severities, from which problems are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The stable dotted word.
    pub code: &'static str,
    /// How bad a breach is when a manifest is read strictly.
    pub strict: Severity,
    /// How bad a breach is when a manifest is read leniently.
    pub lenient: Severity,
    /// What it means.
    pub meaning: &'static str,
}

impl Rule {
    /// How bad a breach is in a mode.
    pub fn severity(self, mode: Mode) -> Severity {
        match mode {
            Mode::Strict => self.strict,
            Mode::Lenient => self.lenient,
        }
    }
}

macro_rules! codes {
    ($($name:ident $strict:ident $lenient:ident $code:literal $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub(crate) const $name: Rule =
                Rule { code: $code, strict: Severity::$strict, lenient: Severity::$lenient, meaning: $meaning };
        )*

        /// Every code that a check can report.
        pub const CODES: &[Rule] = &[$($name,)*];
    };
}

codes! {
    DATE_MALFORMED Error Warning "date.malformed" "a date of the object is not an ISO 8601 date, or two with a slash between them";
    DECLARATION_MISSING Error Warning "declaration.missing" "the first line is not the declaration of Checkm 0.7";
    DECLARATION_VERSION Error Warning "declaration.version" "the declaration names another version of Checkm than 0.7";
    DIGEST_ALGORITHM Error Error "digest.algorithm" "the digest algorithm is not known";
    DIGEST_INCOMPLETE Error Warning "digest.incomplete" "there is an algorithm without a digest, or a digest without an algorithm; read leniently, no digest is checked";
    DIGEST_MALFORMED Error Error "digest.malformed" "the digest is not hexadecimal, or not as long as the algorithm makes it";
    DIRECTIVE_LATE Error Error "directive.late" "a directive of the header comes after the first row";
    DIRECTIVE_REPEATED Error Error "directive.repeated" "the declaration, the profile or the list of columns occurs more than once";
    DIRECTIVE_UNKNOWN Warning Warning "directive.unknown" "a line begins with #% and is no directive of Checkm; it is ignored";
    EOF_CONTENT_AFTER Error Error "eof.content_after" "something other than blank lines and comments follows #%eof; it is not read";
    EOF_MISSING Error Error "eof.missing" "there is no #%eof: the manifest may be cut off";
    FIELDS_DIGEST Error Warning "fields.digest" "one of the columns nfo:hashAlgorithm and nfo:hashValue is there without the other; read leniently, no digest is checked";
    FIELDS_MISSING Error Warning "fields.missing" "there is no #%fields; the columns of the profile are assumed, in its order";
    FIELDS_MISSPELLED Error Error "fields.misspelled" "the name of a column is nearly that of the algorithm, the digest or the size, which would not be compared";
    FIELDS_NO_URL Error Error "fields.no_url" "no column is nfo:fileUrl, so that no row can be read";
    FIELDS_NOT_OF_PROFILE Warning Warning "fields.not_of_profile" "a column does not belong to the profile";
    FIELDS_PREFIX Error Warning "fields.prefix" "the name of a column has not the prefix that it has in Merritt's manifests";
    FIELDS_REPEATED Error Error "fields.repeated" "a column is listed more than once";
    FIELDS_UNKNOWN Error Warning "fields.unknown" "a column is not known; its values are ignored";
    LIMIT_BYTES Error Error "limit.bytes" "the manifest has more bytes than the limit; the rest is not read";
    LIMIT_COLUMNS Error Error "limit.columns" "a line has more columns than the limit";
    LIMIT_LINE Error Error "limit.line" "a line has more bytes than the limit";
    LIMIT_ROWS Error Error "limit.rows" "the manifest has more rows than the limit; the rest is not read";
    MEDIA_TYPE_MALFORMED Warning Warning "media_type.malformed" "the media type is not a type, a slash and a subtype";
    MODIFIED_MALFORMED Error Warning "modified.malformed" "the modification date is not an ISO 8601 date; read leniently, it is ignored";
    NAME_CASE Warning Warning "name.case" "two file names differ only in letter case or in Unicode normal form";
    NAME_DUPLICATE Error Error "name.duplicate" "two rows of one object have the same file name";
    NAME_MISSING Error Error "name.missing" "there is no file name, and none can be taken from the URL";
    NAME_NOT_A_CONTAINER Error Warning "name.not_a_container" "the name in a batch of containers has not the ending of a container";
    NAME_NOT_A_MANIFEST Error Warning "name.not_a_manifest" "the name in a batch of manifests does not end in .checkm";
    NAME_TOO_LONG Error Error "name.too_long" "a file name has more than 4,096 bytes, or a part of it more than 255 bytes";
    NAME_UNSAFE Error Error "name.unsafe" "a file name leads out of the object, or could on some system";
    PREFIX_MALFORMED Error Warning "prefix.malformed" "a #%prefix line is not a prefix and a URI";
    PRIMARY_IDENTIFIER_MALFORMED Error Error "primary_identifier.malformed" "the primary identifier is not an ARK";
    PROBLEMS_TRUNCATED Warning Warning "problems.truncated" "there are more problems than are listed; the message states how many";
    PROFILE_ASSUMED Error Warning "profile.assumed" "the manifest does not say which profile it has, or names an unknown one; the profile that the caller states is taken";
    PROFILE_MISMATCH Error Error "profile.mismatch" "the manifest has another profile than the one that the caller states";
    PROFILE_MISSING Error Error "profile.missing" "there is no #%profile";
    PROFILE_SPELLING Error Warning "profile.spelling" "the URI of the profile is not spelled as Merritt does, but the profile is recognised by its name";
    PROFILE_UNKNOWN Error Error "profile.unknown" "the profile is not known";
    ROW_EXTRA_COLUMN Warning Warning "row.extra_column" "a row has more columns than #%fields lists; the further ones are empty";
    ROW_EXTRA_VALUE Error Warning "row.extra_value" "a row has a value in a column that #%fields does not list; it is ignored";
    ROWS_NONE Error Warning "rows.none" "the manifest has no rows";
    SIZE_MALFORMED Error Error "size.malformed" "the file size is not a number of bytes";
    TEXT_BOM Error Warning "text.bom" "the manifest begins with a byte order mark";
    TEXT_CONTROL_CHARACTER Error Error "text.control_character" "a line has a control character other than a tab; a carriage return without a line feed is one";
    TEXT_NOT_UTF8 Error Error "text.not_utf8" "a line is not UTF-8";
    URL_CHARACTERS Error Warning "url.characters" "the URL has a character that URLs do not have (RFC 3986), or a % without two hexadecimal digits";
    URL_CREDENTIALS Error Error "url.credentials" "the URL carries a user name or a password";
    URL_HOST Error Warning "url.host" "the host name has no dot, so that it cannot be one of the public network";
    URL_MALFORMED Error Error "url.malformed" "the URL is not an absolute URL";
    URL_MISSING Error Error "url.missing" "a row has no URL";
    URL_SCHEME Error Error "url.scheme" "the scheme of the URL is neither http nor https";
}

#[cfg(test)]
mod tests {
    use super::CODES;
    use crate::problem::Severity;

    #[test]
    fn codes_are_unique_dotted_words_in_order() {
        for pair in CODES.windows(2) {
            assert!(pair[0].code < pair[1].code, "{} stands before {}", pair[0].code, pair[1].code);
        }
        for rule in CODES {
            assert!(rule.code.contains('.') && !rule.meaning.is_empty());
            assert!(rule.code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '_'));
        }
    }

    #[test]
    fn reading_leniently_is_never_harder_than_reading_strictly() {
        for rule in CODES {
            assert!(rule.strict == Severity::Error || rule.lenient == Severity::Warning, "{}", rule.code);
        }
    }
}
