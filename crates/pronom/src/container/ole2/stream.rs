//! The content of streams: in sectors of its own, or, where it is short, in the mini stream, which is a file system of
//! smaller sectors within a chain of large ones (MS-CFB 2.4).

use std::io::{self, Read};

use super::super::{ContainerError, malformed};
use super::CompoundFile;
use super::chain::{Chain, LoopCheck};
use super::sectors::Sectors;

/// Streams shorter than this lie in the mini stream. The header repeats the number, but may not change it (MS-CFB 2.2).
pub(super) const MINI_STREAM_CUTOFF: u64 = 4096;
/// Length of a sector of the mini stream, as a power of two.
const MINI_SHIFT: u32 = 6;
const END_OF_CHAIN: u32 = 0xFFFF_FFFE;
/// How many sectors are read between two readings of the clock.
const SECTORS_PER_LOOK: u64 = 128;

/// Where the mini stream and its allocation table lie.
pub(super) struct MiniStream {
    data: Chain,
    fat: Chain,
}

impl MiniStream {
    pub(super) fn new(data_start: u32, fat_start: u32) -> Self {
        Self { data: Chain::new(data_start), fat: Chain::new(fat_start) }
    }

    /// The large sector in which a mini sector lies, and where in it.
    fn place(&mut self, sectors: &mut Sectors<'_>, mini_sector: u32) -> Result<(u32, u64), ContainerError> {
        let offset = u64::from(mini_sector) << MINI_SHIFT;
        let sector = self.data.sector(sectors, offset >> sectors.shift())?;
        Ok((sector, offset & ((1 << sectors.shift()) - 1)))
    }

    fn next(&mut self, sectors: &mut Sectors<'_>, mini_sector: u32) -> Result<Option<u32>, ContainerError> {
        let numbers_shift = sectors.shift() - 2;
        let sector = self.fat.sector(sectors, u64::from(mini_sector >> numbers_shift))?;
        let next = sectors.number(sector, mini_sector & ((1 << numbers_shift) - 1))?;
        Ok((next != END_OF_CHAIN).then_some(next))
    }
}

/// Where a reader is in its stream.
struct Progress {
    position: u64,
    size: u64,
    /// The sector read last, or to be read first.
    sector: u32,
    /// Its index in the chain.
    index: u64,
    loop_check: LoopCheck,
}

impl Progress {
    fn new(start: u32, size: u64) -> Self {
        Self { position: 0, size, sector: start, index: 0, loop_check: LoopCheck::new(start) }
    }

    /// How many bytes come next from one sector of a length, given as a power of two; and where in it they begin.
    fn piece(&self, shift: u32, most: usize) -> (u64, usize) {
        let within = self.position & ((1 << shift) - 1);
        let rest = (self.size - self.position).min((1 << shift) - within);
        (within, usize::try_from(rest).unwrap_or(usize::MAX).min(most))
    }

    /// Moves on to the sector that holds the position.
    fn reach(
        &mut self,
        shift: u32,
        mut next: impl FnMut(u32) -> Result<Option<u32>, ContainerError>,
    ) -> Result<u32, ContainerError> {
        while self.index < self.position >> shift {
            let next = next(self.sector)?;
            let next = next.ok_or_else(|| malformed(format!("the stream ends after {} bytes", self.position)))?;
            self.loop_check.step(next)?;
            self.sector = next;
            self.index += 1;
        }
        Ok(self.sector)
    }
}

/// A stream in sectors of its own.
pub(super) struct StreamReader<'m, 's> {
    sectors: &'m mut Sectors<'s>,
    progress: Progress,
}

impl<'m, 's> StreamReader<'m, 's> {
    pub(super) fn new(sectors: &'m mut Sectors<'s>, start: u32, size: u64) -> Self {
        Self { sectors, progress: Progress::new(start, size) }
    }

    fn read_piece(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { sectors, progress } = self;
        let (shift, deadline) = (sectors.shift(), sectors.deadline);
        if progress.index.is_multiple_of(SECTORS_PER_LOOK) {
            deadline.check()?;
        }
        let sector = progress.reach(shift, |sector| sectors.next(sector))?;
        let sector = sectors.existing(sector)?;
        let (within, length) = progress.piece(shift, buffer.len());
        let read = sectors.read(sector, within, buffer.get_mut(..length).unwrap_or_default())?;
        progress.position += read as u64;
        Ok(read)
    }
}

impl Read for StreamReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        fill(
            buffer,
            |rest| if self.progress.position < self.progress.size { Some(self.read_piece(rest)) } else { None },
        )
    }
}

/// A stream in the mini stream.
pub(super) struct MiniStreamReader<'m, 's> {
    file: &'m mut CompoundFile<'s>,
    progress: Progress,
}

impl<'m, 's> MiniStreamReader<'m, 's> {
    pub(super) fn new(file: &'m mut CompoundFile<'s>, start: u32, size: u64) -> Self {
        Self { file, progress: Progress::new(start, size) }
    }

    fn read_piece(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let CompoundFile { sectors, mini_stream, .. } = &mut *self.file;
        let mini_sector = self.progress.reach(MINI_SHIFT, |sector| mini_stream.next(sectors, sector))?;
        let (sector, start) = mini_stream.place(sectors, mini_sector)?;
        let (within, length) = self.progress.piece(MINI_SHIFT, buffer.len());
        let read = sectors.read(sector, start + within, buffer.get_mut(..length).unwrap_or_default())?;
        self.progress.position += read as u64;
        Ok(read)
    }
}

impl Read for MiniStreamReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        fill(
            buffer,
            |rest| if self.progress.position < self.progress.size { Some(self.read_piece(rest)) } else { None },
        )
    }
}

/// Fills a buffer by pieces, as long as there are some. An error waits until what came before it was taken.
fn fill(buffer: &mut [u8], mut piece: impl FnMut(&mut [u8]) -> Option<io::Result<usize>>) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match piece(rest) {
            Some(Ok(0)) if filled == 0 => {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends within the stream"));
            }
            Some(Err(error)) if filled == 0 => return Err(error),
            None | Some(Ok(0) | Err(_)) => break,
            Some(Ok(read)) => filled += read,
        }
    }
    Ok(filled)
}
