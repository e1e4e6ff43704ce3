//! Objects that came in no bag are restored as bags, as files, as folders, and as they were sent.

use std::collections::BTreeMap;
use std::path::Path;

use strongroom_bagit::{CheckOptions, Verdict, validate};
use strongroom_engine::ingest::{DepositKind, DepositMode, DepositRequest};
use strongroom_engine::journal::JournalEntry;
use strongroom_engine::restoration::{
    RestorationTarget, RestorePathsRequest, RestoreRequest, request_object, request_paths,
};
use strongroom_registry::{ItemStatus, Scope};
use tempfile::TempDir;

use super::world::{Files, World, contents};
use crate::fixture::INSTITUTION;
use crate::restoration::{restored, to};

const FILES: Files<'static> =
    &[("a.txt", b"one"), ("bag-info.txt", b"no tags"), ("b/c.txt", b"two"), ("manifest-md5.txt", b"x")];

/// A deposit of a folder of files, some of which are named as those of a bag.
fn folder(world: &World, name: &str, files: Files<'_>) -> DepositRequest {
    DepositRequest { kind: DepositKind::Folder, ..world.request(world.folder(name, files)) }
}

/// Path and bytes of every file of a tar.
fn of_tar(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(std::fs::File::open(path).expect("opens"));
    let entries = archive.entries().expect("entries");
    entries
        .map(|entry| {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("a path").to_string_lossy().into_owned();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).expect("reads");
            (path, bytes)
        })
        .collect()
}

fn of_folder(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).expect("lists") {
            let entry = entry.expect("an entry").path();
            if entry.is_dir() {
                waiting.push(entry);
            } else {
                let below = entry.strip_prefix(path).expect("below").to_string_lossy().into_owned();
                found.insert(below, std::fs::read(entry).expect("reads"));
            }
        }
    }
    found
}

fn below(folder: &str, files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    files.iter().map(|(path, bytes)| (format!("{folder}/{path}"), bytes.clone())).collect()
}

#[test]
fn as_a_bag_its_files_are_the_payload() {
    let world = World::new();
    world.ingest(&folder(&world, "photos", FILES));
    let out = TempDir::new().expect("a folder");
    restored(&world.home, &to(&out, "photos"));
    let path = out.path().join("photos.tar");
    let report = validate(&path, &CheckOptions::default()).expect("validates");
    assert_eq!(report.verdict, Verdict::Valid, "{:?}", report.problems);
    let mut files = of_tar(&path);
    files.retain(|path, _| path.starts_with("photos/data/") && !path.ends_with('/'));
    assert_eq!(files, below("photos/data", &contents(FILES)));
    // As a folder it is the same bag.
    restored(&world.home, &RestoreRequest { unpacked: true, ..to(&out, "photos") });
    assert_eq!(of_folder(&out.path().join("photos/data")), contents(FILES));
}

#[test]
fn one_file_and_some_files_are_restored_under_their_own_paths() {
    let world = World::new();
    world.ingest(&folder(&world, "photos", FILES));
    let restore = |paths: &[&str], out: &TempDir| {
        let request = RestorePathsRequest {
            scope: Scope::System,
            object: format!("{INSTITUTION}/photos"),
            version: None,
            paths: paths.iter().map(|&path| path.to_owned()).collect(),
            target: RestorationTarget::Folder(out.path().to_owned()),
            by: JournalEntry::of_system("restorations.paths"),
        };
        let id = request_paths(&world.home, &request).expect("asks");
        strongroom_engine::work_on(&world.home, &[id], &strongroom_engine::runtime::Shutdown::new()).expect("works");
        let item = world.item(id);
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    };
    let out = TempDir::new().expect("a folder");
    restore(&["b/c.txt"], &out);
    assert_eq!(of_folder(out.path()), contents(&[("c.txt", b"two")]));
    let out = TempDir::new().expect("a folder");
    restore(&["b", "a.txt"], &out);
    assert_eq!(of_folder(out.path()), contents(&[("photos/a.txt", b"one"), ("photos/b/c.txt", b"two")]));
}

#[test]
fn as_submitted_a_version_has_the_files_that_were_sent() {
    let world = World::new();
    world.ingest(&folder(&world, "photos", FILES));
    let second: Files<'_> = &[("a.txt", b"changed"), ("new.txt", b"new")];
    world.ingest(&world.request(world.folder("photos", second)));
    let merge = Some(DepositMode::Merge);
    world.ingest(&DepositRequest { mode: merge, ..world.request(world.folder("photos", &[("e.txt", b"four")])) });
    let third: Files<'_> = &[("a.txt", b"changed"), ("e.txt", b"four"), ("new.txt", b"new")];
    for (version, files) in [(1, FILES), (2, second), (3, third)] {
        let out = TempDir::new().expect("a folder");
        let request = RestoreRequest { submission: true, version: Some(version), ..to(&out, "photos") };
        restored(&world.home, &request);
        assert_eq!(of_tar(&out.path().join("photos.tar")), below("photos", &contents(files)), "version {version}");
        restored(&world.home, &RestoreRequest { unpacked: true, ..request });
        assert_eq!(of_folder(&out.path().join("photos")), contents(files), "version {version}");
    }
}

#[test]
fn as_submitted_a_manifest_comes_with_its_files_under_a_name_that_none_of_them_has() {
    for (files, name) in [
        ([("a.txt", b"one".as_slice()), ("b/c.txt", b"two")], "manifest.checkm"),
        ([("a.txt", b"one"), ("manifest.checkm", b"two")], "manifest-2.checkm"),
        ([("manifest-2.checkm", b"one"), ("manifest.checkm/x", b"two")], "manifest-3.checkm"),
    ] {
        let world = World::new();
        world.serve(&files);
        let manifest = world.manifest_of(&files);
        world.ingest(&world.request(world.write("photos.checkm", &manifest)));
        let out = TempDir::new().expect("a folder");
        restored(&world.home, &RestoreRequest { submission: true, ..to(&out, "photos") });
        let mut expected = contents(&files);
        expected.insert(name.to_owned(), manifest.clone().into_bytes());
        assert_eq!(of_tar(&out.path().join("photos.tar")), below("photos", &expected));
    }
}

#[test]
fn as_submitted_into_the_restoration_store() {
    let world = World::new();
    world.ingest(&world.request(world.write("photo.tif", "II*\0")));
    let request = RestoreRequest { submission: true, ..RestoreRequest::of_system(format!("{INSTITUTION}/photo.tif")) };
    restored(&world.home, &request);
    assert_eq!(world.home.keys("restoration"), ["test.edu/photo.tif.tar"]);
    assert!(request_object(&world.home, &RestoreRequest { version: Some(2), ..request }).is_err());
}

#[test]
fn each_version_of_an_object_that_was_a_bag_and_files_is_restored_as_it_came() {
    let world = World::new();
    let bag = world.home.bag("letters", &[("c.txt", b"three")]);
    world.ingest(&world.request(bag.clone()));
    world.ingest(&folder(&world, "letters", FILES));
    let out = TempDir::new().expect("a folder");
    restored(&world.home, &RestoreRequest { submission: true, version: Some(1), ..to(&out, "letters") });
    let sent = of_tar(&bag);
    assert_eq!(of_tar(&out.path().join("letters.tar")), sent);
    let out = TempDir::new().expect("a folder");
    restored(&world.home, &RestoreRequest { submission: true, ..to(&out, "letters") });
    assert_eq!(of_tar(&out.path().join("letters.tar")), below("letters", &contents(FILES)));
    let out = TempDir::new().expect("a folder");
    restored(&world.home, &RestoreRequest { version: Some(1), ..to(&out, "letters") });
    assert_eq!(of_tar(&out.path().join("letters.tar"))["letters/data/c.txt"], b"three");
}
