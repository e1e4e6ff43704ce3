//! A disk that is full: a seccomp filter on the thread of the test answers system calls as such a disk does.

use std::fs;
use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use strongroom_spaces::{Description, FolderSpaces, ItemPut, PlainStore, Properties, SpaceName};
use strongroom_storage::{FolderMode, Key};
use tempfile::TempDir;

/// Acts in a thread in which a system call finds no room.
fn without_room<T: Send>(call: i64, act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let acting = scope.spawn(|| {
            let failure = SeccompAction::Errno(libc::ENOSPC.unsigned_abs());
            let arch = std::env::consts::ARCH.try_into().expect("a known processor");
            let filter = SeccompFilter::new([(call, Vec::new())].into(), SeccompAction::Allow, failure, arch);
            let filter = BpfProgram::try_from(filter.expect("a filter")).expect("a program");
            seccompiler::apply_filter(&filter).expect("is applied");
            act()
        });
        acting.join().expect("a thread")
    })
}

#[test]
fn a_put_onto_a_full_disk_leaves_the_item_as_it_was_and_may_be_tried_again() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join("alpha")).expect("a folder");
    let store = FolderSpaces::open("far", folder.path(), FolderMode::ANY, None).expect("a store");
    let (alpha, key) = (SpaceName::new("alpha").expect("a name"), Key::new("a").expect("a key"));
    let properties = Properties::new([("creator".to_owned(), "Ann".to_owned())]).expect("properties");
    let description = Description::new(Some("text/plain"), properties).expect("a description");
    let how = ItemPut { description: description.clone(), ..ItemPut::default() };
    let before = store.put(&alpha, &key, &mut &b"before"[..], &how).expect("a put").etag;
    for call in [libc::SYS_write, libc::SYS_fsync, libc::SYS_fsetxattr] {
        let error = without_room(call, || store.put(&alpha, &key, &mut &b"after"[..], &how)).expect_err("no room");
        assert!(error.is_transient(), "{error:?}");
        let head = store.head(&alpha, &key).expect("a head");
        assert_eq!((&head.etag, head.size), (&before, 6), "{call}");
        let left = fs::read_dir(folder.path().join(".strongroom/tmp")).expect("a folder").count();
        assert_eq!(left, 0, "{call}");
    }
    let none = Properties::new([("other".to_owned(), "x".to_owned())]).expect("properties");
    let none = Description::new(None, none).expect("a description");
    let refused = without_room(libc::SYS_fsetxattr, || store.set_properties(&alpha, &key, &before, &none));
    assert!(refused.expect_err("no room").is_transient());
    assert_eq!(store.head(&alpha, &key).expect("a head").description, description, "what it has stays");
}
