//! ZIP (PKWARE APPNOTE 6.3.10), by its central directory: listed through a small window, so that a million members cost
//! no more memory than one. Both headers of a member are compared, which programs that read only one of them do not.

mod content;
mod end;
mod entry;
mod names;
mod window;

use crate::error::ArchiveError;
use crate::source::Source;

pub use content::Content;
pub use entry::{Entry, LocalHeader, find_local_header};

use end::Directory;
use window::Window;

/// Length of a file header in the central directory, without its variable parts (APPNOTE 4.3.12).
const HEADER_LENGTH: usize = 46;
const HEADER_SIGNATURE: u32 = 0x0201_4B50;

/// Where an archive may lie in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// The archive is the whole source, and every number that says where its directory lies agrees with the others. An
    /// archive that passes is found at the same place by every program.
    Exact,
    /// Other bytes may stand before the archive (a self-extracting program) and behind it, and the last end record by which
    /// a directory is found counts.
    Embedded,
}

/// The central directory of an archive.
#[derive(Debug)]
pub struct Index<'s, S: ?Sized> {
    source: &'s S,
    directory: Directory,
    placement: Placement,
}

impl<'s, S: Source + ?Sized> Index<'s, S> {
    /// Finds the directory of an archive.
    pub fn open(source: &'s S, placement: Placement) -> Result<Self, ArchiveError> {
        let directory = end::find_directory(source, placement)?;
        Ok(Self { source, directory, placement })
    }

    /// How many members the end record counts. Archives of more than 65,535 members without ZIP64 count too few.
    pub fn stated_members(&self) -> u64 {
        self.directory.members
    }

    /// Offset of the directory, before which all members lie.
    pub fn start(&self) -> u64 {
        self.directory.start
    }

    /// The entries of the directory, in its order. After an error there are no more. An embedded directory ends where no
    /// header follows; in an exact one that is an error.
    pub fn entries(&self) -> Entries<'s, S> {
        Entries {
            window: Window::new(self.source, self.directory.end),
            position: self.directory.start,
            end: self.directory.end,
            prepended: self.directory.prepended,
            placement: self.placement,
            is_done: false,
        }
    }
}

/// Reads the entries of a central directory.
#[derive(Debug)]
pub struct Entries<'s, S: ?Sized> {
    window: Window<'s, S>,
    position: u64,
    end: u64,
    prepended: u64,
    placement: Placement,
    is_done: bool,
}

impl<S: Source + ?Sized> Entries<'_, S> {
    fn read(&mut self) -> Result<Option<Entry>, ArchiveError> {
        if self.position >= self.end {
            return Ok(None);
        }
        let place = "the central directory";
        let entry = Entry::parse(&mut self.window, self.position, self.prepended)
            .map_err(|error| ArchiveError::reading(place, error))?;
        match entry {
            Some(entry) => {
                self.position = self.position.saturating_add(entry.length());
                Ok(Some(entry))
            }
            None if self.placement == Placement::Exact => Err(ArchiveError::Malformed(format!(
                "no whole header in the central directory at byte {}",
                self.position
            ))),
            None => Ok(None),
        }
    }
}

impl<S: Source + ?Sized> Iterator for Entries<'_, S> {
    type Item = Result<Entry, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = self.read().transpose();
        self.is_done = !matches!(next, Some(Ok(_)));
        next
    }
}
