//! A bag that is a directory, walked by file descriptor. The walk follows no link and opens no FIFO or device, also where one
//! was put in the place of a file or folder since it was listed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::FileType;
use strongroom_listing::Sorter;

use super::folder::Folder;
use super::gate::{self, EntryKind, Gate, Passage};
use super::{BagFile, Visitor};
use crate::codes;
use crate::error::BagError;
use crate::path::{escape_name, too_long_reason, unescape_name};

/// Opens a regular file and nothing else: no FIFO or device is waited for. Links are followed.
///
/// # Errors
/// It cannot be opened; or it is no regular file, which is [`io::ErrorKind::InvalidInput`].
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// Opens a file of a bag, by the path that the walk gave it; links are not followed.
pub(crate) fn open_member(base: &Folder, path: &str) -> io::Result<File> {
    match base.open_file(path.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.contains("\\x") => {
            base.open_file(&unescape_name(path))
        }
        other => other,
    }
}

/// A file that is opened when it is first read.
struct Unopened<'p> {
    base: &'p Folder,
    path: &'p str,
    file: Option<File>,
}

impl Read for Unopened<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.read(buffer),
            None => self.file.insert(open_member(self.base, self.path)?).read(buffer),
        }
    }
}

/// What a directory is called, links resolved where its path does not say.
pub(super) fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name().map(|name| escape_name(name.as_bytes()));
    name.or_else(|| Some(escape_name(fs::canonicalize(path).ok()?.file_name()?.as_bytes())))
}

pub(super) fn scan(base: &Folder, gate: &mut Gate, mut visit: Visitor<'_>) -> Result<(), BagError> {
    let limits = gate.limits();
    let mut files = Sorter::new(limits.memory / 4, limits.temporary_directory.as_deref());
    walk(base, gate, &mut files)?;
    let mut last: Option<Listed> = None;
    for record in files.finish().map_err(BagError::Spill)?.iter().map_err(BagError::Spill)? {
        let (path, facts) = record.map_err(BagError::Spill)?;
        let Some(entry) = unpack(&path, &facts) else { continue };
        match &mut last {
            Some(listed) if listed.entry.path == entry.path => listed.is_repeated = true,
            _ => {
                if let Some(listed) = last.replace(Listed { entry, is_repeated: false }) {
                    listed.show(base, gate, &mut visit)?;
                }
            }
        }
    }
    last.map_or(Ok(()), |listed| listed.show(base, gate, &mut visit))
}

/// A file of the folder.
struct Listed {
    entry: BagFile,
    /// Whether another one is shown as the same path: one has a name with a backslash, the other one has the bytes, which are not
    /// UTF-8, that the backslash and what follows it stand for.
    is_repeated: bool,
}

impl Listed {
    fn show(&self, base: &Folder, gate: &mut Gate, visit: &mut Visitor<'_>) -> Result<(), BagError> {
        let path = &self.entry.path;
        if self.is_repeated {
            let message = format!(
                "the folder has two files of this path: {path:?} as it stands, with a backslash, and one with the bytes \"{}\", which \
                 are not UTF-8 and are shown the same; rename one of them",
                unescape_name(path).escape_ascii()
            );
            gate.problem(codes::ENTRY_DUPLICATE.problem(message).about(path));
            return Ok(());
        }
        let file = Unopened { base, path, file: None };
        if let Err(error) = gate::show(&self.entry, file, visit)? {
            gate.problem(codes::ENTRY_UNREADABLE.problem(format!("the file cannot be read: {error}")).about(path));
        }
        Ok(())
    }
}

fn pack(size: u64, seconds: i64) -> [u8; 16] {
    let mut facts = [0; 16];
    facts[..8].copy_from_slice(&size.to_le_bytes());
    facts[8..].copy_from_slice(&seconds.to_le_bytes());
    facts
}

fn unpack(path: &[u8], facts: &[u8]) -> Option<BagFile> {
    let (size, seconds) = facts.split_first_chunk::<8>()?;
    let (seconds, _) = seconds.split_first_chunk::<8>()?;
    Some(BagFile {
        path: String::from_utf8(path.to_vec()).ok()?,
        size: u64::from_le_bytes(*size),
        modified: jiff::Timestamp::from_second(i64::from_le_bytes(*seconds)).ok(),
        location: 0,
    })
}

fn walk(base: &Folder, gate: &mut Gate, files: &mut Sorter) -> Result<(), BagError> {
    let mut directories: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(prefix) = directories.pop() {
        let place = || Path::new(OsStr::from_bytes(if prefix.is_empty() { b"." } else { &prefix }));
        let mut listing = match base.list(&prefix) {
            Ok(listing) => listing,
            Err(error) if prefix.is_empty() => return Err(BagError::io("list", place(), error)),
            Err(error) => {
                let problem = codes::ENTRY_UNREADABLE.problem(format!("the directory cannot be listed: {error}"));
                gate.problem(problem.about(escape_name(&prefix)));
                continue;
            }
        };
        while let Some(item) = listing.entries.next() {
            let item = item.map_err(|error| BagError::io("list", place(), error.into()))?;
            let name = item.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let mut path = Vec::with_capacity(prefix.len() + 1 + name.count_bytes());
            if !prefix.is_empty() {
                path.extend_from_slice(&prefix);
                path.push(b'/');
            }
            path.extend_from_slice(name.to_bytes());
            let stat = match listing.stat(name) {
                Ok(stat) => stat,
                Err(error) => {
                    let problem = codes::ENTRY_UNREADABLE.problem(format!("the entry cannot be read: {error}"));
                    gate.problem(problem.about(escape_name(&path)));
                    continue;
                }
            };
            let size = u64::try_from(stat.st_size).unwrap_or_default();
            let (kind, size) = match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => (EntryKind::File, size),
                FileType::Directory => (EntryKind::Directory, 0),
                FileType::Symlink => (EntryKind::Other("a symbolic link"), 0),
                FileType::Fifo => (EntryKind::Other("a FIFO"), 0),
                FileType::Socket => (EntryKind::Other("a socket"), 0),
                _ => (EntryKind::Other("a device"), 0),
            };
            match gate.admit(&path, kind, size)? {
                Passage::File(admitted) => {
                    files.push(admitted.as_bytes(), &pack(size, stat.st_mtime)).map_err(BagError::Spill)?;
                }
                // What is too long for a name has been refused, with all that is in it.
                Passage::Skip if kind == EntryKind::Directory && too_long_reason(&path).is_none() => {
                    directories.push(path);
                }
                Passage::Skip => {}
                Passage::Stop => return Ok(()),
            }
        }
    }
    Ok(())
}
