//! Sources that keep account of what is read, or fail.

use std::cell::RefCell;
use std::io;

use strongroom_archive::Source;

/// Bytes of which it is known how many were read.
pub(super) struct Watched {
    bytes: Vec<u8>,
    /// How many bytes were read, and the most at once.
    pub(super) read: RefCell<(u64, usize)>,
}

impl Watched {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, read: RefCell::default() }
    }
}

impl Source for Watched {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(offset < self.size(), "a read beyond the end, at {offset}");
        let length = self.bytes.as_slice().read_at(offset, buffer)?;
        let mut read = self.read.borrow_mut();
        *read = (read.0 + length as u64, read.1.max(length));
        Ok(length)
    }
}

/// A source that cannot be read.
pub(super) struct Failing;

impl Source for Failing {
    fn size(&self) -> u64 {
        100_000
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is on fire"))
    }
}
