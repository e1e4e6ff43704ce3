//! A member of a ZIP: its data is found by its local header and streamed, so that a prefix costs no more than the prefix.

use std::io::{self, BufReader, Read};

use flate2::bufread::DeflateDecoder;

use crate::source::Source;

use super::super::little_endian::{u16_at, u32_at};
use super::super::{ContainerError, ContainerMember, Deadline, malformed, read_at};

/// Length of a local file header without its variable parts (APPNOTE 4.3.7).
const LOCAL_HEADER_LENGTH: usize = 30;
const LOCAL_HEADER_SIGNATURE: u32 = 0x0403_4B50;
/// General purpose bits 0 (encrypted) and 6 (strongly encrypted).
const ENCRYPTED: u16 = 1 | 1 << 6;
/// The method that stands for AES encryption (APPNOTE appendix E).
const AES: u16 = 99;
/// Most compressed bytes that are read ahead.
const READ_AHEAD: u64 = 32 * 1024;
/// How many bytes are read between two looks at the clock.
const BYTES_PER_LOOK: u64 = 64 * 1024;

/// What the central directory says of a member.
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) flags: u16,
    pub(super) method: u16,
    /// Length of its data as stored.
    pub(super) compressed: u64,
    /// Length of its content.
    pub(super) size: u64,
    /// Offset of its local header in the source.
    pub(super) header: u64,
}

pub(super) struct ZipMember<'s> {
    pub(super) source: &'s dyn Source,
    pub(super) deadline: Deadline,
    pub(super) entry: Entry,
}

impl ContainerMember for ZipMember<'_> {
    fn path(&self) -> &str {
        &self.entry.path
    }

    fn size(&self) -> u64 {
        self.entry.size
    }

    fn is_folder(&self) -> bool {
        self.entry.path.ends_with('/')
    }

    fn is_encrypted(&self) -> bool {
        self.entry.flags & ENCRYPTED != 0 || self.entry.method == AES
    }

    fn open(&mut self) -> Result<Box<dyn Read + '_>, ContainerError> {
        self.deadline.check()?;
        if self.is_folder() {
            return Ok(Box::new(io::empty()));
        }
        if self.is_encrypted() {
            return Err(ContainerError::Unsupported("the member is encrypted".to_owned()));
        }
        let data = self.data()?;
        let bytes: Box<dyn Read> = match self.entry.method {
            0 => Box::new(data),
            8 => {
                let read_ahead = self.entry.compressed.clamp(1, READ_AHEAD) as usize;
                Box::new(DeflateDecoder::new(BufReader::with_capacity(read_ahead, data)))
            }
            other => return Err(ContainerError::Unsupported(format!("compression method {other} is not supported"))),
        };
        Ok(Box::new(Content { bytes, size: self.entry.size, read: 0, next_look: 0, deadline: self.deadline }))
    }
}

impl<'s> ZipMember<'s> {
    /// The member's data as stored. The lengths of name and extra field may differ from those in the central directory.
    fn data(&self) -> Result<Data<'s>, ContainerError> {
        let mut header = [0; LOCAL_HEADER_LENGTH];
        let read = read_at(self.source, self.entry.header, &mut header)?;
        let is_header = read == header.len() && u32_at(&header, 0) == Some(LOCAL_HEADER_SIGNATURE);
        let (Some(name), Some(extra), true) = (u16_at(&header, 26), u16_at(&header, 28), is_header) else {
            return Err(malformed(format!("no local header at byte {}", self.entry.header)));
        };
        let length = LOCAL_HEADER_LENGTH as u64 + u64::from(name) + u64::from(extra);
        let position = self.entry.header.saturating_add(length);
        Ok(Data { source: self.source, position, rest: self.entry.compressed })
    }
}

/// A stretch of the source.
struct Data<'s> {
    source: &'s dyn Source,
    position: u64,
    rest: u64,
}

impl Read for Data<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = usize::try_from(self.rest).unwrap_or(usize::MAX).min(buffer.len());
        let Some(wanted) = buffer.get_mut(..length).filter(|wanted| !wanted.is_empty()) else { return Ok(0) };
        let read = read_at(self.source, self.position, wanted)?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within the member"));
        }
        self.position += read as u64;
        self.rest -= read as u64;
        Ok(read)
    }
}

/// The content of a member, which must be as long as the central directory says.
struct Content<'s> {
    bytes: Box<dyn Read + 's>,
    size: u64,
    read: u64,
    next_look: u64,
    deadline: Deadline,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read >= self.next_look {
            self.deadline.check()?;
            self.next_look = self.read + BYTES_PER_LOOK;
        }
        let read = self.bytes.read(buffer).map_err(|error| match error.kind() {
            // What flate2 says of data that is no deflate stream.
            io::ErrorKind::InvalidInput => io::Error::new(io::ErrorKind::InvalidData, error),
            _ => error,
        })?;
        self.read += read as u64;
        if read == 0 && !buffer.is_empty() && self.read != self.size {
            let reason = format!("the member has {} bytes and not {}", self.read, self.size);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(read)
    }
}
