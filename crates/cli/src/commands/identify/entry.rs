//! What one look at a file gives: the file with its formats, or why there are none to tell.

use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

use strongroom_pronom::Identification;

/// A file, a member of an archive, or standard input, with what was found.
pub(super) struct Entry {
    /// As it was named or walked to; members behind a `#`.
    pub(super) path: OsString,
    /// Bytes.
    pub(super) size: u64,
    /// When it was last modified, where that is known.
    pub(super) modified: Option<jiff::Timestamp>,
    /// Its formats.
    pub(super) identification: Identification,
    /// What else to be wary of: it was cut off, damaged, encrypted.
    pub(super) note: Option<String>,
}

/// Something that has no formats to tell.
pub(super) struct Trouble {
    pub(super) path: OsString,
    pub(super) kind: TroubleKind,
    /// Why.
    pub(super) reason: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleKind {
    /// It is no file to identify: a link, a device.
    Skipped,
    /// Not all members of an archive were looked at.
    Incomplete,
    /// It does not exist.
    Missing,
    /// It could not be read.
    Unreadable,
}

/// What is told, in walking order.
pub(super) enum Found {
    Entry(Box<Entry>),
    Trouble(Trouble),
}

impl Entry {
    /// All warnings in one line; `None` where there are none.
    pub(super) fn warning(&self) -> Option<String> {
        match (self.identification.warning(), &self.note) {
            (Some(warning), Some(note)) => Some(format!("{warning}; {note}")),
            (Some(warning), None) => Some(warning),
            (None, note) => note.clone(),
        }
    }

    /// Adds something to be wary of.
    pub(super) fn note(&mut self, text: String) {
        self.note = Some(match self.note.take() {
            Some(note) => format!("{note}; {text}"),
            None => text,
        });
    }

    /// Leaves one match at most. Where several fit equally well, the note names them.
    pub(super) fn conclude(&mut self) {
        let conclusive = self.identification.conclusive().cloned();
        if conclusive.is_none() && !self.identification.matches.is_empty() {
            let puids: Vec<&str> = self.identification.matches.iter().map(|found| found.format.puid.as_str()).collect();
            self.note(format!("not conclusive: {} fit equally well", puids.join(", ")));
        }
        self.identification.matches = conclusive.into_iter().collect();
    }
}

impl Trouble {
    pub(super) fn new(path: &OsStr, kind: TroubleKind, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind, reason: reason.into() }
    }
}

/// A time of the file system; nothing where it lies outside the calendar.
pub(super) fn timestamp(time: std::io::Result<SystemTime>) -> Option<jiff::Timestamp> {
    jiff::Timestamp::try_from(time.ok()?).ok()
}
