//! Keeps bytes that pass by once, for a second look: in memory as long as they are few, then in a temporary file that has
//! no name and vanishes with the program.

use std::fs::File;
use std::io::{self, Write as _};

use strongroom_archive::{FileSource, Source};

/// Bytes held in memory.
pub(crate) const IN_MEMORY: usize = 1 << 20;

/// Bytes that are being kept.
pub(crate) enum Spool {
    Memory(Vec<u8>),
    File(File),
    /// There were more than fit into memory, and they are not read again.
    Dropped,
}

impl Spool {
    pub(crate) fn new() -> Self {
        Self::Memory(Vec::new())
    }

    /// Keeps more bytes. When they no longer fit into memory, `is_worth_a_file` is asked about the beginning.
    pub(crate) fn write(&mut self, bytes: &[u8], is_worth_a_file: &dyn Fn(&[u8]) -> bool) -> io::Result<()> {
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
    pub(crate) fn finish(self) -> io::Result<Option<Box<dyn Source>>> {
        Ok(match self {
            Self::Memory(bytes) => Some(Box::new(MemoryBytes(bytes))),
            Self::File(file) => Some(Box::new(FileSource::new(file)?)),
            Self::Dropped => None,
        })
    }
}

/// Bytes in memory.
struct MemoryBytes(Vec<u8>);

impl Source for MemoryBytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.as_slice().read_at(offset, buffer)
    }
}
