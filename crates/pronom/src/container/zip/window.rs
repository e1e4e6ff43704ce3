//! The part of a source that is being looked at, for reading on in small steps without reading in small steps.

use crate::source::Source;

use super::super::ContainerError;

/// What is read ahead. Small, for most archives have few members.
const READ_AHEAD: usize = 16 * 1024;

/// A moving view of a source, at most as long as the longest piece that is asked for.
pub(super) struct Window<'s> {
    source: &'s dyn Source,
    end: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl<'s> Window<'s> {
    /// A view that ends at an offset, even where the source goes on.
    pub(super) fn new(source: &'s dyn Source, end: u64) -> Self {
        Self { source, end: end.min(source.size()), start: 0, bytes: Vec::new() }
    }

    /// So many bytes at an offset; `None` where the end comes before.
    pub(super) fn bytes(&mut self, offset: u64, length: usize) -> Result<Option<&[u8]>, ContainerError> {
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
