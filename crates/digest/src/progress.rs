//! How far long work has come, counted where its bytes are read.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of bytes and files that are read, for a person who waits. Clones share their counts: one is given to the work, which
/// adds to it, and another one is read by what shows it.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    bytes: AtomicU64,
    files: AtomicU64,
    expected_bytes: AtomicU64,
    expected_files: AtomicU64,
}

impl Progress {
    /// Bytes that were read.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Files that were read to their end.
    pub fn files(&self) -> u64 {
        self.0.files.load(Ordering::Relaxed)
    }

    /// Bytes that there are to read; 0 where that is not known.
    pub fn expected_bytes(&self) -> u64 {
        self.0.expected_bytes.load(Ordering::Relaxed)
    }

    /// Files that there are to read; 0 where that is not known.
    pub fn expected_files(&self) -> u64 {
        self.0.expected_files.load(Ordering::Relaxed)
    }

    /// So many bytes were read.
    pub fn add_bytes(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file was read to its end.
    pub fn add_file(&self) {
        self.0.files.fetch_add(1, Ordering::Relaxed);
    }

    /// So many bytes were read, all in all: where others count them.
    pub fn set_bytes(&self, bytes: u64) {
        self.0.bytes.store(bytes, Ordering::Relaxed);
    }

    /// So many files were read, all in all: where others count them.
    pub fn set_files(&self, files: u64) {
        self.0.files.store(files, Ordering::Relaxed);
    }

    /// There are so many files of so many bytes to read, all in all; 0 where that is not known.
    pub fn set_expected(&self, files: u64, bytes: u64) {
        self.0.expected_files.store(files, Ordering::Relaxed);
        self.0.expected_bytes.store(bytes, Ordering::Relaxed);
    }

    /// A reader whose bytes are counted.
    pub fn counting<R: Read>(&self, reader: R) -> CountedReader<R> {
        CountedReader { reader, progress: self.clone() }
    }
}

/// A reader that adds the bytes that pass through it to a [`Progress`].
#[derive(Debug)]
pub struct CountedReader<R> {
    reader: R,
    progress: Progress,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.progress.add_bytes(length as u64);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_as_they_pass_and_clones_share_the_counts() {
        let progress = Progress::default();
        let mut reader = progress.clone().counting(&b"letters"[..]);
        let mut buffer = [0; 4];
        assert_eq!(reader.read(&mut buffer).unwrap(), 4);
        assert_eq!(progress.bytes(), 4);
        assert_eq!(reader.read(&mut buffer).unwrap(), 3);
        assert_eq!(reader.read(&mut buffer).unwrap(), 0);
        progress.add_file();
        assert_eq!((progress.files(), progress.bytes()), (1, 7));
    }
}
