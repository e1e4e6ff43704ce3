//! How answers are written: lines for people, JSON for scripts, comma-separated values for spreadsheets, and siegfried's columns
//! for whoever has tools for them.

use serde::Serialize;
use strongroom_pronom::{Format, Match};

use crate::csv;
use crate::entry::{IdentifiedFile, Unidentified};
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
}

/// Makes a text of strangers fit for one line where it is shown.
pub type Printable = fn(&str) -> String;

/// Writes answers as lines, without their ends.
#[derive(Debug)]
pub struct Reporter {
    form: Form,
    /// The versions of the signatures in use.
    signatures: String,
    siegfried: Siegfried,
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
    /// Of answers by signatures of these versions.
    pub fn new(form: Form, signatures: String, siegfried: Siegfried, printable: Printable) -> Self {
        Self { form, signatures, siegfried, printable }
    }

    /// The line before all others, where there is one.
    pub fn header(&self) -> Option<String> {
        match self.form {
            Form::Text | Form::Json => None,
            Form::Csv => Some(csv::line(COLUMNS)),
            Form::Siegfried => Some(csv::line(Siegfried::COLUMNS)),
        }
    }

    /// What a file is.
    pub fn entry(&self, entry: &IdentifiedFile) -> Result<Vec<String>, IdentifyError> {
        Ok(match self.form {
            Form::Text => vec![self.text(entry)],
            Form::Json => vec![serde_json::to_string(&self.json(entry)).map_err(IdentifyError::Json)?],
            Form::Csv => self.csv_rows(entry).iter().map(csv::line).collect(),
            Form::Siegfried => self.siegfried.rows(entry, self.printable).iter().map(csv::line).collect(),
        })
    }

    /// What could not be looked at, where the form has a place for it.
    pub fn trouble(&self, trouble: &Unidentified) -> Option<String> {
        match self.form {
            Form::Siegfried => Siegfried::trouble(trouble, self.printable).map(csv::line),
            Form::Text | Form::Json | Form::Csv => None,
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
        }
    }

    fn csv_rows(&self, entry: &IdentifiedFile) -> Vec<Vec<String>> {
        let printable = self.printable;
        let path = printable(&entry.path.to_string_lossy());
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
