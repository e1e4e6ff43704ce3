//! What the headers of a response say about a file: its size, and what changes when its bytes do.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use ureq::http::HeaderMap;

use crate::retry::{http_date, retry_after};

/// A file as a response describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entity {
    /// All bytes of the file, also where the response has only some of them.
    pub(crate) size: Option<u64>,
    /// `ETag` as it was sent, with its quotes.
    pub(crate) etag: Option<String>,
    /// `Last-Modified` as it was sent.
    pub(crate) last_modified: Option<String>,
    /// What a range can be asked for with.
    pub(crate) validator: Option<Validator>,
    /// Whether only the end of the connection says where it ends (RFC 9112 section 6.3).
    pub(crate) is_open_ended: bool,
}

/// What says that the bytes are still the same (RFC 9110 section 8.8.1): a strong entity tag, or a date of the last
/// modification that the server can vouch for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Validator(String);

impl Validator {
    /// As the header `If-Range` has it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    fn of(etag: Option<&str>, last_modified: Option<&str>, date: Option<&str>) -> Option<Self> {
        if let Some(etag) = etag.filter(|etag| is_strong(etag)) {
            return Some(Self(etag.to_owned()));
        }
        // The file may have changed twice within one second (RFC 9110 section 8.8.2.2).
        let modified = http_date(last_modified?)?;
        let answered = http_date(date?)?;
        (answered.as_second() > modified.as_second()).then(|| Self(last_modified.unwrap_or_default().to_owned()))
    }
}

fn is_strong(etag: &str) -> bool {
    etag.len() >= 2 && etag.starts_with('"') && etag.ends_with('"')
}

/// The bytes that an answer to a request of a range has (RFC 9110 section 14.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// The first and last of its bytes; none where no range could be satisfied.
    pub(crate) range: Option<(u64, u64)>,
    /// All bytes of the file.
    pub(crate) size: Option<u64>,
}

impl ContentRange {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(header(headers, "content-range")?)
    }

    fn parse(value: &str) -> Option<Self> {
        let (unit, rest) = value.trim().split_once(' ')?;
        let (range, size) = rest.trim().split_once('/')?;
        let range = match range.trim() {
            "*" => None,
            range => {
                let (first, last) = range.split_once('-')?;
                Some((number(first)?, number(last)?))
            }
        };
        let size = match size.trim() {
            "*" => None,
            size => Some(number(size)?),
        };
        let is_possible = range.is_none_or(|(first, last)| first <= last && size.is_none_or(|size| last < size));
        (unit.eq_ignore_ascii_case("bytes") && is_possible).then_some(Self { range, size })
    }
}

impl Entity {
    /// What a response with the whole file says of it.
    pub(crate) fn whole(headers: &HeaderMap) -> Self {
        let is_chunked = headers.contains_key("transfer-encoding");
        let length = header(headers, "content-length").and_then(number).filter(|_| !is_chunked);
        Self { is_open_ended: !is_chunked && length.is_none(), ..Self::described(headers, length) }
    }

    /// What a response with a part of the file says of it.
    pub(crate) fn part(headers: &HeaderMap) -> Self {
        Self::described(headers, ContentRange::of(headers).and_then(|range| range.size))
    }

    fn described(headers: &HeaderMap, size: Option<u64>) -> Self {
        let etag = header(headers, "etag");
        let last_modified = header(headers, "last-modified");
        let validator = Validator::of(etag, last_modified, header(headers, "date"));
        let (etag, last_modified) = (etag.map(str::to_owned), last_modified.map(str::to_owned));
        Self { size, etag, last_modified, validator, is_open_ended: false }
    }

    /// Whether the bytes may be those that a validator was of. An answer to a request with `If-Range` need not have the validator.
    pub(crate) fn agrees(&self, validator: &Validator) -> bool {
        let same = if is_strong(&validator.0) { &self.etag } else { &self.last_modified };
        same.as_ref().is_none_or(|same| *same == validator.0)
    }

    /// The version, where it is of the same kind as an earlier one and differs from it.
    pub(crate) fn other_version(&self, earlier: &str) -> Option<&str> {
        // A tag that becomes weak on the way, as by compression, is the same tag.
        let weak = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
        let is_tag = weak(earlier).starts_with('"');
        let version = if is_tag { self.etag.as_deref() } else { self.last_modified.as_deref() }?;
        (weak(version) != weak(earlier)).then_some(version)
    }

    /// By what another description cannot be of the same bytes; nothing where none is known to differ.
    pub(crate) fn difference(&self, later: &Self) -> Option<String> {
        let differ = |name: &str, before: &Option<String>, after: &Option<String>| match (before, after) {
            (Some(before), Some(after)) if before != after => {
                Some(format!("its {name} was {before:?} and is {after:?}"))
            }
            _ => None,
        };
        match (self.size, later.size) {
            (Some(before), Some(after)) if before != after => {
                return Some(format!("it had {before} bytes and has {after}"));
            }
            _ => {}
        }
        differ("ETag", &self.etag, &later.etag)
            .or_else(|| differ("Last-Modified", &self.last_modified, &later.last_modified))
    }
}

/// Whether the server says that it gives parts of the file.
pub(crate) fn accepts_ranges(headers: &HeaderMap) -> bool {
    header(headers, "accept-ranges")
        .is_some_and(|units| units.split(',').any(|unit| unit.trim().eq_ignore_ascii_case("bytes")))
}

/// How long the server asks to wait.
pub(crate) fn wait_asked(headers: &HeaderMap) -> Option<std::time::Duration> {
    retry_after(header(headers, "retry-after")?, Timestamp::now())
}

/// A content coding (RFC 9110 section 8.4) that changes the bytes.
pub(crate) fn coding(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all("content-encoding").iter();
    // What uploads to S3 are sent in: some servers keep its name, and none sends it.
    let plain = ["", "identity", "aws-chunked"];
    let codings = values.flat_map(|value| value.to_str().unwrap_or("unreadable").split(',')).map(str::trim);
    let changed: Vec<&str> =
        codings.filter(|coding| !plain.iter().any(|one| coding.eq_ignore_ascii_case(one))).collect();
    (!changed.is_empty()).then(|| changed.join(", "))
}

/// Whether a file of this name has the coding itself, as servers say of the endings of files that are packed.
pub(crate) fn is_of_name(coding: &str, path: &str) -> bool {
    let endings: &[&str] = match coding.to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => &[".gz", ".tgz", ".svgz"],
        "bzip2" | "x-bzip2" | "x-bzip" => &[".bz2", ".tbz2", ".tbz"],
        "compress" | "x-compress" => &[".z", ".taz"],
        "zstd" => &[".zst"],
        "br" => &[".br"],
        "xz" | "x-xz" => &[".xz", ".txz"],
        _ => &[],
    };
    let path = path.to_ascii_lowercase();
    endings.iter().any(|ending| path.ends_with(ending))
}

pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    // The standard parser accepts a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_writes_them() {
        let range = |range, size| Some(ContentRange { range, size });
        for (value, expected) in [
            ("bytes 0-0/5", range(Some((0, 0)), Some(5))),
            ("bytes 2-4/5", range(Some((2, 4)), Some(5))),
            ("Bytes 2-4/*", range(Some((2, 4)), None)),
            ("bytes */5", range(None, Some(5))),
            ("bytes 4-2/5", None),
            ("bytes 2-5/5", None),
            ("bytes -2/5", None),
            ("bytes +2-4/5", None),
            ("lines 2-4/5", None),
            ("bytes 2-4", None),
            ("bytes 2-99999999999999999999/*", None),
            ("", None),
        ] {
            assert_eq!(ContentRange::parse(value), expected, "{value}");
        }
    }

    #[test]
    fn a_coding_changes_the_bytes_unless_it_is_none() {
        let coding_of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("content-encoding", ureq::http::HeaderValue::from_static(value));
            }
            coding(&headers)
        };
        for plain in [&[][..], &[""], &["identity"], &["Identity, aws-chunked"], &["identity", "identity"]] {
            assert_eq!(coding_of(plain), None, "{plain:?}");
        }
        assert_eq!(coding_of(&["gzip"]).as_deref(), Some("gzip"));
        assert_eq!(coding_of(&["identity", " br , identity"]).as_deref(), Some("br"));
        assert_eq!(coding_of(&["aws-chunked,gzip"]).as_deref(), Some("gzip"));
        assert!(is_of_name("x-gzip", "/a/b.TAR.gz") && is_of_name("gzip", "/a.tgz") && !is_of_name("gzip", "/a.txt"));
        assert!(!is_of_name("gzip, br", "/a.gz"));
    }

    #[test]
    fn only_what_proves_equal_bytes_is_a_validator() {
        let date = |seconds| format!("Sun, 06 Nov 1994 08:49:{seconds} GMT");
        let validator = |etag, modified: Option<&str>, answered: Option<&str>| {
            Validator::of(etag, modified, answered).map(|validator| validator.0)
        };
        assert_eq!(validator(Some("\"a\""), None, None), Some("\"a\"".into()));
        assert_eq!(validator(Some("W/\"a\""), None, None), None);
        assert_eq!(validator(Some("a"), None, None), None);
        assert_eq!(validator(None, Some(&date(37)), Some(&date(39))), Some(date(37)));
        assert_eq!(validator(Some("W/\"a\""), Some(&date(37)), Some(&date(39))), Some(date(37)));
        assert_eq!(validator(None, Some(&date(37)), Some(&date(37))), None);
        assert_eq!(validator(None, Some(&date(37)), None), None);
        assert_eq!(validator(None, None, Some(&date(37))), None);
    }
}
