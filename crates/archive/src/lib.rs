//! Tar and ZIP archives as strangers write them: the headers of a tar in order, and the central directory of a ZIP by
//! positioned reads. Memory does not grow with the number of members, nor with the sizes that headers state.
//!
//! The crate states facts about the headers. What follows from them is decided by the caller: which names are safe, how much
//! may be unpacked, which kinds of members are wanted. Nothing is written to disk.

mod error;
pub mod little_endian;
mod source;
pub mod tar;
pub mod zip;

pub use error::ArchiveError;
pub use source::{FileSource, Section, SectionReader, Source, SourceReader};

/// What a member of an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file, stored as its plain bytes or compressed.
    File,
    /// A folder.
    Folder,
    /// A hard link to another member.
    HardLink,
    /// A symbolic link.
    SymbolicLink,
    /// A character or block device.
    Device,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A regular file of a tar without its holes: what is stored is not its plain bytes.
    Sparse,
    /// A member of a tar of another type, by its type flag.
    Unknown(u8),
}
