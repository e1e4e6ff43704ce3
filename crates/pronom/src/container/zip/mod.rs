//! ZIP (PKWARE APPNOTE 6.3.10), by its central directory: listed through a small window, so that a million members cost
//! no more memory than one. Rules about safe names are not kept here; a name is a name.

mod end;
mod member;
mod names;
mod window;

use crate::source::Source;

use super::little_endian::{u16_at, u32_at, u64_at};
use super::{ContainerError, ContainerMember, Deadline, malformed};
use end::Directory;
use member::{Entry, ZipMember};
use window::Window;

/// Length of a file header in the central directory, without its variable parts (APPNOTE 4.3.12).
const HEADER_LENGTH: usize = 46;
const HEADER_SIGNATURE: u32 = 0x0201_4B50;
/// The extra field that holds what does not fit 32 bits (APPNOTE 4.5.3).
const ZIP64_EXTRA: u16 = 0x0001;

pub(super) fn visit_members(
    source: &dyn Source,
    deadline: Deadline,
    visit: &mut dyn FnMut(&mut dyn ContainerMember) -> bool,
) -> Result<(), ContainerError> {
    let directory = end::find_directory(source, deadline)?;
    let mut window = Window::new(source, directory.end);
    let mut position = directory.start;
    let mut visited = 0;
    while let Some((entry, length)) = read_header(&mut window, position, &directory)? {
        deadline.check()?;
        visited += 1;
        if !visit(&mut ZipMember { source, deadline, entry }) {
            return Ok(());
        }
        position = position.saturating_add(length);
    }
    if visited < directory.members {
        return Err(malformed(format!("the central directory ends after {visited} of {} members", directory.members)));
    }
    Ok(())
}

/// The file header at a position and its whole length; `None` where there is none, which ends the directory.
fn read_header(
    window: &mut Window<'_>,
    position: u64,
    directory: &Directory,
) -> Result<Option<(Entry, u64)>, ContainerError> {
    let Some(fixed) = window.bytes(position, HEADER_LENGTH)? else { return Ok(None) };
    if u32_at(fixed, 0) != Some(HEADER_SIGNATURE) {
        return Ok(None);
    }
    let short = |offset| u16_at(fixed, offset).unwrap_or_default();
    let long = |offset| u64::from(u32_at(fixed, offset).unwrap_or_default());
    let (flags, method) = (short(8), short(10));
    let (mut compressed, mut size, mut header) = (long(20), long(24), long(42));
    let (name_length, extra_length, comment_length) = (short(28), short(30), short(32));

    let variable = usize::from(name_length) + usize::from(extra_length);
    let Some(bytes) = window.bytes(position, HEADER_LENGTH + variable)? else { return Ok(None) };
    let (name, extra) = bytes.split_at_checked(HEADER_LENGTH + usize::from(name_length)).unwrap_or_default();
    let name = name.get(HEADER_LENGTH..).unwrap_or_default();
    apply_zip64(extra, [&mut size, &mut compressed, &mut header]);

    let entry = Entry {
        path: names::decode(name, flags),
        flags,
        method,
        compressed,
        size,
        // An absurd offset is found out where the member is opened.
        header: header.saturating_add(directory.prepended),
    };
    Ok(Some((entry, (HEADER_LENGTH + variable) as u64 + u64::from(comment_length))))
}

/// Fills in the numbers that stand in the ZIP64 extra field: those that are all ones in the header, in this order.
fn apply_zip64(extra: &[u8], numbers: [&mut u64; 3]) {
    let mut rest = extra;
    while let (Some(id), Some(length)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let body = rest.get(4..).unwrap_or_default();
        let (field, after) = body.split_at_checked(usize::from(length)).unwrap_or((body, &[]));
        if id == ZIP64_EXTRA {
            let mut offset = 0;
            for number in numbers {
                if *number == u64::from(u32::MAX)
                    && let Some(value) = u64_at(field, offset)
                {
                    *number = value;
                    offset += 8;
                }
            }
            return;
        }
        rest = after;
    }
}
