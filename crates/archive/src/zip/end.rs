//! Where the central directory of a ZIP lies: the end record is searched backwards, for a comment may follow it, and is
//! believed only where a directory is found by it, for a comment may hold anything.

use std::io;

use super::{HEADER_LENGTH, HEADER_SIGNATURE, Placement};
use crate::error::ArchiveError;
use crate::little_endian::{u16_at, u32_at, u64_at};
use crate::source::{Source, read_at};

const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
/// Length of the end record without its comment (APPNOTE 4.3.16).
const END_LENGTH: usize = 22;
/// How far from the end of the file the record may begin: its own length and the longest comment.
const FARTHEST_END: usize = END_LENGTH + u16::MAX as usize;
/// What is inspected first: nearly all archives have no comment.
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
    /// Bytes of the comment that follows.
    comment: usize,
}

pub(super) fn find_directory<S: Source + ?Sized>(source: &S, placement: Placement) -> Result<Directory, ArchiveError> {
    let failed = |error| ArchiveError::reading("the end of the central directory", error);
    let mut reason = None;
    for reach in [NEAREST_END, FARTHEST_END] {
        let length = usize::try_from(source.size()).unwrap_or(usize::MAX).min(reach);
        let start = source.size() - length as u64;
        let mut tail = vec![0; length];
        let read = read_at(source, start, &mut tail).map_err(failed)?;
        tail.truncate(read);
        for at in memchr::memmem::rfind_iter(&tail, &END_SIGNATURE) {
            let Some(record) = tail.get(at..).and_then(|bytes| parse_end(bytes, start + at as u64)) else { continue };
            let believed = match placement {
                // A record whose comment does not end with the file is part of something else.
                Placement::Exact if at + END_LENGTH + record.comment != tail.len() => continue,
                Placement::Exact => return exact(source, record).map_err(failed)?.map_err(malformed),
                Placement::Embedded => embedded(source, record).map_err(failed)?,
            };
            match believed {
                Ok(directory) => return Ok(directory),
                // What the last record in the file says about itself is the best reason to give.
                Err(why) => _ = reason.get_or_insert(why),
            }
        }
    }
    Err(reason.map_or_else(|| ArchiveError::Truncated("no end of central directory".to_owned()), malformed))
}

fn malformed(reason: &str) -> ArchiveError {
    ArchiveError::Malformed(reason.to_owned())
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
        comment: u16_at(record, 20)?.into(),
    })
}

/// Whether an end record names an archive in one file.
fn is_one_file(record: &EndRecord) -> bool {
    record.disk == 0 && record.directory_disk == 0 && record.members_here == record.members
}

const SEVERAL_DISKS: &str = "the archive spans several disks";

/// The directory that an end record names, if all that says where it lies agrees; else the reason. The outer error is
/// one of the source.
fn exact<S: Source + ?Sized>(source: &S, record: EndRecord) -> io::Result<Result<Directory, &'static str>> {
    let large = zip64_end(source, record.position, Placement::Exact)?;
    if let Some(large) = &large {
        // Programs differ in when they inspect the ZIP64 record: it may only say more, never something else.
        let numbers = [
            (record.members, u64::from(u16::MAX), large.members),
            (record.members_here, u64::from(u16::MAX), large.members_here),
            (record.size, u64::from(u32::MAX), large.size),
            (record.offset, u64::from(u32::MAX), large.offset),
        ];
        if numbers.into_iter().any(|(number, elsewhere, large)| number != elsewhere && number != large) {
            return Ok(Err("the two ends of the central directory differ"));
        }
    }
    let record = large.unwrap_or(record);
    if !is_one_file(&record) {
        return Ok(Err(SEVERAL_DISKS));
    }
    let EndRecord { position: end, members, size, offset: start, .. } = record;
    Ok(if start.checked_add(size) == Some(end) {
        Ok(Directory { start, end, members, prepended: 0 })
    } else {
        Err("the central directory is not where its end says")
    })
}

/// The directory that an end record names, where one is found by it; else the reason. The outer error is one of the
/// source.
fn embedded<S: Source + ?Sized>(source: &S, record: EndRecord) -> io::Result<Result<Directory, &'static str>> {
    let record = zip64_end(source, record.position, Placement::Embedded)?.unwrap_or(record);
    if !is_one_file(&record) {
        return Ok(Err(SEVERAL_DISKS));
    }
    let EndRecord { position: end, members, size, offset, .. } = record;
    if members == 0 && size == 0 && offset == end {
        return Ok(Ok(Directory { start: end, end, members, prepended: 0 }));
    }
    // Where the offset leads to no header, something stands before the archive and has moved all offsets alike: then the
    // directory is what ends where the record begins.
    let moved = end.checked_sub(size).and_then(|start| Some((start, start.checked_sub(offset)?)));
    for (start, prepended) in [(offset, 0)].into_iter().chain(moved) {
        if start.checked_add(HEADER_LENGTH as u64).is_some_and(|least| least <= end)
            && read_array(source, start)?.is_some_and(|bytes: [u8; 4]| u32_at(&bytes, 0) == Some(HEADER_SIGNATURE))
        {
            return Ok(Ok(Directory { start, end, members, prepended }));
        }
    }
    Ok(Err("no central directory where the end record says"))
}

/// The ZIP64 end record that belongs to an end record at a position; `None` where there is none.
fn zip64_end<S: Source + ?Sized>(source: &S, end_position: u64, placement: Placement) -> io::Result<Option<EndRecord>> {
    let Some(locator_position) = end_position.checked_sub(ZIP64_LOCATOR_LENGTH) else { return Ok(None) };
    let Some(locator) = read_array::<{ ZIP64_LOCATOR_LENGTH as usize }>(source, locator_position)? else {
        return Ok(None);
    };
    if u32_at(&locator, 0) != Some(ZIP64_LOCATOR_SIGNATURE) {
        return Ok(None);
    }
    // What stands before an embedded archive has moved the record away from the stated position.
    let next = locator_position.checked_sub(ZIP64_END_LENGTH).filter(|_| placement == Placement::Embedded);
    let positions = [u64_at(&locator, 8), next];
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
        comment: 0,
    })
}

/// So many bytes at an offset; `None` where the source ends before.
fn read_array<const LENGTH: usize>(source: &(impl Source + ?Sized), offset: u64) -> io::Result<Option<[u8; LENGTH]>> {
    let mut bytes = [0; LENGTH];
    Ok((read_at(source, offset, &mut bytes)? == LENGTH).then_some(bytes))
}
