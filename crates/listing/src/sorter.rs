//! Sorting more records than memory should hold: an external merge sort of small byte records.
//!
//! Records are (key, value) byte strings, ordered by key and then value. Up to the budget they stay in memory; beyond
//! it sorted runs go to one anonymous temporary file, and reading merges them. Reading may be repeated.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that a slot of the index takes beside its record.
const SLOT: usize = size_of::<Slot>();

#[derive(Clone, Copy)]
struct Slot {
    offset: usize,
    key: u32,
    value: u32,
}

#[derive(Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
}

/// One record read back.
pub type Record = (Vec<u8>, Vec<u8>);

/// The next record of a run, and the run's number.
type Head = (Vec<u8>, Vec<u8>, usize);

/// Takes records in any order.
pub struct Sorter {
    budget: usize,
    directory: Option<PathBuf>,
    arena: Vec<u8>,
    index: Vec<Slot>,
    file: Option<File>,
    runs: Vec<Run>,
}

/// Gives records back in order, as often as asked.
pub struct Sorted {
    arena: Vec<u8>,
    index: Vec<Slot>,
    file: Option<File>,
    runs: Vec<Run>,
}

fn parts(arena: &[u8], slot: Slot) -> (&[u8], &[u8]) {
    let (key, value) = (slot.key as usize, slot.value as usize);
    let record = &arena[slot.offset..slot.offset + key + value];
    record.split_at(key)
}

impl Sorter {
    /// Keeps at most `budget` bytes in memory; temporary files go to `directory`, or where the system has them.
    pub fn new(budget: usize, directory: Option<&Path>) -> Self {
        Self {
            budget: budget.max(64 * 1024),
            directory: directory.map(Path::to_owned),
            arena: Vec::new(),
            index: Vec::new(),
            file: None,
            runs: Vec::new(),
        }
    }

    /// Takes a record. An error is of the temporary file, or says that a part of the record has more than 4 GiB.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let too_long = |_| io::Error::other("a record is longer than 4 GiB");
        let slot = Slot {
            offset: self.arena.len(),
            key: u32::try_from(key.len()).map_err(too_long)?,
            value: u32::try_from(value.len()).map_err(too_long)?,
        };
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(value);
        self.index.push(slot);
        if self.arena.len() + self.index.len() * SLOT >= self.budget {
            self.spill()?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        self.index.sort_unstable_by(|a, b| parts(arena, *a).cmp(&parts(arena, *b)));
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.index.is_empty() {
            return Ok(());
        }
        self.sort();
        if self.file.is_none() {
            self.file = Some(match &self.directory {
                Some(directory) => tempfile::tempfile_in(directory)?,
                None => tempfile::tempfile()?,
            });
        }
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        let start = file.seek(SeekFrom::End(0))?;
        let mut end = start;
        let mut out = BufWriter::with_capacity(256 * 1024, file);
        for slot in &self.index {
            let (key, value) = parts(&self.arena, *slot);
            out.write_all(&slot.key.to_le_bytes())?;
            out.write_all(&slot.value.to_le_bytes())?;
            out.write_all(key)?;
            out.write_all(value)?;
            end += 8 + key.len() as u64 + value.len() as u64;
        }
        out.flush()?;
        drop(out);
        self.runs.push(Run { start, end });
        self.arena.clear();
        self.index.clear();
        Ok(())
    }

    /// Ends the taking of records.
    pub fn finish(mut self) -> io::Result<Sorted> {
        if self.runs.is_empty() {
            self.sort();
        } else {
            self.spill()?;
            self.arena = Vec::new();
            self.index = Vec::new();
        }
        Ok(Sorted { arena: self.arena, index: self.index, file: self.file, runs: self.runs })
    }
}

impl Sorted {
    /// The records in order, from the first.
    #[expect(clippy::iter_not_returning_iterator, reason = "beginning to read may fail")]
    pub fn iter(&self) -> io::Result<Iter<'_>> {
        let mut heap = BinaryHeap::new();
        let mut readers = Vec::with_capacity(self.runs.len());
        if let Some(file) = &self.file {
            // Many runs share what a few would have: 4 MiB of read buffers in all.
            let buffer = (4 * 1024 * 1024 / self.runs.len().max(1)).clamp(4 * 1024, 64 * 1024);
            for (number, run) in self.runs.iter().enumerate() {
                let mut reader =
                    RunReader { file, position: run.start, end: run.end, buffer: Vec::new(), used: 0, size: buffer };
                if let Some((key, value)) = reader.next()? {
                    heap.push(Reverse((key, value, number)));
                }
                readers.push(reader);
            }
        }
        Ok(Iter { sorted: self, next: 0, heap, readers })
    }
}

impl Sorted {
    /// The first record of a key: by bisection in memory, else by reading on to it.
    pub fn find(&self, key: &[u8]) -> io::Result<Option<Record>> {
        if self.runs.is_empty() {
            let at = self.index.partition_point(|slot| parts(&self.arena, *slot).0 < key);
            let found = self.index.get(at).map(|slot| parts(&self.arena, *slot)).filter(|(found, _)| *found == key);
            return Ok(found.map(|(key, value)| (key.to_vec(), value.to_vec())));
        }
        for record in self.iter()? {
            let record = record?;
            if record.0 == key {
                return Ok(Some(record));
            }
            if record.0.as_slice() > key {
                break;
            }
        }
        Ok(None)
    }
}

/// Reads records in order.
pub struct Iter<'a> {
    sorted: &'a Sorted,
    next: usize,
    heap: BinaryHeap<Reverse<Head>>,
    readers: Vec<RunReader<'a>>,
}

impl Iterator for Iter<'_> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.readers.is_empty() {
            let slot = *self.sorted.index.get(self.next)?;
            self.next += 1;
            let (key, value) = parts(&self.sorted.arena, slot);
            return Some(Ok((key.to_vec(), value.to_vec())));
        }
        let Reverse((key, value, number)) = self.heap.pop()?;
        if let Some(reader) = self.readers.get_mut(number) {
            match reader.next() {
                Ok(Some((key, value))) => self.heap.push(Reverse((key, value, number))),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok((key, value)))
    }
}

struct RunReader<'a> {
    file: &'a File,
    position: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
    size: usize,
}

impl RunReader<'_> {
    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut taken = Vec::with_capacity(length);
        while taken.len() < length {
            if self.used == self.buffer.len() {
                let left = self.end.saturating_sub(self.position);
                let want = usize::try_from(left).unwrap_or(usize::MAX).min(self.size);
                if want == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.buffer.resize(want, 0);
                self.file.read_exact_at(&mut self.buffer, self.position)?;
                self.position += want as u64;
                self.used = 0;
            }
            let part = (length - taken.len()).min(self.buffer.len() - self.used);
            taken.extend_from_slice(&self.buffer[self.used..self.used + part]);
            self.used += part;
        }
        Ok(taken)
    }

    fn next(&mut self) -> io::Result<Option<Record>> {
        if self.used == self.buffer.len() && self.position >= self.end {
            return Ok(None);
        }
        let head = self.take(8)?;
        let number = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&head[at..at + 4]);
            u32::from_le_bytes(bytes) as usize
        };
        let key = self.take(number(0))?;
        let value = self.take(number(4))?;
        Ok(Some((key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::Sorter;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spilled_records_come_back_as_sorted_in_memory(
            records in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(any::<u8>(), 0..3000)), 0..200)
        ) {
            let mut sorter = Sorter::new(0, None);
            for (key, value) in &records {
                sorter.push(key, value).unwrap();
            }
            let sorted = sorter.finish().unwrap();
            let mut expected = records;
            expected.sort();
            for _ in 0..2 {
                let found: Vec<_> = sorted.iter().unwrap().map(Result::unwrap).collect();
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
