//! Writes a zip archive as a stream (APPNOTE 6.3): deflated entries with data descriptors, UTF-8 names, ZIP64 where needed.
//!
//! The `zip` crate's writer keeps every entry in memory until the end; here the central directory spills to a temporary
//! file, so that memory does not grow with the number of files.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::SystemTime;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use tempfile::SpooledTempFile;

use super::sink::{FileHeader, Output, Sink, unix_seconds};

/// A field of this value stands for one in the ZIP64 record (APPNOTE 4.3.9.2).
const IN_ZIP64: u32 = u32::MAX;
/// Larger files get ZIP64 sizes; the room below the limit is for data that deflates to more than itself.
const SMALL: u64 = 0xF000_0000;
/// Central directory bytes kept in memory.
const DIRECTORY_IN_MEMORY: usize = 1 << 20;

/// Unix (3), version 4.5 (APPNOTE 4.4.2).
const MADE_BY: u16 = 0x032D;
const DEFLATED: u16 = 8;
const STORED: u16 = 0;
/// Sizes and checksum follow the data (bit 3); the name is UTF-8 (bit 11).
const FLAGS: u16 = 1 << 3 | 1 << 11;
const UTF8_ONLY: u16 = 1 << 11;

pub(super) struct ZipSink<'w> {
    output: Box<dyn Output + 'w>,
    base_directory: String,
    written: u64,
    directory: SpooledTempFile,
    entries: u64,
    compress: Compress,
    compressed: Vec<u8>,
    current: Option<Current>,
}

struct Current {
    header: Fixed,
    is_large: bool,
    crc: Crc,
    compressed_size: u64,
}

/// What local header and central directory both say.
struct Fixed {
    name: Vec<u8>,
    method: u16,
    flags: u16,
    dos_time: u32,
    unix_time: Option<i32>,
    offset: u64,
    attributes: u32,
}

impl<'w> ZipSink<'w> {
    /// Begins the archive with the bag's directory and its `data/`, which may otherwise stay empty.
    pub(super) fn new(output: Box<dyn Output + 'w>, base_directory: &str, modified: SystemTime) -> io::Result<Self> {
        let mut sink = Self {
            output,
            base_directory: base_directory.to_owned(),
            written: 0,
            directory: SpooledTempFile::new(DIRECTORY_IN_MEMORY),
            entries: 0,
            compress: Compress::new(Compression::default(), false),
            compressed: Vec::with_capacity(64 << 10),
            current: None,
        };
        for directory in ["", "data/"] {
            let name = format!("{base_directory}/{directory}");
            // Upper half: the Unix mode of a directory; lower: the directory bit of DOS.
            let header = sink.fixed(&name, STORED, UTF8_ONLY, modified, 0o040_755 << 16 | 0x10)?;
            sink.local_header(&header, false)?;
            sink.central_header(&header, 0, 0, 0)?;
        }
        Ok(sink)
    }

    fn fixed(&self, name: &str, method: u16, flags: u16, modified: SystemTime, attributes: u32) -> io::Result<Fixed> {
        if name.len() > usize::from(u16::MAX) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a zip archive has no names beyond 65,535 bytes"));
        }
        let seconds = unix_seconds(modified);
        Ok(Fixed {
            name: name.as_bytes().to_vec(),
            method,
            flags,
            dos_time: dos_time(seconds),
            unix_time: i32::try_from(seconds).ok(),
            offset: self.written,
            attributes,
        })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn local_header(&mut self, header: &Fixed, is_large: bool) -> io::Result<()> {
        let mut extra = timestamp(header.unix_time);
        if is_large {
            // Present and zero: it says that the descriptor has sizes of eight bytes.
            extra.u16(0x0001).u16(16).u64(0).u64(0);
        }
        let size = if is_large { IN_ZIP64 } else { 0 };
        let mut record = Fields::default();
        record.u32(0x0403_4b50).u16(if is_large { 45 } else { 20 }).u16(header.flags).u16(header.method);
        record.u32(header.dos_time).u32(0).u32(size).u32(size);
        record.u16(header.name.len() as u16).u16(extra.0.len() as u16);
        record.0.extend_from_slice(&header.name);
        record.0.extend_from_slice(&extra.0);
        self.put(&record.0)
    }

    fn central_header(&mut self, header: &Fixed, crc: u32, compressed: u64, size: u64) -> io::Result<()> {
        let mut zip64 = Fields::default();
        let [size, compressed, offset] = [size, compressed, header.offset].map(|value| match u32::try_from(value) {
            Ok(small) if small != IN_ZIP64 => small,
            _ => {
                zip64.u64(value);
                IN_ZIP64
            }
        });
        let mut extra = timestamp(header.unix_time);
        let needs_zip64 = !zip64.0.is_empty();
        if needs_zip64 {
            extra.u16(0x0001).u16(zip64.0.len() as u16).0.extend_from_slice(&zip64.0);
        }
        let mut record = Fields::default();
        record.u32(0x0201_4b50).u16(MADE_BY).u16(if needs_zip64 { 45 } else { 20 }).u16(header.flags);
        record.u16(header.method).u32(header.dos_time).u32(crc).u32(compressed).u32(size);
        record.u16(header.name.len() as u16).u16(extra.0.len() as u16).u16(0).u16(0).u16(0);
        record.u32(header.attributes).u32(offset);
        record.0.extend_from_slice(&header.name);
        record.0.extend_from_slice(&extra.0);
        self.entries += 1;
        self.directory.write_all(&record.0)
    }

    /// Deflates `bytes` and writes what comes out; `Finish` drains the compressor.
    fn deflate(&mut self, mut bytes: &[u8], flush: FlushCompress) -> io::Result<u64> {
        let before = self.written;
        loop {
            self.compressed.clear();
            let taken = self.compress.total_in();
            let status = self.compress.compress_vec(bytes, &mut self.compressed, flush).map_err(io::Error::other)?;
            bytes = bytes.get((self.compress.total_in() - taken) as usize..).unwrap_or_default();
            self.output.write_all(&self.compressed)?;
            self.written += self.compressed.len() as u64;
            let is_done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => bytes.is_empty() && self.compressed.len() < self.compressed.capacity(),
            };
            if is_done {
                return Ok(self.written - before);
            }
        }
    }
}

impl Sink for ZipSink<'_> {
    fn begin(&mut self, entry: &FileHeader<'_>) -> io::Result<()> {
        let name = format!("{}/{}", self.base_directory, entry.path);
        let header = self.fixed(&name, DEFLATED, FLAGS, entry.modified, 0o100_644 << 16)?;
        let is_large = entry.size > SMALL;
        self.local_header(&header, is_large)?;
        self.compress.reset();
        self.current = Some(Current { header, is_large, crc: Crc::new(), compressed_size: 0 });
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let compressed = self.deflate(bytes, FlushCompress::None)?;
        if let Some(current) = &mut self.current {
            current.crc.update(bytes);
            current.compressed_size += compressed;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let rest = self.deflate(&[], FlushCompress::Finish)?;
        let size = self.compress.total_in();
        let Some(current) = self.current.take() else { return Ok(()) };
        let compressed = current.compressed_size + rest;
        let crc = current.crc.sum();
        let mut descriptor = Fields::default();
        descriptor.u32(0x0807_4b50).u32(crc);
        if current.is_large {
            descriptor.u64(compressed).u64(size);
        } else {
            descriptor.u32(compressed as u32).u32(size as u32);
        }
        self.put(&descriptor.0)?;
        self.central_header(&current.header, crc, compressed, size)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let start = self.written;
        let length = self.directory.stream_position()?;
        self.directory.seek(SeekFrom::Start(0))?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = self.directory.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            self.output.write_all(buffer.get(..read).unwrap_or_default())?;
        }
        let mut record = Fields::default();
        let entries = u16::try_from(self.entries).ok().filter(|entries| *entries != u16::MAX);
        let small = |value: u64| u32::try_from(value).ok().filter(|value| *value != IN_ZIP64);
        if entries.is_none() || small(length).is_none() || small(start).is_none() {
            record.u32(0x0606_4b50).u64(44).u16(MADE_BY).u16(45).u32(0).u32(0);
            record.u64(self.entries).u64(self.entries).u64(length).u64(start);
            record.u32(0x0706_4b50).u32(0).u64(start + length).u32(1);
        }
        let entries = entries.unwrap_or(u16::MAX);
        record.u32(0x0605_4b50).u16(0).u16(0).u16(entries).u16(entries);
        record.u32(small(length).unwrap_or(IN_ZIP64)).u32(small(start).unwrap_or(IN_ZIP64)).u16(0);
        self.output.write_all(&record.0)?;
        self.output.close()
    }
}

/// Little-endian fields of a record.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
}

/// The extended timestamp (Info-ZIP, tag `UT`): modification time in seconds UTC. DOS time knows no zone.
fn timestamp(unix_time: Option<i32>) -> Fields {
    let mut extra = Fields::default();
    if let Some(seconds) = unix_time {
        extra.u16(0x5455).u16(5).0.push(1);
        extra.u32(seconds as u32);
    }
    extra
}

/// DOS date and time in UTC, held within 1980 to 2107.
fn dos_time(seconds: i64) -> u32 {
    const EARLIEST: u32 = 1 << 21 | 1 << 16;
    let Ok(time) = jiff::Timestamp::from_second(seconds) else { return EARLIEST };
    let time = time.to_zoned(jiff::tz::TimeZone::UTC);
    let (Ok(year), Ok(month), Ok(day)) =
        (u32::try_from(time.year() - 1980), u32::try_from(time.month()), u32::try_from(time.day()))
    else {
        return EARLIEST;
    };
    if year > 127 {
        return EARLIEST;
    }
    let [hour, minute, second] = [time.hour(), time.minute(), time.second()].map(|part| u32::from(part.unsigned_abs()));
    (year << 25) | (month << 21) | (day << 16) | (hour << 11) | (minute << 5) | (second / 2)
}

#[cfg(test)]
mod tests {
    use super::dos_time;

    #[test]
    fn dos_times_are_utc_and_stay_within_their_range() {
        assert_eq!(dos_time(-1), 1 << 21 | 1 << 16);
        assert_eq!(dos_time(0), 1 << 21 | 1 << 16);
        assert_eq!(dos_time(i64::MAX), 1 << 21 | 1 << 16);
        // 2001-09-09T01:46:40Z.
        assert_eq!(dos_time(1_000_000_000), (21 << 25) + (9 << 21) + (9 << 16) + (1 << 11) + (46 << 5) + 20);
    }
}
