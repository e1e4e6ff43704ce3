//! Putting a file in its place: written and checked out of sight, then named in one step.

use std::cell::Cell;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{self as rfs, AtFlags, FlockOperation, OFlags, RenameFlags, XattrFlags};
use rustix::io::Errno;
use strongroom_digest::MultiHasher;

use super::root::{RACES, is_directory, is_file, split};
use super::{Folder, LOCK, etag, head_of};
use crate::moment::moment;
use crate::{Durability, Head, Key, PutCondition, PutOptions, StorageError};

/// Bytes moved at a time.
const BUFFER: usize = 256 << 10;
/// After so many bytes the kernel is asked to begin writing them to the disk, so that the sync at the end is short.
const WRITE_BEHIND: u64 = 8 << 20;

/// How long others may keep the lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long to wait before the lock is tried again.
const FIRST_LOCK_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_LOCK_PAUSE: Duration = Duration::from_millis(10);

thread_local! {
    static COPY_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Where a file is put, and what goes with it.
pub(super) struct Place<'a> {
    /// Relative to the folder.
    relative: &'a str,
    /// Directories that are left empty by a failure are removed up to this one.
    stop: &'a str,
    /// For errors.
    key: &'a Key,
    /// Whether `stop` must be there; else it is made.
    needs_stop: bool,
    /// Attributes of the file.
    attributes: &'a [(String, Vec<u8>)],
}

impl<'a> Place<'a> {
    pub(super) fn new(relative: &'a str, stop: &'a str, key: &'a Key) -> Self {
        Self { relative, stop, key, needs_stop: false, attributes: &[] }
    }

    /// In a directory that must be there, with extended attributes.
    pub(super) fn within(
        directory: &'a str,
        relative: &'a str,
        key: &'a Key,
        attributes: &'a [(String, Vec<u8>)],
    ) -> Self {
        Self { relative, stop: directory, key, needs_stop: true, attributes }
    }
}

/// A file that has no place yet. Removed when dropped without one.
struct Staged<'a> {
    folder: &'a Folder,
    relative: String,
    file: File,
    is_placed: bool,
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            // What cannot be removed now is swept when the store is opened again.
            let _ = rfs::unlinkat(self.folder.root.directory(), &self.relative, AtFlags::empty());
        }
    }
}

impl Folder {
    /// Puts `body` in its place.
    pub(super) fn put_at(
        &self,
        place: &Place<'_>,
        body: &mut dyn Read,
        options: &PutOptions,
    ) -> Result<Head, StorageError> {
        let Place { relative, stop, key, .. } = *place;
        self.refuse_early(relative, key, &options.condition)?;
        let mut staged = self.stage(key)?;
        self.fill(&mut staged, key, body, options)?;
        for (name, value) in place.attributes {
            rfs::fsetxattr(&staged.file, name.as_str(), value, XattrFlags::empty())
                .map_err(|errno| self.failed("set the attributes of", key, errno.into()))?;
        }
        // Exact to the nanosecond, where the kernel's own stamp is as coarse as its clock tick: an etag must not
        // come back when an inode does.
        staged.file.set_modified(SystemTime::now()).map_err(|source| self.failed("write", key, source))?;
        let is_durable = options.durability == Durability::OnReturn;
        if is_durable {
            staged.file.sync_all().map_err(|source| self.failed("write", key, source))?;
        }
        let stat = rfs::fstat(&staged.file).map_err(|errno| self.failed("write", key, errno.into()))?;
        let (directory, _) = split(relative);
        let outcome = self.place(&mut staged, place, &options.condition).and_then(|parent| {
            if is_durable {
                rfs::fsync(parent)
                    .and_then(|()| self.durability.sync_ancestors(&self.root, directory))
                    .map_err(|errno| self.failed("sync", key, errno.into()))?;
            }
            if self.durability.is_due() {
                self.sync()?;
            }
            Ok(())
        });
        if outcome.is_err() && !staged.is_placed {
            self.root.prune(directory, stop);
        }
        outcome.map(|()| head_of(&stat))
    }

    /// Spares the reading of a body that has no chance.
    fn refuse_early(&self, relative: &str, key: &Key, condition: &PutCondition) -> Result<(), StorageError> {
        if self.is_other_name(relative, key)? {
            return Err(self.obstructed_by_case(key));
        }
        let is_hopeless = match (condition, self.root.stat(relative)) {
            (PutCondition::IfAbsent, Ok(stat)) => is_file(&stat),
            (PutCondition::IfMatch(wanted), Ok(stat)) => *wanted != etag(&stat),
            (PutCondition::IfMatch(_), Err(Errno::NOENT | Errno::NOTDIR)) => true,
            _ => false,
        };
        if is_hopeless { Err(self.condition_failed(key, condition)) } else { Ok(()) }
    }

    fn stage(&self, key: &Key) -> Result<Staged<'_>, StorageError> {
        let begun = self.begin_temporary();
        let (relative, file) = begun.map_err(|errno| self.failed("make a temporary file for", key, errno.into()))?;
        Ok(Staged { folder: self, relative, file, is_placed: false })
    }

    fn fill(
        &self,
        staged: &mut Staged<'_>,
        key: &Key,
        body: &mut dyn Read,
        options: &PutOptions,
    ) -> Result<(), StorageError> {
        let algorithm = options.digest.map(|(algorithm, _)| algorithm).filter(|_| !options.is_read_back);
        let mut hasher = MultiHasher::new(algorithm.as_slice());
        let mut buffer = COPY_BUFFER.take();
        buffer.resize(BUFFER, 0);
        let outcome = self.copy(&mut staged.file, key, body, options.size, &mut hasher, &mut buffer);
        COPY_BUFFER.set(buffer);
        outcome?;
        let length = hasher.length();
        if let Some(declared) = options.size.filter(|declared| *declared != length) {
            return Err(self.mismatch(key, format!("{declared} bytes"), format!("{length} bytes")));
        }
        let digests = hasher.finish();
        if let Some((algorithm, declared)) = options.digest
            && let Some(found) = digests.get(algorithm)
            && found != declared
        {
            return Err(self.mismatch(key, format!("{algorithm} {declared}"), format!("{algorithm} {found}")));
        }
        Ok(())
    }

    fn copy(
        &self,
        file: &mut File,
        key: &Key,
        body: &mut dyn Read,
        declared: Option<u64>,
        hasher: &mut MultiHasher,
        buffer: &mut [u8],
    ) -> Result<(), StorageError> {
        let mut behind = 0;
        loop {
            let length = match body.read(buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => length,
                Err(source) if source.kind() == ErrorKind::Interrupted => continue,
                Err(source) => return Err(StorageError::Source { store: self.name.clone(), key: key.clone(), source }),
            };
            let bytes = buffer.get(..length).ok_or_else(|| StorageError::Source {
                store: self.name.clone(),
                key: key.clone(),
                source: std::io::Error::other("the reader claims more bytes than it was asked for"),
            })?;
            hasher.update(bytes);
            if let Some(declared) = declared.filter(|declared| hasher.length() > *declared) {
                return Err(self.mismatch(key, format!("{declared} bytes"), "more".to_owned()));
            }
            file.write_all(bytes).map_err(|source| self.failed("write", key, source))?;
            if hasher.length() - behind >= WRITE_BEHIND {
                write_behind(file, behind, hasher.length());
                behind = hasher.length();
            }
        }
    }

    /// Names the staged file; gives the directory it lies in.
    fn place(
        &self,
        staged: &mut Staged<'_>,
        place: &Place<'_>,
        condition: &PutCondition,
    ) -> Result<OwnedFd, StorageError> {
        let Place { relative, key, .. } = *place;
        let base = if place.needs_stop { place.stop } else { "" };
        let (directory, name) = split(relative);
        for _ in 0..RACES {
            let parent = match self.root.open_directory(directory) {
                Ok(parent) => parent,
                Err(Errno::NOENT) => {
                    moment("place.missing");
                    let mut note = |made: &str| self.durability.note(made);
                    match self.root.make_directory_below(base, directory, &mut note) {
                        Ok(()) | Err(Errno::NOENT) if self.is_missing(base) => return Err(self.not_found(key)),
                        Ok(()) | Err(Errno::NOENT) => continue,
                        Err(errno) => return Err(self.obstructed(key, errno)),
                    }
                }
                Err(errno) => return Err(self.obstructed(key, errno)),
            };
            moment("place.opened");
            let _lock = self.lock(key, matches!(condition, PutCondition::IfMatch(_)))?;
            if let PutCondition::IfMatch(wanted) = condition {
                let found = rfs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
                if !found.is_ok_and(|stat| is_file(&stat) && etag(&stat) == *wanted) {
                    return Err(self.condition_failed(key, condition));
                }
            }
            moment("place.checked");
            let outcome = match condition {
                PutCondition::IfAbsent => self.name_if_absent(&staged.relative, &parent, name),
                PutCondition::Always | PutCondition::IfMatch(_) => {
                    rfs::renameat(self.root.directory(), &staged.relative, &parent, name)
                }
            };
            match outcome {
                Ok(()) => {
                    staged.is_placed = true;
                    return Ok(parent);
                }
                // The directory was removed since it was opened.
                Err(Errno::NOENT) => {}
                // A directory without anything in it is no key; one with something in it stays.
                Err(Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY) => {
                    moment("place.refused");
                    match rfs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) if is_directory(&stat) => {
                            moment("place.folder-found");
                            match rfs::unlinkat(&parent, name, AtFlags::REMOVEDIR) {
                                Ok(()) | Err(Errno::NOENT) => {}
                                Err(_) => return Err(self.obstructed(key, Errno::ISDIR)),
                            }
                        }
                        Ok(stat) if *condition == PutCondition::IfAbsent => {
                            let is_key = is_file(&stat);
                            return Err(if is_key {
                                self.condition_failed(key, condition)
                            } else {
                                self.not_a_file(key)
                            });
                        }
                        Ok(_) | Err(Errno::NOENT) => {}
                        Err(errno) => return Err(self.failed("put", key, errno.into())),
                    }
                }
                Err(errno) => return Err(self.failed("put", key, errno.into())),
            }
        }
        Err(self.failed("put", key, ErrorKind::ResourceBusy.into()))
    }

    fn is_missing(&self, directory: &str) -> bool {
        !directory.is_empty() && matches!(self.root.stat(directory), Err(Errno::NOENT))
    }

    fn name_if_absent(&self, staged: &str, parent: &OwnedFd, name: &str) -> Result<(), Errno> {
        match rfs::renameat_with(self.root.directory(), staged, parent, name, RenameFlags::NOREPLACE) {
            // File systems without this flag have hard links, and the other way round.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rfs::linkat(self.root.directory(), staged, parent, name, AtFlags::empty())?;
                rfs::unlinkat(self.root.directory(), staged, AtFlags::empty())
            }
            outcome => outcome,
        }
    }

    /// A lock that all processes and threads share that change keys of this store: alone for a put that depends on
    /// what lies there and for what takes something out of sight, together for all other changes. Released when dropped.
    ///
    /// # Errors
    /// [`StorageError::Away`] where others do not let go of it, which they hold for a moment only.
    pub(super) fn lock(&self, key: &Key, is_alone: bool) -> Result<OwnedFd, StorageError> {
        let how =
            if is_alone { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
        let failed = |errno: Errno| self.failed("lock the store for", key, errno.into());
        let file = self.root.open_at(LOCK, OFlags::RDWR | OFlags::CREATE).map_err(failed)?;
        let begun = Instant::now();
        let mut pause = FIRST_LOCK_PAUSE;
        loop {
            match rfs::flock(&file, how) {
                Ok(()) => return Ok(file),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if begun.elapsed() < LOCK_WAIT => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_LOCK_PAUSE);
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(StorageError::Away {
                        store: self.name.clone(),
                        reason: format!(
                            "a process has held {}/{LOCK} for {} s, which hangs or is none of this program; `lslocks` names it",
                            self.root.path().display(),
                            LOCK_WAIT.as_secs()
                        ),
                    });
                }
                Err(errno) => return Err(failed(errno)),
            }
        }
    }

    fn mismatch(&self, key: &Key, declared: String, found: String) -> StorageError {
        StorageError::Mismatch { store: self.name.clone(), key: key.clone(), declared, found }
    }

    fn condition_failed(&self, key: &Key, condition: &PutCondition) -> StorageError {
        let condition = match condition {
            PutCondition::Always => "in any case".to_owned(),
            PutCondition::IfAbsent => "only where there is nothing".to_owned(),
            PutCondition::IfMatch(etag) => format!("only where the etag is {etag}"),
        };
        StorageError::Condition { store: self.name.clone(), key: key.clone(), condition }
    }

    pub(super) fn obstructed_by_case(&self, key: &Key) -> StorageError {
        let what = "a name exists there that differs only in letter case or spelling";
        StorageError::InTheWay { store: self.name.clone(), key: key.clone(), what }
    }

    pub(super) fn obstructed(&self, key: &Key, errno: Errno) -> StorageError {
        let what = match errno {
            Errno::NOTDIR | Errno::EXIST => "there is a file where a folder is needed",
            Errno::ISDIR => "there is a folder with other keys",
            Errno::LOOP => "a symbolic link is on the path",
            other => return self.failed("put", key, other.into()),
        };
        StorageError::InTheWay { store: self.name.clone(), key: key.clone(), what }
    }
}

/// Asks the kernel to begin writing a range to the disk. Advice: nothing depends on it.
#[cfg(target_os = "linux")]
fn write_behind(file: &File, from: u64, to: u64) {
    // On pages not yet written, `DONTNEED` starts the writing and does not wait for it (Linux, mm/fadvise.c).
    let length = std::num::NonZeroU64::new(to - from);
    let _ = rfs::fadvise(file, from, length, rfs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn write_behind(_file: &File, _from: u64, _to: u64) {}
