//! The lock that makes the processes of one machine take turns at writing.
//!
//! Two advisory locks make a fair turn: who wants to write first takes the turnstile (the folder), then the lock file,
//! then lets go of the turnstile. Who has just written finds the turnstile taken by the one who waited, and comes after.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::DatabaseError;

use super::failure::explain_io;

/// An exclusive lock over all processes that write one database.
pub(super) struct WriteLock {
    file: File,
    turnstile: File,
    path: PathBuf,
}

impl WriteLock {
    /// The lock of the database at `database`: the file beside it with the same stem and the ending `.lock`.
    pub(super) fn beside(database: &Path) -> Result<Self, DatabaseError> {
        let path = database.with_extension("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| explain_io(&path, "open the lock file", &error))?;
        let folder = folder_of(database);
        let turnstile =
            File::open(folder).map_err(|error| explain_io(folder, "open the folder of the database", &error))?;
        Ok(Self { file, turnstile, path })
    }

    /// Waits for the turn to write. It ends when the guard is dropped, or with the process, however that ends.
    pub(super) fn acquire(&self) -> Result<HeldLock<'_>, DatabaseError> {
        let turn = self.lock(&self.turnstile)?;
        let held = self.lock(&self.file)?;
        drop(turn);
        Ok(held)
    }

    fn lock<'a>(&self, file: &'a File) -> Result<HeldLock<'a>, DatabaseError> {
        loop {
            match flock(file.as_fd(), FlockOperation::LockExclusive) {
                Ok(()) => return Ok(HeldLock(file)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(explain_io(&self.path, "lock the database", &error.into())),
            }
        }
    }
}

/// A lock that is held until this is dropped.
pub(super) struct HeldLock<'a>(&'a File);

impl Drop for HeldLock<'_> {
    fn drop(&mut self) {
        // Unlocking an open descriptor that holds the lock cannot fail (flock(2)); closing it would unlock it as well.
        let _ = flock(self.0.as_fd(), FlockOperation::Unlock);
    }
}

/// The folder a file lies in; `.` for a bare name.
pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
