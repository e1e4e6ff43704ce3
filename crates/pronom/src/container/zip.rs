//! ZIP as a container: its members by name, read until a deadline. Rules about safe names are not kept here; a name is a
//! name. What stands before or behind the archive is passed over, and a CRC-32 is not checked: a format is determined by the
//! bytes that are there.

use std::io::{self, Read};

use strongroom_archive::Source;
use strongroom_archive::zip::{Entry, Index, Placement};

use super::{ContainerError, ContainerMember, Deadline, malformed};

/// A source that can be read until a deadline.
struct Timed<'s> {
    source: &'s dyn Source,
    deadline: Deadline,
}

struct ZipMember<'s> {
    source: &'s Timed<'s>,
    path: String,
    entry: Entry,
}

pub(super) fn visit_members(
    source: &dyn Source,
    deadline: Deadline,
    visit: &mut dyn FnMut(&mut dyn ContainerMember) -> bool,
) -> Result<(), ContainerError> {
    let source = Timed { source, deadline };
    let index = Index::open(&source, Placement::Embedded)?;
    let mut visited = 0;
    for entry in index.entries() {
        deadline.check()?;
        let entry = entry?;
        visited += 1;
        if !visit(&mut ZipMember { source: &source, path: path(&entry.name), entry }) {
            return Ok(());
        }
    }
    if visited < index.stated_members() {
        let stated = index.stated_members();
        return Err(malformed(format!("the central directory ends after {visited} of {stated} members")));
    }
    Ok(())
}

/// A name as text. One closing NUL, which some writers count as part of the name, is cut.
fn path(name: &[u8]) -> String {
    String::from_utf8_lossy(name.strip_suffix(&[0]).unwrap_or(name)).into_owned()
}

impl Source for Timed<'_> {
    fn size(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.deadline.check()?;
        self.source.read_at(offset, buffer)
    }
}

impl ContainerMember for ZipMember<'_> {
    fn path(&self) -> &str {
        &self.path
    }

    fn size(&self) -> u64 {
        self.entry.size
    }

    fn is_folder(&self) -> bool {
        self.path.ends_with('/')
    }

    fn is_encrypted(&self) -> bool {
        self.entry.is_encrypted()
    }

    fn open(&mut self) -> Result<Box<dyn Read + '_>, ContainerError> {
        if self.is_folder() {
            return Ok(Box::new(io::empty()));
        }
        if self.is_encrypted() {
            return Err(ContainerError::Unsupported("the member is encrypted".to_owned()));
        }
        let local = self.entry.local_header(self.source)?;
        Ok(Box::new(self.entry.open(self.source, &local)?))
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn one_closing_nul_is_cut_and_what_is_no_text_is_replaced() {
        assert_eq!(path(b"a\\b\0"), "a\\b");
        assert_eq!(path(b"a\0\0"), "a\0");
        assert_eq!(path(b"\0"), "");
        assert_eq!(path(b"K\x84se"), "K\u{FFFD}se");
    }
}
