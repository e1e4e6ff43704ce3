//! How answers are written: lines for people, JSON for scripts, comma-separated values for spreadsheets, and the forms of
//! siegfried and DROID for programs that read them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use serde::Serialize;
use strongroom_digest::{Algorithm, Digest};
use strongroom_pronom::{Format, Match};

use crate::csv;
use crate::droid::DroidRows;
use crate::entry::{Folder, IdentifiedFile, Unidentified, UnidentifiedKind};
use crate::error::IdentifyError;
use crate::siegfried::Siegfried;

const COLUMNS: [&str; 12] = [
    "path",
    "size",
    "puid",
    "name",
    "version",
    "mime",
    "method",
    "basis",
    "extension_mismatch",
    "candidates",
    "warning",
    "signatures",
];

/// The last column of CSV, and a key of JSON.
const PATH_ENCODED: &str = "path_encoded";

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines for people.
    Text,
    /// One JSON object for each file.
    Json,
    /// A line of comma-separated values for each match.
    Csv,
    /// As [`Form::Csv`], in the columns of siegfried.
    Siegfried,
    /// The CSV of siegfried: names byte for byte, and lines for what was not read.
    SiegfriedCsv,
    /// The YAML of siegfried: a document for each file, after one that says by which signatures.
    SiegfriedYaml,
    /// The export of DROID: a line for each match, and for each folder.
    Droid {
        /// Whether archives are opened, which makes them containers of what is in them.
        has_archives: bool,
    },
}

/// Makes a text of strangers fit for one line where it is shown.
pub type Printable = fn(&str) -> String;

/// Writes answers as lines, without their ends.
#[derive(Debug)]
pub struct Reporter {
    form: Form,
    hash: Option<Algorithm>,
    /// The versions of the signatures in use.
    signatures: String,
    siegfried: Siegfried,
    droid: DroidRows,
    printable: Printable,
}

/// An answer as JSON.
#[derive(Serialize)]
struct JsonEntry<'e> {
    path: String,
    size: u64,
    matches: Vec<JsonMatch<'e>>,
    candidates: Vec<JsonCandidate<'e>>,
    warning: Option<String>,
    signatures: &'e str,
    /// By the name of the algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    digests: Option<BTreeMap<&'static str, Option<String>>>,
    /// The path with all bytes percent-encoded that are no unreserved characters or slashes: only where it is not UTF-8, and
    /// `path` has replacement characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_encoded: Option<String>,
}

#[derive(Serialize)]
struct JsonMatch<'e> {
    puid: &'e str,
    name: &'e str,
    version: Option<&'e str>,
    mime: Option<&'e str>,
    method: &'static str,
    basis: String,
    extension_mismatch: bool,
}

#[derive(Serialize)]
struct JsonCandidate<'e> {
    puid: &'e str,
    name: &'e str,
    version: Option<&'e str>,
}

impl Reporter {
    /// Of answers by signatures of these versions, with a digest where one was asked for.
    pub fn new(
        form: Form,
        hash: Option<Algorithm>,
        signatures: String,
        siegfried: Siegfried,
        printable: Printable,
    ) -> Self {
        let droid = DroidRows::new(matches!(form, Form::Droid { has_archives: true }));
        Self { form, hash, signatures, siegfried, droid, printable }
    }

    /// The lines before all others.
    pub fn header(&self) -> Vec<Vec<u8>> {
        match self.form {
            Form::Text | Form::Json => Vec::new(),
            Form::Csv => {
                vec![csv::line(COLUMNS.into_iter().chain(self.hash.map(Algorithm::name)).chain([PATH_ENCODED]))]
            }
            Form::Siegfried | Form::SiegfriedCsv => vec![csv::exact(Siegfried::columns(self.hash))],
            Form::SiegfriedYaml => self.siegfried.yaml_header(jiff::Timestamp::now()),
            Form::Droid { .. } => vec![DroidRows::header(self.hash)],
        }
    }

    /// What a file is.
    pub fn entry(&mut self, entry: &IdentifiedFile) -> Result<Vec<Vec<u8>>, IdentifyError> {
        let bytes = |text: String| vec![text.into_bytes()];
        Ok(match self.form {
            Form::Text => bytes(self.text(entry)),
            Form::Json => bytes(serde_json::to_string(&self.json(entry)).map_err(IdentifyError::Json)?),
            Form::Csv => self.csv_rows(entry).iter().map(csv::line).collect(),
            Form::Siegfried => {
                let printable = self.printable;
                let shown = |bytes: &[u8]| printable(&String::from_utf8_lossy(bytes)).into_bytes();
                let rows = self.siegfried.rows(entry, self.hash);
                rows.iter().map(|row| csv::line(row.iter().map(|field| shown(field)))).collect()
            }
            Form::SiegfriedCsv => self.siegfried.rows(entry, self.hash).iter().map(csv::exact).collect(),
            Form::SiegfriedYaml => self.siegfried.yaml(entry, self.hash),
            Form::Droid { .. } => self.droid.entry(entry),
        })
    }

    /// A folder that is walked, where the form has lines for folders.
    pub fn folder(&mut self, folder: &Folder) -> Vec<Vec<u8>> {
        match self.form {
            Form::Droid { .. } => vec![self.droid.folder(folder)],
            _ => Vec::new(),
        }
    }

    /// What could not be inspected, where the form has a place for it.
    pub fn trouble(&mut self, trouble: &Unidentified) -> Vec<Vec<u8>> {
        let is_error = matches!(trouble.kind, UnidentifiedKind::Missing | UnidentifiedKind::Unreadable);
        let is_file = is_error || trouble.kind == UnidentifiedKind::Skipped;
        match self.form {
            Form::Siegfried if is_error => {
                let printable = self.printable;
                let path = printable(&trouble.path.to_string_lossy());
                vec![csv::line(Siegfried::unread(path.into_bytes(), "0", "", &printable(&trouble.reason), self.hash))]
            }
            Form::SiegfriedCsv if is_file => vec![csv::exact(Siegfried::trouble(trouble, self.hash))],
            Form::SiegfriedYaml if is_file => Siegfried::yaml_trouble(trouble),
            Form::Droid { .. } if is_error => vec![self.droid.trouble(trouble)],
            _ => Vec::new(),
        }
    }

    fn json<'e>(&'e self, entry: &'e IdentifiedFile) -> JsonEntry<'e> {
        let matches = entry.identification.matches.iter().map(|found| JsonMatch {
            puid: &found.format.puid,
            name: &found.format.name,
            version: found.format.version.as_deref(),
            mime: found.format.mime.as_deref(),
            method: found.method.as_str(),
            basis: found.basis_text(),
            extension_mismatch: found.extension_mismatch,
        });
        let candidates = entry.identification.candidates.iter().map(|format| JsonCandidate {
            puid: &format.puid,
            name: &format.name,
            version: format.version.as_deref(),
        });
        JsonEntry {
            path: entry.path.to_string_lossy().into_owned(),
            size: entry.size,
            matches: matches.collect(),
            candidates: candidates.collect(),
            warning: entry.warning(),
            signatures: &self.signatures,
            digests: self.hash.map(|algorithm| {
                let digest = entry.digest.as_ref().map(Digest::to_hex);
                BTreeMap::from([(algorithm.name(), digest)])
            }),
            path_encoded: entry.path.to_str().is_none().then(|| percent_encoded(entry.path.as_bytes(), b"/")),
        }
    }

    fn csv_rows(&self, entry: &IdentifiedFile) -> Vec<Vec<String>> {
        let printable = self.printable;
        let name = entry.path.as_bytes();
        let path = printable(&entry.path.to_string_lossy());
        let is_exact = path.as_bytes() == name && !csv::is_formula(name);
        let path_encoded = if is_exact { String::new() } else { percent_encoded(name, b"/") };
        let candidates: Vec<&str> = entry.identification.candidates.iter().map(|format| format.puid.as_str()).collect();
        let row = |found: Option<&Match>| {
            let of_format = |value: fn(&Format) -> Option<&str>| {
                found.and_then(|found| value(&found.format)).unwrap_or_default().to_owned()
            };
            vec![
                path.clone(),
                entry.size.to_string(),
                of_format(|format| Some(&format.puid)),
                of_format(|format| Some(&format.name)),
                of_format(|format| format.version.as_deref()),
                of_format(|format| format.mime.as_deref()),
                found.map(|found| found.method.to_string()).unwrap_or_default(),
                found.map(|found| printable(&found.basis_text())).unwrap_or_default(),
                found.map(|found| found.extension_mismatch.to_string()).unwrap_or_default(),
                candidates.join(" "),
                entry.warning().map(|warning| printable(&warning)).unwrap_or_default(),
                self.signatures.clone(),
            ]
            .into_iter()
            .chain(self.hash.map(|_| entry.digest.as_ref().map(Digest::to_hex).unwrap_or_default()))
            .chain([path_encoded.clone()])
            .collect()
        };
        let matches = &entry.identification.matches;
        if matches.is_empty() { vec![row(None)] } else { matches.iter().map(|found| row(Some(found))).collect() }
    }

    /// The answer for people: one line, and lines below it for all that needs more.
    fn text(&self, entry: &IdentifiedFile) -> String {
        let printable = self.printable;
        let path = printable(&entry.path.to_string_lossy());
        let candidates = &entry.identification.candidates;
        let mut lines = match entry.identification.matches.as_slice() {
            [] if candidates.is_empty() => vec![format!("{path}: no match")],
            [] => vec![format!("{path}: no match; its extension suggests")],
            [only] => vec![format!("{path}: {}", self.described(only))],
            several => {
                let mut lines = vec![format!("{path}: {} formats fit", several.len())];
                lines.extend(several.iter().map(|found| format!("  {}", self.described(found))));
                lines
            }
        };
        lines.extend(candidates.iter().map(|format| format!("  {}", self.named(format))));
        lines.extend(entry.warning().map(|warning| format!("  warning: {}", printable(&warning))));
        if let (Some(algorithm), Some(digest)) = (self.hash, &entry.digest) {
            lines.push(format!("  {algorithm}: {digest}"));
        }
        lines.join("\n")
    }

    fn described(&self, found: &Match) -> String {
        let mime = found.format.mime.as_ref().map(|mime| format!(" ({mime})")).unwrap_or_default();
        let mismatch = if found.extension_mismatch { "; extension mismatch" } else { "" };
        (self.printable)(&format!("{}{mime}, by {}{mismatch}", self.named(&found.format), found.basis_text()))
    }

    fn named(&self, format: &Format) -> String {
        let version = format.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        (self.printable)(&format!("{} {}{version}", format.puid, format.name))
    }
}

/// Bytes with those percent-encoded that are neither unreserved characters (RFC 3986 section 2.3) nor in `kept`.
pub(crate) fn percent_encoded(bytes: &[u8], kept: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || kept.contains(byte) {
            text.push(char::from(*byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
