//! The columns of siegfried's CSV, for tools that read them: the same words for how a format was found and what to be wary
//! of. The class of a format is not in signature files and stays empty.

use std::collections::{HashMap, HashSet};

use strongroom_pronom::{Basis, Format, Match, Method, SignatureSet, Span, Warning};

use crate::Printable;
use crate::entry::{IdentifiedFile, Unidentified, UnidentifiedKind};

/// The columns from `namespace` on.
const OF_MATCH: usize = 8;

/// Writes answers in siegfried's columns; without a set of signatures, without their numbers.
#[derive(Debug, Default)]
pub struct Siegfried {
    /// Of each byte signature: which of its format's it is, and how many that has.
    signatures: HashMap<u32, (usize, usize)>,
    /// As `signatures`, for container signatures.
    containers: HashMap<u32, (usize, usize)>,
}

impl Siegfried {
    pub(crate) const COLUMNS: [&'static str; 12] = [
        "filename",
        "filesize",
        "modified",
        "errors",
        "namespace",
        "id",
        "format",
        "version",
        "mime",
        "class",
        "basis",
        "warning",
    ];

    /// Numbers the signatures of each format.
    pub fn new(set: &SignatureSet) -> Self {
        // Byte signatures of formats that have container signatures do not count there.
        let contained: HashSet<u32> = set.containers.iter().map(|signature| signature.format).collect();
        let bytes = set.signatures.iter().filter(|signature| !contained.contains(&signature.format));
        Self {
            signatures: numbered(bytes.map(|signature| (signature.format, signature.id))),
            containers: numbered(set.containers.iter().map(|signature| (signature.format, signature.id))),
        }
    }

    /// The lines of a file: one for each match, or one that says there is none.
    pub(crate) fn rows(&self, entry: &IdentifiedFile, printable: Printable) -> Vec<Vec<String>> {
        let errors: Vec<String> = entry.identification.warnings.iter().map(error).chain(entry.note.clone()).collect();
        let beginning = [
            printable(&entry.path.to_string_lossy()),
            entry.size.to_string(),
            entry.modified.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default(),
            printable(&errors.join("; ")),
        ];
        let whole = |of_match: [String; OF_MATCH]| beginning.iter().cloned().chain(of_match).collect();
        let matches = &entry.identification.matches;
        if matches.is_empty() {
            return vec![whole(unknown(&entry.identification.candidates))];
        }
        let extension = extension(&entry.path.to_string_lossy());
        matches.iter().map(|found| whole(self.columns(found, extension.as_deref(), printable))).collect()
    }

    /// The line of something that was not read.
    pub(crate) fn trouble(trouble: &Unidentified, printable: Printable) -> Option<Vec<String>> {
        if !matches!(trouble.kind, UnidentifiedKind::Missing | UnidentifiedKind::Unreadable) {
            return None;
        }
        let path = printable(&trouble.path.to_string_lossy());
        let mut row = vec![path, "0".to_owned(), String::new(), printable(&trouble.reason)];
        row.resize(Self::COLUMNS.len(), String::new());
        Some(row)
    }

    fn columns(&self, found: &Match, extension: Option<&str>, printable: Printable) -> [String; OF_MATCH] {
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
            printable(&basis.join("; ")),
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
            Basis::Text(encoding) => Some(format!("text match {encoding}")),
            Basis::Extension(_) => None,
        }
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
