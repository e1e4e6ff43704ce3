//! A bag in a tar archive, plain or gzip-compressed, read in order. Sparse members and other ways of storing that are not
//! the plain bytes are refused.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use strongroom_archive::tar::{End, Input, Member, Reader, Rest, SourceInput, StreamInput};
use strongroom_archive::{FileSource, MemberKind};

use super::gate::{self, EntryKind, Gate, Passage};
use super::{BagFile, Visitor};
use crate::codes;
use crate::error::BagError;
use crate::path::escape_name;

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
    let source = FileSource::new(file).map_err(BagError::Stream)?;
    scan(SourceInput::new(&source), gate, visit)
}

pub(super) fn scan_stream(stream: Box<dyn Read + Send>, gate: &mut Gate, visit: Visitor<'_>) -> Result<(), BagError> {
    scan(StreamInput(BufReader::with_capacity(64 * 1024, stream)), gate, visit)
}

pub(super) fn scan_gzip(stream: Box<dyn Read + Send>, gate: &mut Gate, visit: Visitor<'_>) -> Result<(), BagError> {
    scan_unpacked(stream, MultiGzDecoder::new, gate, visit)
}

pub(super) fn scan_bzip2(stream: Box<dyn Read + Send>, gate: &mut Gate, visit: Visitor<'_>) -> Result<(), BagError> {
    scan_unpacked(stream, MultiBzDecoder::new, gate, visit)
}

fn scan_unpacked<D: Read>(
    stream: Box<dyn Read + Send>,
    decoder: impl FnOnce(Counted<BufReader<Box<dyn Read + Send>>>) -> D,
    gate: &mut Gate,
    visit: Visitor<'_>,
) -> Result<(), BagError> {
    let packed = Rc::new(Cell::new(0));
    let counted = Counted { inner: BufReader::with_capacity(256 * 1024, stream), count: Rc::clone(&packed) };
    let bounded = Bounded { inner: decoder(counted), packed, unpacked: 0, limits: gate.limits().clone() };
    scan(StreamInput(BufReader::with_capacity(256 * 1024, bounded)), gate, visit)
}

fn scan<I: Input>(input: I, gate: &mut Gate, mut visit: Visitor<'_>) -> Result<(), BagError> {
    let mut reader = Reader::new(input);
    loop {
        match reader.next_member() {
            Ok(Some(member)) => {
                if !scan_member(&mut reader, &member, gate, &mut visit)? {
                    return Ok(());
                }
            }
            Ok(None) => return scan_end(&mut reader, gate),
            Err(error) => return gate.stop_for_archive(error),
        }
    }
}

/// Says whether to go on.
fn scan_member<I: Input>(
    reader: &mut Reader<I>,
    member: &Member,
    gate: &mut Gate,
    visit: &mut Visitor<'_>,
) -> Result<bool, BagError> {
    let shown = escape_name(&member.name);
    if let Some(kind) = EntryKind::of(member.kind) {
        match gate.admit(&member.name, kind, member.size)? {
            Passage::File(path) => {
                let entry = BagFile { path, size: member.size, modified: member.modified, location: member.offset };
                if let Err(error) = gate::show(&entry, reader.content(), visit)? {
                    gate.stop_for(error, &format!("{shown:?}"))?;
                    return Ok(false);
                }
            }
            Passage::Skip => {}
            Passage::Stop => return Ok(false),
        }
    } else {
        let how = match member.kind {
            MemberKind::Unknown(type_flag) => format!("with type {:?}", char::from(type_flag)),
            _ => "as a sparse file".to_owned(),
        };
        let problem = codes::ARCHIVE_UNSUPPORTED_ENTRY.problem(format!("the member is stored {how}"));
        gate.problem(problem.about(shown.clone()));
    }
    if let Err(error) = reader.skip_rest() {
        gate.stop_for(error, &format!("{shown:?}"))?;
        return Ok(false);
    }
    Ok(true)
}

/// Inspects what follows the last member: zeros only, in a sound archive. Reading on also proves the checksum of a gzip
/// stream.
fn scan_end<I: Input>(reader: &mut Reader<I>, gate: &mut Gate) -> Result<(), BagError> {
    if reader.end() == Some(End::Unmarked) {
        gate.problem(codes::ARCHIVE_NO_END_MARK.problem("the archive has no end mark"));
        return Ok(());
    }
    match reader.rest() {
        Ok(Rest::Zeros) => {}
        Ok(Rest::Bytes) => {
            gate.problem(codes::ARCHIVE_TRAILING_DATA.problem("bytes follow the end mark of the archive"));
        }
        Ok(Rest::Archive) => {
            let message = "another tar archive follows the end mark, and its members are not read";
            gate.problem(codes::ARCHIVE_SECOND_ARCHIVE.problem(message));
        }
        Err(error) => gate.stop_for(error, "the padding after the last member")?,
    }
    Ok(())
}
