//! Containers that are looked into: OLE2 and ZIP, listed and read from any source in bounded memory and bounded work.
//! Knows nothing of signatures; what a member means is for those who visit it.

mod ole2;
mod zip;

use std::io::{self, Read};
use std::time::Instant;

use strongroom_archive::{ArchiveError, Source};

use crate::signatures::ContainerKind;

/// Why a container could not be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// What is wrong with it.
    #[error("{0}")]
    Malformed(String),
    /// It is in order, but made in a way that is not read: encrypted, or compressed by a rare method.
    #[error("{0}")]
    Unsupported(String),
    /// The time for it was spent.
    #[error("the time for it was spent")]
    TimeSpent,
    /// The source failed.
    #[error("could not read it: {0}")]
    Io(#[from] io::Error),
}

impl From<ArchiveError> for ContainerError {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Unsupported(reason) => Self::Unsupported(reason),
            // A source that keeps a deadline says so in its error.
            ArchiveError::Io { source, .. } => source.downcast().unwrap_or_else(Self::Io),
            other => Self::Malformed(other.to_string()),
        }
    }
}

impl From<ContainerError> for io::Error {
    /// The form in which the content of a member reports trouble.
    fn from(error: ContainerError) -> Self {
        let kind = match error {
            ContainerError::Io(source) => return source,
            ContainerError::Malformed(_) => io::ErrorKind::InvalidData,
            ContainerError::Unsupported(_) => io::ErrorKind::Unsupported,
            ContainerError::TimeSpent => io::ErrorKind::TimedOut,
        };
        Self::new(kind, error)
    }
}

/// Visits the members of a container in the order in which it lists them: a ZIP's central directory, the tree of an OLE2's
/// directory. `visit` says whether to go on; a stop is no error.
///
/// An error is about the container; members that were found before stay found. Trouble with one member is reported where
/// that member is opened or read. Working memory stays below 1 MiB, and below 8 MiB for an OLE2 file made to need the
/// most. Past the deadline the visit ends with [`ContainerError::TimeSpent`], and reading a member with
/// [`io::ErrorKind::TimedOut`].
pub fn visit_members(
    kind: ContainerKind,
    source: &dyn Source,
    deadline: Option<Instant>,
    visit: &mut dyn FnMut(&mut dyn ContainerMember) -> bool,
) -> Result<(), ContainerError> {
    let deadline = Deadline(deadline);
    match kind {
        ContainerKind::Ole2 => ole2::visit_members(source, deadline, visit),
        ContainerKind::Zip => zip::visit_members(source, deadline, visit),
    }
}

/// A member of a container.
pub trait ContainerMember {
    /// Path as the container has it, `/` between folders; bytes that are no text are replaced.
    fn path(&self) -> &str;
    /// Size of its content as the container says.
    fn size(&self) -> u64;
    /// Whether it is a folder.
    fn is_folder(&self) -> bool;
    /// Whether its content is encrypted.
    fn is_encrypted(&self) -> bool;
    /// Reads its content from the start, no more of it than is asked for. What can be had of damaged content is read, and
    /// then comes an error: [`io::ErrorKind::InvalidData`] or [`io::ErrorKind::UnexpectedEof`] for damage,
    /// [`io::ErrorKind::TimedOut`] past the deadline, any other kind from the source itself. A folder is empty.
    fn open(&mut self) -> Result<Box<dyn Read + '_>, ContainerError>;
}

/// Until when a container may be read.
#[derive(Clone, Copy, Debug)]
struct Deadline(Option<Instant>);

impl Deadline {
    fn check(self) -> Result<(), ContainerError> {
        match self.0 {
            Some(deadline) if Instant::now() >= deadline => Err(ContainerError::TimeSpent),
            _ => Ok(()),
        }
    }
}

/// Reads what a source has at an offset that a stranger wrote; beyond its end it has nothing.
fn read_at(source: &dyn Source, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    if offset < source.size() { source.read_at(offset, buffer) } else { Ok(0) }
}

fn malformed(what: impl Into<String>) -> ContainerError {
    ContainerError::Malformed(what.into())
}
