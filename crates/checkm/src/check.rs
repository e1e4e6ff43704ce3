//! What a row has to be: every value is checked, every problem reported.

use std::ops::Range;

use strongroom_digest::Digest;
use strongroom_listing::{too_long_reason, unsafe_reason};

use crate::checksum::{Checksum, algorithm_named};
use crate::codes::{self, Rule};
use crate::column::Column;
use crate::forms::{
    UrlFault, decode, is_ark, is_iso_8601, is_iso_8601_period, is_media_type, name_in_url, trim, url_faults,
    without_credentials,
};
use crate::header::Header;
use crate::mode::ReadOptions;
use crate::problem::{Problem, Severity, quoted};
use crate::profile::{ManifestProfile, is_container_name, is_manifest_name};

/// A line of data, cut into cells.
#[derive(Clone, Copy)]
pub(crate) struct DataLine<'a> {
    pub(crate) text: &'a str,
    /// Where each cell is in the text, without the white space at its ends.
    pub(crate) cells: &'a [Range<usize>],
    pub(crate) row: u64,
    pub(crate) line: u64,
}

impl<'a> DataLine<'a> {
    /// The value of a column, empty where the row has none.
    pub(crate) fn cell(self, header: &Header, column: Column) -> &'a str {
        let cell = header.position(column).and_then(|position| self.cells.get(position));
        cell.and_then(|cell| self.text.get(cell.clone())).unwrap_or_default()
    }
}

/// Cuts a line into cells; whether there were more than `most`, which are left out.
pub(crate) fn cut(text: &str, most: usize, cells: &mut Vec<Range<usize>>) -> bool {
    cells.clear();
    let mut start = 0;
    for part in text.split('|') {
        if cells.len() >= most {
            return true;
        }
        let value = trim(part);
        let leading = part.len() - part.trim_start_matches([' ', '\t']).len();
        let begin = if value.is_empty() { start } else { start + leading };
        cells.push(begin..begin + value.len());
        start += part.len() + 1;
    }
    false
}

/// What a row states, where that is more than text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stated {
    pub(crate) checksum: Option<Checksum>,
    pub(crate) size: Option<u64>,
    /// Whether the modification date is one.
    pub(crate) is_modified_a_date: bool,
}

struct Check<'a, 'r> {
    line: DataLine<'a>,
    header: &'a Header,
    options: &'a ReadOptions,
    report: &'r mut dyn FnMut(Problem),
    is_refused: bool,
}

/// Checks every value of a row. The file name is put into `name`, empty where there is none that could be used. Nothing where the
/// row has an error.
pub(crate) fn check(
    line: DataLine<'_>,
    header: &Header,
    options: &ReadOptions,
    name: &mut String,
    report: &mut dyn FnMut(Problem),
) -> Option<Stated> {
    let mut check = Check { line, header, options, report, is_refused: false };
    check.further_cells();
    check.url();
    let stated = Stated { checksum: check.checksum(), size: check.size(), is_modified_a_date: check.modified() };
    check.name(name);
    check.object();
    (!check.is_refused).then_some(stated)
}

impl<'a> Check<'a, '_> {
    fn cell(&self, column: Column) -> &'a str {
        self.line.cell(self.header, column)
    }

    fn tell(&mut self, rule: Rule, make: impl FnOnce(Problem) -> Problem, message: String) {
        let problem = Problem::new(rule, self.options.mode, message).in_row(self.line.row, self.line.line);
        self.is_refused |= problem.severity == Severity::Error;
        (self.report)(make(problem));
    }

    fn tell_about(&mut self, rule: Rule, column: Column, value: &str, message: String) {
        self.tell(rule, |problem| problem.about(column, value), message);
    }

    fn further_cells(&mut self) {
        let listed = self.header.columns.len();
        let Some(further) = self.line.cells.get(listed..).filter(|further| !further.is_empty()) else { return };
        let value = further.iter().find(|cell| !cell.is_empty()).and_then(|cell| self.line.text.get(cell.clone()));
        let found = self.line.cells.len();
        if let Some(value) = value {
            let message = format!(
                "the row has {found} columns, and a value {} beyond the last; expected {listed} (a | in a value is %7c)",
                quoted(value)
            );
            self.tell(codes::ROW_EXTRA_VALUE, |problem| problem.with_value(value), message);
        } else {
            let message = format!("the row has {found} columns; expected {listed}");
            self.tell(codes::ROW_EXTRA_COLUMN, |problem| problem, message);
        }
    }

    fn url(&mut self) {
        let url = self.cell(Column::FileUrl);
        if url.is_empty() {
            self.tell_about(
                codes::URL_MISSING,
                Column::FileUrl,
                url,
                "there is no URL; expected one in every row".into(),
            );
            return;
        }
        for fault in url_faults(url) {
            // Problems are kept and shown: a password is in none of them.
            let url = without_credentials(url);
            let shown = quoted(&url);
            let (rule, message) = match fault {
                UrlFault::Malformed => (
                    codes::URL_MALFORMED,
                    format!("{shown} is not a URL; expected an absolute one, such as https://example.org/file.jpg"),
                ),
                UrlFault::Scheme => {
                    (codes::URL_SCHEME, format!("{shown} has another scheme than http or https; expected one of them"))
                }
                UrlFault::Characters => (
                    codes::URL_CHARACTERS,
                    format!(
                        "{shown} has a character that URLs do not have; expected it percent-encoded, as %20 for a space"
                    ),
                ),
                UrlFault::Credentials => {
                    (codes::URL_CREDENTIALS, format!("{shown} carries a user name or password; expected none"))
                }
                UrlFault::Host => (
                    codes::URL_HOST,
                    format!("the host of {shown} has no dot; expected a full name, such as files.example.org"),
                ),
            };
            self.tell_about(rule, Column::FileUrl, &url, message);
        }
    }

    fn checksum(&mut self) -> Option<Checksum> {
        let (name, value) = (self.cell(Column::HashAlgorithm), self.cell(Column::HashValue));
        match (name.is_empty(), value.is_empty()) {
            (true, true) => return None,
            (false, true) => {
                // That the column is missing was told once, for the header.
                if self.header.position(Column::HashValue).is_some() {
                    let message =
                        format!("there is an algorithm {} without a digest; expected both or none", quoted(name));
                    self.tell_about(codes::DIGEST_INCOMPLETE, Column::HashValue, value, message);
                }
            }
            (true, false) => {
                if self.header.position(Column::HashAlgorithm).is_some() {
                    let message =
                        format!("there is a digest {} without an algorithm; expected both or none", quoted(value));
                    self.tell_about(codes::DIGEST_INCOMPLETE, Column::HashAlgorithm, name, message);
                }
                return None;
            }
            (false, false) => {}
        }
        let Some(algorithm) = algorithm_named(name) else {
            let message =
                format!("the algorithm {} is not known; expected one such as md5, sha-256 or sha-512", quoted(name));
            self.tell_about(codes::DIGEST_ALGORITHM, Column::HashAlgorithm, name, message);
            return None;
        };
        if value.is_empty() {
            return None;
        }
        let checksum = value.parse::<Digest>().ok().and_then(|digest| Checksum::new(algorithm, digest));
        if checksum.is_none() {
            let expected = algorithm.length() * 2;
            let kind = if value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                format!("has {} hexadecimal digits", value.len())
            } else {
                "is not hexadecimal".to_owned()
            };
            let message =
                format!("the digest {} {kind}; expected {expected} hexadecimal digits for {algorithm}", quoted(value));
            self.tell_about(codes::DIGEST_MALFORMED, Column::HashValue, value, message);
        }
        checksum
    }

    fn size(&mut self) -> Option<u64> {
        let text = self.cell(Column::FileSize);
        if text.is_empty() {
            return None;
        }
        let size = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        if size.is_none() {
            let message = format!("the size {} is not a number of bytes; expected digits, such as 1024", quoted(text));
            self.tell_about(codes::SIZE_MALFORMED, Column::FileSize, text, message);
        }
        size
    }

    fn modified(&mut self) -> bool {
        let text = self.cell(Column::FileLastModified);
        if matches!(text, "" | "-") {
            return false;
        }
        let is_date = is_iso_8601(text);
        if !is_date {
            let message = format!(
                "the modification date {} is not an ISO 8601 date; expected one such as 2009-09-01 or 2009-09-01T00:00:00Z",
                quoted(text)
            );
            self.tell_about(codes::MODIFIED_MALFORMED, Column::FileLastModified, text, message);
        }
        is_date
    }

    fn name(&mut self, name: &mut String) {
        name.clear();
        let given = self.cell(Column::FileName);
        let url = self.cell(Column::FileUrl);
        if given.is_empty() {
            match name_in_url(url) {
                Some(last) => name.push_str(&last),
                None if url.is_empty() => return,
                None => {
                    let message =
                        format!("there is no file name, and {} does not end in one; expected a file name", quoted(url));
                    self.tell_about(codes::NAME_MISSING, Column::FileName, given, message);
                    return;
                }
            }
        } else {
            name.push_str(&decode(given, false));
        }
        // A name out of a URL may have any character.
        let reason =
            unsafe_reason(name).or_else(|| name.chars().any(char::is_control).then_some("it has a control character"));
        let reason = reason.or_else(|| name.ends_with('/').then_some("it ends with a slash"));
        if let Some(reason) = reason {
            let message =
                format!("the file name {} is not safe: {reason}; expected a path within the object", quoted(name));
            self.tell_about(codes::NAME_UNSAFE, Column::FileName, name, message);
            name.clear();
            return;
        }
        if let Some(reason) = too_long_reason(name.as_bytes()) {
            let message = format!("the file name {} is too long: {reason}; expected a shorter one", quoted(name));
            self.tell_about(codes::NAME_TOO_LONG, Column::FileName, name, message);
            name.clear();
            return;
        }
        match self.header.profile {
            Some(ManifestProfile::ContainerBatch) if !is_container_name(name) => {
                let message = format!(
                    "the file name {} has not the ending of a container; expected .zip, .tar, .tar.gz, .tgz or .tar.bz2",
                    quoted(name)
                );
                self.tell_about(codes::NAME_NOT_A_CONTAINER, Column::FileName, name, message);
            }
            Some(ManifestProfile::Batch) if !is_manifest_name(name) => {
                let message =
                    format!("the file name {} has not the ending of a manifest; expected .checkm", quoted(name));
                self.tell_about(codes::NAME_NOT_A_MANIFEST, Column::FileName, name, message);
            }
            _ => {}
        }
    }

    /// What describes the object.
    fn object(&mut self) {
        let media_type = decode(self.cell(Column::MimeType), false);
        if !media_type.is_empty() && !is_media_type(&media_type) {
            let message = format!("the media type is {}; expected one such as image/jpeg", quoted(&media_type));
            self.tell_about(codes::MEDIA_TYPE_MALFORMED, Column::MimeType, &media_type, message);
        }
        let primary = decode(self.cell(Column::PrimaryIdentifier), false);
        if !primary.is_empty() && !is_ark(&primary) {
            let message = format!(
                "the primary identifier {} is not an ARK; expected one such as ark:/13030/m5xyz",
                quoted(&primary)
            );
            self.tell_about(codes::PRIMARY_IDENTIFIER_MALFORMED, Column::PrimaryIdentifier, &primary, message);
        }
        let date = decode(self.cell(Column::Date), true);
        if !date.is_empty() && !is_iso_8601_period(&date) {
            let message = format!(
                "the date {} is not an ISO 8601 date; expected one such as 2009, 2009-09 or 2009-09-01",
                quoted(&date)
            );
            self.tell_about(codes::DATE_MALFORMED, Column::Date, &date, message);
        }
    }
}
