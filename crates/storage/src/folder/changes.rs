//! What changes below a plain folder, as the kernel reports it (inotify): files that are written, removed or renamed, directories that come and go.
//!
//! A watch is one of a directory, by its inode: it is added through an open directory, so that no symbolic link leads to another one. The kernel
//! reports the events of all directories in one order. A directory that is renamed loses its watches when its event is read, and what happens
//! below it is reported again from the moment at which it is watched under its new name. So a name that is reported as removed was removed
//! from the directory that had that path.

use std::collections::{BTreeMap, HashMap};
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{self as rfs, AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::{Folder, is_reserved};
use crate::{Key, StorageError};

/// The most directories that are watched.
const MOST_DIRECTORIES: usize = 500_000;
/// Bytes of events that one system call reads.
const BUFFER: usize = 64 * 1024;
/// Directories that were renamed away and may come again under another name.
const MOST_RENAMED: usize = 64;

/// File systems that other machines change without a report to this one, by the numbers that `statfs` has.
const NETWORK: [(u32, &str); 8] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0x0102_1997, "9P"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x5346_414F, "AFS"),
];

/// What happened below a folder. Paths have no more than names that are keys; others are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderChange {
    /// A file came, was written and closed, or got other attributes or rights.
    Written {
        /// The directory at the top.
        top: Key,
        /// The path below it.
        key: Key,
        /// It did not have this name before.
        is_new: bool,
        /// What it was called before, where a directory above it was renamed.
        renamed_from: Option<(Key, Key)>,
    },
    /// The name of a file, a link or something else than a directory is gone: removed, or renamed.
    Removed {
        /// The directory at the top.
        top: Key,
        /// The path below it.
        key: Key,
    },
    /// A directory at the top came.
    TopCame {
        /// It.
        top: Key,
    },
    /// A directory at the top was removed.
    TopRemoved {
        /// It.
        top: Key,
    },
    /// Events were lost. What was reported before may not be so any more; everything is watched anew.
    Missed,
}

/// Takes changes.
pub type TakeChange<'t> = &'t mut dyn FnMut(FolderChange);

/// Reports what changes below a folder.
#[derive(Debug)]
pub struct FolderChanges {
    folder: Arc<Folder>,
    watches: Watches,
}

/// The watches of directories; the path of the folder itself is empty.
#[derive(Debug)]
struct Watches {
    inotify: OwnedFd,
    paths: HashMap<i32, Arc<str>>,
    /// The same by path, so that all below one are found.
    by_path: BTreeMap<Arc<str>, i32>,
    /// Directories that were renamed away, by the number that the kernel gives both events.
    renamed: Vec<(u32, String)>,
    /// Directories that were renamed since everything was read, and what they were called before.
    passed: Vec<(String, String)>,
    /// The first directory that may not be read.
    unreadable: Option<String>,
}

/// An event.
struct Read {
    watch: i32,
    events: ReadFlags,
    cookie: u32,
    name: Option<Vec<u8>>,
}

impl FolderChanges {
    /// Watches a folder and all directories below it.
    ///
    /// # Errors
    /// The folder lies on a network file system; it has more directories than may be watched.
    pub(super) fn open(folder: &Arc<Folder>) -> Result<Self, StorageError> {
        let stat = rfs::fstatfs(folder.root.directory());
        let stat = stat.map_err(|errno| folder.failed("inspect the file system of", &Key::ROOT, errno.into()))?;
        let number = u32::try_from(stat.f_type).unwrap_or_default();
        if let Some((_, name)) = NETWORK.iter().find(|(known, _)| *known == number) {
            return Err(folder.unusable(format!(
                "it cannot be watched: {} is on a network file system ({name}), which reports nothing that other machines change",
                folder.root.path().display()
            )));
        }
        let mut watches = Watches::new(folder)?;
        watches.add(folder, "", None, &mut |_| {})?;
        Ok(Self { folder: Arc::clone(folder), watches })
    }

    /// How many directories are watched.
    pub fn directories(&self) -> usize {
        self.watches.paths.len()
    }

    /// The first directory that may not be read, so that nothing of it is reported.
    pub fn unreadable(&self) -> Option<&str> {
        self.watches.unreadable.as_deref()
    }

    /// Waits for changes, at most so long, and hands over some of those that are there; whether there were any. Where not, everything that
    /// happened before was handed over.
    ///
    /// # Errors
    /// The folder was moved, removed or unmounted; a directory that came cannot be watched.
    pub fn wait(&mut self, at_most: Duration, take: TakeChange<'_>) -> Result<bool, StorageError> {
        if !self.is_ready(at_most)? {
            self.watches.renamed.clear();
            self.watches.passed.clear();
            return Ok(false);
        }
        let mut lost = false;
        for read in self.watches.read(&self.folder, &mut lost)? {
            self.watches.apply(&self.folder, &read, take)?;
        }
        if lost {
            // Which directories were renamed meanwhile is not known.
            let mut anew = Watches::new(&self.folder)?;
            anew.add(&self.folder, "", None, &mut |_| {})?;
            self.watches = anew;
            take(FolderChange::Missed);
        }
        Ok(true)
    }

    fn is_ready(&self, at_most: Duration) -> Result<bool, StorageError> {
        let at_most =
            Timespec { tv_sec: at_most.as_secs().min(3_600).cast_signed(), tv_nsec: at_most.subsec_nanos().into() };
        let mut waited = [PollFd::new(&self.watches.inotify, PollFlags::IN)];
        match poll(&mut waited, Some(&at_most)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(self.folder.failed("watch", &Key::ROOT, errno.into())),
        }
    }
}

impl Watches {
    fn new(folder: &Folder) -> Result<Self, StorageError> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|errno| match errno {
            Errno::MFILE => folder.unusable(
                "it cannot be watched: this user has as many watchers as fs.inotify.max_user_instances allows; raise that with sysctl",
            ),
            errno => folder.failed("watch", &Key::ROOT, errno.into()),
        })?;
        Ok(Self {
            inotify,
            paths: HashMap::new(),
            by_path: BTreeMap::new(),
            renamed: Vec::new(),
            passed: Vec::new(),
            unreadable: None,
        })
    }

    /// One buffer of events. Those behind a loss are left out.
    fn read(&self, folder: &Folder, is_lost: &mut bool) -> Result<Vec<Read>, StorageError> {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut found = Vec::new();
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    *is_lost = true;
                    return Ok(found);
                }
                Ok(event) => found.push(Read {
                    watch: event.wd(),
                    events: event.events(),
                    cookie: event.cookie(),
                    name: event.file_name().map(|name| name.to_bytes().to_vec()),
                }),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(found),
                Err(errno) => return Err(folder.failed("watch", &Key::ROOT, errno.into())),
            }
            if reader.is_buffer_empty() {
                return Ok(found);
            }
        }
    }

    fn apply(&mut self, folder: &Folder, read: &Read, take: TakeChange<'_>) -> Result<(), StorageError> {
        // Events of a watch that was removed are those of a directory that may have another path.
        let Some(directory) = self.paths.get(&read.watch).cloned() else { return Ok(()) };
        let is = |flags| read.events.intersects(flags);
        if directory.is_empty()
            && is(ReadFlags::UNMOUNT | ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF)
        {
            let reason = format!("folder {} was unmounted, moved or removed", folder.root.path().display());
            return Err(StorageError::Away { store: folder.name.clone(), reason });
        }
        if is(ReadFlags::UNMOUNT | ReadFlags::IGNORED) {
            self.forget(&directory);
            return Ok(());
        }
        let Some(path) = read.name.as_deref().and_then(|name| below(&directory, name)) else { return Ok(()) };
        if is(ReadFlags::ISDIR) {
            return self.apply_to_directory(folder, &path, read, take);
        }
        let Some((top, key)) = split(&path) else { return Ok(()) };
        if is(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            take(FolderChange::Removed { top, key });
        } else if is(ReadFlags::CREATE | ReadFlags::CLOSE_WRITE | ReadFlags::ATTRIB | ReadFlags::MOVED_TO) {
            take(FolderChange::Written { top, key, is_new: is(ReadFlags::CREATE), renamed_from: None });
        }
        Ok(())
    }

    fn apply_to_directory(
        &mut self,
        folder: &Folder,
        path: &str,
        read: &Read,
        take: TakeChange<'_>,
    ) -> Result<(), StorageError> {
        let top = || if path.contains('/') { None } else { Key::new(path).ok() };
        if read.events.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            self.forget(path);
            if read.events.contains(ReadFlags::MOVED_FROM) {
                let before = self.passed.iter().position(|(passed, _)| passed == path);
                let before = before.map_or_else(|| path.to_owned(), |at| self.passed.remove(at).1);
                push_bounded(&mut self.renamed, (read.cookie, before));
            } else if let Some(top) = top() {
                take(FolderChange::TopRemoved { top });
            }
        } else if read.events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            let is_renamed = read.events.contains(ReadFlags::MOVED_TO);
            let before = self.renamed.iter().position(|(cookie, _)| is_renamed && *cookie == read.cookie);
            let before = before.map(|at| self.renamed.remove(at).1);
            if let Some(top) = top() {
                take(FolderChange::TopCame { top });
            }
            self.add(folder, path, before.as_deref(), take)?;
            if let Some(before) = before {
                // It may be renamed again before all below it was read.
                push_bounded(&mut self.passed, (path.to_owned(), before));
            }
        }
        Ok(())
    }

    /// Watches a directory and those below it, and reports the files that lie there.
    fn add(
        &mut self,
        folder: &Folder,
        path: &str,
        renamed_from: Option<&str>,
        take: TakeChange<'_>,
    ) -> Result<(), StorageError> {
        let mut waiting = vec![path.to_owned()];
        while let Some(directory) = waiting.pop() {
            let open = match folder.root.open_directory(&directory) {
                Ok(open) => open,
                // Gone again, or no directory any more.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) if !directory.is_empty() => continue,
                Err(Errno::ACCESS | Errno::PERM) if !directory.is_empty() => {
                    self.unreadable.get_or_insert(directory);
                    continue;
                }
                Err(errno) => return Err(folder.failed("watch", &shown(&directory), errno.into())),
            };
            self.watch(folder, &directory, &open)?;
            let failed = |errno: Errno| folder.failed("watch", &shown(&directory), errno.into());
            // From here on nothing comes without an event.
            for entry in Dir::read_from(&open).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                let kind = match entry.file_type() {
                    FileType::Unknown => rfs::statat(&open, name, AtFlags::SYMLINK_NOFOLLOW)
                        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                    kind => kind,
                };
                let Some(found) = below(&directory, name.to_bytes()) else { continue };
                if kind == FileType::Directory {
                    waiting.push(found);
                    if self.paths.len() + waiting.len() > MOST_DIRECTORIES {
                        return Err(too_many(folder, "the most that one process watches"));
                    }
                } else if kind == FileType::RegularFile
                    && let Some((top, key)) = split(&found)
                {
                    let before = renamed_from.zip(found.strip_prefix(path));
                    let renamed_from = before.and_then(|(before, rest)| split(&format!("{before}{rest}")));
                    take(FolderChange::Written { top, key, is_new: false, renamed_from });
                }
            }
        }
        Ok(())
    }

    fn watch(&mut self, folder: &Folder, directory: &str, open: &OwnedFd) -> Result<(), StorageError> {
        let names = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        let flags = if directory.is_empty() {
            names | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF
        } else {
            names | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB
        };
        // What is open is watched, whatever bears its name by now.
        let path = format!("/proc/self/fd/{}", open.as_raw_fd());
        let add = |inotify: &OwnedFd| {
            inotify::add_watch(inotify, path.as_str(), flags | WatchFlags::ONLYDIR).map_err(|errno| match errno {
                Errno::NOSPC => too_many(folder, "as many as fs.inotify.max_user_watches allows this user"),
                Errno::NOENT => folder.unusable("it cannot be watched: /proc is not mounted"),
                errno => folder.failed("watch", &shown(directory), errno.into()),
            })
        };
        let mut watch = add(&self.inotify)?;
        if let Some(other) = self.paths.get(&watch).filter(|other| &***other != directory).cloned() {
            // It was renamed, and that event is still to be read, with those of its older name.
            self.forget(&other);
            watch = add(&self.inotify)?;
        }
        let path: Arc<str> = directory.into();
        if let Some(older) = self.by_path.insert(Arc::clone(&path), watch).filter(|older| *older != watch) {
            self.paths.remove(&older);
            // It may be gone with its directory.
            let _ = inotify::remove_watch(&self.inotify, older);
        }
        self.paths.insert(watch, path);
        Ok(())
    }

    /// Ends the watches of a directory and of those below it.
    fn forget(&mut self, path: &str) {
        let below = format!("{path}/");
        let mut gone: Vec<Arc<str>> =
            self.by_path.get_key_value(path).map(|(path, _)| Arc::clone(path)).into_iter().collect();
        let from = self.by_path.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded));
        gone.extend(from.map(|(path, _)| Arc::clone(path)).take_while(|path| path.starts_with(&below)));
        for path in gone {
            if let Some(watch) = self.by_path.remove(&path) {
                self.paths.remove(&watch);
                // It may be gone with its directory.
                let _ = inotify::remove_watch(&self.inotify, watch);
            }
        }
    }
}

/// Adds to what is kept of renames; the oldest goes where there are too many.
fn push_bounded<T>(kept: &mut Vec<T>, new: T) {
    if kept.len() == MOST_RENAMED {
        kept.remove(0);
    }
    kept.push(new);
}

/// The path of a name in a directory; none where it is no key.
fn below(directory: &str, name: &[u8]) -> Option<String> {
    if directory.is_empty() && is_reserved(name) {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?;
    // One segment, of which a key may consist.
    Key::new(name).ok().filter(|key| !key.is_root())?;
    let path = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
    // Nothing below a path that is too long is a key.
    let is_key = path.split_once('/').is_none_or(|(_, key)| Key::new(key).is_ok());
    is_key.then_some(path)
}

/// The directory at the top and the key below it; none for what lies at the top.
fn split(path: &str) -> Option<(Key, Key)> {
    let (top, key) = path.split_once('/')?;
    Some((Key::new(top).ok()?, Key::new(key).ok()?))
}

fn shown(directory: &str) -> Key {
    // Together with the directory at the top it may be longer than a key is.
    Key::new(directory).unwrap_or_default()
}

fn too_many(folder: &Folder, limit: &str) -> StorageError {
    folder.unusable(format!(
        "it cannot be watched: {} has more folders than can be watched, {limit}; raise that with sysctl, or set watch = false",
        folder.root.path().display()
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::{FolderMode, PlainFolder};

    /// What is reported of what `act` does.
    fn reported(before: impl FnOnce(&Path), act: impl FnOnce(&Path)) -> Vec<String> {
        let folder = tempfile::TempDir::new().expect("a folder");
        fs::create_dir_all(folder.path().join("maps/old")).expect("a folder");
        before(folder.path());
        let plain = PlainFolder::open("disk", folder.path(), FolderMode::ANY, None).expect("opens");
        let mut changes = plain.changes().expect("watches");
        act(folder.path());
        fs::write(folder.path().join("maps/end"), "").expect("writes");
        let mut found: Vec<String> = Vec::new();
        while found.last().is_none_or(|last| last != "+ maps:end") {
            let mut take = |change: FolderChange| {
                found.push(match change {
                    FolderChange::Written { top, key, renamed_from: None, .. } => format!("+ {top}:{key}"),
                    FolderChange::Written { top, key, renamed_from: Some((from, old)), .. } => {
                        format!("+ {top}:{key} < {from}:{old}")
                    }
                    FolderChange::Removed { top, key } => format!("- {top}:{key}"),
                    FolderChange::TopCame { top } => format!("+ {top}"),
                    FolderChange::TopRemoved { top } => format!("- {top}"),
                    FolderChange::Missed => "missed".to_owned(),
                });
            };
            changes.wait(Duration::from_secs(10), &mut take).expect("waits");
        }
        found.retain(|line| line != "+ maps:end");
        found.dedup();
        found
    }

    #[test]
    fn files_are_reported_when_they_come_change_and_go() {
        let found = reported(
            |folder| fs::write(folder.join("maps/old/b"), "1").expect("writes"),
            |folder| {
                fs::write(folder.join("maps/a"), "1").expect("writes");
                fs::rename(folder.join("maps/a"), folder.join("maps/old/a")).expect("renames");
                fs::remove_file(folder.join("maps/old/b")).expect("removes");
                fs::write(folder.join("beside"), "1").expect("writes");
                fs::write(folder.join("maps/a\nb"), "1").expect("writes");
                fs::create_dir(folder.join(".strongroom")).expect("a folder");
                fs::write(folder.join(".strongroom/x"), "1").expect("writes");
            },
        );
        assert_eq!(found, ["+ maps:a", "- maps:a", "+ maps:old/a", "- maps:old/b"]);
    }

    #[test]
    fn what_lies_in_a_directory_that_comes_is_reported_and_watched() {
        let found = reported(
            |folder| {
                fs::create_dir_all(folder.join(".strongroom/in/deep")).expect("a folder");
                fs::write(folder.join(".strongroom/in/deep/a"), "1").expect("writes");
            },
            |folder| {
                fs::rename(folder.join(".strongroom/in"), folder.join("maps/in")).expect("renames");
                fs::create_dir(folder.join("letters")).expect("a folder");
            },
        );
        assert_eq!(found, ["+ maps:in/deep/a", "+ letters"]);
    }

    #[test]
    fn a_directory_that_is_renamed_says_what_its_files_were_called() {
        let found = reported(
            |folder| fs::write(folder.join("maps/old/b"), "1").expect("writes"),
            |folder| {
                fs::rename(folder.join("maps/old"), folder.join("maps/new")).expect("renames");
                fs::create_dir(folder.join("letters")).expect("a folder");
            },
        );
        assert_eq!(found, ["+ maps:new/b < maps:old/b", "+ letters"]);
        let found = reported(
            |folder| fs::write(folder.join("maps/old/b"), "1").expect("writes"),
            |folder| {
                fs::rename(folder.join("maps/old"), folder.join("maps/between")).expect("renames");
                fs::rename(folder.join("maps/between"), folder.join("maps/new")).expect("renames");
            },
        );
        assert_eq!(found, ["+ maps:new/b < maps:old/b"]);
        let found = reported(
            |folder| fs::write(folder.join("maps/old/b"), "1").expect("writes"),
            |folder| fs::rename(folder.join("maps/old"), folder.join(".strongroom")).expect("renames"),
        );
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn links_are_not_followed_and_a_folder_that_is_moved_is_away() {
        let outside = tempfile::TempDir::new().expect("a folder");
        fs::write(outside.path().join("secret"), "1").expect("writes");
        let found = reported(
            |folder| std::os::unix::fs::symlink(outside.path(), folder.join("maps/link")).expect("links"),
            |_| fs::remove_file(outside.path().join("secret")).expect("removes"),
        );
        assert!(found.is_empty(), "{found:?}");
        let folder = tempfile::TempDir::new().expect("a folder");
        fs::create_dir_all(folder.path().join("disk/maps")).expect("a folder");
        let plain = PlainFolder::open("disk", folder.path().join("disk"), FolderMode::ANY, None).expect("opens");
        let mut changes = plain.changes().expect("watches");
        fs::rename(folder.path().join("disk"), folder.path().join("moved")).expect("renames");
        let mut found = 0;
        let error = changes.wait(Duration::from_secs(10), &mut |_| found += 1).expect_err("is away").to_string();
        assert!(error.contains("unmounted, moved or removed") && found == 0, "{error}");
    }
}
