//! Packages that would write elsewhere, name what is no file, are ambiguous, or unpack to too much.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_registry::ItemStatus;
use strongroom_registry::items::Item;
use strongroom_web_double::WebDouble;
use tar::EntryType;

use super::world::{
    Files, OBJECT, SINGLE_FILES, World, bzip2, contents, gzip, manifest, raw_member, raw_tar, tar, zip,
};
use crate::fixture;

/// Deposits a package that is refused: its item, with these codes among its problems.
fn refused(world: &World, name: &str, bytes: &[u8], code: &str) -> Item {
    let item = world.deposit(&world.request(world.write(name, bytes))).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Failed, "{name}: {:?}", item.note);
    assert!(item.is_verdict, "{name}: {:?}", item.note);
    let codes = world.codes(item.id);
    assert!(
        codes.iter().any(|known| known == code),
        "{name}: {code} is not in {codes:?}: {:?}",
        world.problems(item.id)
    );
    assert_eq!(world.objects(), Vec::<String>::new(), "{name}");
    world.clear_up();
    item
}

fn member(name: &str) -> Vec<u8> {
    raw_member(name.as_bytes(), EntryType::Regular, "", b"bytes")
}

/// Names that no file of a package may have.
const UNSAFE: [&str; 8] = [
    "../out.txt",
    "folder/../../out.txt",
    "/out.txt",
    "/submission/manifest.checkm",
    "/metadata/record.jsonl",
    "/etc/passwd",
    "C:/out.txt",
    "folder/..",
];

#[test]
fn names_that_lead_out_of_the_package_are_refused_in_every_container() {
    for name in UNSAFE {
        let world = World::new();
        refused(&world, "a.tar", &raw_tar(&[member("right.txt"), member(name)]), "path.unsafe");
        let world = World::new();
        refused(&world, "a.tgz", &gzip(&raw_tar(&[member("right.txt"), member(name)])), "path.unsafe");
        let world = World::new();
        refused(&world, "a.zip", &zip(&[("right.txt", b"one"), (name, b"two")]), "path.unsafe");
        assert!(!world.path("out.txt").exists() && !world.home.path().join("out.txt").exists());
    }
}

#[test]
fn names_that_lead_out_of_the_object_are_refused_in_manifests() {
    for name in UNSAFE {
        let world = World::new();
        world.serve(&[("a", b"one")]);
        let url = world.web.url("/a");
        refused(&world, "a.checkm", manifest(OBJECT, &[format!("{url} | | | | | {name} |")]).as_bytes(), "name.unsafe");
    }
    // Also in a list of files, where each row is an object.
    for name in UNSAFE {
        let world = World::new();
        world.serve(&[("a", b"one")]);
        let url = world.web.url("/a");
        let text = manifest(SINGLE_FILES, &[format!("{url} | | | | | {name} | | | | |")]);
        let items = world.deposit(&world.request(world.write("a.checkm", text)));
        assert!(items.iter().any(|item| item.status == ItemStatus::Failed), "{name}: {items:#?}");
        assert_eq!(world.objects(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_is_no_file_is_refused_in_containers() {
    let cases = [
        (EntryType::Symlink, "/etc/passwd"),
        (EntryType::Link, "right.txt"),
        (EntryType::Char, ""),
        (EntryType::Block, ""),
        (EntryType::Fifo, ""),
    ];
    for (kind, link) in cases {
        let world = World::new();
        let archive = raw_tar(&[member("right.txt"), raw_member(b"odd", kind, link, b"")]);
        refused(&world, "a.tar", &archive, "entry.not_a_file");
    }
}

#[test]
fn what_is_no_file_is_refused_in_folders_and_links_are_not_followed() {
    let world = World::new();
    let folder = world.folder("photos", &[("a.txt", b"one")]);
    symlink("/etc/passwd", folder.join("link")).expect("makes a link");
    let item = world.deposit(&world.request(folder.clone())).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    assert!(world.codes(item.id).contains(&"entry.not_a_file".to_owned()), "{:?}", world.problems(item.id));
    assert_eq!(world.objects(), Vec::<String>::new());
    std::fs::remove_file(folder.join("link")).expect("removes it");
    assert_eq!(world.deposited(&world.ingest(&world.request(folder)), 1), contents(&[("a.txt", b"one")]));
}

/// Every type that a package may be stated to be.
const TYPES: [DepositKind; 9] = [
    DepositKind::Auto,
    DepositKind::Bag,
    DepositKind::File,
    DepositKind::Folder,
    DepositKind::Container,
    DepositKind::Manifest,
    DepositKind::BatchManifest,
    DepositKind::SingleFileBatchManifest,
    DepositKind::ContainerBatchManifest,
];

fn make_fifo(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

#[test]
fn what_is_neither_a_file_nor_a_folder_is_refused_at_once_as_every_type() {
    let world = World::new();
    make_fifo(&world.path("fifo"));
    let _listening = std::os::unix::net::UnixListener::bind(world.path("socket")).expect("binds");
    let cases = [("fifo", "a FIFO"), ("socket", "a socket"), ("/dev/null", "a device")];
    for kind in TYPES {
        for (name, what) in cases {
            let refused = world.submit(&DepositRequest { kind, ..world.request(world.path(name)) });
            let told = refused.expect_err("is refused").chain();
            assert!(told.contains(what) && told.contains("entry.not_a_file"), "{kind:?}: {told}");
        }
    }
}

#[test]
fn a_fifo_in_the_place_of_what_was_submitted_is_refused_and_not_waited_for() {
    for kind in TYPES {
        let world = World::new();
        let path = if kind == DepositKind::Folder {
            world.folder("package", &[("a.txt", b"one")])
        } else {
            world.write("package", b"one")
        };
        let digest = Some(("md5".parse().expect("known"), "0".repeat(32).parse().expect("a digest")));
        let digest = digest.filter(|_| kind == DepositKind::File);
        let made = world.submit(&DepositRequest { kind, digest, ..world.request(path.clone()) }).expect("is submitted");
        if kind == DepositKind::Folder {
            std::fs::remove_dir_all(&path).expect("removes it");
        } else {
            std::fs::remove_file(&path).expect("removes it");
        }
        make_fifo(&path);
        let item = world.work(made.batch).pop().expect("an item");
        assert_eq!((item.status, item.is_verdict), (ItemStatus::Failed, true), "{kind:?}: {:?}", item.note);
        assert_eq!(world.codes(item.id), ["entry.not_a_file"], "{kind:?}: {:?}", item.note);
    }
}

#[test]
fn two_files_of_one_path_are_refused() {
    let world = World::new();
    refused(&world, "a.tar", &raw_tar(&[member("a.txt"), member("a.txt")]), "entry.duplicate");
    let world = World::new();
    refused(&world, "b.tar", &raw_tar(&[member("a.txt"), member("./a.txt")]), "entry.duplicate");
}

#[test]
fn a_name_that_is_not_utf_8_and_one_that_reads_as_its_escaped_form_are_refused_together() {
    for (odd, literal) in [("odd", "lit"), ("odd", "longer")] {
        let world = World::new();
        let members = [
            raw_member(b"caf\xe9.txt", EntryType::Regular, "", odd.as_bytes()),
            raw_member(br"caf\xE9.txt", EntryType::Regular, "", literal.as_bytes()),
        ];
        refused(&world, "a.tar", &raw_tar(&members), "entry.duplicate");
        for files in [&[][..], BAG] {
            let below = if files.is_empty() { "" } else { "data/" };
            let folder = world.folder("photos", files);
            std::fs::create_dir_all(folder.join(below)).expect("makes the folder");
            let name = [below.as_bytes(), b"caf\xe9.txt"].concat();
            std::fs::write(folder.join(std::ffi::OsStr::from_bytes(&name)), odd).expect("writes");
            std::fs::write(folder.join(format!(r"{below}caf\xE9.txt")), literal).expect("writes");
            let item = world.deposit(&world.request(folder)).pop().expect("an item");
            assert_eq!((item.status, item.is_verdict), (ItemStatus::Failed, true), "{:?}", item.note);
            let problems = world.problems(item.id);
            let found = problems.iter().find(|problem| problem.code == "entry.duplicate");
            let found = found.unwrap_or_else(|| panic!("{problems:?}"));
            assert_eq!(found.path, Some(format!(r"{below}caf\xE9.txt")));
            assert!(found.message.contains(r"caf\xe9.txt") && found.message.contains(r"caf\\xE9.txt"), "{found:?}");
            assert_eq!(world.objects(), Vec::<String>::new());
        }
    }
}

/// The tag files of a bag whose manifest names nothing.
const BAG: Files<'static> =
    &[("bagit.txt", b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"), ("manifest-md5.txt", b"")];

#[test]
fn a_file_where_another_needs_a_folder_is_refused() {
    for members in [[member("a"), member("a/b")], [member("a/b"), member("a")]] {
        let world = World::new();
        let item = world.deposit(&world.request(world.write("a.tar", raw_tar(&members)))).pop().expect("an item");
        assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
        assert!(item.note.as_deref().is_some_and(|note| note.contains("cannot be kept beside")), "{:?}", item.note);
    }
}

#[test]
fn names_that_are_not_utf_8_are_kept_in_an_escaped_form_with_a_warning_or_refused_but_never_changed_silently() {
    let world = World::new();
    let archive = raw_tar(&[member("right.txt"), raw_member(b"caf\xe9.txt", EntryType::Regular, "", b"odd")]);
    let item = world.deposit(&world.request(world.write("a.tar", archive))).pop().expect("an item");
    assert!(world.codes(item.id).contains(&"path.not_utf8".to_owned()), "{:?}", world.problems(item.id));
    let folder = world.folder("photos", &[("a.txt", b"one")]);
    std::fs::write(folder.join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt")), "odd").expect("writes");
    let item = world.deposit(&world.request(folder)).pop().expect("an item");
    assert!(world.codes(item.id).contains(&"path.not_utf8".to_owned()), "{:?}", world.problems(item.id));
}

#[test]
fn an_archive_that_unpacks_to_too_much_is_refused_without_unpacking_it() {
    // Staging has room for little.
    let world = World::of(
        fixture::home_with(&format!("{}[staging]\ncapacity = \"4 MiB\"\n", super::world::ONE_ATTEMPT)),
        WebDouble::start(),
    );
    let zeros = vec![0; 64 << 20];
    for (name, bytes) in [("a.zip", zip(&[("zeros", &zeros)])), ("b.tgz", gzip(&tar(&[("zeros", &zeros)])))] {
        assert!(bytes.len() < 1 << 20);
        let item = world.deposit(&world.request(world.write(name, bytes))).pop().expect("an item");
        assert_eq!(item.status, ItemStatus::Failed, "{name}: {:?}", item.note);
        assert!(item.note.as_deref().is_some_and(|note| note.contains("staging")), "{name}: {:?}", item.note);
        world.clear_up();
    }
    assert_eq!(world.objects(), Vec::<String>::new());
}

#[test]
fn a_package_without_files_is_refused() {
    for (name, bytes) in [("a.zip", zip(&[])), ("b.tar", raw_tar(&[])), ("c.tgz", gzip(&raw_tar(&[])))] {
        let world = World::new();
        let item = world.deposit(&world.request(world.write(name, bytes))).pop().expect("an item");
        assert_eq!(item.status, ItemStatus::Failed, "{name}: {:?}", item.note);
        assert!(item.is_verdict, "{name}: {:?}", item.note);
        assert_eq!(world.objects(), Vec::<String>::new());
    }
    let world = World::new();
    let empty = world.path("empty");
    std::fs::create_dir(&empty).expect("makes a folder");
    let item = world.deposit(&world.request(empty)).pop().expect("an item");
    assert_eq!((item.status, world.codes(item.id)), (ItemStatus::Failed, vec!["package.empty".to_owned()]));
    let item = world.deposit(&world.request(world.write("none.checkm", manifest(OBJECT, &[])))).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
}

#[test]
fn an_archive_that_is_cut_off_is_refused() {
    let (sevens, eights) = (vec![7; 100_000], vec![8; 100_000]);
    let files: Files<'_> = &[("a.bin", &sevens), ("b.bin", &eights)];
    for (name, bytes) in [("a.zip", zip(files)), ("b.tar", tar(files)), ("c.tgz", gzip(&tar(files)))] {
        let world = World::new();
        let cut = &bytes[..bytes.len() / 2];
        let item = world.deposit(&world.request(world.write(name, cut))).pop().expect("an item");
        assert_eq!((item.status, item.is_verdict), (ItemStatus::Failed, true), "{name}: {:?}", item.note);
        // The same from the web.
        world.web.put(&format!("/{name}"), cut);
        let item = world.deposit(&world.request(format!("/{name}").as_str())).pop().expect("an item");
        assert_eq!(item.status, ItemStatus::Failed, "{name}: {:?}", item.note);
        assert_eq!(world.objects(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_tar_that_ends_behind_a_member_is_not_taken_for_a_whole_one() {
    let files: Files<'_> = &[("a.bin", b"one"), ("b.bin", b"two"), ("c.bin", b"three")];
    let bag: Files<'_> = &[("letters/data/a.txt", b"one"), ("letters/data/b.txt", b"two"), ("letters/bagit.txt", b"x")];
    for files in [files, bag] {
        // A header and a block of content each.
        for members in 1..=2 {
            let cut = &tar(files)[..members * 1_024];
            for (name, bytes) in [("a.tar", cut.to_vec()), ("b.tgz", gzip(cut)), ("c.tar.bz2", bzip2(cut))] {
                let world = World::new();
                let item = world.deposit(&world.request(world.write(name, bytes))).pop().expect("an item");
                assert_eq!(item.status, ItemStatus::Failed, "{name}, {members}: {:?}", item.note);
                assert_eq!(world.objects(), Vec::<String>::new(), "{name}");
            }
        }
    }
}

#[test]
fn names_as_long_as_file_systems_take_them_are_kept_and_longer_ones_are_refused() {
    let long = "x".repeat(255);
    let world = World::new();
    let folder = world.folder("photos", &[(long.as_str(), b"one")]);
    let object = world.ingest(&world.request(folder));
    assert_eq!(world.deposited(&object, 1), contents(&[(long.as_str(), b"one")]));
    let deep = format!("{long}/{long}/{long}.txt").replace(".txt", "");
    let object = world.ingest(&world.request(world.write("deep.tar", tar(&[(deep.as_str(), b"two")]))));
    assert_eq!(world.deposited(&object, 1), contents(&[(deep.as_str(), b"two")]));
    // The name of a file that is an object by itself; that of the object is shorter.
    let named = DepositRequest { primary_id: Some("long".into()), ..world.request(world.write(&long, "three")) };
    let object = world.ingest(&named);
    assert_eq!(world.deposited(&object, 1), contents(&[(long.as_str(), b"three")]));
    let world = World::new();
    let longer = "x".repeat(256);
    refused(&world, "longer.tar", &tar(&[(longer.as_str(), b"two")]), "path.too_long");
}

#[test]
fn a_folder_that_changes_between_receive_and_fetch_is_read_as_it_is_then() {
    let world = World::with("[workers.default]\nmax_attempts = 3\n");
    let large = vec![1; 300_000];
    let folder = world.folder("photos", &[("a.bin", &large), ("b.bin", &large)]);
    let made = world.submit(&world.request(folder)).expect("is submitted");
    // Received, and changed before it is read.
    crate::ingest::identity::work_until(&world.home, made.items[0], strongroom_registry::Stage::named("fetch"));
    let changed = vec![2; 300_000];
    world.write("photos/a.bin", &changed);
    world.write("photos/c.bin", &changed);
    world.work(made.batch);
    let item = world.item(made.items[0]);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert!(
        world.notes(item.id).iter().any(|note| note.contains("changed since it was received")),
        "{:?}",
        world.notes(item.id)
    );
    let object = world.object("photos");
    assert_eq!(world.deposited(&object, 1), contents(&[("a.bin", &changed), ("b.bin", &large), ("c.bin", &changed)]));
}

#[test]
fn control_files_that_cannot_be_used_are_told_of() {
    for (name, bytes, code) in [
        ("mrt-dc.xml", b"<not xml".as_slice(), "metadata.unreadable"),
        ("mrt-erc.txt", b"\xff\xfe", "package.control_file_not_utf8"),
        (
            "mrt-datacite.xml",
            b"<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><resource>&b;</resource>",
            "metadata.unreadable",
        ),
    ] {
        let world = World::new();
        refused(&world, "a.zip", &zip(&[(name, bytes), ("a.txt", b"one")]), code);
    }
}

#[test]
fn a_folder_of_the_data_directory_or_a_store_is_refused() {
    let world = World::new();
    for folder in [world.home.path().to_owned(), world.home.path().join("stores/primary"), "/".into()] {
        let request = DepositRequest { kind: DepositKind::Folder, ..world.request(folder.clone()) };
        assert!(world.submit(&request).is_err(), "{}", folder.display());
    }
}

#[test]
fn names_that_differ_only_in_case_or_normal_form_are_warned_of_and_kept() {
    let world = World::new();
    let files: Files<'_> = &[
        ("Photo.tif", b"upper"),
        ("photo.tif", b"lower"),
        ("\u{e9}t\u{e9}.txt", b"composed"),
        ("e\u{301}te\u{301}.txt", b"decomposed"),
        ("other.txt", b"other"),
    ];
    let folder = world.folder("alike", files);
    let archive = world.write("packed.zip", zip(files));
    for (path, name) in [(folder, "alike"), (archive, "packed")] {
        let item = world.deposit(&world.request(path)).remove(0);
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
        let problems = world.problems(item.id);
        let found: Vec<(&str, &str, Option<&str>)> = problems
            .iter()
            .map(|problem| (problem.severity.as_str(), problem.code.as_str(), problem.path.as_deref()))
            .collect();
        let second = Some("\u{e9}t\u{e9}.txt");
        assert_eq!(found, [("warning", "path.case", Some("photo.tif")), ("warning", "path.case", second)], "{name}");
        let notes = world.notes(item.id);
        assert!(
            notes.iter().any(|note| note.contains("with warnings (2); first: path.case photo.tif:")),
            "{name}: {notes:?}"
        );
        assert_eq!(world.deposited(&world.object(name), 1), contents(files));
    }
}

#[test]
fn a_tar_behind_another_one_makes_a_container_invalid() {
    let world = World::new();
    let both = [tar(&[("a.txt", b"a")]), tar(&[("b.txt", b"b")])].concat();
    for (name, bytes) in [("both.tar", both.clone()), ("both.tar.gz", gzip(&both)), ("both.tar.bz2", bzip2(&both))] {
        let item = refused(&world, name, &bytes, "archive.second_archive");
        assert!(item.note.is_some_and(|note| note.contains("archive.second_archive")), "{name}");
    }
}

#[test]
fn a_member_that_the_directory_of_a_zip_does_not_name_is_warned_of() {
    let world = World::new();
    let mut bytes = zip(&[("a.txt", b"a"), ("b.txt", b"b")]);
    let end = bytes.len() - 22;
    let last = (0..end).rev().find(|at| bytes[*at..].starts_with(b"PK\x01\x02")).expect("an entry");
    let first = (0..last).rev().find(|at| bytes[*at..].starts_with(b"PK\x01\x02")).expect("another one");
    // The directory has the first of both.
    bytes.drain(last..end);
    let end = bytes.len() - 22;
    for count in [8, 10] {
        bytes[end + count] = 1;
    }
    let size = u32::try_from(end - first).expect("few bytes").to_le_bytes();
    bytes[end + 12..end + 16].copy_from_slice(&size);
    let kind = DepositKind::Container;
    let item = world.deposit(&DepositRequest { kind, ..world.request(world.write("hidden.zip", bytes)) }).remove(0);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!(world.codes(item.id), ["archive.hidden_member"]);
    assert_eq!(world.deposited(&world.object("hidden"), 1), super::world::contents(&[("a.txt", b"a")]));
}
