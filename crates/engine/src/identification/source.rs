//! A part of a store, read wherever an identification asks. Reads are blocks that grow while they follow each other, so that
//! an inspection of the beginning costs little and a long way through a file few requests.

use std::cell::RefCell;
use std::io::{self, Read};

use strongroom_pronom::Source;
use strongroom_storage::{Key, StorageError, Store};

use crate::hold::GoOn;
use crate::runtime::Interrupted;

/// The first block, in bytes.
const BLOCK: usize = 64 << 10;
/// The largest block.
const LARGEST_BLOCK: usize = 1 << 20;

/// Bytes in a store: `size` of them from `start` on under a key.
pub(crate) struct StoredSource<'a> {
    store: &'a dyn Store,
    key: &'a Key,
    start: u64,
    size: u64,
    go_on: &'a GoOn<'a>,
    block: RefCell<Block>,
}

/// What was read last.
struct Block {
    offset: u64,
    bytes: Vec<u8>,
    /// How much is read when the next block follows this one.
    next: usize,
}

/// Why a source could not be read.
pub(crate) enum SourceTrouble {
    /// The store failed.
    Store(StorageError),
    /// The task must stop.
    Interrupted(Interrupted),
    /// Something else.
    Other(io::Error),
}

impl<'a> StoredSource<'a> {
    pub(crate) fn new(store: &'a dyn Store, key: &'a Key, start: u64, size: u64, go_on: &'a GoOn<'a>) -> Self {
        let block = RefCell::new(Block { offset: 0, bytes: Vec::new(), next: BLOCK });
        Self { store, key, start, size, go_on, block }
    }

    /// What the error of a read stands for.
    pub(crate) fn trouble(error: io::Error) -> SourceTrouble {
        match error.downcast::<StorageError>() {
            Ok(error) => SourceTrouble::Store(error),
            Err(error) => match error.downcast::<Interrupted>() {
                Ok(reason) => SourceTrouble::Interrupted(reason),
                Err(error) => SourceTrouble::Other(error),
            },
        }
    }

    /// Reads from the store until `buffer` is full or the bytes end.
    fn fetch(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.go_on.check().map_err(io::Error::other)?;
        let from = self.start.saturating_add(offset);
        let mut body = self.store.open(self.key, from, Some(buffer.len() as u64)).map_err(io::Error::other)?;
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match body.read(rest) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let (store, key) = (self.store.name().to_owned(), self.key.clone());
                    return Err(io::Error::other(StorageError::Io { store, act: "read", key, source }));
                }
            }
        }
        self.go_on.count(filled as u64);
        Ok(filled)
    }
}

impl Source for StoredSource<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let Some(buffer) = buffer.get_mut(..wanted) else { return Ok(0) };
        if wanted >= LARGEST_BLOCK {
            return self.fetch(offset, buffer);
        }
        let mut block = self.block.borrow_mut();
        let mut filled = block.copy(offset, buffer);
        while filled < wanted {
            let at = offset + filled as u64;
            let follows = !block.bytes.is_empty() && at == block.end();
            let length = if follows { block.next } else { BLOCK };
            let rest = usize::try_from(self.size - at).unwrap_or(usize::MAX);
            block.bytes.resize(length.max(wanted - filled).min(rest), 0);
            // Until it is read, the block holds nothing.
            let mut bytes = std::mem::take(&mut block.bytes);
            let read = self.fetch(at, &mut bytes)?;
            bytes.truncate(read);
            *block = Block { offset: at, bytes, next: (length * 2).min(LARGEST_BLOCK) };
            let Some(target) = buffer.get_mut(filled..) else { break };
            let copied = block.copy(at, target);
            if copied == 0 {
                break;
            }
            filled += copied;
        }
        Ok(filled)
    }
}

impl Block {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// Copies what of the block lies from `offset` on; how many bytes.
    fn copy(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let skipped = offset.checked_sub(self.offset).and_then(|skipped| usize::try_from(skipped).ok());
        let Some(known) = skipped.and_then(|skipped| self.bytes.get(skipped..)) else { return 0 };
        let length = known.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), known.get(..length)) {
            to.copy_from_slice(from);
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use strongroom_storage::{FolderStore, PutOptions};

    use super::*;

    #[test]
    fn any_part_is_read_as_it_lies_there_and_nothing_beyond() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FolderStore::create("staging", folder.path().join("staging")).expect("a store");
        let bytes: Vec<u8> =
            (0..3_000_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let key = Key::new("a").expect("a key");
        store.put(&key, &mut bytes.as_slice(), &PutOptions::default()).expect("puts");
        let (start, size) = (100_u64, 2_500_000_u64);
        let go_on = || Ok(());
        let source = StoredSource::new(&store, &key, start, size, &go_on);
        let inner = &bytes[100..2_500_100];
        let mut offset = 0_usize;
        for (step, length) in [(0, 10), (70_000, 200_000), (5, 1), (0, 65_536), (900_000, 1_100_000), (0, 700_000)] {
            offset += step;
            let mut buffer = vec![0; length];
            let read = source.read_at(offset as u64, &mut buffer).expect("reads");
            assert_eq!(read, length.min(inner.len().saturating_sub(offset)));
            assert_eq!(buffer[..read], inner[offset..offset + read]);
            offset += read;
        }
        assert_eq!(source.read_at(size, &mut [0; 5]).expect("reads"), 0);
        assert_eq!(source.read_at(u64::MAX, &mut [0; 5]).expect("reads"), 0);
        let mut back = [0; 16];
        assert_eq!(source.read_at(3, &mut back).expect("reads"), 16);
        assert_eq!(back, inner[3..19]);
    }

    #[test]
    fn trouble_is_told_by_who_made_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FolderStore::create("staging", folder.path().join("staging")).expect("a store");
        let key = Key::new("absent").expect("a key");
        let go_on = || Ok(());
        let absent = StoredSource::new(&store, &key, 0, 10, &go_on);
        let trouble = StoredSource::trouble(absent.read_at(0, &mut [0; 4]).expect_err("nothing lies there"));
        assert!(matches!(trouble, SourceTrouble::Store(error) if error.is_not_found()));
        let stop = || Err(Interrupted::Draining);
        let stopped = StoredSource::new(&store, &key, 0, 10, &stop);
        let trouble = StoredSource::trouble(stopped.read_at(0, &mut [0; 4]).expect_err("asked to stop"));
        assert!(matches!(trouble, SourceTrouble::Interrupted(Interrupted::Draining)));
    }
}
