//! Where the central directory of a ZIP lies: the end record is searched backwards, for a comment may follow it, and is
//! believed only where a directory is found by it, for a comment may hold anything.

use crate::source::Source;

use super::super::little_endian::{u16_at, u32_at, u64_at};
use super::super::{ContainerError, Deadline, malformed, read_at};
use super::{HEADER_LENGTH, HEADER_SIGNATURE};

const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
/// Length of the end record without its comment (APPNOTE 4.3.16).
const END_LENGTH: usize = 22;
/// How far from the end of the file the record may begin: its own length and the longest comment.
const FARTHEST_END: usize = END_LENGTH + u16::MAX as usize;
/// What is looked at first: nearly all archives have no comment.
const NEAREST_END: usize = 1024;
const ZIP64_LOCATOR_SIGNATURE: u32 = 0x0706_4B50;
const ZIP64_LOCATOR_LENGTH: u64 = 20;
const ZIP64_END_SIGNATURE: u32 = 0x0606_4B50;
/// Length of the ZIP64 end record without its extensible part (APPNOTE 4.3.14).
const ZIP64_END_LENGTH: u64 = 56;

/// A central directory.
#[derive(Debug)]
pub(super) struct Directory {
    /// Offset of its first header.
    pub(super) start: u64,
    /// No header goes beyond this offset.
    pub(super) end: u64,
    /// How many members the end record counts. Archives of more than 65,535 without ZIP64 count too few.
    pub(super) members: u64,
    /// How many bytes stand before the archive proper (a self-extracting program), to be added to its offsets.
    pub(super) prepended: u64,
}

/// What an end record says.
struct EndRecord {
    /// Where the record begins, which is where the directory must have ended.
    position: u64,
    disk: u32,
    directory_disk: u32,
    members_here: u64,
    members: u64,
    size: u64,
    offset: u64,
}

pub(super) fn find_directory(source: &dyn Source, deadline: Deadline) -> Result<Directory, ContainerError> {
    let mut reason = None;
    for reach in [NEAREST_END, FARTHEST_END] {
        let length = usize::try_from(source.size()).unwrap_or(usize::MAX).min(reach);
        let start = source.size() - length as u64;
        let mut tail = vec![0; length];
        let read = source.read_at(start, &mut tail)?;
        tail.truncate(read);
        for at in memchr::memmem::rfind_iter(&tail, &END_SIGNATURE) {
            deadline.check()?;
            let Some(record) = tail.get(at..).and_then(|bytes| parse_end(bytes, start + at as u64)) else { continue };
            match believe(source, record) {
                Ok(directory) => return Ok(directory),
                // What the last record in the file says about itself is the best reason to give.
                Err(ContainerError::Malformed(why)) => _ = reason.get_or_insert(why),
                Err(error) => return Err(error),
            }
        }
    }
    Err(malformed(reason.unwrap_or_else(|| "no end of central directory".to_owned())))
}

fn parse_end(bytes: &[u8], position: u64) -> Option<EndRecord> {
    let record = bytes.get(..END_LENGTH)?;
    Some(EndRecord {
        position,
        disk: u16_at(record, 4)?.into(),
        directory_disk: u16_at(record, 6)?.into(),
        members_here: u16_at(record, 8)?.into(),
        members: u16_at(record, 10)?.into(),
        size: u32_at(record, 12)?.into(),
        offset: u32_at(record, 16)?.into(),
    })
}

/// The directory that an end record tells of, where there is one.
fn believe(source: &dyn Source, record: EndRecord) -> Result<Directory, ContainerError> {
    let record = zip64_end(source, record.position)?.unwrap_or(record);
    if record.disk != 0 || record.directory_disk != 0 || record.members_here != record.members {
        return Err(malformed("the archive spans several disks"));
    }
    let EndRecord { position: end, members, size, offset, .. } = record;
    if members == 0 && size == 0 && offset == end {
        return Ok(Directory { start: end, end, members, prepended: 0 });
    }
    // Where the offset leads to no header, something stands before the archive and has moved all offsets alike: then the
    // directory is what ends where the record begins.
    let moved = end.checked_sub(size).and_then(|start| Some((start, start.checked_sub(offset)?)));
    for (start, prepended) in [(offset, 0)].into_iter().chain(moved) {
        if start.checked_add(HEADER_LENGTH as u64).is_some_and(|least| least <= end)
            && read_array(source, start)?.is_some_and(|bytes: [u8; 4]| u32_at(&bytes, 0) == Some(HEADER_SIGNATURE))
        {
            return Ok(Directory { start, end, members, prepended });
        }
    }
    Err(malformed("no central directory where the end record says"))
}

/// The ZIP64 end record that belongs to an end record at a position; `None` where there is none.
fn zip64_end(source: &dyn Source, end_position: u64) -> Result<Option<EndRecord>, ContainerError> {
    let Some(locator_position) = end_position.checked_sub(ZIP64_LOCATOR_LENGTH) else { return Ok(None) };
    let Some(locator) = read_array::<{ ZIP64_LOCATOR_LENGTH as usize }>(source, locator_position)? else {
        return Ok(None);
    };
    if u32_at(&locator, 0) != Some(ZIP64_LOCATOR_SIGNATURE) {
        return Ok(None);
    }
    let positions = [u64_at(&locator, 8), locator_position.checked_sub(ZIP64_END_LENGTH)];
    for position in positions.into_iter().flatten().filter(|position| *position < locator_position) {
        let Some(record) = read_array::<{ ZIP64_END_LENGTH as usize }>(source, position)? else { continue };
        if u32_at(&record, 0) == Some(ZIP64_END_SIGNATURE) {
            return Ok(parse_zip64_end(&record, position));
        }
    }
    Ok(None)
}

fn parse_zip64_end(record: &[u8], position: u64) -> Option<EndRecord> {
    Some(EndRecord {
        position,
        disk: u32_at(record, 16)?,
        directory_disk: u32_at(record, 20)?,
        members_here: u64_at(record, 24)?,
        members: u64_at(record, 32)?,
        size: u64_at(record, 40)?,
        offset: u64_at(record, 48)?,
    })
}

/// So many bytes at an offset; `None` where the source ends before.
fn read_array<const LENGTH: usize>(source: &dyn Source, offset: u64) -> Result<Option<[u8; LENGTH]>, ContainerError> {
    let mut bytes = [0; LENGTH];
    Ok((read_at(source, offset, &mut bytes)? == LENGTH).then_some(bytes))
}
