//! What a plain store in a folder does with what others do there.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{XattrFlags, setxattr};
use rustix::thread::CapabilitySet;
use strongroom_spaces::{
    Description, FolderSpaces, ItemPut, ListedItem, ListedName, ListedSpace, PlainStore, Properties, SpaceName,
};
use strongroom_storage::{FolderMode, FolderStore, Key, Removal, StorageError};
use tempfile::TempDir;

struct World {
    folder: TempDir,
    store: FolderSpaces,
    alpha: SpaceName,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::create_dir(folder.path().join("alpha")).expect("a folder");
        let store = FolderSpaces::open("far", folder.path(), FolderMode::ANY, None).expect("a store");
        Self { folder, store, alpha: SpaceName::new("alpha").expect("a name") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> String {
        self.store.put(&self.alpha, &key(name), &mut &*bytes, &ItemPut::default()).expect("a put").etag
    }

    /// Each line: a key, or a name with why it is none.
    fn lines(&self) -> Vec<String> {
        let lines = self.store.list(&self.alpha, &ListedName::START).expect("a listing");
        lines
            .map(|line| match line.expect("a line") {
                ListedItem::Item(listed) => listed.key.to_string(),
                ListedItem::NotCarried { name, reason } => format!("{name}: {reason}"),
            })
            .collect()
    }

    fn has_no_leftovers(&self) -> bool {
        fs::read_dir(self.path(".strongroom/tmp")).expect("a folder").count() == 0
    }
}

fn key(text: &str) -> Key {
    Key::new(text).expect("a key")
}

#[test]
fn reading_makes_nothing_in_the_folder() {
    let world = World::new();
    fs::write(world.path("alpha/a"), "x").expect("a file");
    assert_eq!(world.lines(), ["a"]);
    let head = world.store.head(&world.alpha, &key("a")).expect("a head");
    drop(world.store.open(&world.alpha, &key("a"), &head.etag).expect("a body"));
    assert_eq!(world.store.spaces(None).expect("a list").count(), 1);
    assert_eq!(fs::read_dir(world.folder.path()).expect("a folder").count(), 1);
}

#[test]
fn a_folder_that_is_not_mounted_is_away_and_never_empty() {
    let folder = TempDir::new().expect("a folder");
    let open = |marker: Option<&Key>| FolderSpaces::open("far", folder.path(), FolderMode::ANY, marker);
    let marker = key("marker");
    for refused in [open(None), open(Some(&marker)), FolderSpaces::open("far", "/not/there", FolderMode::ANY, None)] {
        let error = refused.map(|_| ()).expect_err("a refusal");
        assert!(error.is_away(), "{error}");
    }
    fs::write(folder.path().join("marker"), "x").expect("a file");
    let store = open(Some(&marker)).expect("a store");
    assert_eq!(store.spaces(None).expect("a list").count(), 0, "the marker is no space");
    let alpha = SpaceName::new("alpha").expect("a name");
    store.create_space(&alpha).expect("a space");
    store.put(&alpha, &key("a"), &mut &b"x"[..], &ItemPut::default()).expect("a put");
    let mut lines = store.list(&alpha, &ListedName::START).expect("a listing");
    fs::remove_file(folder.path().join("marker")).expect("is removed");
    lines.next().expect("a line").expect("an item");
    assert!(lines.next().expect("a line").expect_err("no end").is_away());
    assert!(lines.next().is_none());
    assert!(store.spaces(None).is_err_and(|error| error.is_away()));
    assert!(store.head(&alpha, &key("b")).is_err_and(|error| error.is_away()), "nothing is called absent");
    assert!(store.delete_space_if_empty(&alpha).is_err_and(|error| error.is_away()));
    assert!(store.put(&alpha, &key("b"), &mut &b"x"[..], &ItemPut::default()).is_err_and(|error| error.is_away()));
}

#[test]
fn what_no_store_can_keep_is_listed_with_its_reason() {
    let world = World::new();
    fs::write(world.path("outside"), "secret").expect("a file");
    for name in [&b"bad\xff"[..], b"line\nbreak", b"fine"] {
        let path = world.path("alpha").join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, "x").expect("a file");
    }
    fs::create_dir(world.path("alpha").join(std::ffi::OsStr::from_bytes(b"dir\xff"))).expect("a folder");
    fs::write(world.path("alpha").join(std::ffi::OsStr::from_bytes(b"dir\xff/a")), "x").expect("a file");
    fs::create_dir_all(world.path("alpha/.strongroom")).expect("a folder");
    fs::write(world.path("alpha/.strongroom/x"), "x").expect("a file");
    symlink(world.path("outside"), world.path("alpha/link")).expect("a link");
    symlink(world.folder.path(), world.path("alpha/up")).expect("a link");
    let made = Command::new("mkfifo").arg(world.path("alpha/pipe")).status().expect("mkfifo");
    assert!(made.success());
    assert_eq!(
        world.lines(),
        [
            ".strongroom/x: its name begins with .strongroom, which belongs to Strongroom itself",
            "bad%FF: its name is not UTF-8",
            "dir%FF/: its name is not UTF-8",
            "fine",
            "line%0Abreak: its name has a control character",
            "link: it is a symbolic link, and no link is followed",
            "pipe: it is no regular file, but a pipe, a socket or a device",
            "up: it is a symbolic link, and no link is followed",
        ]
    );
    let all: Vec<ListedItem> = world
        .store
        .list(&world.alpha, &ListedName::START)
        .expect("a listing")
        .map(|line| line.expect("a line"))
        .collect();
    for (nth, line) in all.iter().enumerate() {
        let rest = world.store.list(&world.alpha, &line.name()).expect("a listing");
        assert_eq!(rest.map(|line| line.expect("a line")).collect::<Vec<_>>(), all[nth + 1..], "after {}", line.name());
    }
    let spaces: Vec<String> = world
        .store
        .spaces(None)
        .expect("a list")
        .map(|line| match line.expect("a line") {
            ListedSpace::Space(space) => space.to_string(),
            ListedSpace::NotCarried { name, reason } => format!("{name}: {reason}"),
        })
        .collect();
    assert_eq!(spaces, ["alpha", "outside: it is a file outside of every folder"]);
}

#[test]
fn no_symbolic_link_leads_out_of_the_folder() {
    let world = World::new();
    let outside = TempDir::new().expect("a folder");
    fs::write(outside.path().join("a"), "secret").expect("a file");
    symlink(outside.path(), world.path("beta")).expect("a link");
    symlink(outside.path(), world.path("alpha/link")).expect("a link");
    let beta = SpaceName::new("beta").expect("a name");
    assert!(!world.store.has_space(&beta).expect("an answer"));
    assert!(world.store.list(&beta, &ListedName::START).is_err());
    for (space, name) in [(&beta, "a"), (&world.alpha, "link/a"), (&world.alpha, "link")] {
        assert!(world.store.head(space, &key(name)).is_err(), "{space}/{name}");
        assert!(world.store.put(space, &key(name), &mut &b"x"[..], &ItemPut::default()).is_err() || name == "link");
        assert_ne!(world.store.delete(space, &key(name), "x").ok(), Some(Removal::Removed));
    }
    assert_eq!(fs::read(outside.path().join("a")).expect("bytes"), b"secret");
    assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 1);
}

#[test]
fn a_file_that_is_changed_while_it_is_read_is_an_error_and_no_mixture() {
    let world = World::new();
    let bytes = vec![1_u8; 1 << 20];
    let etag = world.put("a", &bytes);
    for change in 0..3 {
        let etag = if change == 0 { etag.clone() } else { world.put("a", &bytes) };
        let mut body = world.store.open(&world.alpha, &key("a"), &etag).expect("a body");
        let mut read = vec![0; 1000];
        body.read_exact(&mut read).expect("bytes");
        let path = world.path("alpha/a");
        match change {
            0 => File::options().append(true).open(&path).expect("a file").write_all(b"more").expect("a write"),
            1 => File::options().write(true).open(&path).expect("a file").set_len(2000).expect("a cut"),
            // Replaced: what was opened is read to its end.
            _ => drop(world.put("a", b"other")),
        }
        let rest = body.read_to_end(&mut read);
        if change == 2 {
            rest.expect("the bytes that were opened");
            assert!(read == bytes);
        } else {
            let error =
                StorageError::Source { store: "far".into(), key: key("a"), source: rest.expect_err("an error") };
            assert!(error.is_changed(), "{error:?}");
        }
    }
}

#[test]
fn a_put_that_fails_leaves_nothing_behind() {
    let world = World::new();
    let mut broken = b"bytes".chain(Broken);
    assert!(world.store.put(&world.alpha, &key("x/y/a"), &mut broken, &ItemPut::default()).is_err());
    assert!(world.has_no_leftovers());
    assert!(!world.path("alpha/x").exists(), "no folder was made");
    world.put("a", b"x");
    assert!(world.has_no_leftovers());
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the source broke"))
    }
}

#[test]
fn what_killed_puts_left_is_never_listed_and_is_swept() {
    let world = World::new();
    world.put("a", b"x");
    fs::write(world.path(".strongroom/tmp/put-0-1"), "half").expect("a file");
    assert_eq!(world.lines(), ["a"]);
    assert_eq!(world.store.spaces(None).expect("a list").count(), 1);
    assert_eq!(world.store.sweep_unfinished(Duration::ZERO).expect("is swept"), 1);
    assert!(world.has_no_leftovers());
}

#[test]
fn a_folder_that_cannot_be_read_is_an_error_of_the_listing_and_not_its_end() {
    let world = World::new();
    for name in ["a", "b/c", "d"] {
        world.put(name, b"x");
    }
    fs::set_permissions(world.path("alpha/b"), fs::Permissions::from_mode(0o000)).expect("rights");
    // The superuser may read every folder: this thread gives that right up.
    std::thread::scope(|scope| {
        let listed = scope.spawn(|| {
            let mut sets = rustix::thread::capabilities(None).expect("capabilities");
            sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
            rustix::thread::set_capabilities(None, sets).expect("fewer capabilities");
            let lines: Vec<_> = world.store.list(&world.alpha, &ListedName::START).expect("a listing").collect();
            assert!(matches!(lines.as_slice(), [Ok(_), Err(StorageError::Io { .. })]), "{lines:?}");
        });
        listed.join().expect("lists");
    });
    fs::set_permissions(world.path("alpha/b"), fs::Permissions::from_mode(0o700)).expect("rights");
}

#[test]
fn a_space_that_is_removed_while_it_is_listed_is_an_error() {
    let world = World::new();
    world.put("a", b"x");
    let mut lines = world.store.list(&world.alpha, &ListedName::START).expect("a listing");
    lines.next().expect("a line").expect("an item");
    fs::remove_dir_all(world.path("alpha")).expect("is removed");
    assert!(lines.next().expect("a line").is_err_and(|error| error.is_not_found()));
    assert!(lines.next().is_none());
}

#[test]
fn attributes_of_other_programs_are_no_properties_and_stay() {
    let world = World::new();
    fs::write(world.path("alpha/a"), "x").expect("a file");
    let set = |name: &str, value: &[u8]| setxattr(world.path("alpha/a"), name, value, XattrFlags::empty());
    if set("user.xdg.comment", b"theirs").is_err() {
        println!("SKIPPED: extended attributes: the file system of the test has none");
        return;
    }
    set("user.mime_type", b"text/plain").expect("an attribute");
    set("user.strongroom.creator", "Zoë".as_bytes()).expect("an attribute");
    let head = world.store.head(&world.alpha, &key("a")).expect("a head");
    assert_eq!(head.description.content_type(), Some("text/plain"));
    assert_eq!(head.description.properties().iter().collect::<Vec<_>>(), [("creator", "Zoë")]);
    let none = Description::new(None, Properties::default()).expect("a description");
    world.store.set_properties(&world.alpha, &key("a"), &head.etag, &none).expect("a change");
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(world.path("alpha/a"), "user.xdg.comment", &mut value[..]).expect("is kept");
    assert_eq!(&value[..length], b"theirs");
    set("user.strongroom.Creator", b"x").expect("an attribute");
    let error = world.store.head(&world.alpha, &key("a")).expect_err("a refusal");
    assert!(error.to_string().contains("alpha/a") && error.to_string().contains("Creator"), "{error}");
}

#[test]
fn a_preservation_store_is_no_plain_store() {
    let folder = TempDir::new().expect("a folder");
    FolderStore::create("primary", folder.path()).expect("a store");
    let error = FolderSpaces::open("far", folder.path(), FolderMode::ANY, None).map(|_| ()).expect_err("a refusal");
    assert!(matches!(error, StorageError::Unusable { .. }), "{error:?}");
}

#[test]
fn what_is_made_has_the_mode_of_the_settings() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join("other")).expect("a folder");
    let mode = FolderMode::new(0o750).expect("a mode");
    let store = FolderSpaces::open("far", folder.path(), mode, None).expect("a store");
    let alpha = SpaceName::new("alpha").expect("a name");
    store.create_space(&alpha).expect("a space");
    store.put(&alpha, &key("a/b"), &mut &b"x"[..], &ItemPut::default()).expect("a put");
    let rights = |name: &str| fs::metadata(folder.path().join(name)).expect("facts").permissions().mode() & 0o777;
    assert_eq!(["alpha", "alpha/a", "alpha/a/b", ".strongroom"].map(rights), [0o750, 0o750, 0o640, 0o750]);
}
