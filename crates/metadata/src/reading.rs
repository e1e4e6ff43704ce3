//! What was read from a file: a description, and notes of what in the file has no place in it.

use crate::error::{Format, MetadataError, Place, quoted};
use crate::field::Field;
use crate::limits::Limits;
use crate::record::Record;

/// A part of a file that was not taken into the description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The line, from 1.
    pub line: u64,
    /// What is there, for people.
    pub message: String,
}

/// A description as a file has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The description.
    pub record: Record,
    /// What the file has besides it: one note for each name, at most 50.
    pub notes: Vec<Note>,
}

/// Most notes of one file.
const MOST_NOTES: usize = 50;

/// A description while it is read.
pub(crate) struct Collector<'l> {
    format: Format,
    limits: &'l Limits,
    reading: Reading,
}

impl<'l> Collector<'l> {
    pub(crate) fn new(format: Format, limits: &'l Limits) -> Self {
        Self { format, limits, reading: Reading::default() }
    }

    pub(crate) fn add(&mut self, line: u64, field: Field, value: &str) -> Result<(), MetadataError> {
        self.reading.record.add_at(Place::line(self.format, line), field, value, self.limits)
    }

    /// Notes that the file has something that a description has no field for.
    pub(crate) fn ignore(&mut self, line: u64, name: &str) {
        let message = format!("{} was ignored: a description has no field for it", quoted(name));
        let notes = &mut self.reading.notes;
        if notes.len() < MOST_NOTES && !notes.iter().any(|note| note.message == message) {
            notes.push(Note { line, message });
        }
    }

    pub(crate) fn finish(self) -> Reading {
        self.reading
    }
}

/// The text of a file, without a byte order mark.
pub(crate) fn text_of<'b>(format: Format, bytes: &'b [u8], limits: &Limits) -> Result<&'b str, MetadataError> {
    let place = Place::file(format);
    if bytes.len() > limits.bytes {
        return Err(MetadataError::TooLarge { place, found: bytes.len(), limit: limits.bytes });
    }
    if bytes.starts_with(&[0xFE, 0xFF]) || bytes.starts_with(&[0xFF, 0xFE]) {
        return Err(MetadataError::Encoding { place, reason: "it begins with the byte order mark of UTF-16".into() });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        MetadataError::Encoding { place: Place::line(format, line), reason: format!("there is a byte 0x{byte:02X}") }
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
