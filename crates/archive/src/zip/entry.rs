//! One entry of a central directory, and the local header of its member.

use std::io;

use super::content::Content;
use super::window::Window;
use super::{HEADER_LENGTH, HEADER_SIGNATURE, names};
use crate::MemberKind;
use crate::error::ArchiveError;
use crate::little_endian::{u16_at, u32_at, u64_at};
use crate::source::{SectionReader, Source, read_at};

/// Length of a local file header without its variable parts (APPNOTE 4.3.7).
const LOCAL_HEADER_LENGTH: usize = 30;
const LOCAL_HEADER_SIGNATURE: u32 = 0x0403_4B50;
/// The extra field that holds what does not fit 32 bits (APPNOTE 4.5.3).
const ZIP64_EXTRA: u16 = 0x0001;
/// The extra field of Info-ZIP that holds times in UTC.
const TIMES_EXTRA: u16 = 0x5455;
/// General purpose bits 0 (encrypted) and 6 (strongly encrypted).
const ENCRYPTED: u16 = 1 | 1 << 6;
/// General purpose bit 3: the sizes follow the data.
const SIZES_FOLLOW: u16 = 1 << 3;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The method that stands for AES encryption (APPNOTE appendix E).
const AES: u16 = 99;
/// A number that does not fit 32 bits stands in the ZIP64 extra field.
const ELSEWHERE: u64 = u32::MAX as u64;

/// How the data of a member is stored, among the ways that are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
}

/// What the central directory says of a member.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name in UTF-8: as it is where it is UTF-8 or declared so, else from code page 437 (APPNOTE appendix D). A name
    /// that is wrongly declared UTF-8 stays as it is.
    pub name: Vec<u8>,
    /// A folder if the name ends in `/`, else as the Unix mode says, where there is one.
    pub kind: MemberKind,
    /// Bytes of its data as stored.
    pub packed_size: u64,
    /// Bytes of its content.
    pub size: u64,
    /// When it was last modified, where that is given in UTC.
    pub modified: Option<jiff::Timestamp>,
    /// Offset of this entry in the source.
    pub position: u64,
    /// Offset of the member's local header in the source.
    pub local_position: u64,
    raw_name: Vec<u8>,
    flags: u16,
    method: u16,
    crc: u32,
    /// The ZIP64 extra field lacks numbers that the header leaves to it.
    lacks_numbers: bool,
    length: u64,
}

/// The local header of a member, held against its entry in the central directory.
#[derive(Debug, Clone, Copy)]
pub struct LocalHeader {
    /// Offset of the member's data.
    pub data: u64,
    /// Whether both headers give the same name, byte by byte.
    pub has_same_name: bool,
    /// Whether both headers give the same sizes, as far as the local header gives them.
    pub has_same_sizes: bool,
    /// Whether both headers give the same compression method.
    pub has_same_method: bool,
}

/// Most bytes that are read at a time in search of local headers.
const SEARCHED: usize = 64 * 1024;

/// The first offset between two others at which a local header begins, by its signature and by fields that it can have (APPNOTE 4.3.7): the version
/// that it needs, its method, and a name that ends before `end`.
pub fn find_local_header<S: Source + ?Sized>(source: &S, start: u64, end: u64) -> io::Result<Option<u64>> {
    let mut place = start;
    let mut buffer = vec![0; SEARCHED];
    while end.saturating_sub(place) >= LOCAL_HEADER_LENGTH as u64 {
        let want = usize::try_from(end - place).unwrap_or(usize::MAX).min(SEARCHED);
        let length = read_at(source, place, buffer.get_mut(..want).unwrap_or_default())?;
        let bytes = buffer.get(..length).unwrap_or_default();
        for at in memchr::memmem::find_iter(bytes, &LOCAL_HEADER_SIGNATURE.to_le_bytes()) {
            let Some(header) = bytes.get(at..at + LOCAL_HEADER_LENGTH) else { break };
            if is_likely(header, end - place - at as u64) {
                return Ok(Some(place + at as u64));
            }
        }
        if length < want {
            return Ok(None);
        }
        // One that begins in the last bytes is found again with the next ones.
        place += (length + 1).saturating_sub(LOCAL_HEADER_LENGTH).max(1) as u64;
    }
    Ok(None)
}

/// Whether bytes with the signature of a local header may be one, with so many bytes until something else begins.
fn is_likely(header: &[u8], room: u64) -> bool {
    let short = |offset| u16_at(header, offset).unwrap_or_default();
    let (version, method, name) = (short(4) & 0xFF, short(8), u64::from(short(26)));
    let is_method = matches!(method, 0..=20 | 93..=99);
    version <= 63 && is_method && name > 0 && LOCAL_HEADER_LENGTH as u64 + name + u64::from(short(28)) <= room
}

impl Entry {
    /// Reads the entry at an offset that [`Entry::position`] gave. The archive must begin where the source does.
    pub fn read<S: Source + ?Sized>(source: &S, position: u64) -> Result<Self, ArchiveError> {
        Self::parse(&mut Window::new(source, u64::MAX), position, 0)
            .map_err(|error| ArchiveError::reading("the central directory", error))?
            .ok_or_else(|| ArchiveError::Malformed(format!("no header in the central directory at byte {position}")))
    }

    /// The entry at an offset; `None` where there is none.
    pub(super) fn parse<S: Source + ?Sized>(
        window: &mut Window<'_, S>,
        position: u64,
        prepended: u64,
    ) -> io::Result<Option<Self>> {
        let Some(fixed) = window.bytes(position, HEADER_LENGTH)? else { return Ok(None) };
        if u32_at(fixed, 0) != Some(HEADER_SIGNATURE) {
            return Ok(None);
        }
        let short = |offset| u16_at(fixed, offset).unwrap_or_default();
        let long = |offset| u32_at(fixed, offset).unwrap_or_default();
        let (made_by, flags, method, crc, attributes) = (short(4), short(8), short(10), long(16), long(38));
        let [mut packed_size, mut size, mut local] = [20, 24, 42].map(|offset| u64::from(long(offset)));
        let [name_length, extra_length, comment_length] = [28, 30, 32].map(|offset| usize::from(short(offset)));

        let length = HEADER_LENGTH + name_length + extra_length + comment_length;
        let Some(bytes) = window.bytes(position, length)? else { return Ok(None) };
        let variable = bytes.get(HEADER_LENGTH..).unwrap_or_default();
        let (raw_name, rest) = variable.split_at_checked(name_length).unwrap_or_default();
        let extra = rest.get(..extra_length).unwrap_or_default();

        let numbers = [&mut size, &mut packed_size, &mut local];
        let lacks_numbers = extra_field(extra, ZIP64_EXTRA).is_some_and(|field| !apply_zip64(field, numbers));
        let name = names::decode(raw_name, flags);
        // The high byte of "version made by": 3 is Unix, whose mode is in the high half of the attributes.
        let mode = if made_by >> 8 == 3 { attributes >> 28 } else { 0 };
        Ok(Some(Self {
            kind: kind(&name, mode),
            name,
            packed_size,
            size,
            modified: extra_field(extra, TIMES_EXTRA).and_then(modified),
            position,
            // An absurd offset is found out where the member is opened.
            local_position: local.saturating_add(prepended),
            raw_name: raw_name.to_vec(),
            flags,
            method,
            crc,
            lacks_numbers,
            length: length as u64,
        }))
    }

    /// Bytes of the entry in the directory.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether its content is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0 || self.method == AES
    }

    /// Whether it is stored uncompressed and yet states two sizes.
    pub fn is_stored_in_two_sizes(&self) -> bool {
        self.method == STORED && self.packed_size != self.size
    }

    /// Reads the local header.
    pub fn local_header<S: Source + ?Sized>(&self, source: &S) -> Result<LocalHeader, ArchiveError> {
        if self.lacks_numbers {
            let reason = "the ZIP64 field of the member lacks numbers that its header leaves to it";
            return Err(ArchiveError::Malformed(reason.to_owned()));
        }
        let at = self.local_position;
        let place = || format!("the local header at byte {at}");
        let missing = || format!("no local header at byte {at}");
        let mut header = [0; LOCAL_HEADER_LENGTH];
        let read = read_at(source, at, &mut header).map_err(|error| ArchiveError::reading(place(), error))?;
        if read < header.len() {
            return Err(ArchiveError::Truncated(missing()));
        }
        if u32_at(&header, 0) != Some(LOCAL_HEADER_SIGNATURE) {
            return Err(ArchiveError::Malformed(missing()));
        }
        let short = |offset| u16_at(&header, offset).unwrap_or_default();
        let long = |offset| u64::from(u32_at(&header, offset).unwrap_or_default());
        let (method, packed_size, size, name_length, extra_length) =
            (short(8), long(18), long(22), short(26), short(28));
        let name_position = at.saturating_add(LOCAL_HEADER_LENGTH as u64);
        let mut name = vec![0; usize::from(name_length)];
        let read = read_at(source, name_position, &mut name).map_err(|error| ArchiveError::reading(place(), error))?;
        if read < name.len() {
            return Err(ArchiveError::Truncated(format!("the archive ends in the middle of {}", place())));
        }
        let agrees = |local: u64, central: u64| local == ELSEWHERE || local == central;
        // With a data descriptor the local header may leave both sizes at zero.
        let is_described_later = self.flags & SIZES_FOLLOW != 0 && packed_size == 0 && size == 0;
        Ok(LocalHeader {
            data: name_position.saturating_add(u64::from(name_length) + u64::from(extra_length)),
            has_same_name: name == self.raw_name,
            has_same_sizes: is_described_later || (agrees(packed_size, self.packed_size) && agrees(size, self.size)),
            has_same_method: method == self.method,
        })
    }

    /// Opens the content whose data a local header places; its length is checked, its CRC-32 is not, so that what is left of
    /// a damaged member can be inspected.
    pub fn open<'s, S: Source + ?Sized>(
        &self,
        source: &'s S,
        local: &LocalHeader,
    ) -> Result<Content<'s, S>, ArchiveError> {
        if self.is_encrypted() {
            return Err(ArchiveError::Unsupported("the member is encrypted".to_owned()));
        }
        let method = match self.method {
            STORED => Method::Stored,
            DEFLATED => Method::Deflated,
            other => return Err(ArchiveError::Unsupported(format!("compression method {other} is not supported"))),
        };
        let packed = SectionReader::new(source, local.data, self.packed_size);
        Ok(Content::new(method, packed, self.packed_size, self.size))
    }

    /// As [`Entry::open`]; when all of the content was read, its CRC-32 must be the stated one.
    pub fn open_verified<'s, S: Source + ?Sized>(
        &self,
        source: &'s S,
        local: &LocalHeader,
    ) -> Result<Content<'s, S>, ArchiveError> {
        Ok(self.open(source, local)?.with_crc(self.crc))
    }
}

fn kind(name: &[u8], mode: u32) -> MemberKind {
    match mode {
        _ if name.ends_with(b"/") => MemberKind::Folder,
        0 | 0o10 => MemberKind::File,
        0o12 => MemberKind::SymbolicLink,
        0o4 => MemberKind::Folder,
        0o1 => MemberKind::Fifo,
        0o14 => MemberKind::Socket,
        _ => MemberKind::Device,
    }
}

/// The first extra field with a tag.
fn extra_field(mut extra: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (tag, length) = (u16_at(extra, 0)?, usize::from(u16_at(extra, 2)?));
        let (field, rest) = extra.get(4..)?.split_at_checked(length)?;
        if tag == wanted {
            return Some(field);
        }
        extra = rest;
    }
}

/// Fills in the numbers that stand in the ZIP64 extra field: those that are all ones in the header, in this order. Says
/// whether all of them are there.
fn apply_zip64(field: &[u8], numbers: [&mut u64; 3]) -> bool {
    let mut offset = 0;
    for number in numbers {
        if *number == ELSEWHERE {
            let Some(value) = u64_at(field, offset) else { return false };
            *number = value;
            offset += 8;
        }
    }
    true
}

/// The time of modification among the times of Unix: seconds, in UTC. That of the header itself is local to an unknown zone.
fn modified(field: &[u8]) -> Option<jiff::Timestamp> {
    let has_modified = field.first()? & 1 == 1;
    let seconds = u32_at(field, 1).filter(|_| has_modified)?;
    jiff::Timestamp::from_second(i64::from(seconds.cast_signed())).ok()
}
