//! Some files of an object by paths and patterns, files of earlier versions, and objects as folders.

use std::collections::BTreeSet;

use strongroom_engine::EngineError;
use strongroom_engine::restoration::{RestorePathsRequest, request_paths};

use super::*;
use strongroom_engine::journal::JournalEntry;

fn paths(home: &TestHome, paths: &[&str], version: Option<u64>, to: Option<&TempDir>) -> Result<ItemId, EngineError> {
    let request = RestorePathsRequest {
        scope: Scope::System,
        object: format!("{INSTITUTION}/letters"),
        version,
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
        target: to.map_or(RestorationTarget::RestorationStore, |to| RestorationTarget::Folder(to.path().to_owned())),
        by: JournalEntry::of_system("restorations.paths"),
    };
    request_paths(&home.home, &request)
}

/// Every file below a folder, by its path from there.
fn below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("lists") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_str().expect("UTF-8").to_owned();
                files.insert(name, std::fs::read(&path).expect("reads"));
            }
        }
    }
    files
}

fn letters() -> TestHome {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("b/c.txt", b"two"), ("b/d.tif", b"three")]);
    home.ingest("letters", &[("a.txt", b"one, changed"), ("b/c.txt", b"two"), ("b/d.tif", b"three")]);
    home
}

#[test]
fn an_object_becomes_a_folder_that_is_the_bag_which_the_tar_would_be() {
    let home = letters();
    let folder = TempDir::new().expect("a folder");
    for submission in [false, true] {
        let tar = restored(&home, &RestoreRequest { submission, ..to(&folder, "letters") });
        assert_eq!(tar.name, "letters.tar");
        let item = restored(&home, &RestoreRequest { unpacked: true, submission, ..to(&folder, "letters") });
        assert_eq!(item.name, "letters");
        let unpacked = folder.path().join("letters");
        let options = CheckOptions { profile: ProfileChoice::Nothing, ..CheckOptions::default() };
        assert_eq!(validate(&unpacked, &options).expect("validates").verdict, Verdict::Valid);
        let archive = folder.path().join("letters.tar");
        let names = |files: BTreeMap<String, Vec<u8>>| files.into_keys().collect::<BTreeSet<_>>();
        assert_eq!(names(below(&unpacked)), names(contents(&archive)));
        assert_eq!(below(&unpacked)["data/a.txt"], b"one, changed");
        let again = RestoreRequest { unpacked: true, ..to(&folder, "letters") };
        let refused = request_object(&home, &again).expect_err("the name is in use").to_string();
        assert!(refused.contains("exists already"), "{refused}");
        std::fs::remove_dir_all(&unpacked).expect("removes");
        std::fs::remove_file(&archive).expect("removes");
    }
    assert!(names(folder.path()).is_empty(), "nothing partial is left");
    let request = RestoreRequest { unpacked: true, ..RestoreRequest::of_system(format!("{INSTITUTION}/letters")) };
    let refused = request_object(&home, &request).expect_err("a store takes one tar").to_string();
    assert!(refused.contains("takes one tar"), "{refused}");
}

#[test]
fn a_name_that_is_taken_while_it_is_unpacked_stays() {
    let home = letters();
    let folder = TempDir::new().expect("a folder");
    let id = request_object(&home, &RestoreRequest { unpacked: true, ..to(&folder, "letters") }).expect("asks");
    std::fs::create_dir(folder.path().join("letters")).expect("makes a folder");
    assert_eq!(worked(&home, id).status, ItemStatus::Succeeded);
    assert!(below(&folder.path().join("letters")).is_empty());
    assert!(below(&folder.path().join("letters-2")).contains_key("data/a.txt"));
}

#[test]
fn files_are_selected_by_patterns_into_a_folder_or_a_tar() {
    let home = letters();
    let folder = TempDir::new().expect("a folder");
    let item = worked(&home, paths(&home, &["data/**/*.tif", "data/a.txt"], Some(1), Some(&folder)).expect("asks"));
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!((item.name.as_str(), item.size), ("letters", Some(8)));
    let expected = [("data/a.txt", "one"), ("data/b/d.tif", "three")].map(|(path, text)| (path.into(), text.into()));
    assert_eq!(below(&folder.path().join("letters")), BTreeMap::from(expected.clone()));

    let item = worked(&home, paths(&home, &["data/b"], None, None).expect("asks"));
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!(home.keys("restoration"), ["test.edu/letters-files.tar"]);
    let tar = home.file("restoration", "test.edu/letters-files.tar");
    let mut archive = tar::Archive::new(std::fs::File::open(tar).expect("opens"));
    let found: Vec<String> = archive
        .entries()
        .expect("reads")
        .map(|entry| entry.expect("an entry").path().expect("a path").to_str().expect("UTF-8").to_owned())
        .collect();
    assert_eq!(found, ["letters/data/b/c.txt", "letters/data/b/d.tif"]);
}

#[test]
fn one_path_is_one_file_as_it_was_at_the_version() {
    let home = letters();
    for (version, expected) in [(Some(1), "one"), (Some(2), "one, changed"), (None, "one, changed")] {
        let folder = TempDir::new().expect("a folder");
        let item = worked(&home, paths(&home, &["data/a.txt"], version, Some(&folder)).expect("asks"));
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
        assert_eq!(below(folder.path()), BTreeMap::from([("a.txt".to_owned(), expected.into())]));
    }
}

#[test]
fn what_names_no_file_is_refused_and_makes_nothing() {
    let home = letters();
    let folder = TempDir::new().expect("a folder");
    for (named, version, expected) in [
        (&["data/a.txt", "data/*.mp4"] as &[&str], None, "data/*.mp4"),
        (&["data/[a"], None, "no pattern"),
        (&["data"], Some(3), "the latest is 2"),
        (&[], None, "1 to 1000"),
    ] {
        let refused = paths(&home, named, version, Some(&folder)).expect_err("is refused").to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_damaged_copy_is_passed_over_when_a_large_file_is_unpacked() {
    let home = fixture::home();
    let large = large();
    let object = home.ingest("letters", &[("a.bin", &large), ("b.txt", b"two")]);
    damage(&home, &file(&home, &object, "data/a.bin"), KEPT_IN[0]);
    let folder = TempDir::new().expect("a folder");
    restored(&home, &RestoreRequest { unpacked: true, ..to(&folder, "letters") });
    assert_eq!(names(folder.path()), ["letters"]);
    assert_eq!(below(&folder.path().join("letters"))["data/a.bin"], large);
}
