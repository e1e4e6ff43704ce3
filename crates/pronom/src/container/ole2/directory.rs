//! The directory of a compound file: entries of 128 bytes in a chain, bound into a tree for each storage (MS-CFB 2.6).
//! The tree is walked whatever its colours and order, and each entry once, whatever points to it.

use super::super::{ContainerError, malformed};
use super::CompoundFile;
use super::chain::Chain;
use super::sectors::Sectors;
use strongroom_archive::little_endian::{u16_at, u32_at, u64_at};

/// The entry of the root storage.
pub(super) const ROOT: u32 = 0;
/// Length of an entry, as a power of two.
const ENTRY_SHIFT: u32 = 7;
/// Numbers from here on are no entries (MS-CFB 2.6.1: the largest regular stream id and the sign for none).
const NO_ENTRY: u32 = 0xFFFF_FFFA;
/// Most entries of a directory. A file with more is not a document; their numbers would cost 32 KiB and 2 MiB to keep.
const MOST_ENTRIES: u32 = 1 << 18;
/// Most storages within each other.
const DEEPEST: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Storage,
    Stream,
    /// Unallocated, or a kind that no version of the format uses.
    Other,
}

/// What the directory says of a stream or storage.
#[derive(Clone, Debug)]
pub(super) struct DirectoryEntry {
    pub(super) kind: EntryKind,
    pub(super) name: String,
    pub(super) start: u32,
    pub(super) size: u64,
    left: Option<u32>,
    right: Option<u32>,
    child: Option<u32>,
}

pub(super) fn read_entry(
    sectors: &mut Sectors<'_>,
    directory: &mut Chain,
    number: u32,
) -> Result<DirectoryEntry, ContainerError> {
    let offset = u64::from(number) << ENTRY_SHIFT;
    let sector = directory.sector(sectors, offset >> sectors.shift())?;
    let mut bytes = [0; 1 << ENTRY_SHIFT];
    let read = sectors.read(sector, offset & ((1 << sectors.shift()) - 1), &mut bytes)?;
    if read < bytes.len() {
        return Err(malformed(format!("directory entry {number} is cut off")));
    }
    let field = |offset| u32_at(&bytes, offset).unwrap_or(NO_ENTRY);
    let entry = |offset| Some(field(offset)).filter(|number| *number < NO_ENTRY);
    let size = u64_at(&bytes, 120).unwrap_or_default();
    Ok(DirectoryEntry {
        kind: match bytes.get(66) {
            Some(1 | 5) => EntryKind::Storage,
            Some(2) => EntryKind::Stream,
            _ => EntryKind::Other,
        },
        name: decode_name(&bytes),
        start: field(116),
        // Old writers left the upper half as it was where sectors have 512 bytes (MS-CFB 2.6.1).
        size: if sectors.shift() == 9 { size & u64::from(u32::MAX) } else { size },
        left: entry(68),
        right: entry(72),
        child: entry(76),
    })
}

/// The name, without the control character that marks the names of some streams (`\x01CompObj`), for signatures leave it
/// out.
fn decode_name(entry: &[u8]) -> String {
    // The length counts bytes, the closing NUL among them.
    let length = usize::from(u16_at(entry, 64).unwrap_or_default()).min(64) / 2;
    let units = (0..length).filter_map(|index| u16_at(entry, index * 2)).take_while(|unit| *unit != 0);
    let is_mark = |index: usize, unit: u16| index == 0 && unit < 0x20;
    let kept = units.enumerate().filter(|(index, unit)| !is_mark(*index, *unit)).map(|(_, unit)| unit);
    char::decode_utf16(kept).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Visits all entries below the root until `visit` says no, storages before what is in them. Where a part of the tree is
/// broken, the rest is visited all the same, and the first trouble reported at the end.
pub(super) fn walk<'s>(
    file: &mut CompoundFile<'s>,
    visit: &mut dyn FnMut(&mut CompoundFile<'s>, &str, &DirectoryEntry) -> bool,
) -> Result<(), ContainerError> {
    let mut walk = Walk::default();
    walk.mark(ROOT);
    walk.push(file.root.child, 0);
    while let Some((number, depth)) = walk.pending.pop() {
        file.sectors.deadline.check()?;
        let entry = match read_entry(&mut file.sectors, &mut file.directory, number) {
            Ok(entry) => entry,
            Err(ContainerError::Malformed(reason)) => {
                walk.note(reason);
                continue;
            }
            Err(error) => return Err(error),
        };
        walk.push(entry.right, depth);
        walk.push(entry.left, depth);
        if entry.kind == EntryKind::Other {
            continue;
        }
        walk.enter(depth, &entry.name);
        if !visit(file, &walk.path, &entry) {
            return Ok(());
        }
        if entry.kind == EntryKind::Storage {
            walk.push(entry.child, depth + 1);
        }
    }
    walk.trouble.map_or(Ok(()), |reason| Err(ContainerError::Malformed(reason)))
}

/// Where a walk through the tree is.
#[derive(Default)]
struct Walk {
    /// Entries still to be visited, with the number of storages they are in. What is in a storage is visited before its
    /// siblings, so one path serves all.
    pending: Vec<(u32, u8)>,
    /// One bit for each entry that was ever pending.
    seen: Vec<u64>,
    path: String,
    /// Length of the path of each storage that the walk is in.
    lengths: Vec<usize>,
    trouble: Option<String>,
}

impl Walk {
    fn note(&mut self, reason: impl Into<String>) {
        self.trouble.get_or_insert_with(|| reason.into());
    }

    /// Marks an entry; false where it was marked before.
    fn mark(&mut self, number: u32) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        self.seen.get_mut(word).is_some_and(|seen| {
            let is_new = *seen & bit == 0;
            *seen |= bit;
            is_new
        })
    }

    fn push(&mut self, number: Option<u32>, depth: u8) {
        let Some(number) = number else { return };
        if number >= MOST_ENTRIES {
            self.note(format!("there is no directory entry {number}"));
        } else if usize::from(depth) > DEEPEST {
            self.note(format!("more than {DEEPEST} storages within each other"));
        } else if !self.mark(number) {
            self.note(format!("directory entry {number} is reached twice"));
        } else {
            self.pending.push((number, depth));
        }
    }

    /// Makes the path that of an entry within so many storages.
    fn enter(&mut self, depth: u8, name: &str) {
        let depth = usize::from(depth);
        let parent = depth.checked_sub(1).and_then(|index| self.lengths.get(index)).copied().unwrap_or_default();
        self.path.truncate(parent);
        if depth > 0 {
            self.path.push('/');
        }
        self.path.push_str(name);
        self.lengths.truncate(depth);
        self.lengths.push(self.path.len());
    }
}
