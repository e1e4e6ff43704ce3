//! Chains of sectors, and how their loops are found.

use super::super::{ContainerError, malformed};
use super::sectors::Sectors;

/// Most sectors of a chain that is read here and there (directory, mini FAT, mini stream): 1 MiB of memory, for 128 MB of
/// sectors of 512 bytes.
const LONGEST: usize = 1 << 18;
/// How many sectors are followed between two readings of the clock.
const SECTORS_PER_LOOK: usize = 1024;

/// Finds that a chain loops, by Brent's method: the chain is compared with one of its sectors, which moves on whenever the
/// number of steps is a power of two. Costs two numbers, and less than three times the length up to the end of the loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopCheck {
    mark: u32,
    steps: u64,
}

impl LoopCheck {
    pub(super) fn new(start: u32) -> Self {
        Self { mark: start, steps: 0 }
    }

    /// Takes the next sector of the chain.
    pub(super) fn step(&mut self, next: u32) -> Result<(), ContainerError> {
        if next == self.mark {
            return Err(malformed(format!("the chain of sectors loops at {next:#x}")));
        }
        self.steps += 1;
        if self.steps.is_power_of_two() {
            self.mark = next;
        }
        Ok(())
    }
}

/// A chain of which any sector may be asked for. Remembers the way as far as it was needed.
pub(super) struct Chain {
    start: u32,
    known: Vec<u32>,
    loop_check: LoopCheck,
}

impl Chain {
    pub(super) fn new(start: u32) -> Self {
        Self { start, known: Vec::new(), loop_check: LoopCheck::new(start) }
    }

    /// The sector at an index of the chain; an error where the chain is shorter.
    pub(super) fn sector(&mut self, sectors: &mut Sectors<'_>, index: u64) -> Result<u32, ContainerError> {
        let index = usize::try_from(index).ok().filter(|index| *index < LONGEST);
        let Some(index) = index else { return Err(malformed("a chain of sectors is too long")) };
        loop {
            if let Some(sector) = self.known.get(index) {
                return Ok(*sector);
            }
            if self.known.len().is_multiple_of(SECTORS_PER_LOOK) {
                sectors.deadline.check()?;
            }
            let Some(last) = self.known.last() else {
                self.known.push(sectors.existing(self.start)?);
                continue;
            };
            let next = sectors.next(*last)?.ok_or_else(|| malformed("a chain of sectors ends early"))?;
            self.loop_check.step(next)?;
            self.known.push(next);
        }
    }
}
