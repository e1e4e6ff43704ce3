//! Bytes in order, some of which may be skipped: a stream, or a source of known length.

use std::io::{self, BufReader, Read};

use crate::source::{Source, SourceReader};

/// Bytes held ahead of what was asked for.
const BUFFER: usize = 64 * 1024;

/// What a tar is read from.
pub trait Input: Read {
    /// Passes over so many bytes; [`io::ErrorKind::UnexpectedEof`] where there are fewer.
    fn skip(&mut self, length: u64) -> io::Result<()>;
}

/// A stream; what is skipped is read.
#[derive(Debug)]
pub struct StreamInput<R>(pub R);

impl<R: Read> Read for StreamInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: Read> Input for StreamInput<R> {
    fn skip(&mut self, length: u64) -> io::Result<()> {
        if io::copy(&mut (&mut self.0).take(length), &mut io::sink())? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

/// A source from its start; what is skipped is not read.
#[derive(Debug)]
pub struct SourceInput<'s, S: ?Sized> {
    reader: BufReader<SourceReader<'s, S>>,
    position: u64,
    size: u64,
}

impl<'s, S: Source + ?Sized> SourceInput<'s, S> {
    /// Reads a source of the size it has now.
    pub fn new(source: &'s S) -> Self {
        let reader = BufReader::with_capacity(BUFFER, SourceReader::new(source));
        Self { reader, position: 0, size: source.size() }
    }
}

impl<S: Source + ?Sized> Read for SourceInput<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.position += length as u64;
        Ok(length)
    }
}

impl<S: Source + ?Sized> Input for SourceInput<'_, S> {
    fn skip(&mut self, length: u64) -> io::Result<()> {
        if length > self.size.saturating_sub(self.position) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.position += length;
        self.reader.seek_relative(i64::try_from(length).map_err(io::Error::other)?)
    }
}
