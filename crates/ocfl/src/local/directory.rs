//! A directory of the disk that is only read: every access starts at the directory that was opened and passes no symbolic
//! link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self as rfs, AtFlags, Dir, FileType, Mode, OFlags};

use crate::OcflError;

/// No declaration, layout or configuration is near this long; more is not read.
const SMALL_FILE_LIMIT: u64 = 64 * 1024;

/// An open directory.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    directory: OwnedFd,
}

impl Directory {
    pub(super) fn open(path: &Path) -> Result<Self, OcflError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rfs::open(path, flags, Mode::empty()).map_err(|error| failed("open", path, error.into()))?;
        Ok(Self { path: path.to_owned(), directory })
    }

    pub(super) fn try_clone(&self) -> Result<Self, OcflError> {
        let directory = self.directory.try_clone().map_err(|error| failed("open", &self.path, error))?;
        Ok(Self { path: self.path.clone(), directory })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file, and nothing else.
    pub(super) fn open_file(&self, relative: &Path) -> Result<File, OcflError> {
        let not_a_file = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
        let open = || -> io::Result<File> {
            let file = File::from(self.open_at(relative, OFlags::RDONLY | OFlags::NONBLOCK)?);
            if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file()) }
        };
        open().map_err(|error| failed("open", &self.path.join(relative), error))
    }

    /// Reads a small file; `None` where nothing is.
    pub(super) fn read_small(&self, relative: &Path) -> Result<Option<Vec<u8>>, OcflError> {
        let file = match self.open_file(relative) {
            Ok(file) => file,
            Err(error) if error.is_absent() => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        let read = file.take(SMALL_FILE_LIMIT).read_to_end(&mut bytes);
        read.map_err(|error| failed("read", &self.path.join(relative), error))?;
        Ok(Some(bytes))
    }

    /// Calls `visit` with each name in a directory, in no order, and whether it is a directory itself.
    pub(super) fn each_name(&self, relative: &Path, visit: &mut dyn FnMut(&OsStr, bool)) -> Result<(), OcflError> {
        let list = |visit: &mut dyn FnMut(&OsStr, bool)| -> io::Result<()> {
            let directory = self.open_at(relative, OFlags::RDONLY | OFlags::DIRECTORY)?;
            for entry in Dir::read_from(&directory)? {
                let entry = entry?;
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                let kind = match entry.file_type() {
                    FileType::Unknown => rfs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                    kind => kind,
                };
                visit(OsStr::from_bytes(name.to_bytes()), kind == FileType::Directory);
            }
            Ok(())
        };
        list(visit).map_err(|error| failed("list", &self.path.join(relative), error))
    }

    fn open_at(&self, relative: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let through = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut names: Vec<OsString> = Vec::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => names.push(name.to_owned()),
                Component::CurDir => {}
                _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path leads elsewhere")),
            }
        }
        let Some(last) = names.pop() else {
            return Ok(rfs::openat(&self.directory, ".", flags, Mode::empty())?);
        };
        let mut at: Option<OwnedFd> = None;
        for name in names {
            let from = at.as_ref().unwrap_or(&self.directory).as_fd();
            at = Some(rfs::openat(from, name, through, Mode::empty()).map_err(told)?);
        }
        rfs::openat(at.as_ref().unwrap_or(&self.directory).as_fd(), last, flags, Mode::empty()).map_err(told)
    }
}

/// An error with its cause where a link is in the way, of which the system's own text says little.
fn told(error: rustix::io::Errno) -> io::Error {
    match error {
        rustix::io::Errno::LOOP => io::Error::new(
            io::ErrorKind::InvalidInput,
            "it, or a directory above it, is a symbolic link, which is not followed",
        ),
        other => other.into(),
    }
}

pub(super) fn failed(act: &'static str, path: &Path, source: io::Error) -> OcflError {
    OcflError::Local { act, path: path.to_owned(), source }
}
