//! The sectors of a compound file and the table that chains them, the FAT. Where the FAT's own sectors lie stands in the
//! DIFAT, whose first part is in the header and whose rest is a chain of its own (MS-CFB 2.2 to 2.5).

use std::io;

use super::super::{ContainerError, Deadline, malformed};
use super::HEADER_LENGTH;
use super::blocks::Blocks;
use strongroom_archive::little_endian::u32_at;

/// How many FAT sectors the header names.
const HEADER_DIFAT_LENGTH: u32 = 109;
/// Numbers from here on are no sectors (MS-CFB 2.1).
const NO_SECTOR: u32 = 0xFFFF_FFFB;
const END_OF_CHAIN: u32 = 0xFFFF_FFFE;

/// The sectors of a compound file.
pub(super) struct Sectors<'s> {
    pub(super) deadline: Deadline,
    blocks: Blocks<'s>,
    shift: u32,
    /// How many sectors the source has room for; the last may be cut off.
    count: u32,
    header: [u8; HEADER_LENGTH],
    /// The DIFAT sectors beyond the header, as far as they were needed: one for at least 8 MB of file.
    difat: Vec<u32>,
}

impl<'s> Sectors<'s> {
    pub(super) fn new(blocks: Blocks<'s>, shift: u32, header: &[u8; HEADER_LENGTH], deadline: Deadline) -> Self {
        let room = blocks.source_size().saturating_sub(1 << shift).div_ceil(1 << shift);
        let count = u32::try_from(room).unwrap_or(NO_SECTOR).min(NO_SECTOR);
        Self { deadline, blocks, shift, count, header: *header, difat: Vec::new() }
    }

    /// The length of a sector as a power of two.
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Reads from within a sector until the buffer is full or the source ends. The buffer must not reach beyond the sector.
    pub(super) fn read(&mut self, sector: u32, within: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let offset = ((u64::from(sector) + 1) << self.shift) + within;
        self.blocks.read(offset, buffer)
    }

    /// A number in a sector, by its index.
    pub(super) fn number(&mut self, sector: u32, index: u32) -> Result<u32, ContainerError> {
        let mut bytes = [0; 4];
        match self.read(sector, u64::from(index) * 4, &mut bytes)? {
            4 => Ok(u32::from_le_bytes(bytes)),
            _ => Err(malformed(format!("sector {sector} is cut off"))),
        }
    }

    /// The sector itself, where the file has it.
    pub(super) fn existing(&self, sector: u32) -> Result<u32, ContainerError> {
        if sector < self.count { Ok(sector) } else { Err(malformed(format!("there is no sector {sector:#x}"))) }
    }

    /// The sector that follows in a chain; `None` at its end.
    pub(super) fn next(&mut self, sector: u32) -> Result<Option<u32>, ContainerError> {
        let sector = self.existing(sector)?;
        let numbers_shift = self.shift - 2;
        let fat_sector = self.fat_sector(sector >> numbers_shift)?;
        match self.number(fat_sector, sector & ((1 << numbers_shift) - 1))? {
            END_OF_CHAIN => Ok(None),
            next => self.existing(next).map(Some),
        }
    }

    /// Where a part of the FAT lies.
    fn fat_sector(&mut self, index: u32) -> Result<u32, ContainerError> {
        let Some(beyond_header) = index.checked_sub(HEADER_DIFAT_LENGTH) else {
            let number = u32_at(&self.header, 76 + index as usize * 4);
            return self.existing(number.unwrap_or(NO_SECTOR));
        };
        // The last number of a DIFAT sector leads to the next one.
        let per_sector = (1 << (self.shift - 2)) - 1;
        let difat_sector = self.difat_sector((beyond_header / per_sector) as usize)?;
        let number = self.number(difat_sector, beyond_header % per_sector)?;
        self.existing(number)
    }

    fn difat_sector(&mut self, index: usize) -> Result<u32, ContainerError> {
        loop {
            if let Some(sector) = self.difat.get(index) {
                return Ok(*sector);
            }
            self.deadline.check()?;
            let next = match self.difat.last() {
                Some(last) => self.number(*last, (1 << (self.shift - 2)) - 1)?,
                None => u32_at(&self.header, 68).unwrap_or(NO_SECTOR),
            };
            let next = self.existing(next)?;
            if self.difat.contains(&next) {
                return Err(malformed("the DIFAT loops"));
            }
            self.difat.push(next);
        }
    }
}
