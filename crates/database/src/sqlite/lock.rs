//! The lock that makes the processes of one machine take turns at writing.
//!
//! Two advisory locks make a fair turn: who wants to write first takes the turnstile (the folder), then the lock file,
//! then lets go of the turnstile. Who has just written finds the turnstile taken by the one who waited, and comes after.
//!
//! A process that was stopped while it writes has its lock until it goes on or ends. So nobody waits for longer than [`PATIENCE`].

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock, major, minor};
use rustix::io::Errno;

use crate::DatabaseError;

use super::failure::explain_io;

/// How long a turn is waited for. Turns take milliseconds, and only changes of the schema more than seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// How soon a lock is tried again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

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
    ///
    /// # Errors
    /// [`DatabaseError::Unavailable`] where another process does not end its turn.
    pub(super) fn acquire(&self) -> Result<HeldLock<'_>, DatabaseError> {
        self.acquire_within(PATIENCE)
    }

    fn acquire_within(&self, patience: Duration) -> Result<HeldLock<'_>, DatabaseError> {
        let began = Instant::now();
        let turn = self.lock(&self.turnstile, began, patience)?;
        let held = self.lock(&self.file, began, patience)?;
        drop(turn);
        Ok(held)
    }

    fn lock<'a>(&self, file: &'a File, began: Instant, patience: Duration) -> Result<HeldLock<'a>, DatabaseError> {
        let mut pause = FIRST_PAUSE;
        loop {
            match flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(HeldLock(file)),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if began.elapsed() < patience => {
                    sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(Errno::WOULDBLOCK) => return Err(self.busy(patience)),
                Err(error) => return Err(explain_io(&self.path, "lock the database", &error.into())),
            }
        }
    }

    /// Says who does not end their turn.
    fn busy(&self, patience: Duration) -> DatabaseError {
        let who = match self.holder() {
            Some(id) => format!("process {id} has been writing"),
            None => "another process has been writing".to_owned(),
        };
        DatabaseError::Unavailable {
            act: "take the turn to write".into(),
            detail: format!(
                "{}: {who} for {} seconds; if it was stopped, let it go on or end it",
                self.path.display(),
                patience.as_secs()
            ),
        }
    }

    /// The process that has the lock, as `proc_locks(5)` lists it; none where that cannot be seen, as from a container.
    fn holder(&self) -> Option<u32> {
        let ours = self.file.metadata().ok()?;
        // As the kernel writes it; a file system that has other numbers for its files is not found.
        let ours = format!("{:02x}:{:02x}:{}", major(ours.dev()), minor(ours.dev()), ours.ino());
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, "FLOCK", _, "WRITE", id, file, ..] = fields.as_slice() else { return None };
            id.parse().ok().filter(|_| *file == ours)
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_does_not_end_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("registry.db");
        let [one, other] = [(); 2].map(|()| WriteLock::beside(&path).expect("opens"));
        let held = one.acquire().expect("is free");
        let error = other.acquire_within(Duration::from_millis(20)).err().expect("is held");
        let text = error.to_string();
        assert!(matches!(error, DatabaseError::Unavailable { .. }), "{text}");
        assert!(text.contains(&format!("process {} has been writing", std::process::id())), "{text}");
        drop(held);
        assert!(other.acquire().is_ok());
    }
}
