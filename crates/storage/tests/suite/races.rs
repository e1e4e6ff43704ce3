//! What a folder store does when another process changes the same name between two of its system calls.
//!
//! The other process is a second handle of the folder, or a plain file operation where it is a foreign program. It acts at
//! a moment that the store's code names.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{FlockOperation, flock};
use strongroom_storage::{Assembly, FolderStore, Key, PutCondition, PutOptions, StorageError, Store};
use tempfile::TempDir;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

struct World {
    folder: TempDir,
    store: FolderStore,
    other: FolderStore,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = FolderStore::create("primary", folder.path()).unwrap();
        let other = FolderStore::open("primary", folder.path()).unwrap();
        Self { folder, store, other }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn keys(&self) -> Vec<String> {
        self.store.list(&Key::ROOT).unwrap().map(|line| line.unwrap().key.as_str().to_owned()).collect()
    }

    /// Nothing is left of what was out of sight.
    fn assert_no_leftovers(&self) {
        assert_eq!(fs::read_dir(self.path(".strongroom/tmp")).unwrap().count(), 0);
    }
}

fn try_put(store: &dyn Store, name: &str, bytes: &str, condition: PutCondition) -> Result<(), StorageError> {
    let options = PutOptions { condition, ..PutOptions::default() };
    store.put(&key(name), &mut bytes.as_bytes(), &options).map(|_| ())
}

fn put(store: &dyn Store, name: &str, bytes: &str) {
    try_put(store, name, bytes, PutCondition::Always).unwrap();
}

fn assembly(store: &dyn Store, target: &str) -> Box<dyn Assembly> {
    let assembly = store.assembly("one", &key(target)).unwrap();
    assembly.put(&key("a"), &mut &b"assembled"[..], &PutOptions::default()).unwrap();
    assembly
}

fn etag(store: &dyn Store, name: &str) -> String {
    store.head(&key(name)).unwrap().etag
}

struct Moment {
    name: &'static str,
    reached: Arc<AtomicUsize>,
}

/// What happens at moments of this thread's next acts, once each.
struct Meanwhile {
    moments: Vec<Moment>,
    /// Moments are of the whole process.
    _alone: MutexGuard<'static, ()>,
}

impl Meanwhile {
    fn at(moment: &'static str, act: impl Fn() + Send + Sync + 'static) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Self { moments: Vec::new(), _alone: alone }.and_at(moment, act)
    }

    fn and_at(mut self, name: &'static str, act: impl Fn() + Send + Sync + 'static) -> Self {
        let thread = thread::current().id();
        let reached = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reached);
        let callback = move || {
            if thread::current().id() == thread && counted.fetch_add(1, Ordering::SeqCst) == 0 {
                act();
            }
        };
        fail::cfg_callback(name, callback).unwrap();
        self.moments.push(Moment { name, reached });
        self
    }

    fn run<T>(self, act: impl FnOnce() -> T) -> T {
        let outcome = act();
        for moment in &self.moments {
            assert!(moment.reached.load(Ordering::SeqCst) > 0, "{} did not come", moment.name);
        }
        outcome
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        for moment in &self.moments {
            fail::remove(moment.name);
        }
    }
}

/// Whether somebody who takes the store's lock in this way would not have to wait.
fn is_free(folder: &Path, how: FlockOperation) -> bool {
    flock(File::open(folder.join(".strongroom/lock")).unwrap(), how).is_ok()
}

/// As another process that does this as soon as it has its share of the lock.
fn once_free(folder: &Path, act: impl Fn()) {
    if is_free(folder, FlockOperation::NonBlockingLockShared) {
        act();
    }
}

#[test]
fn what_a_foreign_program_puts_in_place_of_a_file_that_is_to_go_stays() {
    let world = World::new();
    put(&world.store, "a", "old");
    let wanted = etag(&world.store, "a");
    let path = world.path("a");
    let meanwhile = Meanwhile::at("remove-match.looked", move || fs::write(&path, "longer").unwrap());
    assert!(!meanwhile.run(|| world.store.delete_match(&key("a"), &wanted, &Key::ROOT).unwrap()));
    assert_eq!(world.read("a"), "longer");
    world.assert_no_leftovers();
}

#[test]
fn what_a_foreign_program_puts_while_a_file_is_out_of_sight_stays() {
    let world = World::new();
    put(&world.store, "a", "old");
    let wanted = etag(&world.store, "a");
    let (first, second) = (world.path("a"), world.path("a"));
    let meanwhile = Meanwhile::at("remove-match.looked", move || fs::write(&first, "longer").unwrap())
        .and_at("remove-match.taken", move || fs::write(&second, "newest").unwrap());
    assert!(!meanwhile.run(|| world.store.delete_match(&key("a"), &wanted, &Key::ROOT).unwrap()));
    assert_eq!(world.read("a"), "newest");
    world.assert_no_leftovers();
}

#[test]
fn a_file_that_a_foreign_program_has_removed_is_gone() {
    let world = World::new();
    for (name, gone) in [("a/file", "a/file"), ("b/file", "b")] {
        put(&world.store, name, "bytes");
        let wanted = etag(&world.store, name);
        let moved = (world.path(gone), world.path("gone"));
        let meanwhile = Meanwhile::at("remove-match.looked", move || fs::rename(&moved.0, &moved.1).unwrap());
        assert!(meanwhile.run(|| world.store.delete_match(&key(name), &wanted, &Key::ROOT).unwrap()), "{name}");
        fs::rename(world.path("gone"), world.path(&format!("after-{}", &name[..1]))).unwrap();
    }
    assert_eq!(world.keys(), ["after-a", "after-b/file"]);
    world.assert_no_leftovers();
}

#[test]
fn a_file_where_the_folder_of_a_file_that_is_to_go_was_stays() {
    let world = World::new();
    put(&world.store, "a/b", "old");
    let wanted = etag(&world.store, "a/b");
    let folder = world.path("a");
    let meanwhile = Meanwhile::at("remove-match.looked", move || {
        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, "new").unwrap();
    });
    assert!(meanwhile.run(|| world.store.delete_match(&key("a/b"), &wanted, &Key::ROOT).unwrap()));
    assert_eq!(world.read("a"), "new");
}

#[test]
fn nobody_puts_while_a_file_is_out_of_sight() {
    let world = World::new();
    put(&world.store, "a", "old");
    let wanted = etag(&world.store, "a");
    let (other, folder, path) = (world.other.clone(), world.folder.path().to_owned(), world.path("a"));
    let meanwhile = Meanwhile::at("remove-match.looked", move || fs::write(&path, "longer").unwrap());
    let meanwhile = meanwhile.and_at("remove-match.taken", move || {
        let put = || try_put(&other, "a", "where nothing lies", PutCondition::IfAbsent).unwrap();
        once_free(&folder, put);
    });
    assert!(!meanwhile.run(|| world.store.delete_match(&key("a"), &wanted, &Key::ROOT).unwrap()));
    assert_eq!(world.read("a"), "longer");
}

#[test]
fn keys_below_the_name_of_a_file_that_is_to_go_stay() {
    let world = World::new();
    put(&world.store, "a", "old");
    let wanted = etag(&world.store, "a");
    let (other, folder) = (world.other.clone(), world.folder.path().to_owned());
    let meanwhile = Meanwhile::at("remove-match.looked", {
        let (other, folder) = (other.clone(), folder.clone());
        move || {
            once_free(&folder, || {
                other.delete(&key("a")).unwrap();
                put(&other, "a/b", "new");
            });
        }
    });
    let meanwhile = meanwhile.and_at("remove-match.taken", move || once_free(&folder, || put(&other, "a", "newest")));
    meanwhile.run(|| world.store.delete_match(&key("a"), &wanted, &Key::ROOT)).unwrap();
    put(&world.other, "a/b", "new");
    assert_eq!(world.keys(), ["a/b"]);
    world.assert_no_leftovers();
}

#[test]
fn a_folder_that_a_foreign_program_has_removed_is_gone() {
    let world = World::new();
    for (prefix, gone) in [("a/folder", "a/folder"), ("b/folder", "b")] {
        put(&world.store, &format!("{prefix}/file"), "bytes");
        let gone = world.path(gone);
        let meanwhile = Meanwhile::at("remove-tree.looked", move || fs::remove_dir_all(&gone).unwrap());
        meanwhile.run(|| world.store.delete_all(&key(prefix)).unwrap());
    }
    assert!(world.keys().is_empty());
    world.assert_no_leftovers();
}

#[test]
fn a_key_in_place_of_a_folder_that_is_to_go_stays() {
    let world = World::new();
    put(&world.store, "a/b", "old");
    let (other, folder) = (world.other.clone(), world.folder.path().to_owned());
    let meanwhile = Meanwhile::at("remove-tree.looked", move || {
        once_free(&folder, || {
            other.delete(&key("a/b")).unwrap();
            put(&other, "a", "new");
        });
    });
    meanwhile.run(|| world.store.delete_all(&key("a")).unwrap());
    put(&world.other, "a", "new");
    assert_eq!(world.read("a"), "new");
    world.assert_no_leftovers();
}

#[test]
fn a_put_whose_file_another_takes_for_abandoned_begins_anew() {
    let world = World::new();
    let folder = world.folder.path().to_owned();
    let meanwhile = Meanwhile::at("temporary.made", move || {
        FolderStore::open("primary", &folder).unwrap();
    });
    meanwhile.run(|| put(&world.store, "a", "bytes"));
    assert_eq!(world.read("a"), "bytes");
    world.assert_no_leftovers();
}

#[test]
fn what_another_has_swept_need_not_be_removed() {
    let world = World::new();
    put(&world.store, "a/b", "bytes");
    let tmp = world.path(".strongroom/tmp");
    let meanwhile = Meanwhile::at("empty-trash.attempt", move || {
        fs::remove_dir_all(&tmp).unwrap();
        fs::create_dir(&tmp).unwrap();
    });
    meanwhile.run(|| world.store.delete_all(&key("a")).unwrap());
}

#[test]
fn a_folder_into_which_others_still_put_is_removed_in_the_end() {
    use rustix::fs::{Mode, OFlags, openat};
    let world = World::new();
    // A writer is met within a few rounds.
    for _ in 0..10_000 {
        put(&world.store, "a/b", "bytes");
        let directory = Arc::new(File::open(world.path("a")).unwrap());
        let writers = Arc::new(Mutex::new(Vec::new()));
        let started = Arc::clone(&writers);
        let meanwhile = Meanwhile::at("empty-trash.attempt", move || {
            let directory = Arc::clone(&directory);
            let writes = move || {
                let flags = OFlags::WRONLY | OFlags::CREATE;
                for number in 0..2_000 {
                    // It ends when the folder is gone.
                    let Ok(_) = openat(&directory, number.to_string(), flags, Mode::RUSR) else { break };
                }
            };
            started.lock().unwrap().push(thread::spawn(writes));
        });
        let attempts = Arc::clone(&meanwhile.moments[0].reached);
        meanwhile.run(|| world.store.delete_all(&key("a")).unwrap());
        writers.lock().unwrap().drain(..).for_each(|writer| writer.join().unwrap());
        world.assert_no_leftovers();
        if attempts.load(Ordering::SeqCst) > 1 {
            return;
        }
    }
    panic!("no writer was met");
}

#[test]
fn a_folder_that_goes_while_something_is_put_into_it_comes_back() {
    let world = World::new();
    for condition in [PutCondition::Always, PutCondition::IfAbsent] {
        put(&world.store, "a/b/old", "old");
        let other = world.other.clone();
        let meanwhile = Meanwhile::at("place.opened", move || other.delete_all(&key("a")).unwrap());
        meanwhile.run(|| try_put(&world.store, "a/b/new", "new", condition).unwrap());
        assert_eq!(world.keys(), ["a/b/new"]);
        world.store.delete_all(&key("a")).unwrap();
    }
    world.assert_no_leftovers();
}

#[test]
fn a_folder_that_two_make_at_once_is_made_once() {
    let world = World::new();
    for moment in ["place.missing", "make-directory.looked"] {
        let other = world.other.clone();
        let meanwhile = Meanwhile::at(moment, move || put(&other, "a/b/theirs", "theirs"));
        meanwhile.run(|| put(&world.store, "a/b/ours", "ours"));
        assert_eq!(world.keys(), ["a/b/ours", "a/b/theirs"], "{moment}");
        world.store.delete_all(&key("a")).unwrap();
    }
}

#[test]
fn a_folder_that_goes_while_one_is_made_in_it_comes_back() {
    let world = World::new();
    fs::create_dir(world.path("a")).unwrap();
    let gone = world.path("a");
    let meanwhile = Meanwhile::at("make-directory.looked", move || fs::remove_dir(&gone).unwrap());
    meanwhile.run(|| put(&world.store, "a/b/file", "bytes"));
    assert_eq!(world.keys(), ["a/b/file"]);
    fs::create_dir(world.path("o")).unwrap();
    let gone = world.path("o");
    let assembly = assembly(&world.store, "o/p/v1");
    let meanwhile = Meanwhile::at("make-directory.looked", move || fs::remove_dir(&gone).unwrap());
    meanwhile.run(|| assembly.commit().unwrap());
    assert_eq!(world.read("o/p/v1/a"), "assembled");
}

#[test]
fn a_file_where_a_folder_is_to_be_made_stays() {
    let world = World::new();
    let other = world.other.clone();
    let meanwhile = Meanwhile::at("place.missing", move || put(&other, "a", "theirs"));
    let refused = meanwhile.run(|| try_put(&world.store, "a/b", "ours", PutCondition::Always));
    assert!(matches!(refused, Err(StorageError::InTheWay { .. })), "{refused:?}");
    assert_eq!(world.read("a"), "theirs");
    let other = world.other.clone();
    let assembly = assembly(&world.store, "o/v1");
    let meanwhile = Meanwhile::at("rename.missing", move || put(&other, "o", "theirs"));
    let refused = meanwhile.run(|| assembly.commit());
    assert!(matches!(refused, Err(StorageError::InTheWay { .. })), "{refused:?}");
    assert_eq!(world.read("o"), "theirs");
    world.assert_no_leftovers();
}

#[test]
fn what_comes_before_a_put_that_wants_nothing_there_stays() {
    let world = World::new();
    for moment in ["place.opened", "place.checked"] {
        let other = world.other.clone();
        let meanwhile = Meanwhile::at(moment, move || put(&other, "a", "theirs"));
        let refused = meanwhile.run(|| try_put(&world.store, "a", "ours", PutCondition::IfAbsent));
        assert!(matches!(refused, Err(StorageError::Condition { .. })), "{moment}: {refused:?}");
        assert_eq!(world.read("a"), "theirs", "{moment}");
        world.store.delete(&key("a")).unwrap();
    }
    world.assert_no_leftovers();
}

#[test]
fn what_comes_before_a_put_that_wants_an_etag_stays() {
    let world = World::new();
    put(&world.store, "a", "old");
    let condition = PutCondition::IfMatch(etag(&world.store, "a"));
    let other = world.other.clone();
    let meanwhile = Meanwhile::at("place.opened", move || put(&other, "a", "theirs"));
    let refused = meanwhile.run(|| try_put(&world.store, "a", "ours", condition));
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(world.read("a"), "theirs");
    world.assert_no_leftovers();
}

#[test]
fn what_goes_before_a_put_that_wants_its_etag_does_not_come_back() {
    let world = World::new();
    put(&world.store, "a/b", "old");
    put(&world.store, "a/neighbour", "old");
    let condition = PutCondition::IfMatch(etag(&world.store, "a/b"));
    let other = world.other.clone();
    let meanwhile = Meanwhile::at("place.opened", move || other.delete(&key("a/b")).unwrap());
    let refused = meanwhile.run(|| try_put(&world.store, "a/b", "ours", condition));
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(world.keys(), ["a/neighbour"]);
}

#[test]
fn a_put_that_goes_by_an_etag_is_alone_and_others_are_together() {
    let world = World::new();
    put(&world.store, "a", "old");
    for (condition, shares) in [(PutCondition::IfMatch(etag(&world.store, "a")), false), (PutCondition::Always, true)] {
        let folder = world.folder.path().to_owned();
        let meanwhile = Meanwhile::at("place.checked", move || {
            assert_eq!(is_free(&folder, FlockOperation::NonBlockingLockShared), shares);
            assert!(!is_free(&folder, FlockOperation::NonBlockingLockExclusive));
        });
        meanwhile.run(|| try_put(&world.store, "a", "new", condition).unwrap());
    }
}

#[test]
fn an_empty_folder_that_goes_by_itself_is_not_in_the_way() {
    let world = World::new();
    for moment in ["place.refused", "place.folder-found"] {
        for condition in [PutCondition::Always, PutCondition::IfAbsent] {
            fs::create_dir(world.path("a")).unwrap();
            let gone = world.path("a");
            let meanwhile = Meanwhile::at(moment, move || fs::remove_dir(&gone).unwrap());
            meanwhile.run(|| try_put(&world.store, "a", "bytes", condition).unwrap());
            assert_eq!(world.read("a"), "bytes", "{moment}");
            world.store.delete(&key("a")).unwrap();
        }
    }
}

#[test]
fn a_file_in_place_of_an_empty_folder_is_replaced_or_refuses() {
    let world = World::new();
    for (condition, expected) in [(PutCondition::Always, "ours"), (PutCondition::IfAbsent, "theirs")] {
        fs::create_dir(world.path("a")).unwrap();
        let other = world.other.clone();
        let meanwhile = Meanwhile::at("place.refused", move || put(&other, "a", "theirs"));
        let outcome = meanwhile.run(|| try_put(&world.store, "a", "ours", condition));
        match outcome {
            Ok(()) => assert_eq!(expected, "ours"),
            Err(error) => assert!(matches!(error, StorageError::Condition { .. }), "{error}"),
        }
        assert_eq!(world.read("a"), expected);
        world.store.delete(&key("a")).unwrap();
    }
    world.assert_no_leftovers();
}

#[test]
fn keys_that_come_into_an_empty_folder_stay() {
    let world = World::new();
    for condition in [PutCondition::Always, PutCondition::IfAbsent] {
        fs::create_dir(world.path("a")).unwrap();
        let other = world.other.clone();
        let meanwhile = Meanwhile::at("place.folder-found", move || put(&other, "a/theirs", "theirs"));
        let refused = meanwhile.run(|| try_put(&world.store, "a", "ours", condition));
        assert!(matches!(refused, Err(StorageError::InTheWay { .. })), "{refused:?}");
        assert_eq!(world.read("a/theirs"), "theirs");
        world.store.delete_all(&key("a")).unwrap();
    }
    world.assert_no_leftovers();
}

#[test]
fn an_assembly_is_committed_although_the_folder_above_goes() {
    let world = World::new();
    put(&world.store, "o/p/old", "old");
    let assembly = assembly(&world.store, "o/p/v1");
    let other = world.other.clone();
    let meanwhile = Meanwhile::at("rename.opened", move || other.delete_all(&key("o")).unwrap());
    meanwhile.run(|| assembly.commit().unwrap());
    assert_eq!(world.keys(), ["o/p/v1/a"]);
}

#[test]
fn an_assembly_is_committed_although_another_makes_the_folder_above() {
    let world = World::new();
    let assembly = assembly(&world.store, "o/p/v1");
    let other = world.other.clone();
    let meanwhile = Meanwhile::at("rename.missing", move || put(&other, "o/p/theirs", "theirs"));
    meanwhile.run(|| assembly.commit().unwrap());
    assert_eq!(world.keys(), ["o/p/theirs", "o/p/v1/a"]);
}

#[test]
fn an_assembly_that_another_has_taken_is_not_committed_twice() {
    let world = World::new();
    let ours = assembly(&world.store, "o/v1");
    let theirs = world.other.assembly("one", &key("o/v1")).unwrap();
    let meanwhile = Meanwhile::at("rename.opened", move || theirs.commit().unwrap());
    let outcome = meanwhile.run(|| ours.commit());
    let is_gone =
        matches!(&outcome, Err(StorageError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound);
    assert!(is_gone, "{outcome:?}");
    ours.commit().unwrap();
    assert_eq!(world.read("o/v1/a"), "assembled");
}

#[test]
fn what_comes_to_the_target_of_an_assembly_stays() {
    let world = World::new();
    let assembly = assembly(&world.store, "o/v1");
    let other = world.other.clone();
    let meanwhile = Meanwhile::at("rename.opened", move || put(&other, "o/v1/theirs", "theirs"));
    let refused = meanwhile.run(|| assembly.commit());
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(world.keys(), ["o/v1/theirs"]);
    assert_eq!(world.store.assemblies().unwrap(), ["one"]);
}
