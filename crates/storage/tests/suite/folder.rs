//! What is true of folder stores beyond what every store promises.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use strongroom_digest::{Algorithm, hash_reader};
use strongroom_storage::{
    Durability, FolderMode, FolderStore, Key, PutCondition, PutOptions, RetrievalRequest, StorageError, Store,
};
use tempfile::TempDir;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn store() -> (TempDir, FolderStore) {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    (folder, store)
}

fn put(store: &dyn Store, name: &str, bytes: &[u8]) {
    store.put(&key(name), &mut &*bytes, &PutOptions::default()).unwrap();
}

fn try_put(store: &dyn Store, name: &str) -> Result<(), StorageError> {
    store.put(&key(name), &mut &b"bytes"[..], &PutOptions::default()).map(|_| ())
}

fn list(store: &dyn Store) -> Vec<String> {
    store.list(&Key::ROOT).unwrap().map(|line| line.unwrap().key.as_str().to_owned()).collect()
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Nothing is left of anything: no key, no folder, no temporary file.
fn is_clean(folder: &Path) -> bool {
    names(folder) == [".strongroom"]
        && names(&folder.join(".strongroom/tmp")).is_empty()
        && names(&folder.join(".strongroom/assembly")).is_empty()
}

#[test]
fn a_key_is_a_file_of_that_name() {
    let (folder, store) = store();
    put(&store, "example.edu/a/b", b"bytes");
    assert_eq!(fs::read(folder.path().join("example.edu/a/b")).unwrap(), b"bytes");
    assert_eq!(names(folder.path()), [".strongroom", "example.edu"]);
}

#[test]
fn a_missing_or_empty_folder_is_not_taken_for_an_empty_store() {
    let folder = TempDir::new().unwrap();
    for path in [folder.path().join("missing"), folder.path().to_owned()] {
        let error = FolderStore::open("primary", path).unwrap_err();
        assert!(matches!(error, StorageError::Unusable { .. }));
        assert!(error.to_string().contains("is the disk mounted?"), "{error}");
    }
}

#[test]
fn making_a_store_twice_keeps_who_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("stores/primary");
    let first = FolderStore::create("primary", &path).unwrap();
    assert_eq!(FolderStore::create("primary", &path).unwrap().id(), first.id());
    assert_eq!(FolderStore::open("other", &path).unwrap().id(), first.id());
    assert!(is_clean(&path));
}

#[test]
fn a_store_of_a_newer_format_or_a_broken_description_is_refused() {
    let (folder, store) = store();
    let description = folder.path().join(".strongroom/store.json");
    let text = format!("{{\"format\":2,\"store\":\"{}\"}}", store.id());
    for (text, reason) in [(text.as_str(), "use a newer one"), ("{", "not a store's description")] {
        fs::write(&description, text).unwrap();
        let error = FolderStore::open("primary", folder.path()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn deleting_leaves_no_folders() {
    let (folder, store) = store();
    put(&store, "a/b/c/d", b"x");
    put(&store, "a/b/e", b"x");
    store.delete(&key("a/b/c/d")).unwrap();
    assert_eq!(names(&folder.path().join("a/b")), ["e"]);
    store.delete(&key("a/b/e")).unwrap();
    assert!(is_clean(folder.path()));
    put(&store, "p/q/r/s", b"x");
    store.delete_all(&key("p/q/r")).unwrap();
    assert!(is_clean(folder.path()));
}

#[test]
fn a_key_is_not_below_its_own_name() {
    let (folder, store) = store();
    put(&store, "a", b"bytes");
    store.delete_all(&key("a")).unwrap();
    assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"bytes");
}

#[test]
fn failures_leave_no_folders_and_no_temporary_files() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the source broke"))
        }
    }
    let (folder, store) = store();
    store.put(&key("a/b"), &mut Broken, &PutOptions::default()).unwrap_err();
    let wrong = PutOptions { size: Some(1), ..PutOptions::default() };
    store.put(&key("a/b"), &mut &b"bytes"[..], &wrong).unwrap_err();
    let unmet = PutOptions { condition: PutCondition::IfMatch("x".to_owned()), ..PutOptions::default() };
    store.put(&key("a/b"), &mut &b"bytes"[..], &unmet).unwrap_err();
    let assembly = store.assembly("one", &key("t")).unwrap();
    assembly.put(&key("a/b"), &mut Broken, &PutOptions::default()).unwrap_err();
    store.put(&key("f"), &mut &b"bytes"[..], &PutOptions::default()).unwrap();
    store.put(&key("f/below/it"), &mut &b"bytes"[..], &PutOptions::default()).unwrap_err();
    store.delete(&key("f")).unwrap();
    assembly.put(&key("a/b"), &mut &b"bytes"[..], &wrong).unwrap_err();
    assert!(is_clean(folder.path()));
    assembly.put(&key("a/b"), &mut &b"bytes"[..], &PutOptions::default()).unwrap();
    assert_eq!(names(&folder.path().join(".strongroom/tmp")), Vec::<String>::new());
    assembly.discard().unwrap();
    assert!(is_clean(folder.path()));
}

#[test]
fn bytes_that_the_caller_reads_back_are_compared_by_size_alone() {
    let (folder, store) = store();
    let digest = hash_reader(&b"bytes"[..], &[Algorithm::Sha512]).unwrap().1.get(Algorithm::Sha512).unwrap();
    let put = |bytes: &[u8], is_read_back| {
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, digest)),
            size: Some(5),
            is_read_back,
            ..PutOptions::default()
        };
        store.put(&key("k"), &mut &*bytes, &options).map(|_| ())
    };
    assert!(matches!(put(b"other", false), Err(StorageError::Mismatch { .. })));
    assert!(matches!(put(b"longer", true), Err(StorageError::Mismatch { .. })));
    assert!(is_clean(folder.path()));
    put(b"other", true).unwrap();
    assert_eq!(fs::read(folder.path().join("k")).unwrap(), b"other");
    put(b"bytes", false).unwrap();
}

#[test]
fn keys_of_the_bookkeeping_are_refused() {
    let (_folder, store) = store();
    for name in [".strongroom", ".strongroom/store.json", ".strongroom/tmp/x", ".strongroom-x/a", "lost+found/x"] {
        assert!(matches!(try_put(&store, name), Err(StorageError::Unusable { .. })), "{name}");
        assert!(store.head(&key(name)).is_err(), "{name}");
        assert!(store.open(&key(name), 0, None).is_err(), "{name}");
        assert!(store.delete(&key(name)).is_err(), "{name}");
        assert!(store.delete_all(&key(name)).is_err(), "{name}");
        assert!(store.list(&key(name)).is_err(), "{name}");
        assert!(store.assembly("one", &key(name)).is_err(), "{name}");
    }
    put(&store, "a/.strongroom", b"below the root the name is free");
    assert_eq!(list(&store), ["a/.strongroom"]);
}

#[test]
fn a_key_cannot_lie_below_a_key_nor_over_others() {
    let (_folder, store) = store();
    put(&store, "a/b", b"old");
    for name in ["a/b/c", "a/b/c/d", "a"] {
        let refused = try_put(&store, name);
        assert!(matches!(refused, Err(StorageError::InTheWay { .. })), "{name}: {refused:?}");
    }
    let if_absent = PutOptions { condition: PutCondition::IfAbsent, ..PutOptions::default() };
    let refused = store.put(&key("a"), &mut &b"x"[..], &if_absent);
    assert!(matches!(refused, Err(StorageError::InTheWay { .. })), "{refused:?}");
    let assembly = store.assembly("one", &key("a/b")).unwrap();
    assembly.put(&key("c"), &mut &b"x"[..], &PutOptions::default()).unwrap();
    assert!(matches!(assembly.commit(), Err(StorageError::InTheWay { .. })));
    assert_eq!(list(&store), ["a/b"]);
}

#[test]
fn an_empty_folder_is_nobodys_key() {
    let (folder, store) = store();
    for name in ["k", "l", "m"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    assert!(list(&store).is_empty());
    put(&store, "k", b"x");
    let if_absent = PutOptions { condition: PutCondition::IfAbsent, ..PutOptions::default() };
    store.put(&key("l"), &mut &b"x"[..], &if_absent).unwrap();
    let assembly = store.assembly("one", &key("m")).unwrap();
    assembly.put(&key("a"), &mut &b"x"[..], &PutOptions::default()).unwrap();
    assembly.commit().unwrap();
    assert_eq!(list(&store), ["k", "l", "m/a"]);
}

#[test]
fn symbolic_links_lead_nowhere() {
    let (folder, store) = store();
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret"), b"secret").unwrap();
    put(&store, "inside/k", b"x");
    symlink(outside.path(), folder.path().join("inside/folder")).unwrap();
    symlink(outside.path().join("secret"), folder.path().join("inside/file")).unwrap();
    assert_eq!(list(&store), ["inside/k"]);
    for name in ["inside/file", "inside/folder/secret", "inside/folder"] {
        assert!(store.head(&key(name)).is_err(), "{name}");
        assert!(store.open(&key(name), 0, None).is_err(), "{name}");
    }
    assert!(try_put(&store, "inside/folder/new").is_err());
    assert!(try_put(&store, "inside/folder/deeper/new").is_err());
    // Nothing of the store lies behind a link, so there is nothing to delete.
    store.delete(&key("inside/folder/secret")).unwrap();
    store.delete_all(&key("inside/folder")).unwrap();
    let assembly = store.assembly("one", &key("inside/folder/v1")).unwrap();
    assembly.put(&key("a"), &mut &b"x"[..], &PutOptions::default()).unwrap();
    assert!(assembly.commit().is_err());
    assert_eq!(names(outside.path()), ["secret"]);
    // A link where a key is put gives way itself; what it pointed to stays.
    put(&store, "inside/file", b"new");
    assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"secret");
}

#[test]
fn a_named_pipe_is_no_key_and_does_not_block() {
    let (folder, store) = store();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    assert!(store.open(&key("pipe"), 0, None).is_err());
    let looked = store.head(&key("pipe"));
    assert!(matches!(looked, Err(StorageError::InTheWay { .. })), "it is there, so it is not absent: {looked:?}");
    assert!(list(&store).is_empty());
}

#[test]
fn a_name_that_is_no_key_is_an_error_in_the_listing_and_does_not_end_it() {
    use std::os::unix::ffi::OsStrExt;
    let (folder, store) = store();
    put(&store, "a", b"x");
    put(&store, "z", b"x");
    fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"m\xff")), b"x").unwrap();
    fs::write(folder.path().join("n\nl"), b"x").unwrap();
    let lines: Vec<_> = store.list(&Key::ROOT).unwrap().collect();
    let found: Vec<bool> = lines.iter().map(Result::is_ok).collect();
    assert_eq!(found, [true, false, false, true]);
}

#[test]
fn stale_temporary_files_are_swept_at_opening_and_fresh_ones_stay() {
    let (folder, store) = store();
    drop(store);
    let tmp = folder.path().join(".strongroom/tmp");
    fs::create_dir_all(tmp.join("old-folder/deep")).unwrap();
    fs::write(tmp.join("old-folder/deep/file"), b"x").unwrap();
    for name in ["old", "fresh"] {
        fs::write(tmp.join(name), b"x").unwrap();
    }
    let two_days_ago = SystemTime::now() - Duration::from_hours(48);
    for name in ["old", "old-folder"] {
        fs::File::open(tmp.join(name)).unwrap().set_modified(two_days_ago).unwrap();
    }
    FolderStore::open("primary", folder.path()).unwrap();
    assert_eq!(names(&tmp), ["fresh"]);
}

#[test]
fn a_removal_that_was_cut_short_is_completed_by_a_sweep() {
    let (folder, store) = store();
    let tree = folder.path().join(".strongroom/tmp/tree-0123");
    fs::create_dir_all(tree.join("deep")).unwrap();
    fs::write(tree.join("deep/file"), b"bytes").unwrap();
    FolderStore::open("primary", folder.path()).unwrap();
    let left = FolderStore::unfinished(folder.path());
    assert_eq!((left.entries, left.bytes), (1, 5), "it may have many files");
    assert_eq!(store.sweep_unfinished(Duration::from_hours(24)).unwrap(), 1);
    assert!(!tree.exists());
}

#[test]
fn a_put_cut_short_leaves_the_key_as_it_was() {
    /// Yields bytes, then waits for ever, as a source does when the process is about to be killed.
    struct Stuck(mpsc::Sender<()>, mpsc::Receiver<()>, bool);
    impl Read for Stuck {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.2 {
                self.0.send(()).unwrap();
                self.1.recv().ok();
                return Err(io::Error::other("let go"));
            }
            self.2 = true;
            buffer.fill(7);
            Ok(buffer.len())
        }
    }
    let (folder, store) = store();
    put(&store, "k", b"old");
    let (reached, is_reached) = mpsc::channel();
    let (let_go, is_let_go) = mpsc::channel();
    std::thread::scope(|scope| {
        let writer = store.clone();
        scope.spawn(move || {
            let mut body = Stuck(reached, is_let_go, false);
            writer.put(&key("k"), &mut body, &PutOptions::default()).unwrap_err();
        });
        is_reached.recv().unwrap();
        // Another process opens the store at this moment: half of a put is not to be seen anywhere.
        let other = FolderStore::open("primary", folder.path()).unwrap();
        assert_eq!(list(&other), ["k"]);
        assert_eq!(other.head(&key("k")).unwrap().size, 3);
        assert_eq!(names(&folder.path().join(".strongroom/tmp")).len(), 1);
        drop(let_go);
    });
    assert_eq!(names(&folder.path().join(".strongroom/tmp")).len(), 0);
}

#[test]
fn two_handles_of_one_folder_agree_on_conditions() {
    let (folder, first) = store();
    let second = FolderStore::open("primary", folder.path()).unwrap();
    put(&first, "counter", b"0");
    std::thread::scope(|scope| {
        for store in [&first, &second, &first, &second] {
            scope.spawn(|| {
                let mut left = 25;
                while left > 0 {
                    let etag = store.head(&key("counter")).unwrap().etag;
                    let mut text = String::new();
                    store.open(&key("counter"), 0, None).unwrap().read_to_string(&mut text).unwrap();
                    let next = (text.parse::<u32>().unwrap() + 1).to_string();
                    let options = PutOptions {
                        condition: PutCondition::IfMatch(etag),
                        durability: Durability::OnSync,
                        ..PutOptions::default()
                    };
                    match store.put(&key("counter"), &mut next.as_bytes(), &options) {
                        Ok(_) => left -= 1,
                        Err(error) => assert!(matches!(error, StorageError::Condition { .. }), "{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(fs::read(folder.path().join("counter")).unwrap(), b"100");
}

/// The superuser may write everywhere: does something in a thread that gives that right up.
fn as_others<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let without_override = scope.spawn(|| {
            let mut sets = rustix::thread::capabilities(None).unwrap();
            sets.effective.remove(rustix::thread::CapabilitySet::DAC_OVERRIDE);
            rustix::thread::set_capabilities(None, sets).unwrap();
            act()
        });
        without_override.join().unwrap()
    })
}

#[test]
fn a_store_that_may_not_be_written_says_so_without_a_write() {
    let (folder, store) = store();
    as_others(|| store.check_writable()).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let error = as_others(|| store.check_writable()).unwrap_err();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(error.to_string().contains("nothing can be written into folder"), "{error}");
    as_others(|| store.check_writable()).unwrap();
}

#[test]
fn a_folder_that_may_not_be_written_is_a_lasting_error() {
    let (folder, store) = store();
    put(&store, "locked/k", b"x");
    let locked = folder.path().join("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let outcome = as_others(|| try_put(&store, "locked/new"));
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    let error = outcome.unwrap_err();
    assert!(matches!(&error, StorageError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied));
    assert!(!error.is_transient());
    assert!(names(&folder.path().join(".strongroom/tmp")).is_empty());
}

#[test]
fn new_files_have_the_rights_the_process_gives_not_those_of_temporary_files() {
    let (folder, store) = store();
    put(&store, "k", b"x");
    fs::write(folder.path().join("plain"), b"x").unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode("k"), mode("plain"));
}

/// Read access to the lock is enough to hold it.
#[test]
fn nobody_else_reaches_the_lock_also_in_folders_of_earlier_programs() {
    let (folder, store) = store();
    let mode = || fs::metadata(folder.path().join(".strongroom")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o700);
    drop(store);
    fs::set_permissions(folder.path().join(".strongroom"), fs::Permissions::from_mode(0o755)).unwrap();
    drop(FolderStore::open("primary", folder.path()).unwrap());
    assert_eq!(mode(), 0o700);
    let asked = FolderMode::new(0o775).unwrap();
    fs::set_permissions(folder.path().join(".strongroom"), fs::Permissions::from_mode(0o775)).unwrap();
    drop(FolderStore::open_with_mode("primary", folder.path(), asked).unwrap());
    assert_eq!(mode(), 0o770, "the group that was asked for");
}

#[test]
fn a_lock_that_is_not_let_go_of_is_told() {
    let (folder, store) = store();
    let lock = fs::File::open(folder.path().join(".strongroom/lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let error = try_put(&store, "k").unwrap_err();
    assert!(error.is_away() && error.to_string().contains(".strongroom/lock"), "{error}");
    drop(lock);
    try_put(&store, "k").unwrap();
}

#[test]
fn a_folder_has_nothing_to_retrieve() {
    let (_folder, store) = store();
    let how = RetrievalRequest { days: 1, tier: "Bulk".into() };
    let refused = store.request_retrieval(&key("a"), &how).unwrap_err();
    assert!(matches!(refused, StorageError::Unusable { .. }), "{refused}");
    assert_eq!(store.sweep_unfinished(Duration::ZERO).unwrap(), 0);
}

#[test]
fn a_store_knows_who_it_is_and_whether_it_is_there() {
    let (folder, store) = store();
    let (_other_folder, other) = self::store();
    assert_eq!(Store::name(&store), "primary");
    assert_eq!(Store::id(&store), Some(store.id()));
    assert_ne!(store.id(), other.id());
    assert_eq!(FolderStore::open("again", folder.path()).unwrap().id(), store.id());
    store.check_presence().unwrap();

    let is_away = |store: &FolderStore| matches!(store.check_presence(), Err(StorageError::Away { .. }));
    let description = folder.path().join(".strongroom/store.json");
    let kept = fs::read(&description).unwrap();
    fs::remove_file(&description).unwrap();
    assert!(is_away(&store), "it lost what makes it this store");
    fs::write(&description, kept).unwrap();
    store.check_presence().unwrap();

    let moved = TempDir::new().unwrap();
    fs::rename(folder.path(), moved.path().join("disk")).unwrap();
    assert!(is_away(&store), "nothing is at its path");
    FolderStore::create("primary", folder.path()).unwrap();
    assert!(is_away(&store), "another folder is at its path");
}

#[test]
fn a_body_without_a_chance_is_not_read() {
    struct Unread;
    impl Read for Unread {
        fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            panic!("it is read")
        }
    }
    let (_folder, store) = store();
    put(&store, "a", b"bytes");
    let stale = PutCondition::IfMatch("x".to_owned());
    for (name, condition) in [("a", PutCondition::IfAbsent), ("a", stale.clone()), ("b", stale)] {
        let options = PutOptions { condition, ..PutOptions::default() };
        let refused = store.put(&key(name), &mut Unread, &options);
        assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    }
}

#[test]
fn an_interrupted_read_goes_on() {
    struct Interrupted(bool);
    impl Read for Interrupted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, false) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            (&b""[..]).read(buffer)
        }
    }
    let (_folder, store) = store();
    store.put(&key("a"), &mut Interrupted(true), &PutOptions::default()).unwrap();
}

#[test]
fn a_key_of_another_etag_is_not_even_taken_out_of_sight() {
    let (folder, store) = store();
    put(&store, "a", b"bytes");
    let tmp = folder.path().join(".strongroom/tmp");
    fs::remove_dir(&tmp).unwrap();
    assert!(!store.delete_match(&key("a"), "x", &Key::ROOT).unwrap());
    fs::create_dir(&tmp).unwrap();
    assert_eq!(list(&store), ["a"]);
}

#[test]
fn a_removal_leaves_the_directory_that_is_to_be_kept() {
    let (folder, store) = store();
    for (keep, left) in [(key("inbox"), true), (Key::ROOT, false)] {
        put(&store, "inbox/a/b/c", b"bytes");
        let etag = store.head(&key("inbox/a/b/c")).unwrap().etag;
        assert!(store.delete_match(&key("inbox/a/b/c"), &etag, &keep).unwrap());
        assert_eq!(folder.path().join("inbox").is_dir(), left, "{keep:?}");
        assert!(!folder.path().join("inbox/a").exists());
    }
}

#[test]
fn what_cannot_be_looked_at_does_not_pass_for_deleted() {
    let (folder, store) = store();
    symlink("elsewhere", folder.path().join("a")).unwrap();
    let outcome = store.delete_match(&key("a"), "x", &Key::ROOT);
    assert!(matches!(outcome, Err(StorageError::InTheWay { .. })), "{outcome:?}");
}

#[test]
fn an_assembly_of_equal_bytes_under_another_name_is_not_taken_for_the_same() {
    let (_folder, store) = store();
    put(&store, "o/v1/a", b"bytes");
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    assembly.put(&key("b"), &mut &b"bytes"[..], &PutOptions::default()).unwrap();
    let refused = assembly.commit();
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(list(&store), ["o/v1/a"]);
}

#[test]
fn what_is_in_the_way_within_an_assembly_is_not_looked_for_at_the_target() {
    let (folder, store) = store();
    put(&store, "o/v1/a", b"bytes");
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    assembly.put(&key("b"), &mut &b"bytes"[..], &PutOptions::default()).unwrap();
    symlink("elsewhere", folder.path().join(".strongroom/assembly/one/a")).unwrap();
    let looked = assembly.head(&key("a"));
    assert!(matches!(looked, Err(StorageError::InTheWay { .. })), "{looked:?}");
    assert!(matches!(assembly.open(&key("a")).map(|_| ()), Err(StorageError::InTheWay { .. })));
}

#[test]
fn assemblies_that_cannot_be_listed_do_not_pass_for_none() {
    let (folder, store) = store();
    let assemblies = folder.path().join(".strongroom/assembly");
    fs::remove_dir(&assemblies).unwrap();
    assert_eq!(store.assemblies().unwrap(), Vec::<String>::new());
    fs::write(&assemblies, b"").unwrap();
    assert!(store.assemblies().is_err());
}

#[test]
fn a_purge_takes_what_processes_that_ended_left_out_of_sight() {
    let (folder, store) = store();
    put(&store, "a/b", b"bytes");
    // A removal that a kill ended, and a put whose process is gone.
    let tmp = folder.path().join(".strongroom/tmp");
    fs::create_dir_all(tmp.join("tree-0123/deep")).unwrap();
    fs::write(tmp.join("tree-0123/deep/file"), b"x").unwrap();
    fs::write(tmp.join("put-0123-4567"), b"x").unwrap();
    store.purge(&key("a/b")).unwrap();
    assert!(is_clean(folder.path()), "{:?}", names(&tmp));
    put(&store, "a/b", b"bytes");
    store.purge_all(&key("a")).unwrap();
    assert!(is_clean(folder.path()));
}

#[test]
fn nothing_is_purged_where_the_folder_is_another_one() {
    let outside = TempDir::new().unwrap();
    let path = outside.path().join("store");
    let store = FolderStore::create("primary", &path).unwrap();
    put(&store, "a/b", b"bytes");
    fs::rename(&path, outside.path().join("elsewhere")).unwrap();
    fs::create_dir(&path).unwrap();
    for outcome in [store.purge(&key("a/b")), store.purge_all(&key("a")), store.removal_hold(&key("a/b")).map(drop)] {
        assert!(outcome.unwrap_err().is_away());
    }
    assert!(outside.path().join("elsewhere/a/b").is_file());
}

#[test]
fn what_cannot_be_removed_for_good_is_an_error_at_each_attempt() {
    let folder = tempfile::TempDir::new().unwrap();
    let store = FolderStore::create("store", folder.path()).unwrap();
    let key = Key::new("a/b/c.txt").unwrap();
    store.put(&key, &mut &b"bytes"[..], &PutOptions::default()).unwrap();
    let set = |flag: &str| {
        let find = format!("find {} -name c.txt -exec chattr {flag} {{}} +", folder.path().display());
        std::process::Command::new("sh").args(["-c", &find]).status().is_ok_and(|status| status.success())
    };
    if !set("+i") {
        println!("SKIPPED: a file cannot be made immutable here");
        return;
    }
    let attempts: Vec<bool> = (0..3).map(|_| store.purge_all(&Key::new("a").unwrap()).is_err()).collect();
    assert!(set("-i"));
    assert_eq!(attempts, [true; 3]);
    store.purge_all(&Key::new("a").unwrap()).unwrap();
    assert!(!set("+i") || std::fs::read_dir(folder.path().join(".strongroom/tmp")).is_ok_and(|left| left.count() == 0));
}
