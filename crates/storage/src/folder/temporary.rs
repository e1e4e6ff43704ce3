//! What has no place in a store yet, or no place any more: who writes it, and what nobody goes on with.
//!
//! A put writes to `put-<machine>-<id>` and keeps this file locked (`flock`) until it has its place, or is gone. The lock ends with the
//! process, however that ends, so a file that can be locked has no writer: on a file system of this machine in any case, on one that several
//! machines share only where the name says that the writer ran here. What is removed is first renamed to `tree-<id>`: nobody needs it
//! any more. Other names are those of earlier programs, of files that may be put back, and of file systems without locks: only
//! their age tells.

use std::fs::{self, DirEntry, File};
use std::os::fd::OwnedFd;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use rustix::fs::{self as rfs, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use uuid::Uuid;

use super::root::RACES;
use super::{Folder, TEMPORARY};
use crate::moment::moment;

/// What stands before the name of a file that a put writes.
const PUT: &str = "put-";
/// What stands before the name of what is being removed.
const TREE: &str = "tree-";
/// Other files and folders older than this belong to no process any more.
pub(super) const STALE: Duration = Duration::from_hours(24);
/// Entries of folders that are being removed of which the sizes are added up.
const MOST_COUNTED: usize = 10_000;

/// What processes that ended left in a store out of sight, as far as their writers are not known to be at work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Files, and folders that were being removed.
    pub entries: u64,
    /// Their bytes; of very many files those of the first.
    pub bytes: u64,
}

impl Folder {
    /// Makes a file for a put, which others do not take for abandoned while it is open; where it lies.
    pub(super) fn begin_temporary(&self) -> Result<(String, File), Errno> {
        let make = |relative: &str| self.root.open_at(relative, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL);
        for _ in 0..RACES {
            let Some(machine) = this_machine() else { break };
            let relative = format!("{TEMPORARY}/{PUT}{machine}-{}", Uuid::new_v4().simple());
            let file = make(&relative)?;
            moment("temporary.made");
            match lock(&file) {
                // Another process may have swept it before it was locked.
                Ok(()) if rfs::fstat(&file)?.st_nlink > 0 => return Ok((relative, file.into())),
                Ok(()) => {}
                Err(errno) => {
                    let _ = rfs::unlinkat(self.root.directory(), &relative, AtFlags::empty());
                    if errno != Errno::WOULDBLOCK {
                        break;
                    }
                }
            }
        }
        let relative = format!("{TEMPORARY}/{}", Uuid::new_v4().simple());
        Ok((relative.clone(), make(&relative)?.into()))
    }

    /// Where what is to be removed is renamed to.
    pub(super) fn name_for_removal() -> String {
        format!("{TEMPORARY}/{TREE}{}", Uuid::new_v4().simple())
    }

    /// Removes what nobody goes on with, and what is older than `age`; how much that was. Folders that were being removed may have many
    /// files: they are removed `with_trees` only, or when they are old.
    pub(super) fn sweep(&self, age: Duration, with_trees: bool) -> u64 {
        self.sweep_on(is_local(self.root.path()), age, with_trees)
    }

    /// The same on a file system that is known to be one of this machine alone, or not.
    fn sweep_on(&self, is_local: bool, age: Duration, with_trees: bool) -> u64 {
        let Ok(entries) = fs::read_dir(self.root.path().join(TEMPORARY)) else { return 0 };
        let mut removed = 0;
        for entry in entries.flatten() {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let relative = format!("{TEMPORARY}/{name}");
            // It stays locked until it is removed: a put that has just begun with it sees that.
            let writer = self.writer_of(&relative, &name);
            let is_over = match &writer {
                Writer::AtWork => false,
                Writer::NoneHere(_) if is_local || is_of_this_machine(&name) => true,
                Writer::NoneHere(_) | Writer::Unknown => is_older(&entry, age) || with_trees && name.starts_with(TREE),
            };
            if !is_over {
                continue;
            }
            moment("sweep.found");
            // What cannot be removed today is tried again at the next opening.
            let is_removed = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.empty_trash(&relative).is_ok()
            } else {
                rfs::unlinkat(self.root.directory(), &relative, AtFlags::empty()).is_ok()
            };
            removed += u64::from(is_removed);
        }
        removed
    }

    /// Removes every directory that was renamed away to be removed. The first one that cannot be is the error.
    pub(super) fn remove_trees(&self) -> std::io::Result<()> {
        let entries = match fs::read_dir(self.root.path().join(TEMPORARY)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let name = entry?.file_name();
            if let Some(name) = name.to_str().filter(|name| name.starts_with(TREE)) {
                self.empty_trash(&format!("{TEMPORARY}/{name}"))?;
            }
        }
        Ok(())
    }

    fn writer_of(&self, relative: &str, name: &str) -> Writer {
        if !name.starts_with(PUT) {
            return Writer::Unknown;
        }
        // File systems of the network give the lock only on what is open for writing.
        Writer::of(self.root.open_at(relative, OFlags::WRONLY | OFlags::NONBLOCK))
    }
}

/// What is known of the writer of a file.
enum Writer {
    /// Its process has the file open.
    AtWork,
    /// No process has it open that uses the same locks; it is locked now.
    NoneHere(#[expect(dead_code, reason = "the lock lasts as long as it is open")] OwnedFd),
    Unknown,
}

impl Writer {
    fn of(opened: Result<OwnedFd, Errno>) -> Self {
        let Ok(file) = opened else { return Self::Unknown };
        match lock(&file) {
            Ok(()) => Self::NoneHere(file),
            Err(Errno::WOULDBLOCK) => Self::AtWork,
            Err(_) => Self::Unknown,
        }
    }
}

/// What lies out of sight in the store at a path, as far as it is not known that a process writes it. Nothing where it cannot be read.
pub(super) fn unfinished(path: &Path) -> Unfinished {
    let Ok(entries) = fs::read_dir(path.join(TEMPORARY)) else { return Unfinished::default() };
    let mut found = Unfinished::default();
    for entry in entries.flatten() {
        let is_put = entry.file_name().to_str().is_some_and(|name| name.starts_with(PUT));
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if is_put && matches!(Writer::of(rfs::open(entry.path(), flags, Mode::empty())), Writer::AtWork) {
            continue;
        }
        found.entries += 1;
        found.bytes = found.bytes.saturating_add(size_of(entry));
    }
    found
}

/// The bytes of a file, or of the files of a folder.
fn size_of(entry: DirEntry) -> u64 {
    let (mut bytes, mut open, mut counted) = (0_u64, vec![entry], 0);
    while let Some(entry) = open.pop().filter(|_| counted < MOST_COUNTED) {
        counted += 1;
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            let below = fs::read_dir(entry.path());
            open.extend(below.into_iter().flatten().flatten().take(MOST_COUNTED));
        } else {
            bytes = bytes.saturating_add(metadata.len());
        }
    }
    bytes
}

fn is_older(entry: &DirEntry, age: Duration) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|old| old > age))
}

/// Locks a file for as long as it is open, where no other has locked it.
fn lock(file: &impl std::os::fd::AsFd) -> Result<(), Errno> {
    loop {
        match rfs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}

fn is_of_this_machine(name: &str) -> bool {
    let of = name.strip_prefix(PUT).and_then(|rest| rest.split('-').next());
    of.is_some_and(|of| this_machine() == Some(of))
}

/// This boot of this kernel: all processes under it see each other's locks, in whatever container they run.
#[cfg(target_os = "linux")]
fn this_machine() -> Option<&'static str> {
    static MACHINE: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Uuid::try_parse(text.trim()).ok().map(|id| id.simple().to_string())
    };
    MACHINE.get_or_init(read).as_deref()
}

/// Elsewhere than on Linux only the age of a file tells that nobody writes it.
#[cfg(not(target_os = "linux"))]
fn this_machine() -> Option<&'static str> {
    None
}

/// Whether a file system is one that a single machine uses at a time, so that all who use it see each other's locks.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    /// `f_type` of ext2 to ext4, XFS, Btrfs, F2FS, ZFS, tmpfs and overlayfs (`statfs(2)`; `OpenZFS`).
    const LOCAL: [u64; 7] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0x0102_1994, 0x794c_7630];
    // Its type differs from one processor to another; the numbers do not.
    rfs::statfs(path)
        .is_ok_and(|found| LOCAL.iter().any(|local| i128::from(found.f_type) & 0xffff_ffff == i128::from(*local)))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_path: &Path) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::{FolderMode, open};
    use super::*;

    #[test]
    fn what_another_machine_may_write_is_left_until_it_is_old() {
        let path = tempfile::TempDir::new().expect("a folder");
        let (folder, _) = open::create("primary".to_owned(), path.path(), FolderMode::ANY).expect("a store");
        let of_another = format!("{PUT}{}-{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let of_this = format!("{PUT}{}-{}", this_machine().expect("an id"), Uuid::new_v4().simple());
        let file = |name: &str| path.path().join(TEMPORARY).join(name);
        for name in [&of_another, &of_this] {
            fs::write(file(name), b"x").expect("writes");
        }
        assert_eq!(unfinished(path.path()), Unfinished { entries: 2, bytes: 2 });
        // Locks of other machines may not be seen here.
        assert_eq!(folder.sweep_on(false, STALE, true), 1);
        assert_eq!((file(&of_another).exists(), file(&of_this).exists()), (true, false));
        File::options()
            .write(true)
            .open(file(&of_another))
            .and_then(|opened| opened.set_modified(SystemTime::now() - 2 * STALE))
            .expect("is made old");
        assert_eq!(folder.sweep_on(false, STALE, true), 1);
        // Nobody else uses a file system of this machine.
        fs::write(file(&of_another), b"x").expect("writes");
        assert_eq!(folder.sweep_on(true, STALE, false), 1);
        assert_eq!(unfinished(path.path()), Unfinished::default());
    }
}
