//! What the inspection of a file gives: the file with its formats, or why there are none.

use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

use strongroom_digest::Digest;
use strongroom_pronom::Identification;

/// A file, a member of an archive, or standard input, with what was found.
#[derive(Debug)]
pub struct IdentifiedFile {
    /// As it was named or walked to; members behind a `#`.
    pub path: OsString,
    /// Bytes.
    pub size: u64,
    /// When it was last modified, where that is known.
    pub modified: Option<jiff::Timestamp>,
    /// The digest of its bytes, where one was asked for and all bytes were read.
    pub digest: Option<Digest>,
    /// Its formats.
    pub identification: Identification,
    /// What else to be wary of: it was cut off, damaged, encrypted.
    pub note: Option<String>,
}

/// Something that has no formats to tell.
#[derive(Debug)]
pub struct Unidentified {
    /// As of an entry.
    pub path: OsString,
    /// How bad it is.
    pub kind: UnidentifiedKind,
    /// Why.
    pub reason: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnidentifiedKind {
    /// It is no file to identify: a link, a device.
    Skipped,
    /// Not all members of an archive were inspected.
    Incomplete,
    /// It does not exist.
    Missing,
    /// It could not be read.
    Unreadable,
}

/// A folder that is walked.
#[derive(Debug)]
pub struct Folder {
    /// As it was named or walked to.
    pub path: OsString,
    /// When it was last modified, where that is known.
    pub modified: Option<jiff::Timestamp>,
}

/// What is reported, in walking order.
#[derive(Debug)]
pub enum Examined {
    /// A folder, before all that is below it.
    Folder(Folder),
    /// A file with its formats.
    IdentifiedFile(Box<IdentifiedFile>),
    /// Something that has none to tell.
    Unidentified(Unidentified),
}

impl IdentifiedFile {
    /// All warnings in one line; `None` where there are none.
    pub fn warning(&self) -> Option<String> {
        match (self.identification.warning(), &self.note) {
            (Some(warning), Some(note)) => Some(format!("{warning}; {note}")),
            (Some(warning), None) => Some(warning),
            (None, note) => note.clone(),
        }
    }

    /// Adds something to be wary of.
    pub(crate) fn note(&mut self, text: String) {
        self.note = Some(match self.note.take() {
            Some(note) => format!("{note}; {text}"),
            None => text,
        });
    }

    /// Leaves one match at most. Where several fit equally well, the note names them.
    pub fn conclude(&mut self) {
        let conclusive = self.identification.conclusive().cloned();
        if conclusive.is_none() && !self.identification.matches.is_empty() {
            let puids: Vec<&str> = self.identification.matches.iter().map(|found| found.format.puid.as_str()).collect();
            self.note(format!("not conclusive: {} fit equally well", puids.join(", ")));
        }
        self.identification.matches = conclusive.into_iter().collect();
    }
}

impl Unidentified {
    /// What could not be inspected, and why.
    pub fn new(path: &OsStr, kind: UnidentifiedKind, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind, reason: without_system_codes(&reason.into()) }
    }
}

/// How the standard library begins the number of an error of the system.
const SYSTEM_CODE: &str = " (os error ";

/// A text without the numbers of errors of the system, which say nothing that the words before them do not.
fn without_system_codes(text: &str) -> String {
    let mut parts = text.split(SYSTEM_CODE);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((code, behind)) if !code.is_empty() && code.bytes().all(|digit| digit.is_ascii_digit()) => {
                shown.push_str(behind);
            }
            _ => {
                shown.push_str(SYSTEM_CODE);
                shown.push_str(part);
            }
        }
    }
    shown
}

/// A time of the file system; nothing where it lies outside the calendar.
pub(crate) fn timestamp(time: std::io::Result<SystemTime>) -> Option<jiff::Timestamp> {
    jiff::Timestamp::try_from(time.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_without_numbers_of_the_system() {
        let reason = |text: &str| Unidentified::new(OsStr::new("a"), UnidentifiedKind::Missing, text).reason;
        assert_eq!(reason("No such file or directory (os error 2)"), "No such file or directory");
        assert_eq!(reason("a (os error 5): b (os error 13)"), "a: b");
        assert_eq!(reason("a (os error x) and (os error "), "a (os error x) and (os error ");
    }
}
