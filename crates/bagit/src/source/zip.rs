//! A bag in a zip archive: the central directory is streamed, members are read at their places, none is unpacked to disk.
//!
//! A reader of its own (PKWARE APPNOTE 6.3.10): it holds one directory entry at a time, so that memory does not grow with
//! the number of members, and it compares both headers of each member, which programs that look at one of them do not.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::gate::{self, EntryKind, Gate, Passage};
use super::{Entry, PositionedReader, Visitor};
use crate::codes;
use crate::error::BagError;
use crate::path::escape_name;
use crate::spill::Sorter;

const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const CENTRAL_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

fn corrupt(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.into())
}

fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map(|raw| u16::from_le_bytes(*raw))
        .ok_or_else(|| corrupt("a field is cut off"))
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map(|raw| u32::from_le_bytes(*raw))
        .ok_or_else(|| corrupt("a field is cut off"))
}

fn u64_at(bytes: &[u8], at: usize) -> io::Result<u64> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map(|raw| u64::from_le_bytes(*raw))
        .ok_or_else(|| corrupt("a field is cut off"))
}

/// Where the central directory lies.
struct Directory {
    start: u64,
    end: u64,
    entries: u64,
}

fn find_directory(file: &File) -> io::Result<Directory> {
    let length = file.metadata()?.len();
    let tail_length = length.min(END_LENGTH as u64 + 0xFFFF);
    let mut tail = vec![0; tail_length as usize];
    file.read_exact_at(&mut tail, length - tail_length)?;
    let found = (0..tail.len().saturating_sub(END_LENGTH - 1)).rev().find(|at| {
        let comment = u16_at(&tail, at + 20).map_or(usize::MAX, usize::from);
        tail[*at..].starts_with(END) && at + END_LENGTH + comment == tail.len()
    });
    let Some(at) = found else { return Err(io::ErrorKind::UnexpectedEof.into()) };
    let end = &tail[at..];
    let end_place = length - tail_length + at as u64;
    let mut entries = u64::from(u16_at(end, 10)?);
    let mut size = u64::from(u32_at(end, 12)?);
    let mut start = u64::from(u32_at(end, 16)?);
    let mut directory_end = end_place;
    let mut disks = u16_at(end, 4)? | u16_at(end, 6)?;
    if entries == 0xFFFF || size == 0xFFFF_FFFF || start == 0xFFFF_FFFF {
        let mut locator = [0; 20];
        let mut large = [0; 56];
        if let Some(place) = end_place.checked_sub(20) {
            file.read_exact_at(&mut locator, place)?;
        }
        if locator.starts_with(b"PK\x06\x07") {
            let place = u64_at(&locator, 8)?;
            file.read_exact_at(&mut large, place)?;
            if !large.starts_with(b"PK\x06\x06") {
                return Err(corrupt("the zip64 end of the central directory is not where it should be"));
            }
            entries = u64_at(&large, 32)?;
            size = u64_at(&large, 40)?;
            start = u64_at(&large, 48)?;
            directory_end = place;
            disks = 0;
        }
    }
    if disks != 0 && disks != 0xFFFF {
        return Err(corrupt("the archive is spread over several files"));
    }
    if start.checked_add(size) != Some(directory_end) {
        return Err(corrupt("the central directory is not where its end says"));
    }
    Ok(Directory { start, end: directory_end, entries })
}

/// One entry of the central directory.
struct Central {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    offset: u64,
    kind: EntryKind,
    modified: Option<jiff::Timestamp>,
    raw_name: Vec<u8>,
    name: Vec<u8>,
    /// Bytes that the entry takes in the directory.
    length: u64,
}

impl Central {
    fn read(reader: &mut impl Read) -> io::Result<Self> {
        let mut fixed = [0; CENTRAL_LENGTH];
        reader.read_exact(&mut fixed)?;
        if !fixed.starts_with(b"PK\x01\x02") {
            return Err(corrupt("an entry of the central directory does not start with its mark"));
        }
        let (name_length, extra_length, comment_length) =
            (u16_at(&fixed, 28)?, u16_at(&fixed, 30)?, u16_at(&fixed, 32)?);
        let mut variable = vec![0; usize::from(name_length) + usize::from(extra_length) + usize::from(comment_length)];
        reader.read_exact(&mut variable)?;
        let (raw_name, rest) = variable.split_at(usize::from(name_length));
        let extra = &rest[..usize::from(extra_length)];

        let mut packed = u64::from(u32_at(&fixed, 20)?);
        let mut size = u64::from(u32_at(&fixed, 24)?);
        let mut offset = u64::from(u32_at(&fixed, 42)?);
        let mut modified = None;
        for (tag, data) in extras(extra) {
            match tag {
                // ZIP64: only the fields that did not fit, in this order.
                0x0001 => {
                    let mut at = 0;
                    for field in [&mut size, &mut packed, &mut offset] {
                        if *field == 0xFFFF_FFFF {
                            *field = u64_at(data, at)?;
                            at += 8;
                        }
                    }
                }
                // Times of Unix, in UTC; the time of the header itself is local to nobody knows where.
                0x5455 if data.first().is_some_and(|flags| flags & 1 == 1) => {
                    modified = u32_at(data, 1)
                        .ok()
                        .and_then(|seconds| jiff::Timestamp::from_second(i64::from(seconds.cast_signed())).ok());
                }
                _ => {}
            }
        }
        let flags = u16_at(&fixed, 8)?;
        let name = if flags & 0x0800 != 0 || std::str::from_utf8(raw_name).is_ok() {
            raw_name.to_vec()
        } else {
            raw_name.iter().map(|byte| ibm437(*byte)).collect::<String>().into_bytes()
        };
        let is_unix = u16_at(&fixed, 4)? >> 8 == 3;
        let mode = if is_unix { u32_at(&fixed, 38)? >> 28 } else { 0 };
        let kind = match mode {
            _ if name.ends_with(b"/") => EntryKind::Directory,
            0 | 0o10 => EntryKind::File,
            0o12 => EntryKind::Other("a symbolic link"),
            0o4 => EntryKind::Directory,
            0o1 => EntryKind::Other("a FIFO"),
            0o14 => EntryKind::Other("a socket"),
            _ => EntryKind::Other("a device"),
        };
        let length = (CENTRAL_LENGTH + variable.len()) as u64;
        let (method, crc) = (u16_at(&fixed, 10)?, u32_at(&fixed, 16)?);
        Ok(Self { flags, method, crc, packed, size, offset, kind, modified, raw_name: raw_name.to_vec(), name, length })
    }

    fn is_encrypted(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Reads the local header; yields where the data start.
    fn local(&self, file: &File) -> io::Result<Local> {
        let mut fixed = [0; LOCAL_LENGTH];
        file.read_exact_at(&mut fixed, self.offset)?;
        if !fixed.starts_with(b"PK\x03\x04") {
            return Err(corrupt("there is no local header where the central directory says"));
        }
        let (name_length, extra_length) = (u16_at(&fixed, 26)?, u16_at(&fixed, 28)?);
        let mut name = vec![0; usize::from(name_length)];
        file.read_exact_at(&mut name, self.offset + LOCAL_LENGTH as u64)?;
        let data = self.offset + LOCAL_LENGTH as u64 + u64::from(name_length) + u64::from(extra_length);
        let (packed, size) = (u32_at(&fixed, 18)?, u32_at(&fixed, 22)?);
        let agrees = |local: u32, central: u64| local == 0xFFFF_FFFF || u64::from(local) == central;
        // With a data descriptor the local header may leave both sizes at zero.
        let is_described_later = self.flags & 8 != 0 && packed == 0 && size == 0;
        Ok(Local {
            data,
            has_same_name: name == self.raw_name,
            has_same_sizes: is_described_later || (agrees(packed, self.packed) && agrees(size, self.size)),
            has_same_method: u16_at(&fixed, 8)? == self.method,
        })
    }

    fn open<'f>(&self, file: &'f File, data: u64) -> io::Result<Box<dyn Read + Send + 'f>> {
        let packed = PositionedReader::new(file, data, self.packed);
        let inner: Box<dyn Read + Send + 'f> = match self.method {
            STORED if self.packed == self.size => Box::new(packed),
            STORED => return Err(corrupt("a stored member states two sizes")),
            DEFLATED => Box::new(DeflateDecoder::new(packed)),
            other => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    format!("compression method {other} is not read here"),
                ));
            }
        };
        Ok(Box::new(Verified { inner, crc: Crc::new(), left: self.size, expected: self.crc, is_done: false }))
    }
}

struct Local {
    data: u64,
    has_same_name: bool,
    has_same_sizes: bool,
    has_same_method: bool,
}

fn extras(mut extra: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let tag = u16_at(extra, 0).ok()?;
        let length = usize::from(u16_at(extra, 2).ok()?);
        let data = extra.get(4..4 + length)?;
        extra = &extra[4 + length..];
        Some((tag, data))
    })
}

/// The character of a byte in IBM code page 437, the encoding of names without the UTF-8 flag (APPNOTE appendix D).
fn ibm437(byte: u8) -> char {
    const HIGH: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
    if byte < 0x80 { char::from(byte) } else { HIGH.chars().nth(usize::from(byte - 0x80)).unwrap_or('\u{fffd}') }
}

/// Checks length and CRC-32 while a member is read, and never yields more than it should have.
struct Verified<R> {
    inner: R,
    crc: Crc,
    left: u64,
    expected: u32,
    is_done: bool,
}

impl<R: Read> Read for Verified<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_done || buffer.is_empty() {
            return Ok(0);
        }
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if want == 0 {
            self.is_done = true;
            if self.inner.read(&mut [0; 1])? != 0 {
                return Err(corrupt("the member is longer than its header states"));
            }
            if self.crc.sum() != self.expected {
                return Err(corrupt("the CRC-32 of the member does not hold"));
            }
            return Ok(0);
        }
        let length = self.inner.read(&mut buffer[..want])?;
        if length == 0 {
            return Err(corrupt("the member is shorter than its header states"));
        }
        self.crc.update(&buffer[..length]);
        self.left -= length as u64;
        Ok(length)
    }
}

/// Opens a member by the place of its entry in the central directory.
pub(super) fn open_member(file: &File, location: u64) -> io::Result<Box<dyn Read + Send + '_>> {
    let central = Central::read(&mut PositionedReader::new(file, location, CENTRAL_LENGTH as u64 + 3 * 0xFFFF))?;
    let local = central.local(file)?;
    central.open(file, local.data)
}

pub(super) fn scan(file: &File, gate: &mut Gate, mut visit: Visitor<'_>) -> Result<(), BagError> {
    let directory = match find_directory(file) {
        Ok(directory) => directory,
        Err(error) => {
            return gate.stop_for(error, "the search for its central directory");
        }
    };
    let length = file.metadata().map_err(BagError::Stream)?.len();
    // Positioned reads serve the members, so the cursor belongs to the directory alone.
    let mut cursor = file;
    cursor.seek(SeekFrom::Start(directory.start)).map_err(BagError::Stream)?;
    let mut reader = BufReader::with_capacity(64 * 1024, cursor).take(directory.end - directory.start);
    let limits = gate.limits();
    let mut extents = Sorter::new(limits.memory / 8, limits.temporary_directory.as_deref());
    let mut location = directory.start;
    let mut entries = 0;
    while location < directory.end {
        let central = match Central::read(&mut reader) {
            Ok(central) => central,
            Err(error) => {
                return gate.stop_for(error, "the central directory");
            }
        };
        let here = location;
        location += central.length;
        entries += 1;
        if !scan_member(file, &central, here, gate, &mut extents, &mut visit)? {
            return Ok(());
        }
        if gate::is_out_of_proportion(length, gate.bytes(), gate.limits()) {
            gate.stop(codes::ARCHIVE_BOMB, format!("{length} bytes unpack to more than {}", gate.bytes()));
            return Ok(());
        }
    }
    if entries != directory.entries {
        let message = format!("the central directory has {entries} entries, and its end says {}", directory.entries);
        gate.problem(codes::ARCHIVE_CORRUPT.problem(message));
    }
    report_overlaps(extents, directory.start, gate)
}

/// Says whether to go on.
fn scan_member(
    file: &File,
    central: &Central,
    location: u64,
    gate: &mut Gate,
    extents: &mut Sorter,
    visit: &mut Visitor<'_>,
) -> Result<bool, BagError> {
    let shown = escape_name(&central.name);
    let local = match central.local(file) {
        Ok(local) => local,
        Err(error) => {
            let rule = if error.kind() == io::ErrorKind::UnexpectedEof {
                codes::ARCHIVE_TRUNCATED
            } else {
                codes::ARCHIVE_CORRUPT
            };
            gate.problem(rule.problem(format!("the local header cannot be read: {error}")).about(shown));
            return Ok(true);
        }
    };
    let end = local.data.saturating_add(central.packed);
    extents.push(&central.offset.to_be_bytes(), &end.to_be_bytes()).map_err(BagError::Spill)?;
    if !local.has_same_name {
        gate.problem(
            codes::ARCHIVE_NAME_CONFLICT
                .problem("the local header and the central directory give the member two names")
                .about(shown),
        );
        return Ok(true);
    }
    if !local.has_same_sizes || !local.has_same_method {
        let message = "the local header and the central directory give the member two sizes or methods";
        gate.problem(codes::ARCHIVE_SIZE_CONFLICT.problem(message).about(shown));
        return Ok(true);
    }
    let path = match gate.admit(&central.name, central.kind, central.size)? {
        Passage::File(path) => path,
        Passage::Skip => return Ok(true),
        Passage::Stop => return Ok(false),
    };
    if central.is_encrypted() {
        gate.problem(codes::ARCHIVE_ENCRYPTED.problem("the member is encrypted").about(path));
        return Ok(true);
    }
    if gate::is_out_of_proportion(central.packed, central.size, gate.limits()) {
        let message = format!("{} packed bytes unpack to {}", central.packed, central.size);
        gate.problem(codes::ARCHIVE_BOMB.problem(message).about(path));
        return Ok(true);
    }
    let entry = Entry { path, size: central.size, modified: central.modified, location };
    let reader = match central.open(file, local.data) {
        Ok(reader) => reader,
        Err(error) => {
            let rule = if error.kind() == io::ErrorKind::Unsupported {
                codes::ARCHIVE_UNSUPPORTED_ENTRY
            } else {
                codes::ARCHIVE_CORRUPT
            };
            gate.problem(rule.problem(format!("the member cannot be read: {error}")).about(entry.path));
            return Ok(true);
        }
    };
    if let Err(error) = gate::show(&entry, reader, visit)? {
        gate.problem(member_problem(&error).about(entry.path));
    }
    Ok(true)
}

/// The problem of a member that cannot be read to its end.
pub(crate) fn member_problem(error: &io::Error) -> crate::problem::Problem {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            codes::ARCHIVE_TRUNCATED.problem("the archive ends in the middle of the member")
        }
        _ => codes::ARCHIVE_CORRUPT.problem(format!("the member cannot be read: {error}")),
    }
}

fn report_overlaps(extents: Sorter, directory: u64, gate: &mut Gate) -> Result<(), BagError> {
    let sorted = extents.finish().map_err(BagError::Spill)?;
    let number = |raw: &[u8]| raw.first_chunk().map_or(0, |raw| u64::from_be_bytes(*raw));
    let mut last_end = 0;
    for record in sorted.iter().map_err(BagError::Spill)? {
        let (start, end) = record.map_err(BagError::Spill)?;
        let (start, end) = (number(&start), number(&end));
        if start < last_end || end > directory {
            gate.stop(
                codes::ARCHIVE_OVERLAP,
                format!("the member at byte {start} shares bytes with another, or with the directory"),
            );
            return Ok(());
        }
        last_end = end;
    }
    Ok(())
}
