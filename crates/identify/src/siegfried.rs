//! The forms of siegfried's answers, CSV and YAML, for tools that read them: the same fields in the same order, and the same
//! words for how a format was found and what to be wary of. The class of a format is not in signature files and stays empty.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;

use strongroom_digest::{Algorithm, Digest};
use strongroom_pronom::text::Encoding;
use strongroom_pronom::{Basis, Format, Match, Method, SignatureSet, Span, Warning};

use crate::entry::{IdentifiedFile, Unidentified, timestamp};

/// The columns from `namespace` on.
const OF_MATCH: usize = 8;
/// The version of siegfried whose forms these are.
const VERSION: &str = "1.11.8";
/// Times with seconds, in UTC.
const TIME: &str = "%Y-%m-%dT%H:%M:%SZ";

/// Writes answers in siegfried's forms; without a set of signatures, without their numbers.
#[derive(Debug, Default)]
pub struct Siegfried {
    /// Of each byte signature: which of its format's it is, and how many that has.
    signatures: HashMap<u32, (usize, usize)>,
    /// As `signatures`, for container signatures.
    containers: HashMap<u32, (usize, usize)>,
    /// The names of the signature files.
    files: Vec<String>,
    /// When the binary signature file was made, as it says.
    created: Option<String>,
}

/// The fields of a line.
type Row = Vec<Vec<u8>>;

impl Siegfried {
    const OF_FILE: [&'static str; 4] = ["filename", "filesize", "modified", "errors"];
    const OF_MATCH: [&'static str; OF_MATCH] =
        ["namespace", "id", "format", "version", "mime", "class", "basis", "warning"];

    /// Numbers the signatures of each format.
    pub fn new(set: &SignatureSet) -> Self {
        // Byte signatures of formats that have container signatures do not count there.
        let contained: HashSet<u32> = set.containers.iter().map(|signature| signature.format).collect();
        let bytes = set.signatures.iter().filter(|signature| !contained.contains(&signature.format));
        Self {
            signatures: numbered(bytes.map(|signature| (signature.format, signature.id))),
            containers: numbered(set.containers.iter().map(|signature| (signature.format, signature.id))),
            files: [Some(&set.binary), set.container.as_ref()]
                .into_iter()
                .flatten()
                .map(|release| format!("{}.xml", release.name))
                .collect(),
            created: set.binary.created.clone(),
        }
    }

    /// The names of the columns.
    pub(crate) fn columns(hash: Option<Algorithm>) -> impl Iterator<Item = &'static str> {
        Self::OF_FILE.into_iter().chain(hash.map(Algorithm::name)).chain(Self::OF_MATCH)
    }

    /// The rows of a file: one for each match, or one that says there is none.
    pub(crate) fn rows(&self, entry: &IdentifiedFile, hash: Option<Algorithm>) -> Vec<Row> {
        let beginning: Row = of_file(entry)
            .into_iter()
            .chain(hash.map(|_| entry.digest.as_ref().map(Digest::to_hex).unwrap_or_default().into_bytes()))
            .collect();
        let whole =
            |of_match: [String; OF_MATCH]| beginning.iter().cloned().chain(of_match.map(String::into_bytes)).collect();
        self.matches(entry).into_iter().map(whole).collect()
    }

    /// The row of something that was not read, with its size and time as far as they are known.
    pub(crate) fn trouble(trouble: &Unidentified, hash: Option<Algorithm>) -> Row {
        let (size, modified) = size_and_time(trouble);
        Self::unread(trouble.path.as_bytes().to_vec(), &size, &modified, &trouble.reason, hash)
    }

    /// The row of something that was not read.
    pub(crate) fn unread(path: Vec<u8>, size: &str, modified: &str, reason: &str, hash: Option<Algorithm>) -> Row {
        let mut row = vec![path, size.into(), modified.into(), reason.into()];
        row.resize(Self::columns(hash).count(), Vec::new());
        row
    }

    /// The document before those of the files. What siegfried calls its version is that of the form; the name of the signature
    /// says what wrote it.
    pub(crate) fn yaml_header(&self, now: jiff::Timestamp) -> Vec<Vec<u8>> {
        let scanned = now.strftime(TIME).to_string();
        let created = match &self.created {
            Some(created) if created.ends_with('Z') => created.clone(),
            Some(created) => format!("{created}Z"),
            None => scanned.clone(),
        };
        let files = yaml_text(self.files.join("; ").as_bytes());
        [
            "---".to_owned(),
            format!("siegfried   : {VERSION}"),
            format!("scandate    : {scanned}"),
            concat!("signature   : strongroom-", env!("CARGO_PKG_VERSION")).to_owned(),
            format!("created     : {created}"),
            "identifiers : ".to_owned(),
            "  - name    : 'pronom'".to_owned(),
        ]
        .into_iter()
        .map(String::into_bytes)
        .chain([[b"    details : ", files.as_slice()].concat()])
        .collect()
    }

    /// The document of a file.
    pub(crate) fn yaml(&self, entry: &IdentifiedFile, hash: Option<Algorithm>) -> Vec<Vec<u8>> {
        let mut lines = yaml_of_file(of_file(entry));
        if let (Some(algorithm), Some(digest)) = (hash, &entry.digest) {
            lines.push(format!("{:<8} : {digest}", algorithm.name()).into_bytes());
        }
        lines.push(b"matches  :".to_vec());
        for of_match in self.matches(entry) {
            for (number, (name, value)) in Self::OF_MATCH.into_iter().zip(of_match).enumerate() {
                let name = if number == 0 { "ns" } else { name };
                let start = if number == 0 { "  - " } else { "    " };
                lines.push([format!("{start}{name:<7} : ").as_bytes(), &yaml_text(value.as_bytes())].concat());
            }
        }
        lines
    }

    /// The document of something that was not read.
    pub(crate) fn yaml_trouble(trouble: &Unidentified) -> Vec<Vec<u8>> {
        let (size, modified) = size_and_time(trouble);
        let path = trouble.path.as_bytes().to_vec();
        let mut lines = yaml_of_file([path, size.into(), modified.into(), trouble.reason.clone().into()]);
        lines.push(b"matches  :".to_vec());
        lines
    }

    /// What is said of each match, or that there is none.
    fn matches(&self, entry: &IdentifiedFile) -> Vec<[String; OF_MATCH]> {
        let matches = &entry.identification.matches;
        if matches.is_empty() {
            return vec![unknown(&entry.identification.candidates)];
        }
        let extension = extension(&entry.path.to_string_lossy());
        matches.iter().map(|found| self.of_match(found, extension.as_deref())).collect()
    }

    fn of_match(&self, found: &Match, extension: Option<&str>) -> [String; OF_MATCH] {
        let format = &found.format;
        let matched_extension = extension.filter(|extension| format.extensions.iter().any(|known| known == extension));
        let mut basis = Vec::new();
        basis.extend(matched_extension.map(|extension| format!("extension match {extension}")));
        basis.extend(found.basis.iter().filter_map(|one| self.basis(one)));
        let mut warnings = Vec::new();
        match found.method {
            Method::Extension => warnings.push("match on extension only"),
            Method::Text if matched_extension.is_none() => warnings.push("match on text only"),
            Method::Text | Method::Signature | Method::Container => {}
        }
        if matched_extension.is_none() && !format.extensions.is_empty() {
            warnings.push("extension mismatch");
        }
        [
            "pronom".to_owned(),
            format.puid.clone(),
            format.name.clone(),
            format.version.clone().unwrap_or_default(),
            // Only the first of several.
            format.mime.as_deref().and_then(|mime| mime.split(", ").next()).unwrap_or_default().to_owned(),
            String::new(),
            basis.join("; "),
            warnings.join("; "),
        ]
    }

    fn basis(&self, basis: &Basis) -> Option<String> {
        match basis {
            Basis::Container { signature, members } if members.is_empty() => {
                Some(format!("container match{}", place(&self.containers, *signature)))
            }
            Basis::Container { signature, members } => {
                let members: Vec<String> = members
                    .iter()
                    .map(|member| format!("name {} with {}", member.path, matched(&member.spans)))
                    .collect();
                Some(format!("container {}{}", members.join("; "), place(&self.containers, *signature)))
            }
            Basis::Signature { signature, spans } => {
                Some(format!("{}{}", matched(spans), place(&self.signatures, *signature)))
            }
            Basis::Text(encoding) => Some(format!("text match {}", encoding_name(*encoding))),
            Basis::Extension(_) => None,
        }
    }
}

/// An encoding of text by the name that siegfried has for it. It has none for UTF-32.
fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf7 => "UTF-7 Unicode",
        Encoding::Utf8 => "UTF-8 Unicode",
        Encoding::Utf8Bom => "UTF-8 Unicode (with BOM)",
        Encoding::Utf16Le => "Little-endian UTF-16 Unicode",
        Encoding::Utf16Be => "Big-endian UTF-16 Unicode",
        Encoding::ExtendedAscii => "Non-ISO extended-ASCII",
        same => same.as_str(),
    }
}

fn numbered(signatures: impl Iterator<Item = (u32, u32)>) -> HashMap<u32, (usize, usize)> {
    let mut by_format: HashMap<u32, Vec<u32>> = HashMap::new();
    for (format, signature) in signatures {
        by_format.entry(format).or_default().push(signature);
    }
    let mut numbers = HashMap::new();
    for ids in by_format.into_values() {
        let total = ids.len();
        numbers.extend(ids.into_iter().enumerate().map(|(index, id)| (id, (index + 1, total))));
    }
    numbers
}

/// ` (signature 2/3)` where a format has several.
fn place(numbers: &HashMap<u32, (usize, usize)>, signature: u32) -> String {
    match numbers.get(&signature) {
        Some((number, total)) if *total > 1 => format!(" (signature {number}/{total})"),
        _ => String::new(),
    }
}

fn matched(spans: &[Span]) -> String {
    match spans {
        [] => "name only".to_owned(),
        [only] => format!("byte match at {}, {}", only.offset, only.length),
        several => {
            let pairs: Vec<String> = several.iter().map(|span| format!("[{} {}]", span.offset, span.length)).collect();
            format!("byte match at [{}]", pairs.join(" "))
        }
    }
}

fn unknown(candidates: &[std::sync::Arc<Format>]) -> [String; OF_MATCH] {
    let mut warning = "no match".to_owned();
    if !candidates.is_empty() {
        let puids: Vec<&str> = candidates.iter().map(|format| format.puid.as_str()).collect();
        warning = format!("no match; possibilities based on extension are {}", puids.join(", "));
    }
    ["pronom", "UNKNOWN", "", "", "", "", "", &warning].map(str::to_owned)
}

fn error(warning: &Warning) -> String {
    match warning {
        Warning::Empty => "empty source".to_owned(),
        other => other.to_string(),
    }
}

/// The extension of a path, in lower case.
fn extension(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '#']).next()?;
    let (_, extension) = name.rsplit_once('.')?;
    Some(extension.to_lowercase())
}

/// Name, size, time and errors of a file.
fn of_file(entry: &IdentifiedFile) -> [Vec<u8>; 4] {
    let errors: Vec<String> = entry.identification.warnings.iter().map(error).chain(entry.note.clone()).collect();
    let modified = entry.modified.map(|time| time.strftime(TIME).to_string()).unwrap_or_default();
    [entry.path.as_bytes().to_vec(), entry.size.to_string().into(), modified.into(), errors.join("; ").into()]
}

/// Size and time of what was not read; 0 and nothing where it is not there.
fn size_and_time(trouble: &Unidentified) -> (String, String) {
    let metadata = std::fs::symlink_metadata(&trouble.path);
    let size = metadata.as_ref().map_or(0, std::fs::Metadata::len);
    let modified = timestamp(metadata.and_then(|metadata| metadata.modified()));
    (size.to_string(), modified.map(|time| time.strftime(TIME).to_string()).unwrap_or_default())
}

fn yaml_of_file([path, size, modified, errors]: [Vec<u8>; 4]) -> Vec<Vec<u8>> {
    vec![
        b"---".to_vec(),
        [b"filename : ", yaml_text(&path).as_slice()].concat(),
        [b"filesize : ", size.as_slice()].concat(),
        [b"modified : ", modified.as_slice()].concat(),
        [b"errors   : ", yaml_text(&errors).as_slice()].concat(),
    ]
}

/// A scalar of YAML (1.2, section 7.3): nothing for an empty text, in single quotes where all characters can be printed, else
/// in double quotes.
fn yaml_text(text: &[u8]) -> Vec<u8> {
    if text.is_empty() {
        return Vec::new();
    }
    let is_printable = !text.iter().any(u8::is_ascii_control);
    let mut scalar = Vec::with_capacity(text.len() + 2);
    scalar.push(if is_printable { b'\'' } else { b'"' });
    for byte in text {
        match byte {
            b'\'' if is_printable => scalar.extend_from_slice(b"''"),
            _ if is_printable => scalar.push(*byte),
            b'\n' => scalar.extend_from_slice(b"\\n"),
            b'\r' => scalar.extend_from_slice(b"\\r"),
            b'\t' => scalar.extend_from_slice(b"\\t"),
            b'"' | b'\\' => scalar.extend_from_slice(&[b'\\', *byte]),
            control if control.is_ascii_control() => scalar.extend_from_slice(format!("\\x{control:02x}").as_bytes()),
            _ => scalar.push(*byte),
        }
    }
    scalar.push(if is_printable { b'\'' } else { b'"' });
    scalar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_read_back_as_they_were() {
        for (text, scalar) in [
            ("", ""),
            ("a b", "'a b'"),
            ("it's", "'it''s'"),
            ("back\\slash \"q\"", "'back\\slash \"q\"'"),
            ("a\nb's\\ \"c\"\u{1b}", "\"a\\nb's\\\\ \\\"c\\\"\\x1b\""),
        ] {
            assert_eq!(String::from_utf8(yaml_text(text.as_bytes())).unwrap(), scalar);
        }
    }
}
