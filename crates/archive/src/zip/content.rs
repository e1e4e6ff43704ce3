//! The content of a member: inflated as it is read, so that a prefix costs no more than the prefix, and never longer than
//! the directory states.

use std::io::{self, BufReader, Read};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::entry::Method;
use crate::source::{SectionReader, Source};

/// Most compressed bytes that are read ahead.
const READ_AHEAD: u64 = 32 * 1024;

/// Reads a member from its start. What can be had of damaged content is read, and then comes an error:
/// [`io::ErrorKind::InvalidData`] or [`io::ErrorKind::UnexpectedEof`] for damage, any other kind from the source itself.
#[derive(Debug)]
pub struct Content<'s, S: ?Sized> {
    bytes: Bytes<'s, S>,
    /// Bytes that are still to come.
    left: u64,
    /// Of the bytes so far, and as it must be in the end.
    crc: Option<(Crc, u32)>,
    is_done: bool,
}

#[derive(Debug)]
enum Bytes<'s, S: ?Sized> {
    Stored(SectionReader<'s, S>),
    Deflated(DeflateDecoder<BufReader<SectionReader<'s, S>>>),
}

impl<'s, S: Source + ?Sized> Content<'s, S> {
    /// `packed` has `packed_size` bytes, which unpack to `size`.
    pub(super) fn new(method: Method, packed: SectionReader<'s, S>, packed_size: u64, size: u64) -> Self {
        let bytes = match method {
            Method::Stored => Bytes::Stored(packed),
            Method::Deflated => {
                let read_ahead = packed_size.clamp(1, READ_AHEAD) as usize;
                Bytes::Deflated(DeflateDecoder::new(BufReader::with_capacity(read_ahead, packed)))
            }
        };
        Self { bytes, left: size, crc: None, is_done: false }
    }

    /// Also holds the CRC-32 of the content against an expected one, when all of it was read.
    #[must_use]
    pub(super) fn with_crc(mut self, expected: u32) -> Self {
        self.crc = Some((Crc::new(), expected));
        self
    }

    fn read_end(&mut self) -> io::Result<()> {
        if self.bytes.read(&mut [0; 1])? != 0 {
            return Err(damaged("the member is longer than its header states"));
        }
        if self.crc.as_ref().is_some_and(|(crc, expected)| crc.sum() != *expected) {
            return Err(damaged("the CRC-32 of the member does not hold"));
        }
        Ok(())
    }
}

impl<S: Source + ?Sized> Read for Content<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_done || buffer.is_empty() {
            return Ok(0);
        }
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if want == 0 {
            self.read_end()?;
            self.is_done = true;
            return Ok(0);
        }
        let wanted = buffer.get_mut(..want).unwrap_or_default();
        let length = self.bytes.read(wanted)?;
        if length == 0 {
            return Err(damaged("the member is shorter than its header states"));
        }
        if let Some((crc, _)) = &mut self.crc {
            crc.update(wanted.get(..length).unwrap_or_default());
        }
        self.left -= length as u64;
        Ok(length)
    }
}

impl<S: Source + ?Sized> Read for Bytes<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(bytes) => bytes.read(buffer),
            Self::Deflated(bytes) => bytes.read(buffer).map_err(|error| match error.kind() {
                // What flate2 says of data that is no deflate stream.
                io::ErrorKind::InvalidInput => io::Error::new(io::ErrorKind::InvalidData, error),
                _ => error,
            }),
        }
    }
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
