//! How answers look: lines for people, JSON for scripts, comma-separated values for spreadsheets, and siegfried's columns
//! for whoever has tools for them.

use serde::Serialize;
use strongroom_pronom::{Format, Match};

use super::csv;
use super::entry::{Entry, Trouble};
use super::siegfried::Siegfried;
use crate::failure::Failure;
use crate::output::{Output, printable};

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

/// How answers look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Csv,
    Siegfried,
}

/// Tells answers.
pub(super) struct Reporter<'o> {
    form: Form,
    output: &'o Output,
    /// The versions of the signatures in use.
    signatures: String,
    siegfried: Siegfried,
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

impl<'o> Reporter<'o> {
    /// Begins, with the header line where there is one.
    pub(super) fn new(
        form: Form,
        signatures: String,
        siegfried: Siegfried,
        output: &'o Output,
    ) -> Result<Self, Failure> {
        match form {
            Form::Text | Form::Json => {}
            Form::Csv => output.line(&csv::line(COLUMNS))?,
            Form::Siegfried => output.line(&csv::line(Siegfried::COLUMNS))?,
        }
        Ok(Self { form, output, signatures, siegfried })
    }

    /// Tells what a file is.
    pub(super) fn entry(&self, entry: &Entry) -> Result<(), Failure> {
        match self.form {
            Form::Text => self.output.line(&text(entry)),
            Form::Json => self.output.json(&self.json(entry)),
            Form::Csv => self.csv_rows(entry).iter().try_for_each(|row| self.output.line(&csv::line(row))),
            Form::Siegfried => self.siegfried.rows(entry).iter().try_for_each(|row| self.output.line(&csv::line(row))),
        }
    }

    /// Tells what could not be looked at, where the form has a place for it. All of it is told on standard error, too.
    pub(super) fn trouble(&self, trouble: &Trouble) -> Result<(), Failure> {
        match self.form {
            Form::Siegfried => match Siegfried::trouble(trouble) {
                Some(row) => self.output.line(&csv::line(row)),
                None => Ok(()),
            },
            Form::Text | Form::Json | Form::Csv => Ok(()),
        }
    }

    fn json<'e>(&'e self, entry: &'e Entry) -> JsonEntry<'e> {
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

    fn csv_rows(&self, entry: &Entry) -> Vec<Vec<String>> {
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
}

/// The answer for people: one line, and lines below it for all that needs more.
fn text(entry: &Entry) -> String {
    let path = printable(&entry.path.to_string_lossy());
    let candidates = &entry.identification.candidates;
    let mut lines = match entry.identification.matches.as_slice() {
        [] if candidates.is_empty() => vec![format!("{path}: no match")],
        [] => vec![format!("{path}: no match; its extension suggests")],
        [only] => vec![format!("{path}: {}", described(only))],
        several => {
            let mut lines = vec![format!("{path}: {} formats fit", several.len())];
            lines.extend(several.iter().map(|found| format!("  {}", described(found))));
            lines
        }
    };
    lines.extend(candidates.iter().map(|format| format!("  {}", named(format))));
    lines.extend(entry.warning().map(|warning| format!("  warning: {}", printable(&warning))));
    lines.join("\n")
}

fn described(found: &Match) -> String {
    let mime = found.format.mime.as_ref().map(|mime| format!(" ({mime})")).unwrap_or_default();
    let mismatch = if found.extension_mismatch { "; extension mismatch" } else { "" };
    printable(&format!("{}{mime}, by {}{mismatch}", named(&found.format), found.basis_text()))
}

fn named(format: &Format) -> String {
    let version = format.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    printable(&format!("{} {}{version}", format.puid, format.name))
}
