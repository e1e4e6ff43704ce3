//! A bag that is a directory. The walk follows no link and opens no FIFO or device: kinds come from the directory entries
//! themselves, and a file is opened only so that a link or FIFO put in its place since would be refused or not block.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::gate::{self, EntryKind, Gate, Passage};
use super::{Entry, Visitor};
use crate::codes;
use crate::error::BagError;
use crate::path::{escape_name, unescape_name};
use crate::spill::Sorter;

/// Opens a regular file and nothing else.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// Opens a file of a bag, by the path that the walk gave it; links are not followed.
pub(crate) fn open_member(base: &Path, path: &str) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC).bits();
    let open = |path: &Path| OpenOptions::new().read(true).custom_flags(flags as i32).open(path);
    let file = match open(&base.join(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.contains("\\x") => {
            open(&base.join(std::ffi::OsStr::from_bytes(&unescape_name(path))))?
        }
        other => other?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// A file that is opened when it is first read.
struct Unopened<'p> {
    base: &'p Path,
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

pub(super) fn scan(base: &Path, gate: &mut Gate, mut visit: Visitor<'_>) -> Result<(), BagError> {
    let name = base.file_name().map(|name| escape_name(name.as_bytes()));
    let name = name.or_else(|| Some(escape_name(fs::canonicalize(base).ok()?.file_name()?.as_bytes())));
    gate.set_base_directory(name);
    let limits = gate.limits();
    let mut files = Sorter::new(limits.memory / 4, limits.temporary_directory.as_deref());
    walk(base, gate, &mut files)?;
    for record in files.finish().map_err(BagError::Spill)?.iter().map_err(BagError::Spill)? {
        let (path, facts) = record.map_err(BagError::Spill)?;
        let Some(entry) = unpack(&path, &facts) else { continue };
        let file = Unopened { base, path: &entry.path, file: None };
        if let Err(error) = gate::show(&entry, file, &mut visit)? {
            gate.problem(
                codes::ENTRY_UNREADABLE.problem(format!("the file cannot be read: {error}")).about(&entry.path),
            );
        }
    }
    Ok(())
}

fn pack(size: u64, seconds: i64) -> [u8; 16] {
    let mut facts = [0; 16];
    facts[..8].copy_from_slice(&size.to_le_bytes());
    facts[8..].copy_from_slice(&seconds.to_le_bytes());
    facts
}

fn unpack(path: &[u8], facts: &[u8]) -> Option<Entry> {
    let (size, seconds) = facts.split_first_chunk::<8>()?;
    let (seconds, _) = seconds.split_first_chunk::<8>()?;
    Some(Entry {
        path: String::from_utf8(path.to_vec()).ok()?,
        size: u64::from_le_bytes(*size),
        modified: jiff::Timestamp::from_second(i64::from_le_bytes(*seconds)).ok(),
        location: 0,
    })
}

fn walk(base: &Path, gate: &mut Gate, files: &mut Sorter) -> Result<(), BagError> {
    let mut directories: Vec<(PathBuf, Vec<u8>)> = vec![(base.to_owned(), Vec::new())];
    while let Some((directory, prefix)) = directories.pop() {
        let listing = match fs::read_dir(&directory) {
            Ok(listing) => listing,
            Err(error) if prefix.is_empty() => return Err(BagError::io("list", &directory, error)),
            Err(error) => {
                let problem = codes::ENTRY_UNREADABLE.problem(format!("the directory cannot be listed: {error}"));
                gate.problem(problem.about(escape_name(&prefix)));
                continue;
            }
        };
        for item in listing {
            let item = item.map_err(|error| BagError::io("list", &directory, error))?;
            let name = item.file_name();
            let mut path = Vec::with_capacity(prefix.len() + 1 + name.len());
            if !prefix.is_empty() {
                path.extend_from_slice(&prefix);
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            let unreadable = |error: io::Error| {
                codes::ENTRY_UNREADABLE
                    .problem(format!("the entry cannot be looked at: {error}"))
                    .about(escape_name(&path))
            };
            let kind = match item.file_type() {
                Ok(kind) => kind,
                Err(error) => {
                    gate.problem(unreadable(error));
                    continue;
                }
            };
            if kind.is_dir() {
                gate.admit(&path, EntryKind::Directory, 0)?;
                directories.push((item.path(), path));
                continue;
            }
            if !kind.is_file() {
                let what = if kind.is_symlink() {
                    "a symbolic link"
                } else if kind.is_fifo() {
                    "a FIFO"
                } else if kind.is_socket() {
                    "a socket"
                } else {
                    "a device"
                };
                gate.admit(&path, EntryKind::Other(what), 0)?;
                continue;
            }
            let metadata = match item.metadata() {
                Ok(metadata) => metadata,
                Err(error) => {
                    gate.problem(unreadable(error));
                    continue;
                }
            };
            match gate.admit(&path, EntryKind::File, metadata.len())? {
                Passage::File(path) => {
                    files.push(path.as_bytes(), &pack(metadata.len(), metadata.mtime())).map_err(BagError::Spill)?;
                }
                Passage::Skip => {}
                Passage::Stop => return Ok(()),
            }
        }
    }
    Ok(())
}
