//! A folder that is read by file descriptor: every access starts at the folder that was opened and passes no symbolic link,
//! so that a folder that is swapped for a link while a bag is read is noticed and never followed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self as rfs, AtFlags, Dir, Mode, OFlags, Stat};
use rustix::io::Errno;

/// An open folder.
pub(crate) struct Folder {
    directory: OwnedFd,
    /// Whether the kernel resolves whole paths without symbolic links (`openat2`, Linux 5.6); else each step is opened.
    #[cfg(target_os = "linux")]
    resolves: AtomicBool,
}

/// An open folder below a [`Folder`], whose entries are listed.
pub(crate) struct Listing {
    directory: OwnedFd,
    /// The entries, in no order.
    pub(crate) entries: Dir,
}

impl Listing {
    /// Kind, size and time of an entry; a symbolic link is described itself.
    pub(crate) fn stat(&self, name: &std::ffi::CStr) -> io::Result<Stat> {
        Ok(rfs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

impl Folder {
    /// Opens a folder. Links in `path` itself are followed: the caller named it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let directory = rfs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self::new(directory))
    }

    fn new(directory: OwnedFd) -> Self {
        Self {
            directory,
            #[cfg(target_os = "linux")]
            resolves: AtomicBool::new(true),
        }
    }

    /// The same folder once more.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self::new(self.directory.try_clone()?))
    }

    /// Lists the folder at `relative`; empty for this folder itself.
    pub(crate) fn list(&self, relative: &[u8]) -> io::Result<Listing> {
        let directory = self.open_at(relative, OFlags::RDONLY | OFlags::DIRECTORY).map_err(told)?;
        let entries = Dir::read_from(&directory)?;
        Ok(Listing { directory, entries })
    }

    /// Opens the regular file at `relative`, and nothing else.
    pub(crate) fn open_file(&self, relative: &[u8]) -> io::Result<File> {
        let file = File::from(self.open_at(relative, OFlags::RDONLY | OFlags::NONBLOCK).map_err(told)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(file)
    }

    fn open_at(&self, relative: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let relative = if relative.is_empty() { b"." } else { relative };
        #[cfg(target_os = "linux")]
        if self.resolves.load(Ordering::Relaxed) {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rfs::openat2(&self.directory, relative, flags, Mode::empty(), resolve) {
                // `PERM` is what some sandboxes say for a call they do not know; opening each step gives the true error.
                Err(Errno::NOSYS | Errno::PERM) => self.resolves.store(false, Ordering::Relaxed),
                outcome => return outcome,
            }
        }
        self.open_step_by_step(relative, flags)
    }

    fn open_step_by_step(&self, relative: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let through = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (parent, name) = match relative.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (relative.get(..at).unwrap_or_default(), relative.get(at + 1..).unwrap_or_default()),
            None => (&[][..], relative),
        };
        let mut at: Option<OwnedFd> = None;
        for segment in parent.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty()) {
            let from = at.as_ref().unwrap_or(&self.directory).as_fd();
            at = Some(rfs::openat(from, segment, through, Mode::empty())?);
        }
        rfs::openat(at.as_ref().unwrap_or(&self.directory).as_fd(), name, flags, Mode::empty())
    }
}

/// An error with its cause where a link is in the way, of which the system's own text says little.
fn told(error: Errno) -> io::Error {
    match error {
        Errno::LOOP | Errno::NOTDIR => io::Error::new(
            io::ErrorKind::InvalidInput,
            "it, or a folder above it, is a symbolic link or no folder any more; links are not followed",
        ),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_swapped_for_a_link_is_not_followed_either_way_of_opening() {
        let place = tempfile::TempDir::new().unwrap();
        let (bag, elsewhere) = (place.path().join("bag"), place.path().join("elsewhere"));
        for folder in [&bag.join("data/sub"), &elsewhere.join("sub")] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("x"), "x").unwrap();
        }
        let folder = Folder::open(&bag).unwrap();
        let read_both_ways = || {
            let first = folder.open_file(b"data/sub/x").map(drop);
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let second = folder.open_step_by_step(b"data/sub/x", flags).map(drop);
            (first.is_ok(), second.is_ok(), folder.list(b"data/sub").is_ok())
        };
        assert_eq!(read_both_ways(), (true, true, true));
        std::fs::rename(bag.join("data"), place.path().join("aside")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, bag.join("data")).unwrap();
        assert_eq!(read_both_ways(), (false, false, false));
        let error = folder.open_file(b"data/sub/x").unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert!(folder.open_file(b"../elsewhere/sub/x").is_err());
    }
}
