//! A bag in a zip archive: the central directory is streamed, members are read at their places, none is unpacked to disk.
//! Both headers of each member are compared, and the places of members must not overlap.

use std::fs::File;
use std::io::{self, Read};

use strongroom_archive::zip::{Entry as ZipEntry, Index, Placement, find_local_header};
use strongroom_archive::{ArchiveError, FileSource, Source as _};
use strongroom_listing::Sorter;

use super::gate::{self, EntryKind, Gate, Passage};
use super::{BagFile, Visitor};
use crate::codes;
use crate::error::BagError;
use crate::path::escape_name;

/// Opens a member by the place of its entry in the central directory.
pub(super) fn open_member(source: &FileSource, location: u64) -> io::Result<Box<dyn Read + Send + '_>> {
    let entry = ZipEntry::read(source, location)?;
    let local = entry.local_header(source)?;
    Ok(Box::new(entry.open_verified(source, &local)?))
}

pub(super) fn scan(file: File, gate: &mut Gate, mut visit: Visitor<'_>) -> Result<(), BagError> {
    let source = FileSource::new(file).map_err(BagError::Stream)?;
    let index = match Index::open(&source, Placement::Exact) {
        Ok(index) => index,
        Err(error) => return gate.stop_for_archive(error),
    };
    let limits = gate.limits();
    let mut extents = Sorter::new(limits.memory / 8, limits.temporary_directory.as_deref());
    let mut entries = 0;
    for entry in index.entries() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return gate.stop_for_archive(error),
        };
        entries += 1;
        if !scan_member(&source, &entry, gate, &mut extents, &mut visit)? {
            return Ok(());
        }
        if gate::is_out_of_proportion(source.size(), gate.bytes(), gate.limits()) {
            let message = format!("{} bytes unpack to more than {}", source.size(), gate.bytes());
            gate.stop(codes::ARCHIVE_BOMB, message);
            return Ok(());
        }
    }
    if entries != index.stated_members() {
        let stated = index.stated_members();
        let message = format!("the central directory has {entries} entries, and its end says {stated}");
        gate.problem(codes::ARCHIVE_CORRUPT.problem(message));
    }
    report_places(&source, extents, index.start(), gate)
}

/// Says whether to go on.
fn scan_member(
    source: &FileSource,
    zip_entry: &ZipEntry,
    gate: &mut Gate,
    extents: &mut Sorter,
    visit: &mut Visitor<'_>,
) -> Result<bool, BagError> {
    let shown = escape_name(&zip_entry.name);
    let local = match zip_entry.local_header(source) {
        Ok(local) => local,
        Err(ArchiveError::Io { source, .. }) => return Err(BagError::Stream(source)),
        Err(error) => {
            let rule = match error {
                ArchiveError::Truncated(_) => codes::ARCHIVE_TRUNCATED,
                _ => codes::ARCHIVE_CORRUPT,
            };
            gate.problem(rule.problem(format!("the local header cannot be read: {error}")).about(shown));
            return Ok(true);
        }
    };
    let end = local.data.saturating_add(zip_entry.packed_size);
    extents.push(&zip_entry.local_position.to_be_bytes(), &end.to_be_bytes()).map_err(BagError::Spill)?;
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
    let kind = EntryKind::of(zip_entry.kind).unwrap_or(EntryKind::Other("a member of another kind"));
    let path = match gate.admit(&zip_entry.name, kind, zip_entry.size)? {
        Passage::File(path) => path,
        Passage::Skip => return Ok(true),
        Passage::Stop => return Ok(false),
    };
    if zip_entry.is_encrypted() {
        gate.problem(codes::ARCHIVE_ENCRYPTED.problem("the member is encrypted").about(path));
        return Ok(true);
    }
    if gate::is_out_of_proportion(zip_entry.packed_size, zip_entry.size, gate.limits()) {
        let message = format!("{} packed bytes unpack to {}", zip_entry.packed_size, zip_entry.size);
        gate.problem(codes::ARCHIVE_BOMB.problem(message).about(path));
        return Ok(true);
    }
    let entry = BagFile { path, size: zip_entry.size, modified: zip_entry.modified, location: zip_entry.position };
    let unreadable = |error: &dyn std::fmt::Display| format!("the member cannot be read: {error}");
    if zip_entry.is_stored_in_two_sizes() {
        let message = unreadable(&"a stored member states two sizes");
        gate.problem(codes::ARCHIVE_CORRUPT.problem(message).about(entry.path));
        return Ok(true);
    }
    let reader = match zip_entry.open_verified(source, &local) {
        Ok(reader) => reader,
        Err(error) => {
            let rule = match error {
                ArchiveError::Unsupported(_) => codes::ARCHIVE_UNSUPPORTED_ENTRY,
                _ => codes::ARCHIVE_CORRUPT,
            };
            gate.problem(rule.problem(unreadable(&error)).about(entry.path));
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

/// Reports members that share bytes, and bytes between them that begin as a member and are none by the directory: what another program wrote
/// there, or removed from the directory alone.
fn report_places(source: &FileSource, extents: Sorter, directory: u64, gate: &mut Gate) -> Result<(), BagError> {
    let sorted = extents.finish().map_err(BagError::Spill)?;
    let number = |raw: &[u8]| raw.first_chunk().map_or(0, |raw| u64::from_be_bytes(*raw));
    let mut last_end = 0;
    let (mut hidden, mut first_hidden) = (0_u64, None);
    let mut search = |start: u64, end: u64| {
        if let Some(found) = find_local_header(source, start, end).map_err(BagError::Stream)? {
            hidden += 1;
            first_hidden.get_or_insert(found);
        }
        Ok::<_, BagError>(())
    };
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
        search(last_end, start)?;
        last_end = end;
    }
    search(last_end, directory)?;
    if let Some(first) = first_hidden {
        let more = if hidden > 1 { format!(", and in {} more places", hidden - 1) } else { String::new() };
        let message = format!(
            "the bytes from {first} on begin as a member that the central directory does not name{more}: they are not read; pack the archive anew, \
             or deposit it with --type file, to keep them"
        );
        gate.problem(codes::ARCHIVE_HIDDEN_MEMBER.problem(message));
    }
    Ok(())
}
