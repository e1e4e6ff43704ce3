//! Where bytes are read from: something of known length that can be read at any offset.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of known length, read in ranges. A reader over a network fetches no more than it is asked for.
pub trait Source {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// Reads from an offset into the buffer until it is full or the source ends; returns how many bytes were read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl Source for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), rest.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buffer)
    }
}

/// A file on disk, of the size it had when it was opened.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    size: u64,
}

impl FileSource {
    /// Takes an open regular file.
    pub fn new(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }
}

impl Source for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        use std::os::unix::fs::FileExt;
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// Reads what a source has at an offset that a stranger wrote; beyond its end it has nothing.
pub(crate) fn read_at<S: Source + ?Sized>(source: &S, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    if offset < source.size() { source.read_at(offset, buffer) } else { Ok(0) }
}

/// A section of another source: a member that lies in an archive as it is.
#[derive(Debug)]
pub struct Section<'s, S: ?Sized> {
    source: &'s S,
    offset: u64,
    size: u64,
}

impl<'s, S: Source + ?Sized> Section<'s, S> {
    /// So many bytes from an offset on.
    pub fn new(source: &'s S, offset: u64, size: u64) -> Self {
        Self { source, offset, size }
    }
}

impl<S: Source + ?Sized> Source for Section<'_, S> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.size.saturating_sub(offset);
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        match buffer.get_mut(..want) {
            Some(wanted) if want > 0 => read_at(self.source, self.offset.saturating_add(offset), wanted),
            _ => Ok(0),
        }
    }
}

/// Reads a section of a source in order. Where the source ends before the section, that is
/// [`io::ErrorKind::UnexpectedEof`].
#[derive(Debug)]
pub struct SectionReader<'s, S: ?Sized> {
    source: &'s S,
    position: u64,
    left: u64,
}

impl<'s, S: Source + ?Sized> SectionReader<'s, S> {
    /// So many bytes from an offset on.
    pub fn new(source: &'s S, offset: u64, size: u64) -> Self {
        Self { source, position: offset, left: size }
    }
}

impl<S: Source + ?Sized> Read for SectionReader<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(wanted) = buffer.get_mut(..length).filter(|wanted| !wanted.is_empty()) else { return Ok(0) };
        let read = read_at(self.source, self.position, wanted)?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within the member"));
        }
        self.position += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Reads a source in order, from its start to its end.
#[derive(Debug)]
pub struct SourceReader<'s, S: ?Sized> {
    source: &'s S,
    position: u64,
}

impl<'s, S: Source + ?Sized> SourceReader<'s, S> {
    /// From the start on.
    pub fn new(source: &'s S) -> Self {
        Self { source, position: 0 }
    }
}

impl<S: Source + ?Sized> Read for SourceReader<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = read_at(self.source, self.position, buffer)?;
        self.position += length as u64;
        Ok(length)
    }
}

impl<S: Source + ?Sized> Seek for SourceReader<'_, S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.source.size().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
