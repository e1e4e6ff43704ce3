//! Listing a folder in byte order of the full key, with bounded memory.
//!
//! Within a directory, names sort as their keys do when a directory counts as its name with `/` behind it: `a-b` comes
//! before `a/b`. A directory too large to hold is read again for each further batch of names.

use std::collections::BinaryHeap;
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{self as rfs, AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::root::is_file;
use super::{Folder, changed, etag, is_reserved};
use crate::{Key, KeyError, Listed, StorageError};

/// Names of one directory held at a time.
const BATCH: usize = 65_536;

/// One thing that a walk meets.
#[derive(Debug)]
pub enum Walked {
    /// A file under a key, and when it, its attributes or its rights changed last: seconds and nanoseconds.
    Key(Listed, (i64, i64)),
    /// What lies there and is no key. Nothing below it is met.
    Foreign {
        /// Its name from where the keys begin; a directory has `/` behind it.
        name: Vec<u8>,
        /// Why it is no key.
        why: NotKey,
    },
}

/// Why what lies in a folder is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotKey {
    /// Its name is not UTF-8.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// Its name is UTF-8 and no key.
    #[error("its name {}", .0.reason())]
    Name(KeyError),
    /// It is a file beside the directories.
    #[error("it is a file outside of every folder")]
    NoDirectory,
    /// It is a symbolic link.
    #[error("it is a symbolic link, and no link is followed")]
    Link,
    /// It is a pipe, a socket or a device.
    #[error("it is no regular file, but a pipe, a socket or a device")]
    Special,
}

/// What lies below a directory, in byte order of the key. The iterator goes on after an error.
pub struct Walk {
    folder: Arc<Folder>,
    batch: usize,
    levels: Vec<Level>,
    /// Where keys begin, relative to the folder; empty: at the folder itself.
    base: String,
}

/// A directory on the way to the current key.
struct Level {
    directory: String,
    /// Names yet to come, the last one first.
    names: Vec<FolderEntry>,
    /// The last name of the batch, when names after it were left out.
    more_after: Option<Vec<u8>>,
}

struct FolderEntry {
    /// The bytes of the name, with `/` behind it for a directory.
    name: Vec<u8>,
    kind: EntryKind,
}

enum EntryKind {
    Directory,
    /// Length in bytes, etag, and when anything of it changed.
    File(u64, String, (i64, i64)),
    Foreign(NotKey),
}

/// The keys of a walk as a store lists them: links and special files are passed over, other names are errors in their place.
pub(super) struct Keys(pub(super) Walk);

impl Iterator for Keys {
    type Item = Result<Listed, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            return Some(match self.0.next()? {
                Ok(Walked::Key(listed, _)) => Ok(listed),
                Ok(Walked::Foreign { why: NotKey::Link | NotKey::Special | NotKey::NoDirectory, .. }) => continue,
                Ok(Walked::Foreign { why: NotKey::Name(error), .. }) => Err(error.into()),
                Ok(Walked::Foreign { name, why: NotKey::NotUtf8 }) => {
                    let shown = String::from_utf8_lossy(&name).into_owned();
                    Err(self.0.folder.unusable(format!("the name {shown:?} is not UTF-8")))
                }
                Err(error) => Err(error),
            });
        }
    }
}

impl Walk {
    pub(super) fn new(folder: &Arc<Folder>, prefix: &Key) -> Self {
        Self::with_batch(folder, prefix, BATCH)
    }

    /// Only the keys after `after`. Directories that come before are not entered.
    pub(super) fn after(folder: &Arc<Folder>, prefix: &Key, after: &Key) -> Self {
        let mut walk = Self { folder: Arc::clone(folder), batch: BATCH, levels: Vec::new(), base: String::new() };
        let Some(rest) = after.below(prefix) else {
            if after.as_str() < format!("{prefix}/").as_str() {
                walk.enter(prefix.as_str().to_owned());
            }
            return walk;
        };
        walk.enter_levels(prefix.as_str().to_owned(), rest.as_bytes());
        walk
    }

    fn with_batch(folder: &Arc<Folder>, prefix: &Key, batch: usize) -> Self {
        let mut walk = Self { folder: Arc::clone(folder), batch, levels: Vec::new(), base: String::new() };
        walk.enter(prefix.as_str().to_owned());
        walk
    }

    /// What lies below a directory, whose keys begin there: only what comes after the name `after`, which need be no key.
    pub(super) fn based(folder: &Arc<Folder>, base: &str, after: &[u8], batch: usize) -> Self {
        let mut walk = Self { folder: Arc::clone(folder), batch, levels: Vec::new(), base: base.to_owned() };
        walk.enter_levels(String::new(), after);
        walk
    }

    /// Enters the directories on the way to a name, each for what comes after it.
    fn enter_levels(&mut self, mut directory: String, mut rest: &[u8]) {
        while let Some(at) = rest.iter().position(|byte| *byte == b'/') {
            let (name, below) = rest.split_at(at);
            // Of this level, what comes after the directory; the directory itself is entered below.
            self.enter_after(directory.clone(), [name, b"/"].concat());
            let Some(below) = below.get(1..).filter(|_| is_passable(name)) else { return };
            let Ok(name) = std::str::from_utf8(name) else { return };
            directory = joined(&directory, name);
            // What is no key is met as a whole.
            if Key::new(directory.as_str()).is_err() {
                return;
            }
            rest = below;
        }
        self.enter_after(directory, rest.to_vec());
    }

    fn enter(&mut self, directory: String) {
        self.enter_after(directory, Vec::new());
    }

    fn enter_after(&mut self, directory: String, after: Vec<u8>) {
        self.levels.push(Level { directory, names: Vec::new(), more_after: Some(after) });
    }

    /// Reads the next batch of the innermost directory.
    fn refill(&mut self) -> Result<(), StorageError> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let Some(after) = level.more_after.take() else { return Ok(()) };
        let place = joined(&self.base, &level.directory);
        match read_batch(&self.folder, &place, &after, self.batch) {
            Ok((names, more_after)) => {
                level.names = names;
                level.more_after = more_after;
                Ok(())
            }
            // Gone since its name was read, or a file: nothing lies under it.
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(errno) => {
                let key = Key::new(place).unwrap_or_default();
                Err(self.folder.failed("list", &key, errno.into()))
            }
        }
    }

    fn take(&mut self, directory: &str, entry: FolderEntry) -> Option<Walked> {
        let FolderEntry { name, kind } = entry;
        let above = if directory.is_empty() { Vec::new() } else { [directory.as_bytes(), b"/"].concat() };
        let full = [above.as_slice(), &name].concat();
        let foreign = |why| Some(Walked::Foreign { name: full.clone(), why });
        let text = full.strip_suffix(b"/").unwrap_or(&full);
        match (kind, std::str::from_utf8(text).map(Key::new)) {
            (EntryKind::Foreign(why), _) => foreign(why),
            (_, Err(_)) => foreign(NotKey::NotUtf8),
            (_, Ok(Err(error))) => foreign(NotKey::Name(error)),
            (EntryKind::File(size, etag, changed), Ok(Ok(key))) => {
                Some(Walked::Key(Listed { key, size, etag }, changed))
            }
            (EntryKind::Directory, Ok(Ok(key))) => {
                self.enter(key.as_str().to_owned());
                None
            }
        }
    }
}

/// One name of those beside each other at the top of a folder.
#[derive(Debug)]
pub enum Top {
    /// A directory.
    Directory(String),
    /// What is none that a key can lie in.
    Foreign {
        /// Its name.
        name: Vec<u8>,
        /// Why.
        why: NotKey,
    },
}

/// The directories at the top of a folder, in the order of the keys below them, with bounded memory.
pub struct Tops {
    folder: Arc<Folder>,
    /// Names yet to come, the last one first.
    names: Vec<FolderEntry>,
    more_after: Option<Vec<u8>>,
}

impl Tops {
    pub(super) fn after(folder: &Arc<Folder>, after: Option<&str>) -> Self {
        let after = after.map(|name| format!("{name}/").into_bytes()).unwrap_or_default();
        Self { folder: Arc::clone(folder), names: Vec::new(), more_after: Some(after) }
    }

    fn top_of(&self, entry: FolderEntry) -> Option<Top> {
        let name = entry.name.strip_suffix(b"/").unwrap_or(&entry.name).to_vec();
        if self.folder.proof.as_ref().is_some_and(|proof| proof.as_bytes() == name) {
            return None;
        }
        let why = match (entry.kind, std::str::from_utf8(&name).map(Key::new)) {
            (EntryKind::Directory, Ok(Ok(key))) => return Some(Top::Directory(key.to_string())),
            (EntryKind::Foreign(why), _) => why,
            (EntryKind::File(..), _) => NotKey::NoDirectory,
            (EntryKind::Directory, Ok(Err(error))) => NotKey::Name(error),
            (EntryKind::Directory, Err(_)) => NotKey::NotUtf8,
        };
        Some(Top::Foreign { name, why })
    }
}

impl Iterator for Tops {
    type Item = Result<Top, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.names.pop() {
                if let Some(top) = self.top_of(entry) {
                    return Some(Ok(top));
                }
                continue;
            }
            let after = self.more_after.take()?;
            match read_batch(&self.folder, "", &after, BATCH) {
                Ok((names, more_after)) => (self.names, self.more_after) = (names, more_after),
                Err(errno) => return Some(Err(self.folder.failed("list", &Key::ROOT, errno.into()))),
            }
        }
    }
}

/// Whether a name is one that a directory can have, so that it is entered on the way to what comes after it.
fn is_passable(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.contains(&0)
}

fn joined(base: &str, directory: &str) -> String {
    match (base, directory) {
        ("", directory) => directory.to_owned(),
        (base, "") => base.to_owned(),
        (base, directory) => format!("{base}/{directory}"),
    }
}

impl Iterator for Walk {
    type Item = Result<Walked, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let level = self.levels.last_mut()?;
            if let Some(entry) = level.names.pop() {
                let directory = level.directory.clone();
                if let Some(item) = self.take(&directory, entry) {
                    return Some(Ok(item));
                }
            } else if level.more_after.is_some() {
                if let Err(error) = self.refill() {
                    return Some(Err(error));
                }
            } else {
                self.levels.pop();
            }
        }
    }
}

type Batch = (Vec<FolderEntry>, Option<Vec<u8>>);

/// The `most` smallest names after `after`, the last one first; and the last name, when there are more.
fn read_batch(folder: &Folder, directory: &str, after: &[u8], most: usize) -> Result<Batch, Errno> {
    let open = folder.root.open_directory(directory)?;
    let mut smallest: BinaryHeap<(Vec<u8>, Sorted)> = BinaryHeap::new();
    let mut is_cut = false;
    for entry in Dir::read_from(&open)? {
        let entry = entry?;
        let Some((name, why)) = sortable(&open, entry.file_name(), entry.file_type(), directory) else { continue };
        if name.as_slice() <= after {
            continue;
        }
        smallest.push((name, why));
        if smallest.len() > most {
            smallest.pop();
            is_cut = true;
        }
    }
    let names = smallest.into_sorted_vec();
    let more_after = if is_cut { names.last().map(|(name, _)| name.clone()) } else { None };
    let looked_at = names.into_iter().rev().filter_map(|(name, kind)| with_facts(&open, name, kind).transpose());
    Ok((looked_at.collect::<Result<_, _>>()?, more_after))
}

/// What a name is of, as far as its directory says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sorted {
    Directory,
    File,
    Link,
    Special,
}

/// The name as it sorts; nothing for what is not of the store.
fn sortable(open: &OwnedFd, name: &CStr, kind: FileType, directory: &str) -> Option<(Vec<u8>, Sorted)> {
    let bytes = name.to_bytes();
    if bytes == b"." || bytes == b".." || (directory.is_empty() && is_reserved(bytes)) {
        return None;
    }
    let kind = if kind == FileType::Unknown {
        FileType::from_raw_mode(rfs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW).ok()?.st_mode)
    } else {
        kind
    };
    Some(match kind {
        FileType::RegularFile => (bytes.to_vec(), Sorted::File),
        FileType::Directory => ([bytes, b"/"].concat(), Sorted::Directory),
        FileType::Symlink => (bytes.to_vec(), Sorted::Link),
        _ => (bytes.to_vec(), Sorted::Special),
    })
}

fn with_facts(open: &OwnedFd, name: Vec<u8>, sorted: Sorted) -> Result<Option<FolderEntry>, Errno> {
    let kind = match sorted {
        Sorted::Directory => EntryKind::Directory,
        Sorted::Link => EntryKind::Foreign(NotKey::Link),
        Sorted::Special => EntryKind::Foreign(NotKey::Special),
        Sorted::File => return file_facts(open, name),
    };
    Ok(Some(FolderEntry { name, kind }))
}

fn file_facts(open: &OwnedFd, name: Vec<u8>) -> Result<Option<FolderEntry>, Errno> {
    match rfs::statat(open, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if is_file(&stat) => {
            let kind = EntryKind::File(stat.st_size.cast_unsigned(), etag(&stat), changed(&stat));
            Ok(Some(FolderEntry { name, kind }))
        }
        // Removed, or replaced by what is no file, since its name was read.
        Ok(_) | Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FolderStore, PutOptions, Store};

    #[test]
    fn a_directory_larger_than_a_batch_is_listed_whole_and_in_order() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let store = FolderStore::create("primary", folder.path()).expect("a store");
        let mut names: Vec<String> = (0..40).map(|n| format!("{}/{n}", n % 9)).collect();
        names.extend((0..30).map(|n| format!("flat-{n}")));
        for name in &names {
            let key = Key::new(name.as_str()).expect("a key");
            store.put(&key, &mut name.as_bytes(), &PutOptions::default()).expect("a put");
        }
        names.sort_unstable();
        for batch in [1, 2, 7, 38, 39, 40, 1_000] {
            let walk = Keys(Walk::with_batch(&store.folder, &Key::ROOT, batch));
            let listed: Vec<String> = walk.map(|line| line.expect("a line").key.as_str().to_owned()).collect();
            assert_eq!(listed, names, "in batches of {batch}");
        }
    }

    #[test]
    fn a_listing_that_goes_on_after_a_key_gives_what_the_whole_one_has_behind_it() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let store = FolderStore::create("primary", folder.path()).expect("a store");
        let names = ["a", "a-b", "a.d/x", "b/a", "b/c/d", "b/c/e/f", "b/c-d", "b/d", "b-", "c/a", "d"];
        for name in names {
            store.put(&Key::new(name).expect("a key"), &mut name.as_bytes(), &PutOptions::default()).expect("a put");
        }
        for prefix in ["", "b", "b/c", "none"] {
            let prefix = Key::new(prefix).expect("a key");
            let all: Vec<Listed> = store.list(&prefix).expect("lists").map(|line| line.expect("a line")).collect();
            for after in names.into_iter().chain(["", "a/b", "b", "b/c", "b/c/d/e", "b/c!", "b/cc", "bb", "zz"]) {
                let after = Key::new(after).expect("a key");
                let rest = store.list_after(&prefix, &after).expect("lists").map(|line| line.expect("a line"));
                let expected: Vec<Listed> = all.iter().filter(|listed| listed.key > after).cloned().collect();
                assert_eq!(rest.collect::<Vec<_>>(), expected, "below {prefix:?} after {after:?}");
            }
        }
    }
}
