//! Hashing what a reader yields: to its end, or while someone else reads.

use std::cell::Cell;
use std::io::{self, Read};

use crate::{Algorithm, DigestSet, MultiHasher};

/// Size of the buffer that small streams are read with.
const BUFFER: usize = 64 << 10;

thread_local! {
    /// One buffer per thread, so that a small file costs no allocation of its own.
    static READ_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Reads to the end; yields the length in bytes and the digests.
pub fn hash_reader(mut reader: impl Read, algorithms: &[Algorithm]) -> io::Result<(u64, DigestSet)> {
    let mut hasher = MultiHasher::new(algorithms);
    let mut buffer = READ_BUFFER.take();
    buffer.resize(BUFFER, 0);
    let outcome = read_to_end(&mut reader, &mut hasher, &mut buffer);
    READ_BUFFER.set(buffer);
    outcome?;
    Ok((hasher.length(), hasher.finish()))
}

fn read_to_end(reader: &mut impl Read, hasher: &mut MultiHasher, buffer: &mut [u8]) -> io::Result<()> {
    loop {
        let direct = hasher.room();
        let is_direct = direct.is_some();
        let target = direct.unwrap_or(&mut *buffer);
        let offered = target.len();
        let length = match reader.read(target) {
            Ok(0) => return Ok(()),
            Ok(length) if length > offered => return Err(overrun()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if is_direct {
            hasher.filled(length);
        } else {
            hasher.update(&buffer[..length]);
        }
    }
}

fn overrun() -> io::Error {
    io::Error::other("the reader claims more bytes than it was asked for")
}

/// A reader that hashes what passes through it.
#[derive(Debug)]
pub struct HashingReader<R> {
    reader: R,
    hasher: MultiHasher,
}

impl<R> HashingReader<R> {
    /// Wraps a reader.
    pub fn new(reader: R, algorithms: &[Algorithm]) -> Self {
        Self { reader, hasher: MultiHasher::new(algorithms) }
    }

    /// Bytes that were read so far.
    pub fn length(&self) -> u64 {
        self.hasher.length()
    }

    /// Length in bytes and digests of everything that was read through this.
    pub fn finish(self) -> (u64, DigestSet) {
        (self.hasher.length(), self.hasher.finish())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.hasher.update(buffer.get(..length).ok_or_else(overrun)?);
        Ok(length)
    }
}
