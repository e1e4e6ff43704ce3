//! When bytes and names have reached the disk.
//!
//! A file is durable when it, the directory that names it, and every directory above are. `Young` remembers the
//! directories whose own names may not be on the disk yet, so that a put that must be durable on return syncs them even
//! when another process made them a moment ago. `sync` is one `syncfs`, shared by all who wait for one.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::root::{Root, split};

/// Beyond this many young directories a sync is due: memory is bounded.
const MOST_YOUNG: usize = 8_192;

#[derive(Debug, Default)]
pub(super) struct Durability {
    young: Mutex<Young>,
    rounds: Mutex<Rounds>,
    round_ended: Condvar,
}

#[derive(Debug, Default)]
struct Young {
    /// Directory, and the count at which it was noted.
    noted: HashMap<String, u64>,
    count: u64,
}

#[derive(Debug, Default)]
struct Rounds {
    started: u64,
    ended: u64,
    is_running: bool,
    failure: Option<Errno>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes what was removed from a directory durable; where the directory was removed as well, what was removed from the
/// lowest one above it that is there.
pub(super) fn sync_nearest(root: &Root, directory: &str) -> Result<(), Errno> {
    let mut at = directory;
    loop {
        match root.open_directory(at) {
            Ok(open) => return rustix::io::retry_on_intr(|| rustix::fs::fsync(&open)),
            Err(Errno::NOENT | Errno::NOTDIR) if !at.is_empty() => at = split(at).0,
            Err(errno) => return Err(errno),
        }
    }
}

impl Durability {
    /// Notes a directory that is about to be made.
    pub(super) fn note(&self, directory: &str) {
        let mut young = lock(&self.young);
        young.count += 1;
        let count = young.count;
        young.noted.insert(directory.to_owned(), count);
    }

    /// Whether so many directories wait for a sync that one is due.
    pub(super) fn is_due(&self) -> bool {
        lock(&self.young).noted.len() > MOST_YOUNG
    }

    /// Makes the names of `directory` and of those above it durable.
    pub(super) fn sync_ancestors(&self, root: &Root, directory: &str) -> Result<(), Errno> {
        let mut at = directory;
        while !at.is_empty() {
            let noted = lock(&self.young).noted.get(at).copied();
            let (parent, _) = split(at);
            if let Some(count) = noted {
                match root.open_directory(parent) {
                    Ok(open) => rustix::fs::fsync(open)?,
                    // Removed since: there is no name left to keep.
                    Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno),
                }
                let mut young = lock(&self.young);
                if young.noted.get(at) == Some(&count) {
                    young.noted.remove(at);
                }
            }
            at = parent;
        }
        Ok(())
    }

    /// Makes everything durable that was written before the call. Callers that come while a round is under way share
    /// the next one. A failed round fails every later one too: the kernel reports lost writes once, and not
    /// whose they were.
    pub(super) fn sync(&self, root: &Root) -> Result<(), Errno> {
        let mut rounds = lock(&self.rounds);
        let mine = rounds.started + 1;
        while rounds.ended < mine {
            if rounds.is_running {
                rounds = self.round_ended.wait(rounds).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            rounds.is_running = true;
            rounds.started += 1;
            drop(rounds);
            let outcome = self.run(root);
            rounds = lock(&self.rounds);
            rounds.is_running = false;
            rounds.ended = rounds.started;
            rounds.failure = rounds.failure.or(outcome.err());
            self.round_ended.notify_all();
        }
        rounds.failure.map_or(Ok(()), Err)
    }

    fn run(&self, root: &Root) -> Result<(), Errno> {
        let before = lock(&self.young).count;
        rustix::io::retry_on_intr(|| sync_file_system(root.directory()))?;
        lock(&self.young).noted.retain(|_, count| *count > before);
        Ok(())
    }
}

/// Since Linux 5.8 this reports writes that were lost since the directory was opened, which is when the store was.
#[cfg(target_os = "linux")]
fn sync_file_system(directory: impl AsFd) -> Result<(), Errno> {
    rustix::fs::syncfs(directory)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_directory: impl AsFd) -> Result<(), Errno> {
    rustix::fs::sync();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::FolderStore;
    use super::{MOST_YOUNG, lock};
    use crate::{Durability, Key, PutOptions, Store};

    fn put(store: &FolderStore, name: &str, durability: Durability) {
        let options = PutOptions { durability, ..PutOptions::default() };
        store.put(&Key::new(name).unwrap(), &mut &b"bytes"[..], &options).unwrap();
    }

    fn young(store: &FolderStore) -> usize {
        lock(&store.folder.durability.young).noted.len()
    }

    fn rounds(store: &FolderStore) -> u64 {
        lock(&store.folder.durability.rounds).ended
    }

    #[test]
    fn a_durable_put_syncs_folders_that_others_made_a_moment_ago() {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::create("primary", folder.path()).unwrap();
        put(&store, "a/b/c/d/quick", Durability::OnSync);
        put(&store, "a/other/quick", Durability::OnSync);
        assert_eq!(young(&store), 5);
        put(&store, "a/b/c/durable", Durability::OnReturn);
        assert_eq!(young(&store), 2, "a/b/c/d and a/other wait for a sync");
        store.sync().unwrap();
        assert_eq!(young(&store), 0);
    }

    /// Else a sync that is under way would take what is made during it for durable.
    #[test]
    fn what_is_noted_later_has_a_higher_count() {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::create("primary", folder.path()).unwrap();
        put(&store, "a/b/quick", Durability::OnSync);
        let young = lock(&store.folder.durability.young);
        assert!(young.noted["a"] < young.noted["a/b"]);
    }

    #[test]
    fn folders_that_wait_for_a_sync_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::create("primary", folder.path()).unwrap();
        put(&store, "first/quick", Durability::OnSync);
        for number in 1..MOST_YOUNG {
            store.folder.durability.note(&format!("made/{number}"));
        }
        assert!(!store.folder.durability.is_due());
        put(&store, "first/again", Durability::OnSync);
        assert_eq!((young(&store), rounds(&store)), (MOST_YOUNG, 0));
        put(&store, "one-more/quick", Durability::OnSync);
        assert_eq!((young(&store), rounds(&store)), (0, 1));
    }
}
