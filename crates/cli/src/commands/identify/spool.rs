//! Keeps bytes that pass by once, for a second look: in memory as long as they are few, then in a temporary file that has
//! no name and vanishes with the program.

use std::fs::File;
use std::io::{self, Write as _};

use strongroom_pronom::{FileSource, Source};

/// Bytes held in memory.
pub(super) const IN_MEMORY: usize = 1 << 20;

/// Bytes that are being kept.
pub(super) enum Spool {
    Memory(Vec<u8>),
    File(File),
    /// There were more than fit into memory, and nobody will look at them again.
    Dropped,
}

impl Spool {
    pub(super) fn new() -> Self {
        Self::Memory(Vec::new())
    }

    /// Keeps more bytes. When they no longer fit into memory, `is_worth_a_file` is asked about the beginning.
    pub(super) fn write(&mut self, bytes: &[u8], is_worth_a_file: &dyn Fn(&[u8]) -> bool) -> io::Result<()> {
        match self {
            Self::Memory(held) if held.len() + bytes.len() <= IN_MEMORY => held.extend_from_slice(bytes),
            Self::Memory(held) => {
                held.extend_from_slice(bytes);
                if is_worth_a_file(held) {
                    let mut file = tempfile::tempfile()?;
                    file.write_all(held)?;
                    *self = Self::File(file);
                } else {
                    *self = Self::Dropped;
                }
            }
            Self::File(file) => file.write_all(bytes)?,
            Self::Dropped => {}
        }
        Ok(())
    }

    /// The bytes kept, if they were.
    pub(super) fn finish(self) -> io::Result<Option<Box<dyn Source>>> {
        Ok(match self {
            Self::Memory(bytes) => Some(Box::new(Held(bytes))),
            Self::File(file) => Some(Box::new(FileSource::new(file)?)),
            Self::Dropped => None,
        })
    }
}

/// Bytes in memory.
struct Held(Vec<u8>);

impl Source for Held {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.as_slice().read_at(offset, buffer)
    }
}

/// A stretch of another source: a member that lies in an archive as it is.
pub(super) struct Stretch<'s> {
    pub(super) source: &'s dyn Source,
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Source for Stretch<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.size.saturating_sub(offset);
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        match buffer.get_mut(..want) {
            Some(wanted) if want > 0 => self.source.read_at(self.offset.saturating_add(offset), wanted),
            _ => Ok(0),
        }
    }
}

/// Reads a source from its start to its end.
pub(super) struct Stream<'s> {
    source: &'s dyn Source,
    position: u64,
}

impl<'s> Stream<'s> {
    pub(super) fn new(source: &'s dyn Source) -> Self {
        Self { source, position: 0 }
    }
}

impl io::Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read_at(self.position, buffer)?;
        self.position += length as u64;
        Ok(length)
    }
}
