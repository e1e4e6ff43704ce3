//! A small cache of a source. Allocation tables, directory and data lie scattered in a compound file, and each is asked
//! for in pieces of a few bytes.

use std::io;

use strongroom_archive::Source;

use super::super::read_at;

/// Length of a block. A remote source is asked for no less, a small file for no more.
const BLOCK_SHIFT: u32 = 15;
const BLOCK_LENGTH: usize = 1 << BLOCK_SHIFT;
/// How many blocks are kept: 768 KiB in all.
const MOST_BLOCKS: usize = 24;

struct Block {
    number: u64,
    last_use: u64,
    bytes: Vec<u8>,
}

/// The blocks of a source that were used last.
pub(super) struct Blocks<'s> {
    source: &'s dyn Source,
    held: Vec<Block>,
    /// Index of the block that was used last, which is mostly used again.
    current: usize,
    uses: u64,
}

impl<'s> Blocks<'s> {
    pub(super) fn new(source: &'s dyn Source) -> Self {
        Self { source, held: Vec::new(), current: 0, uses: 0 }
    }

    pub(super) fn source_size(&self) -> u64 {
        self.source.size()
    }

    /// Reads from an offset until the buffer is full or the source ends; returns how many bytes were read.
    pub(super) fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(wanted) = buffer.get_mut(filled..).filter(|wanted| !wanted.is_empty()) {
            let Some(position) = offset.checked_add(filled as u64) else { break };
            let block = self.block(position >> BLOCK_SHIFT)?;
            let within = (position & (BLOCK_LENGTH as u64 - 1)) as usize;
            let rest = block.get(within..).unwrap_or_default();
            let length = rest.len().min(wanted.len());
            if length == 0 {
                break;
            }
            if let (Some(to), Some(from)) = (wanted.get_mut(..length), rest.get(..length)) {
                to.copy_from_slice(from);
            }
            filled += length;
        }
        Ok(filled)
    }

    fn block(&mut self, number: u64) -> io::Result<&[u8]> {
        self.uses += 1;
        if self.held.get(self.current).is_none_or(|block| block.number != number) {
            self.current = match self.held.iter().position(|block| block.number == number) {
                Some(index) => index,
                None => self.load(number)?,
            };
        }
        match self.held.get_mut(self.current) {
            Some(block) => {
                block.last_use = self.uses;
                Ok(&block.bytes)
            }
            None => Ok(&[]),
        }
    }

    /// Reads a block in place of the one that was used longest ago; returns its index.
    fn load(&mut self, number: u64) -> io::Result<usize> {
        let mut bytes = if self.held.len() < MOST_BLOCKS {
            Vec::new()
        } else {
            let oldest = self.held.iter().enumerate().min_by_key(|(_, block)| block.last_use);
            let oldest = oldest.map_or(0, |(index, _)| index);
            self.held.swap_remove(oldest).bytes
        };
        let offset = number << BLOCK_SHIFT;
        let length = self.source.size().saturating_sub(offset).min(BLOCK_LENGTH as u64) as usize;
        bytes.resize(length, 0);
        let read = read_at(self.source, offset, &mut bytes)?;
        bytes.truncate(read);
        self.held.push(Block { number, last_use: self.uses, bytes });
        Ok(self.held.len() - 1)
    }
}
