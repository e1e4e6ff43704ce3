//! OLE2, which MS-CFB calls compound file: a small file system of sectors, read from its allocation tables as they are
//! needed. Lenient where writers are careless, but every chain of sectors is watched for loops.

mod blocks;
mod chain;
mod directory;
mod sectors;
mod stream;

use std::io::{self, Read};

use strongroom_archive::Source;

use super::{ContainerError, ContainerMember, Deadline, malformed};
use blocks::Blocks;
use chain::Chain;
use directory::{DirectoryEntry, EntryKind};
use sectors::Sectors;
use stream::{MINI_STREAM_CUTOFF, MiniStream, MiniStreamReader, StreamReader};
use strongroom_archive::little_endian::{u16_at, u32_at};

/// Length of the header (MS-CFB 2.2).
const HEADER_LENGTH: usize = 512;
const SIGNATURE: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

pub(super) fn visit_members(
    source: &dyn Source,
    deadline: Deadline,
    visit: &mut dyn FnMut(&mut dyn ContainerMember) -> bool,
) -> Result<(), ContainerError> {
    let mut file = CompoundFile::open(source, deadline)?;
    directory::walk(&mut file, &mut |file, path, entry| visit(&mut Ole2Member { file, path, entry }))
}

/// An open compound file.
struct CompoundFile<'s> {
    sectors: Sectors<'s>,
    directory: Chain,
    mini_stream: MiniStream,
    root: DirectoryEntry,
}

impl<'s> CompoundFile<'s> {
    fn open(source: &'s dyn Source, deadline: Deadline) -> Result<Self, ContainerError> {
        let mut blocks = Blocks::new(source);
        let mut header = [0; HEADER_LENGTH];
        if blocks.read(0, &mut header)? < HEADER_LENGTH || !header.starts_with(&SIGNATURE) {
            return Err(malformed("no compound file header"));
        }
        let field = |offset| u32_at(&header, offset).unwrap_or_default();
        // The version ought to imply the size of a sector, but the size is what writers get right.
        let (sector_shift, mini_sector_shift) = (u16_at(&header, 30), u16_at(&header, 32));
        let shift = match (sector_shift, mini_sector_shift) {
            (Some(shift @ (9 | 12)), Some(6)) => u32::from(shift),
            _ => return Err(malformed("sectors of no known size")),
        };
        let mut sectors = Sectors::new(blocks, shift, &header, deadline);
        let mut directory = Chain::new(field(48));
        let root = directory::read_entry(&mut sectors, &mut directory, directory::ROOT)?;
        let mini_stream = MiniStream::new(root.start, field(60));
        Ok(Self { sectors, directory, mini_stream, root })
    }
}

/// A stream or a storage.
struct Ole2Member<'m, 's> {
    file: &'m mut CompoundFile<'s>,
    path: &'m str,
    entry: &'m DirectoryEntry,
}

impl ContainerMember for Ole2Member<'_, '_> {
    fn path(&self) -> &str {
        self.path
    }

    fn size(&self) -> u64 {
        if self.is_folder() { 0 } else { self.entry.size }
    }

    fn is_folder(&self) -> bool {
        self.entry.kind == EntryKind::Storage
    }

    /// Never: encryption of compound files is a matter of what their streams mean.
    fn is_encrypted(&self) -> bool {
        false
    }

    fn open(&mut self) -> Result<Box<dyn Read + '_>, ContainerError> {
        self.file.sectors.deadline.check()?;
        let (start, size) = (self.entry.start, self.size());
        Ok(match size {
            0 => Box::new(io::empty()),
            1..MINI_STREAM_CUTOFF => Box::new(MiniStreamReader::new(self.file, start, size)),
            _ => Box::new(StreamReader::new(&mut self.file.sectors, start, size)),
        })
    }
}
