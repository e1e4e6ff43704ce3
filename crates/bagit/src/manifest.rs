//! Manifests: their names and their lines (RFC 8493 sections 2.1.3 and 2.2.1), and the lines of `fetch.txt` (2.2.3).

use strongroom_digest::{Algorithm, Digest};

use crate::codes::{self, Rule};
use crate::declaration::shorten;
use crate::path;

/// The payload directory, with its separator.
pub(crate) const PAYLOAD: &str = "data/";
/// The list of files to fetch.
pub(crate) const FETCH: &str = "fetch.txt";

/// Whether a manifest is about payload files or tag files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManifestKind {
    /// `manifest-ALG.txt`.
    Payload,
    /// `tagmanifest-ALG.txt`.
    Tag,
}

/// The name of a manifest, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestName {
    /// What it is about.
    pub kind: ManifestKind,
    /// The file name.
    pub file: String,
    /// The algorithm as written.
    pub algorithm_text: String,
    /// The algorithm, if it is known here.
    pub algorithm: Option<Algorithm>,
}

impl ManifestName {
    /// Takes a path relative to the bag; nothing if it is no manifest.
    pub fn parse(file: &str) -> Option<Self> {
        let stem = file.strip_suffix(".txt")?;
        let (kind, algorithm) = match stem.strip_prefix("tagmanifest-") {
            Some(algorithm) => (ManifestKind::Tag, algorithm),
            None => (ManifestKind::Payload, stem.strip_prefix("manifest-")?),
        };
        if algorithm.is_empty() || algorithm.contains('/') {
            return None;
        }
        Some(Self {
            kind,
            file: file.to_owned(),
            algorithm_text: algorithm.to_owned(),
            algorithm: algorithm.parse().ok(),
        })
    }

    /// Whether the algorithm is written as the standard asks: lower case letters and digits only.
    pub fn is_well_formed(&self) -> bool {
        self.algorithm_text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    }
}

/// A line of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestLine {
    /// The digest; nothing if it is malformed (the file counts as listed all the same).
    pub(crate) digest: Option<Digest>,
    /// The path as listed, without the marks of other tools, still encoded.
    pub(crate) path: String,
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// Reads a line; reports all that is wrong with it, and yields nothing if no file can be made out.
pub(crate) fn parse_line(
    text: &str,
    algorithm: Option<Algorithm>,
    report: &mut dyn FnMut(Rule, String),
) -> Option<ManifestLine> {
    if text.trim().is_empty() {
        report(codes::MANIFEST_BLANK_LINE, "the line is blank".to_owned());
        return None;
    }
    // GNU md5sum starts a line with a backslash where it has escaped the name.
    let (text, is_escaped) = match text.strip_prefix('\\') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let Some((digest_text, rest)) = text.split_once(is_blank) else {
        report(codes::MANIFEST_LINE_MALFORMED, format!("{:?} is not a digest, white space and a path", shorten(text)));
        return None;
    };
    let listed = rest.trim_start_matches(is_blank);
    if digest_text.is_empty() || listed.is_empty() {
        report(codes::MANIFEST_LINE_MALFORMED, format!("{:?} is not a digest, white space and a path", shorten(text)));
        return None;
    }
    let mut path = listed.to_owned();
    if is_escaped {
        path = path.replace("\\\\", "\u{0}").replace("\\n", "\n").replace("\\r", "\r").replace('\u{0}', "\\");
    }
    if let Some(rest) = path.strip_prefix('*') {
        path = rest.to_owned();
        report(
            codes::MANIFEST_MD5SUM_STYLE,
            "the path has a * before it, as md5sum writes for binary files".to_owned(),
        );
    } else if is_escaped {
        report(
            codes::MANIFEST_MD5SUM_STYLE,
            "the line starts with a backslash, as md5sum writes for odd names".to_owned(),
        );
    }
    if path.starts_with("./") {
        path = path.trim_start_matches("./").to_owned();
        report(codes::MANIFEST_RELATIVE_PATH, "the path starts with ./".to_owned());
    }
    let digest = match (digest_text.parse::<Digest>(), algorithm) {
        (Ok(digest), Some(algorithm)) if digest.as_bytes().len() != algorithm.length() => {
            let (found, wanted) = (digest.as_bytes().len() * 2, algorithm.length() * 2);
            report(
                codes::MANIFEST_DIGEST_MALFORMED,
                format!("the digest has {found} digits, and {algorithm} has {wanted}"),
            );
            None
        }
        (Ok(digest), _) => Some(digest),
        (Err(_), None) => None,
        (Err(_), Some(_)) => {
            report(codes::MANIFEST_DIGEST_MALFORMED, format!("{:?} is not a hexadecimal digest", shorten(digest_text)));
            None
        }
    };
    Some(ManifestLine { digest, path })
}

/// A line of `fetch.txt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchLine {
    /// Where the file is.
    pub url: String,
    /// Its length in bytes, where stated.
    pub length: Option<u64>,
    /// The path as listed, still encoded.
    pub path: String,
}

/// Reads a line of `fetch.txt`; reports all that is wrong with it, and yields nothing if no file can be made out.
pub(crate) fn parse_fetch_line(text: &str, report: &mut dyn FnMut(Rule, String)) -> Option<FetchLine> {
    if text.trim().is_empty() {
        return None;
    }
    let malformed = || format!("{:?} is not a URL, a length and a path", shorten(text));
    let Some((url, rest)) = text.split_once(is_blank) else {
        report(codes::FETCH_MALFORMED, malformed());
        return None;
    };
    let Some((length_text, path)) = rest.trim_start_matches(is_blank).split_once(is_blank) else {
        report(codes::FETCH_MALFORMED, malformed());
        return None;
    };
    let path = path.trim_start_matches(is_blank);
    if url.is_empty() || path.is_empty() {
        report(codes::FETCH_MALFORMED, malformed());
        return None;
    }
    if url::Url::parse(url).is_err() {
        report(codes::FETCH_URL, format!("{:?} is not an absolute URL", shorten(url)));
    }
    let is_number = length_text.bytes().all(|byte| byte.is_ascii_digit());
    let length = if is_number { length_text.parse().ok() } else { None };
    if length.is_none() && length_text != "-" {
        report(codes::FETCH_LENGTH, format!("the length {:?} is neither a number nor a hyphen", shorten(length_text)));
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    Some(FetchLine { url: url.to_owned(), length, path: path.to_owned() })
}

/// Why a listed path must not be followed, under any of its readings.
pub(crate) fn unsafe_listing(listed: &str) -> Option<&'static str> {
    if let Some(reason) = path::unsafe_reason(listed) {
        return Some(reason);
    }
    path::readings(listed, true).iter().find_map(|reading| path::unsafe_reason(reading))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";

    fn line(text: &str) -> (Option<ManifestLine>, Vec<&'static str>) {
        let mut found = Vec::new();
        let line = parse_line(text, Some(Algorithm::Md5), &mut |rule, _| found.push(rule.code));
        (line, found)
    }

    #[test]
    fn names_tell_kind_and_algorithm() {
        let name = ManifestName::parse("tagmanifest-sha3256.txt").unwrap();
        assert_eq!((name.kind, name.algorithm), (ManifestKind::Tag, Some(Algorithm::Sha3_256)));
        assert_eq!(ManifestName::parse("manifest-blake9.txt").unwrap().algorithm, None);
        assert!(!ManifestName::parse("manifest-SHA256.txt").unwrap().is_well_formed());
        for other in ["manifest.txt", "manifest-.txt", "manifest-md5.csv", "sub/manifest-md5.txt", "manifest-a/b.txt"] {
            assert_eq!(ManifestName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn paths_keep_inner_and_trailing_blanks() {
        let (found, codes) = line(&format!("{MD5} \t data/a  b "));
        assert_eq!(found.unwrap().path, "data/a  b ");
        assert!(codes.is_empty());
        assert_eq!(line(&format!("{}  data/x", MD5.to_uppercase())).1, [""; 0]);
    }

    #[test]
    fn marks_of_md5sum_are_taken_off_with_a_warning() {
        assert_eq!(
            line(&format!("{MD5} *data/x")),
            (Some(ManifestLine { digest: MD5.parse().ok(), path: "data/x".to_owned() }), vec!["manifest.md5sum_style"])
        );
        assert_eq!(line(&format!("\\{MD5}  data/a\\nb\\\\n")).0.unwrap().path, "data/a\nb\\n");
        assert_eq!(line(&format!("{MD5} ./data/x")).1, ["manifest.relative_path"]);
    }

    #[test]
    fn a_line_that_is_not_a_digest_and_a_path_is_reported() {
        assert_eq!(line(MD5).1, ["manifest.line_malformed"]);
        assert_eq!(line(&format!("{MD5}  ")).1, ["manifest.line_malformed"]);
        assert_eq!(line(" data/x").1, ["manifest.line_malformed"]);
        assert_eq!(line("abcd data/x").1, ["manifest.digest_malformed"]);
        assert_eq!(line("zz data/x").0.unwrap().digest, None);
        assert_eq!(line("").1, ["manifest.blank_line"]);
    }

    #[test]
    fn fetch_lines_have_three_parts() {
        let parse = |text: &str| {
            let mut found = Vec::new();
            let line = parse_fetch_line(text, &mut |rule, _| found.push(rule.code));
            (line.map(|line| (line.length, line.path)), found)
        };
        assert_eq!(parse("http://h/a%20b\t12  data/a b "), (Some((Some(12), "data/a b ".to_owned())), vec![]));
        assert_eq!(parse("http://h/a - data/a"), (Some((None, "data/a".to_owned())), vec![]));
        assert_eq!(parse("http://h/a data/a"), (None, vec!["fetch.malformed"]));
        assert_eq!(parse("http://h/a x data/a").1, ["fetch.length"]);
        assert_eq!(parse("h/a - data/a").1, ["fetch.url"]);
    }

    proptest! {
        #[test]
        fn any_line_is_taken_without_panic(text in "\\PC{0,60}") {
            line(&text);
            parse_fetch_line(&text, &mut |_, _| {});
            unsafe_listing(&text);
        }
    }
}
