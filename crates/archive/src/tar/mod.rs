//! Tar: the headers of its members, read in order. Errors of foreign archives must be exact: a member whose headers state
//! two sizes is read differently by different programs, so that one checks what another never unpacks (CVE-2025-62518).

mod header;
mod input;

use std::io::{self, Read};

use crate::MemberKind;
use crate::error::ArchiveError;
use header::{BLOCK, Extension, Header};

pub use input::{Input, SourceInput, StreamInput};

/// More than this no extended header has: a path is at most 4 KiB on the systems that write them.
const LARGEST_EXTENSION: u64 = 1 << 20;
/// The largest size that the eleven octal digits of a ustar header hold.
const LARGEST_OCTAL: u64 = (1 << 33) - 1;

/// Whether these are the first bytes of a tar; 512 are enough.
pub fn is_header(beginning: &[u8]) -> bool {
    beginning.first_chunk::<BLOCK>().is_some_and(|block| block[0] != 0 && Header(block).is_intact())
}

/// A member of a tar, as its headers describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name: of the pax header, of the GNU header, of the ustar header, whichever is there first.
    pub name: Vec<u8>,
    /// What it is; a file whose name ends in `/` is a folder.
    pub kind: MemberKind,
    /// Bytes stored. Only files have any, apart from kinds that are not known.
    pub size: u64,
    /// When it was last modified.
    pub modified: Option<jiff::Timestamp>,
    /// Offset of its bytes.
    pub offset: u64,
}

/// How a tar ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With a block of zeros.
    Marked,
    /// Where its bytes ended, behind a member.
    Unmarked,
}

/// What follows the end mark of a tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing but zeros.
    Zeros,
    /// Another tar.
    Archive,
    /// Something else.
    Bytes,
}

/// Reads members in order.
#[derive(Debug)]
pub struct Reader<I> {
    input: I,
    /// Where the next header starts.
    place: u64,
    /// Where the content of the last member starts.
    offset: u64,
    /// Bytes of the last member that were not read.
    left: u64,
    /// Zeros that fill its last block.
    padding: u64,
    end: Option<End>,
}

/// Reads what is left of the content of one member.
#[derive(Debug)]
pub struct Content<'r, I> {
    reader: &'r mut Reader<I>,
}

impl<I: Input> Reader<I> {
    /// Of a tar that starts where the input does.
    pub fn new(input: I) -> Self {
        Self { input, place: 0, offset: 0, left: 0, padding: 0, end: None }
    }

    /// The next member, behind what is left of the last one; `None` at the end. After an error nothing more can be read.
    pub fn next_member(&mut self) -> Result<Option<Member>, ArchiveError> {
        let place = self.offset;
        self.skip_rest().map_err(|error| ArchiveError::reading(format!("the member at byte {place}"), error))?;
        let mut extension = Extension::default();
        let mut long_name = None;
        while let Some(block) = self.next_header()? {
            let header = Header(&block);
            let Some(size) = header.size() else {
                return Err(self.malformed("states no size"));
            };
            self.place = self.place.saturating_add(BLOCK as u64);
            let type_flag = header.type_flag();
            match type_flag {
                b'x' => {
                    let records = self.read_extension(size)?;
                    extension.read(&records).ok_or_else(|| self.malformed_extension())?;
                }
                b'g' => {
                    let (records, mut global) = (self.read_extension(size)?, Extension::default());
                    global.read(&records).ok_or_else(|| self.malformed_extension())?;
                    if global.size.is_some() || global.path.is_some() {
                        let reason = "a global extended header gives all members one name or size";
                        return Err(ArchiveError::Conflict(reason.to_owned()));
                    }
                }
                b'L' => {
                    let name = self.read_extension(size)?;
                    long_name = Some(name.split(|byte| *byte == 0).next().unwrap_or_default().to_vec());
                }
                // The name that a link leads to.
                b'K' => drop(self.read_extension(size)?),
                // A volume label is no member.
                b'V' => {
                    self.begin_content(size);
                    self.skip_rest().map_err(|error| ArchiveError::reading("the volume label", error))?;
                    (extension, long_name) = (Extension::default(), None);
                }
                _ => return self.member(&header, size, extension, long_name).map(Some),
            }
        }
        Ok(None)
    }

    fn member(
        &mut self,
        header: &Header<'_>,
        stated: u64,
        extension: Extension,
        long_name: Option<Vec<u8>>,
    ) -> Result<Member, ArchiveError> {
        let Extension { path, size, modified, is_sparse } = extension;
        let size = size.unwrap_or(stated);
        // Writers leave the ustar size alone only where it cannot hold the true one.
        if size <= LARGEST_OCTAL && size != stated {
            let reason = format!("the headers of the member state {stated} and {size} bytes");
            return Err(ArchiveError::Conflict(reason));
        }
        let name = path.or(long_name).unwrap_or_else(|| header.name());
        let kind = match header.type_flag() {
            b'0' | 0 | b'7' if name.ends_with(b"/") => MemberKind::Folder,
            b'0' | 0 | b'7' if is_sparse => MemberKind::Sparse,
            b'0' | 0 | b'7' => MemberKind::File,
            b'1' => MemberKind::HardLink,
            b'2' => MemberKind::SymbolicLink,
            b'3' | b'4' => MemberKind::Device,
            b'5' => MemberKind::Folder,
            b'6' => MemberKind::Fifo,
            b'S' => MemberKind::Sparse,
            other => MemberKind::Unknown(other),
        };
        let shown = || String::from_utf8_lossy(&name).into_owned();
        if size > 0 && !matches!(kind, MemberKind::File | MemberKind::Sparse | MemberKind::Unknown(_)) {
            let reason = format!(
                "{:?} is no file, but its header states {size} bytes, which some programs skip and others do not",
                shown()
            );
            return Err(ArchiveError::Conflict(reason));
        }
        if header.has_extended_sparse_map() {
            let reason = format!("{:?} is stored as a sparse file with extended maps", shown());
            return Err(ArchiveError::Unsupported(reason));
        }
        self.begin_content(size);
        let modified = modified.or_else(|| header.modified());
        Ok(Member { name, kind, size, modified, offset: self.offset })
    }

    /// The content of the last member, as far as it was not read.
    pub fn content(&mut self) -> Content<'_, I> {
        Content { reader: self }
    }

    /// Passes over what is left of the last member. An error is one of the input, which may have ended.
    pub fn skip_rest(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.left).saturating_add(std::mem::take(&mut self.padding));
        if rest == 0 { Ok(()) } else { self.input.skip(rest) }
    }

    /// How the tar ended, once there is no next member.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Says what the input has behind the end mark. It is read to its end where there are only zeros.
    pub fn rest(&mut self) -> io::Result<Rest> {
        let mut buffer = vec![0_u8; 128 * BLOCK];
        loop {
            let length = read_block(&mut self.input, buffer.as_mut_slice())?;
            let mut blocks = buffer.get(..length).unwrap_or_default().chunks(BLOCK);
            if let Some(block) = blocks.find(|block| block.iter().any(|byte| *byte != 0)) {
                return Ok(if is_header(block) { Rest::Archive } else { Rest::Bytes });
            }
            if length < buffer.len() {
                return Ok(Rest::Zeros);
            }
        }
    }

    /// The next block, which is an intact header; `None` at the end.
    fn next_header(&mut self) -> Result<Option<[u8; BLOCK]>, ArchiveError> {
        if self.end.is_some() {
            return Ok(None);
        }
        let at = self.place;
        let failed = |error| ArchiveError::reading(format!("the header at byte {at}"), error);
        let mut block = [0; BLOCK];
        let length = read_block(&mut self.input, &mut block).map_err(failed)?;
        if length == 0 && at > 0 {
            self.end = Some(End::Unmarked);
            return Ok(None);
        }
        if length < BLOCK {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        if block.iter().all(|byte| *byte == 0) {
            self.end = Some(End::Marked);
            return Ok(None);
        }
        if Header(&block).is_intact() {
            Ok(Some(block))
        } else {
            Err(self.malformed("is damaged: its checksum does not hold"))
        }
    }

    fn begin_content(&mut self, size: u64) {
        (self.offset, self.left, self.padding) = (self.place, size, padding(size));
        self.place = self.place.saturating_add(size).saturating_add(self.padding);
    }

    fn read_extension(&mut self, size: u64) -> Result<Vec<u8>, ArchiveError> {
        let place = format!("the extended header at byte {}", self.place);
        if size > LARGEST_EXTENSION {
            return Err(ArchiveError::Malformed(format!("{place} has {size} bytes")));
        }
        self.begin_content(size);
        let mut data = Vec::new();
        self.content()
            .read_to_end(&mut data)
            .and_then(|_| self.skip_rest())
            .map_err(|error| ArchiveError::reading(place, error))?;
        Ok(data)
    }

    fn malformed(&self, what: &str) -> ArchiveError {
        ArchiveError::Malformed(format!("the header at byte {} {what}", self.place))
    }

    fn malformed_extension(&self) -> ArchiveError {
        ArchiveError::Malformed(format!("the extended header at byte {} is malformed", self.offset))
    }
}

impl<I: Input> Read for Content<'_, I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let want = usize::try_from(self.reader.left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(wanted) = buffer.get_mut(..want).filter(|wanted| !wanted.is_empty()) else { return Ok(0) };
        let length = self.reader.input.read(wanted)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.reader.left -= length as u64;
        Ok(length)
    }
}

/// Fills a block, or several; says how many bytes there were, fewer only at the end.
fn read_block(input: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = block.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK as u64
}
