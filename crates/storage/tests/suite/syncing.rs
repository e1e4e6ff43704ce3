//! The folder store asks the kernel for every sync that it promises: where the kernel refuses one, the call fails.
//!
//! The refusal is real. A seccomp filter on the thread of the test answers the system calls `fsync` or `syncfs` with an
//! input/output error, as a failing disk does.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use strongroom_storage::{Assembly, Durability, FolderStore, Key, PutOptions, StorageError, Store};
use tempfile::TempDir;

/// Which descriptor, counted from the first free one, the process of the last test refuses to sync.
const OFFSET: &str = "STRONGROOM_REFUSED_DESCRIPTOR";

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn put(store: &FolderStore, name: &str, durability: Durability) -> Result<(), StorageError> {
    let options = PutOptions { durability, ..PutOptions::default() };
    store.put(&key(name), &mut &b"bytes"[..], &options).map(|_| ())
}

fn add(assembly: &dyn Assembly, name: &str) {
    assembly.put(&key(name), &mut &b"bytes"[..], &PutOptions::default()).unwrap();
}

fn folder() -> (TempDir, FolderStore) {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    (folder, store)
}

/// Answers a system call of this thread with an error from now on; only of this descriptor, when one is given.
fn refuse(call: i64, errno: i32, descriptor: Option<u64>) {
    let rules = descriptor.map(|descriptor| {
        let is_it = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, descriptor).unwrap();
        SeccompRule::new(vec![is_it]).unwrap()
    });
    let failure = SeccompAction::Errno(errno.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let rules = [(call, rules.into_iter().collect())].into();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, failure, arch).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

/// Acts in a thread to which a system call fails.
fn without<T: Send>(call: i64, act: impl FnOnce() -> T + Send) -> T {
    answering(call, libc::EIO, act)
}

/// Acts in a thread in which a system call is answered with `errno`.
fn answering<T: Send>(call: i64, errno: i32, act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let refused = scope.spawn(|| {
            refuse(call, errno, None);
            act()
        });
        refused.join().unwrap()
    })
}

#[test]
fn a_put_that_must_be_durable_fails_where_the_disk_does_not_sync() {
    let (_folder, store) = folder();
    let outcome = without(libc::SYS_fsync, || put(&store, "a/b/c", Durability::OnReturn));
    assert!(matches!(outcome, Err(StorageError::Io { .. })), "{outcome:?}");
    without(libc::SYS_fsync, || put(&store, "a/b/d", Durability::OnSync)).unwrap();
}

#[test]
fn a_purge_fails_where_the_disk_does_not_sync_and_syncs_again_when_it_is_repeated() {
    let (_folder, store) = folder();
    for (name, purge) in [
        ("a/b/c", FolderStore::purge as fn(&FolderStore, &Key) -> Result<(), StorageError>),
        ("a/b", FolderStore::purge_all),
    ] {
        put(&store, "a/b/c", Durability::OnReturn).unwrap();
        for _ in 0..2 {
            let outcome = without(libc::SYS_fsync, || purge(&store, &key(name)));
            assert!(matches!(outcome, Err(StorageError::Io { .. })), "{outcome:?}");
            assert!(store.head(&key("a/b/c")).unwrap_err().is_not_found());
        }
        purge(&store, &key(name)).unwrap();
    }
}

/// As of a file with the attribute `immutable`, or in a folder that may not be written to.
#[test]
fn what_may_not_be_removed_shows_at_its_purge() {
    let (_folder, store) = folder();
    put(&store, "a/b", Durability::OnReturn).unwrap();
    assert_eq!(store.removal_hold(&key("a/b")).unwrap(), None);
    let error = answering(libc::SYS_unlinkat, libc::EPERM, || store.purge(&key("a/b"))).unwrap_err();
    assert!(!error.is_transient() && !error.is_held(), "{error:?}");
    assert!(store.head(&key("a/b")).is_ok());
}

#[test]
fn a_store_that_failed_to_sync_once_promises_nothing_until_it_is_opened_anew() {
    let (folder, store) = folder();
    put(&store, "a", Durability::OnSync).unwrap();
    assert!(without(libc::SYS_syncfs, || store.sync()).is_err());
    assert!(store.sync().is_err(), "the kernel tells of lost writes once");
    FolderStore::open("primary", folder.path()).unwrap().sync().unwrap();
}

#[test]
fn an_assembly_that_does_not_sync_is_not_committed() {
    // Never synced; synced before its last put; found again, so that nobody knows.
    for case in ["never", "before", "again"] {
        let (_folder, store) = folder();
        let assembly = store.assembly("one", &key("o/v1")).unwrap();
        add(&*assembly, "a");
        if case != "never" {
            assembly.sync().unwrap();
        }
        if case == "before" {
            add(&*assembly, "b");
        }
        let assembly = if case == "again" { store.assembly("one", &key("o/v1")).unwrap() } else { assembly };
        assert!(without(libc::SYS_syncfs, || assembly.commit()).is_err(), "{case}");
        assert_eq!(store.list(&Key::ROOT).unwrap().count(), 0, "{case}: nothing is visible that was not synced");
    }
    let (_folder, store) = folder();
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    add(&*assembly, "a");
    assert!(without(libc::SYS_syncfs, || assembly.sync()).is_err());
    assert!(assembly.commit().is_err(), "a sync that failed is none");
    assert_eq!(store.list(&Key::ROOT).unwrap().count(), 0);
}

#[test]
fn a_put_into_an_assembly_waits_for_the_sync_of_all() {
    let (_folder, store) = folder();
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    without(libc::SYS_fsync, || add(&*assembly, "a"));
}

/// As on a kernel before Linux 5.6, and in sandboxes that refuse the call.
#[test]
fn symbolic_links_lead_nowhere_where_the_kernel_does_not_resolve_whole_paths() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let outside = TempDir::new().unwrap();
        std::fs::write(outside.path().join("secret"), b"secret").unwrap();
        let (folder, store) = folder();
        put(&store, "inside/deep/k", Durability::OnReturn).unwrap();
        symlink(outside.path(), folder.path().join("inside/folder")).unwrap();
        symlink(outside.path().join("secret"), folder.path().join("inside/file")).unwrap();
        answering(libc::SYS_openat2, errno, || {
            put(&store, "inside/deep/other", Durability::OnReturn).unwrap();
            assert_eq!(store.list(&Key::ROOT).unwrap().count(), 2);
            let mut text = Vec::new();
            store.open(&key("inside/deep/k"), 0, None).unwrap().read_to_end(&mut text).unwrap();
            assert_eq!(text, b"bytes");
            for name in ["inside/file", "inside/folder/secret", "inside/folder"] {
                assert!(store.open(&key(name), 0, None).is_err(), "{name}");
                assert!(store.head(&key(name)).is_err(), "{name}");
            }
            assert!(put(&store, "inside/folder/new", Durability::OnReturn).is_err());
        });
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_synced_assembly_is_not_synced_again_by_its_commit() {
    let (_folder, store) = folder();
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    add(&*assembly, "a");
    assembly.sync().unwrap();
    without(libc::SYS_syncfs, || assembly.commit()).unwrap();
}

#[test]
fn a_committed_name_is_synced_however_often_the_commit_is_repeated() {
    let (_folder, store) = folder();
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    add(&*assembly, "a");
    assembly.sync().unwrap();
    for attempt in 1..=2 {
        assert!(without(libc::SYS_fsync, || assembly.commit()).is_err(), "attempt {attempt}");
    }
    assembly.commit().unwrap();
}

#[test]
fn an_assembly_equal_to_what_lies_there_is_synced_before_it_goes() {
    let (_folder, store) = folder();
    for attempt in 1..=2 {
        let assembly = store.assembly("one", &key("o/v1")).unwrap();
        add(&*assembly, "a");
        assembly.sync().unwrap();
        if attempt == 2 {
            assert!(without(libc::SYS_syncfs, || assembly.commit()).is_err());
            assert_eq!(store.assemblies().unwrap(), ["one"]);
        } else {
            assembly.commit().unwrap();
        }
    }
}

#[test]
#[ignore = "the process that the next test starts, so that its descriptors are known"]
fn puts_with_a_refused_descriptor() {
    let Ok(offset) = std::env::var(OFFSET) else { return };
    let (_folder, store) = folder();
    put(&store, "a/first", Durability::OnReturn).unwrap();
    let free = File::open("/dev/null").unwrap().as_raw_fd();
    refuse(libc::SYS_fsync, libc::EIO, Some(u64::from(free.unsigned_abs()) + offset.parse::<u64>().unwrap()));
    let outcome = put(&store, "a/second", Durability::OnReturn);
    println!("outcome {}", if outcome.is_ok() { "durable" } else { "refused" });
}

#[test]
fn a_durable_put_syncs_the_file_and_the_folder_that_names_it() {
    let refused = |offset: u64| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["syncing::puts_with_a_refused_descriptor", "--exact", "--ignored", "--nocapture"])
            .args(["--test-threads", "1"])
            .env(OFFSET, offset.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("outcome "), "{text}");
        text.contains("outcome refused")
    };
    // The temporary file is opened first, then the folder that will name it.
    let synced: Vec<u64> = (0..6).filter(|offset| refused(*offset)).collect();
    assert_eq!(synced, [0, 1]);
}
