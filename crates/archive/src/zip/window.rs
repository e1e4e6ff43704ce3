//! The part of a source that was read last, so that small pieces that follow each other take few reads.

use std::io;

use crate::source::Source;

/// What is read ahead. Small, for most archives have few members.
const READ_AHEAD: usize = 16 * 1024;

/// A moving part of a source, at most as long as the read-ahead or the longest piece that is asked for.
#[derive(Debug)]
pub(super) struct Window<'s, S: ?Sized> {
    source: &'s S,
    end: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl<'s, S: Source + ?Sized> Window<'s, S> {
    /// A window that ends at an offset, even where the source goes on.
    pub(super) fn new(source: &'s S, end: u64) -> Self {
        Self { source, end: end.min(source.size()), start: 0, bytes: Vec::new() }
    }

    /// So many bytes at an offset; `None` where the end comes before.
    pub(super) fn bytes(&mut self, offset: u64, length: usize) -> io::Result<Option<&[u8]>> {
        let is_inside = offset.checked_add(length as u64).is_some_and(|end| end <= self.end);
        if !is_inside {
            return Ok(None);
        }
        if self.held(offset, length).is_none() {
            let ahead = length.max(READ_AHEAD).min(usize::try_from(self.end - offset).unwrap_or(usize::MAX));
            self.bytes.resize(ahead, 0);
            let read = self.source.read_at(offset, &mut self.bytes)?;
            self.bytes.truncate(read);
            self.start = offset;
        }
        Ok(self.held(offset, length))
    }

    fn held(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(length)?)
    }
}
