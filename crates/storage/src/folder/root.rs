//! The folder a store lives in, as an open directory: every access is relative to it and follows no symbolic link, so
//! that no one who may write into one part of a store can make it lead out of there.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self as rfs, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::FolderMode;
use crate::moment::moment;

/// How often an act is repeated that lost a race against someone who removed or made the same directories.
pub(super) const RACES: u32 = 1_000;

#[derive(Debug)]
pub(super) struct Root {
    directory: OwnedFd,
    path: PathBuf,
    /// Rights of new files and directories, before the process's umask.
    mode: FolderMode,
    /// Whether the kernel resolves whole paths without symbolic links (`openat2`, Linux 5.6); else we go step by step.
    #[cfg(target_os = "linux")]
    resolves: AtomicBool,
}

impl Root {
    pub(super) fn open(path: &Path, mode: FolderMode) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rfs::open(path, flags, Mode::empty())?;
        Ok(Self {
            directory,
            path: path.to_owned(),
            mode,
            #[cfg(target_os = "linux")]
            resolves: AtomicBool::new(true),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// Opens what lies at `relative` (empty: the root itself).
    pub(super) fn open_at(&self, relative: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let relative = if relative.is_empty() { "." } else { relative };
        #[cfg(target_os = "linux")]
        if self.resolves.load(Ordering::Relaxed) {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rfs::openat2(&self.directory, relative, flags, self.mode(flags), resolve) {
                // `PERM` is what some sandboxes say for a call they do not know; going step by step gives the true error.
                Err(Errno::NOSYS | Errno::PERM) => self.resolves.store(false, Ordering::Relaxed),
                outcome => return outcome,
            }
        }
        self.open_step_by_step(relative, flags)
    }

    fn open_step_by_step(&self, relative: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let through = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (parent, name) = split(relative);
        let mut at: Option<OwnedFd> = None;
        for segment in parent.split('/').filter(|segment| !segment.is_empty()) {
            let from = at.as_ref().unwrap_or(&self.directory).as_fd();
            at = Some(rfs::openat(from, segment, through, Mode::empty())?);
        }
        rfs::openat(at.as_ref().unwrap_or(&self.directory).as_fd(), name, flags, self.mode(flags))
    }

    fn mode(&self, flags: OFlags) -> Mode {
        if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(self.mode.file()) } else { Mode::empty() }
    }

    /// Opens a directory so that it can be read, renamed into and synced.
    pub(super) fn open_directory(&self, relative: &str) -> Result<OwnedFd, Errno> {
        self.open_at(relative, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// What lies at `relative`; a symbolic link at the end is described itself.
    pub(super) fn stat(&self, relative: &str) -> Result<Stat, Errno> {
        let (parent, name) = split(relative);
        if parent.is_empty() {
            let name = if name.is_empty() { "." } else { name };
            return rfs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW);
        }
        rfs::statat(self.open_at(parent, through())?, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Makes the directory `relative` and those above it; `made` is called with each before it is made.
    pub(super) fn make_directory(&self, relative: &str, made: &mut dyn FnMut(&str)) -> Result<(), Errno> {
        self.make_directory_below("", relative, made)
    }

    /// The same, but for `base` and what lies above it, which must be there.
    pub(super) fn make_directory_below(
        &self,
        base: &str,
        relative: &str,
        made: &mut dyn FnMut(&str),
    ) -> Result<(), Errno> {
        let ends = relative.match_indices('/').map(|(at, _)| at).chain([relative.len()]);
        for end in ends.filter(|end| *end > base.len()) {
            let directory = &relative[..end];
            let (parent, name) = split(directory);
            let parent = self.open_at(parent, through())?;
            if rfs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                continue;
            }
            made(directory);
            moment("make-directory.looked");
            match rfs::mkdirat(&parent, name, Mode::from_raw_mode(self.mode.directory())) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether nothing lies in the folder.
    pub(super) fn is_empty(&self) -> Result<bool, Errno> {
        let open = self.open_directory("")?;
        for entry in rfs::Dir::read_from(&open)? {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes the directory `relative` when it is empty, then those above it, up to but not including `stop`.
    pub(super) fn prune(&self, relative: &str, stop: &str) {
        let mut directory = relative;
        while !directory.is_empty() && directory != stop {
            let (parent, name) = split(directory);
            let Ok(above) = self.open_at(parent, through()) else { return };
            // Not empty, not ours to remove, or gone already: each ends here or is met again one level up.
            match rfs::unlinkat(above, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => directory = parent,
                Err(_) => return,
            }
        }
    }
}

/// A directory that is only passed through needs no right to be read.
fn through() -> OFlags {
    #[cfg(target_os = "linux")]
    return OFlags::PATH | OFlags::DIRECTORY;
    #[cfg(not(target_os = "linux"))]
    return OFlags::RDONLY | OFlags::DIRECTORY;
}

/// Parent and last segment.
pub(super) fn split(relative: &str) -> (&str, &str) {
    relative.rsplit_once('/').unwrap_or(("", relative))
}

pub(super) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

pub(super) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
