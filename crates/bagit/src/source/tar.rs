//! A bag in a tar archive, plain or gzip-compressed: ustar, pax and GNU headers, read in order.
//!
//! A reader of its own, because what strangers send must be told exactly: a member whose headers state two sizes is read
//! differently by different programs, so that one checks what another never unpacks (CVE-2025-62518). Sparse members and
//! other ways of storing that are not the plain bytes are refused.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use super::gate::{self, EntryKind, Gate, Passage};
use super::{Entry, Visitor};
use crate::codes;
use crate::error::BagError;
use crate::path::escape_name;

const BLOCK: usize = 512;
/// More than this no extended header has: a path is at most 4 KiB on the systems that write them.
const LARGEST_EXTENSION: u64 = 1 << 20;
/// The largest size that the eleven octal digits of a ustar header hold.
const LARGEST_OCTAL: u64 = (1 << 33) - 1;

/// Bytes in order, some of which may be skipped.
trait Input: Read {
    fn skip(&mut self, length: u64) -> io::Result<()>;
}

struct FileInput {
    reader: BufReader<File>,
    position: u64,
    length: u64,
}

impl Read for FileInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.position += length as u64;
        Ok(length)
    }
}

impl Input for FileInput {
    fn skip(&mut self, length: u64) -> io::Result<()> {
        if length > self.length.saturating_sub(self.position) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.position += length;
        self.reader.seek_relative(i64::try_from(length).map_err(io::Error::other)?)
    }
}

struct StreamInput<R>(R);

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

/// Counts what passes.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count.set(self.count.get() + length as u64);
        Ok(length)
    }
}

/// A decompressed stream that fails once it has grown out of all proportion.
struct Bounded<R> {
    inner: R,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
    limits: super::Limits,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.unpacked += length as u64;
        if gate::is_out_of_proportion(self.packed.get(), self.unpacked, &self.limits) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(length)
    }
}

pub(super) fn scan_file(file: File, gate: &mut Gate, visit: Visitor<'_>) -> Result<(), BagError> {
    let length = file.metadata().map_err(BagError::Stream)?.len();
    scan(FileInput { reader: BufReader::with_capacity(64 * 1024, file), position: 0, length }, gate, visit)
}

pub(super) fn scan_stream(stream: Box<dyn Read + Send>, gate: &mut Gate, visit: Visitor<'_>) -> Result<(), BagError> {
    scan(StreamInput(BufReader::with_capacity(64 * 1024, stream)), gate, visit)
}

pub(super) fn scan_gzip(stream: Box<dyn Read + Send>, gate: &mut Gate, visit: Visitor<'_>) -> Result<(), BagError> {
    let packed = Rc::new(Cell::new(0));
    let counted = Counted { inner: BufReader::with_capacity(256 * 1024, stream), count: Rc::clone(&packed) };
    let bounded = Bounded { inner: MultiGzDecoder::new(counted), packed, unpacked: 0, limits: gate.limits().clone() };
    scan(StreamInput(BufReader::with_capacity(256 * 1024, bounded)), gate, visit)
}

/// Whether these are the first bytes of a tar archive.
pub(super) fn is_header(head: &[u8]) -> bool {
    head.first_chunk::<BLOCK>().is_some_and(|block| block[0] != 0 && Header(block).is_intact())
}

struct Header<'b>(&'b [u8; BLOCK]);

impl Header<'_> {
    fn field(&self, start: usize, length: usize) -> &[u8] {
        &self.0[start..start + length]
    }

    fn text(&self, start: usize, length: usize) -> &[u8] {
        let field = self.field(start, length);
        &field[..field.iter().position(|byte| *byte == 0).unwrap_or(length)]
    }

    /// A number in octal digits, or in base 256 where the first bit is set; nothing if it is neither, or negative.
    fn number(&self, start: usize, length: usize) -> Option<u64> {
        let field = self.field(start, length);
        let (first, rest) = field.split_first()?;
        if first & 0x80 != 0 {
            if first & 0x40 != 0 {
                return None;
            }
            return rest.iter().try_fold(u64::from(first & 0x3F), |value, byte| {
                value.checked_mul(256)?.checked_add(u64::from(*byte))
            });
        }
        let text = std::str::from_utf8(field).ok()?;
        let digits = text.trim_matches([' ', '\0']);
        if digits.is_empty() {
            Some(0)
        } else {
            digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| u64::from_str_radix(digits, 8).ok())?
        }
    }

    /// Whether the sum of the bytes is as stated; some old writers summed signed bytes.
    fn is_intact(&self) -> bool {
        let blanked = self.0.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { b' ' } else { *byte });
        let (unsigned, signed) = blanked.fold((0_u64, 0_i64), |(unsigned, signed), byte| {
            (unsigned + u64::from(byte), signed + i64::from(byte.cast_signed()))
        });
        self.number(148, 8).is_some_and(|stated| stated == unsigned || i64::try_from(stated) == Ok(signed))
    }

    fn name(&self) -> Vec<u8> {
        let name = self.text(0, 100);
        if self.field(257, 6) == b"ustar\0" {
            let prefix = self.text(345, 155);
            if !prefix.is_empty() {
                return [prefix, b"/", name].concat();
            }
        }
        name.to_vec()
    }
}

/// What extended headers say of the next member.
#[derive(Default)]
struct Extension {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    modified: Option<jiff::Timestamp>,
    is_sparse: bool,
}

impl Extension {
    /// Reads the records of a pax header (POSIX.1-2001, pax): `LENGTH KEY=VALUE\n`. Says whether they are well formed.
    fn take(&mut self, mut records: &[u8]) -> bool {
        while !records.is_empty() {
            let Some(blank) = records.iter().position(|byte| *byte == b' ') else { return false };
            let length = std::str::from_utf8(&records[..blank]).ok().and_then(|digits| digits.parse::<usize>().ok());
            let Some(record) = length.and_then(|length| records.get(blank + 1..length)) else { return false };
            let Some(record) = record.strip_suffix(b"\n") else { return false };
            let Some(equals) = record.iter().position(|byte| *byte == b'=') else { return false };
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            records = &records[length.unwrap_or(records.len())..];
            let text = std::str::from_utf8(value).ok();
            match key {
                b"path" => self.path = Some(value.to_vec()),
                b"size" => match text.and_then(|digits| digits.parse().ok()) {
                    Some(size) => self.size = Some(size),
                    None => return false,
                },
                b"mtime" => self.modified = text.and_then(timestamp),
                key if key.starts_with(b"GNU.sparse.") => self.is_sparse = true,
                _ => {}
            }
        }
        true
    }
}

fn timestamp(text: &str) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_second(text.split('.').next()?.parse().ok()?).ok()
}

/// The bytes of one member.
struct Body<'i, I> {
    input: &'i mut I,
    left: u64,
}

impl<I: Input> Read for Body<'_, I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if want == 0 {
            return Ok(0);
        }
        let length = self.input.read(&mut buffer[..want])?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= length as u64;
        Ok(length)
    }
}

/// Fills a block; says how many bytes there were, fewer only at the end.
fn read_block(input: &mut impl Read, block: &mut [u8; BLOCK]) -> io::Result<usize> {
    let mut length = 0;
    while length < BLOCK {
        match input.read(&mut block[length..]) {
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

fn read_extension(input: &mut impl Input, size: u64) -> io::Result<Vec<u8>> {
    if size > LARGEST_EXTENSION {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("an extended header of {size} bytes")));
    }
    let mut data = Vec::new();
    Body { input, left: size }.read_to_end(&mut data)?;
    input.skip(padding(size))?;
    Ok(data)
}

fn scan<I: Input>(mut input: I, gate: &mut Gate, mut visit: Visitor<'_>) -> Result<(), BagError> {
    let mut block = [0; BLOCK];
    let mut extension = Extension::default();
    let mut long_name: Option<Vec<u8>> = None;
    // Where the next header starts.
    let mut place = 0_u64;
    loop {
        match read_block(&mut input, &mut block) {
            Ok(0) if place > 0 => {
                gate.problem(codes::ARCHIVE_NO_END_MARK.problem("the archive has no end mark"));
                return Ok(());
            }
            Ok(length) if length < BLOCK => {
                gate.stop(
                    codes::ARCHIVE_TRUNCATED,
                    format!("the archive ends in the middle of the header at byte {place}"),
                );
                return Ok(());
            }
            Ok(_) => {}
            Err(error) => {
                return gate.stop_for(error, &format!("the header at byte {place}"));
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return read_to_end(&mut input, gate);
        }
        let header = Header(&block);
        if !header.is_intact() {
            gate.stop(
                codes::ARCHIVE_CORRUPT,
                format!("the header at byte {place} is damaged: its checksum does not hold"),
            );
            return Ok(());
        }
        let Some(stated) = header.number(124, 12) else {
            gate.stop(codes::ARCHIVE_CORRUPT, format!("the header at byte {place} states no size"));
            return Ok(());
        };
        let kind = block[156];
        place = place.saturating_add(BLOCK as u64);
        if matches!(kind, b'x' | b'g' | b'L' | b'K') {
            let data = match read_extension(&mut input, stated) {
                Ok(data) => data,
                Err(error) => {
                    return gate.stop_for(error, &format!("the extended header at byte {place}"));
                }
            };
            place = place.saturating_add(stated + padding(stated));
            let is_well_formed = match kind {
                b'x' => extension.take(&data),
                b'g' => {
                    let mut global = Extension::default();
                    let is_well_formed = global.take(&data);
                    if global.size.is_some() || global.path.is_some() {
                        let message = "a global extended header gives all members one name or size";
                        gate.stop(codes::ARCHIVE_SIZE_CONFLICT, message);
                        return Ok(());
                    }
                    is_well_formed
                }
                b'L' => {
                    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
                    long_name = Some(data[..end].to_vec());
                    true
                }
                _ => true,
            };
            if !is_well_formed {
                gate.stop(codes::ARCHIVE_CORRUPT, format!("the extended header before byte {place} is malformed"));
                return Ok(());
            }
            continue;
        }

        let Extension { path, size, modified, is_sparse } = std::mem::take(&mut extension);
        let name = path.or_else(|| long_name.take()).unwrap_or_else(|| header.name());
        long_name = None;
        let shown = escape_name(&name);
        let size = match size {
            Some(size) => {
                // Writers leave the ustar size alone only where it cannot hold the true one.
                if size <= LARGEST_OCTAL && size != stated {
                    let message = format!("the headers of the member state {stated} and {size} bytes");
                    gate.stop(codes::ARCHIVE_SIZE_CONFLICT, message);
                    return Ok(());
                }
                size
            }
            None => stated,
        };
        let entry_kind = match kind {
            b'0' | 0 | b'7' if name.ends_with(b"/") => Some(EntryKind::Directory),
            b'0' | 0 | b'7' => Some(EntryKind::File),
            b'5' => Some(EntryKind::Directory),
            b'1' => Some(EntryKind::Other("a hard link")),
            b'2' => Some(EntryKind::Other("a symbolic link")),
            b'3' | b'4' => Some(EntryKind::Other("a device")),
            b'6' => Some(EntryKind::Other("a FIFO")),
            _ => None,
        };
        if size > 0 && entry_kind.is_some_and(|kind| kind != EntryKind::File) {
            let message = format!(
                "{shown:?} is no file, but its header states {size} bytes, which some programs skip and others do not"
            );
            gate.stop(codes::ARCHIVE_SIZE_CONFLICT, message);
            return Ok(());
        }
        let data_place = place;
        place = place.saturating_add(size).saturating_add(padding(size));
        let mut left = size;
        match entry_kind {
            // A volume label is no member.
            None if kind == b'V' => {}
            None => {
                if kind == b'S' && block[482] != 0 {
                    gate.stop(
                        codes::ARCHIVE_UNSUPPORTED_ENTRY,
                        format!("{shown:?} is stored as a sparse file with extended maps"),
                    );
                    return Ok(());
                }
                let what = if kind == b'S' {
                    "as a sparse file".to_owned()
                } else {
                    format!("with type {:?}", char::from(kind))
                };
                gate.problem(
                    codes::ARCHIVE_UNSUPPORTED_ENTRY
                        .problem(format!("the member is stored {what}"))
                        .about(shown.clone()),
                );
            }
            Some(EntryKind::File) if is_sparse => {
                gate.problem(
                    codes::ARCHIVE_UNSUPPORTED_ENTRY
                        .problem("the member is stored as a sparse file")
                        .about(shown.clone()),
                );
            }
            Some(kind) => match gate.admit(&name, kind, size)? {
                Passage::File(path) => {
                    let modified = modified.or_else(|| {
                        let seconds = Header(&block).number(136, 12)?;
                        jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
                    });
                    let entry = Entry { path, size, modified, location: data_place };
                    match gate::show(&entry, Body { input: &mut input, left: size }, &mut visit)? {
                        Ok(body) => left = body.left,
                        Err(error) => {
                            return gate.stop_for(error, &format!("{shown:?}"));
                        }
                    }
                }
                Passage::Skip => {}
                Passage::Stop => return Ok(()),
            },
        }
        if let Err(error) = input.skip(left.saturating_add(padding(size))) {
            return gate.stop_for(error, &format!("{shown:?}"));
        }
    }
}

/// Looks at what follows the first block of zeros: zeros only, in a sound archive. Reading on also proves the checksum of a
/// gzip stream.
fn read_to_end(input: &mut impl Read, gate: &mut Gate) -> Result<(), BagError> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) if buffer[..length].iter().any(|byte| *byte != 0) => {
                gate.problem(codes::ARCHIVE_TRAILING_DATA.problem("bytes follow the end mark of the archive"));
                return Ok(());
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return gate.stop_for(error, "the padding after the last member"),
        }
    }
}
