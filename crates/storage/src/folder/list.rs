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

use super::{Folder, etag, is_reserved};
use crate::{Key, Listed, StorageError};

/// Names of one directory held at a time.
const BATCH: usize = 65_536;

pub(super) struct Walk {
    folder: Arc<Folder>,
    batch: usize,
    levels: Vec<Level>,
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
    /// Length in bytes and etag; nothing for a directory.
    facts: Option<(u64, String)>,
}

impl Walk {
    pub(super) fn new(folder: &Arc<Folder>, prefix: &Key) -> Self {
        Self::with_batch(folder, prefix, BATCH)
    }

    /// Only the keys after `after`. Directories that come before are not entered.
    pub(super) fn after(folder: &Arc<Folder>, prefix: &Key, after: &Key) -> Self {
        let mut walk = Self { folder: Arc::clone(folder), batch: BATCH, levels: Vec::new() };
        let Some(mut rest) = after.below(prefix) else {
            if after.as_str() < format!("{prefix}/").as_str() {
                walk.enter(prefix.as_str().to_owned());
            }
            return walk;
        };
        let mut directory = prefix.as_str().to_owned();
        while let Some((name, below)) = rest.split_once('/') {
            // Of this level, what comes after the directory; the directory itself is entered below.
            walk.enter_after(directory.clone(), format!("{name}/").into_bytes());
            directory = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
            rest = below;
        }
        walk.enter_after(directory, rest.as_bytes().to_vec());
        walk
    }

    fn with_batch(folder: &Arc<Folder>, prefix: &Key, batch: usize) -> Self {
        let mut walk = Self { folder: Arc::clone(folder), batch, levels: Vec::new() };
        walk.enter(prefix.as_str().to_owned());
        walk
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
        match read_batch(&self.folder, &level.directory, &after, self.batch) {
            Ok((names, more_after)) => {
                level.names = names;
                level.more_after = more_after;
                Ok(())
            }
            // Gone since its name was read, or a file: nothing lies under it.
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(errno) => {
                let key = Key::new(level.directory.clone())?;
                Err(self.folder.failed("list", &key, errno.into()))
            }
        }
    }

    fn take(&mut self, directory: &str, entry: FolderEntry) -> Option<Result<Listed, StorageError>> {
        let FolderEntry { mut name, facts } = entry;
        if facts.is_none() {
            name.pop();
        }
        let full = match String::from_utf8(name) {
            Ok(name) if directory.is_empty() => name,
            Ok(name) => format!("{directory}/{name}"),
            Err(error) => {
                let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let reason = format!("the name {shown:?} in folder {directory:?} is not UTF-8");
                return Some(Err(StorageError::Unusable { store: self.folder.name.clone(), reason }));
            }
        };
        let key = match Key::new(full) {
            Ok(key) => key,
            Err(error) => return Some(Err(error.into())),
        };
        if let Some((size, etag)) = facts {
            return Some(Ok(Listed { key, size, etag }));
        }
        self.enter(key.as_str().to_owned());
        None
    }
}

impl Iterator for Walk {
    type Item = Result<Listed, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let level = self.levels.last_mut()?;
            if let Some(entry) = level.names.pop() {
                let directory = level.directory.clone();
                if let Some(item) = self.take(&directory, entry) {
                    return Some(item);
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
    let mut smallest: BinaryHeap<Vec<u8>> = BinaryHeap::new();
    let mut is_cut = false;
    for entry in Dir::read_from(&open)? {
        let entry = entry?;
        let Some(name) = sortable(&open, entry.file_name(), entry.file_type(), directory) else { continue };
        if name.as_slice() <= after {
            continue;
        }
        smallest.push(name);
        if smallest.len() > most {
            smallest.pop();
            is_cut = true;
        }
    }
    let names = smallest.into_sorted_vec();
    let more_after = if is_cut { names.last().cloned() } else { None };
    let looked_at = names.into_iter().rev().filter_map(|name| with_facts(&open, name).transpose());
    Ok((looked_at.collect::<Result<_, _>>()?, more_after))
}

/// The name as it sorts; nothing for what is neither file nor directory, or not of the store.
fn sortable(open: &OwnedFd, name: &CStr, kind: FileType, directory: &str) -> Option<Vec<u8>> {
    let bytes = name.to_bytes();
    if bytes == b"." || bytes == b".." || (directory.is_empty() && is_reserved(bytes)) {
        return None;
    }
    let kind = if kind == FileType::Unknown {
        FileType::from_raw_mode(rfs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW).ok()?.st_mode)
    } else {
        kind
    };
    match kind {
        FileType::RegularFile => Some(bytes.to_vec()),
        FileType::Directory => Some([bytes, b"/"].concat()),
        _ => None,
    }
}

fn with_facts(open: &OwnedFd, name: Vec<u8>) -> Result<Option<FolderEntry>, Errno> {
    if name.ends_with(b"/") {
        return Ok(Some(FolderEntry { name, facts: None }));
    }
    match rfs::statat(open, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FolderEntry { name, facts: Some((stat.st_size.cast_unsigned(), etag(&stat))) })),
        Err(Errno::NOENT) => Ok(None),
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
            let walk = Walk::with_batch(&store.folder, &Key::ROOT, batch);
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
