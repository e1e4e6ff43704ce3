//! Giving back: bags, deposits and files, from right copies only.

mod batches;
mod expiry;
mod own_store;
mod replacing;
mod selecting;
mod spot_tests;
#[cfg(feature = "failpoints")]
mod validity;

use std::collections::BTreeMap;
use std::path::Path;

use strongroom_bagit::{CheckOptions, Limits, Profile, ProfileChoice, Source, Verdict, validate};
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::restoration::{
    RestorationTarget, RestoreFileRequest, RestoreRequest, request_file, request_object,
};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, work_on};
use strongroom_registry::events::{self, Event, EventCursor};
use strongroom_registry::items::{self, Item};
use strongroom_registry::objects::{self, File, Object};
use strongroom_registry::{ItemId, ItemStatus, Scope};
use tempfile::TempDir;

use crate::fixture::{self, INSTITUTION, KEPT_IN, TestHome};

/// Path and bytes of every file of an archived bag.
fn contents(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let source = Source::open(archive).expect("opens the archive");
    let scan = source
        .scan(&Limits::default(), &mut |entry, bytes| {
            let mut read = Vec::new();
            bytes.read_to_end(&mut read)?;
            files.insert(entry.path.clone(), read);
            Ok(())
        })
        .expect("reads the archive");
    assert!(scan.problems.is_empty(), "{:?}", scan.problems);
    files
}

fn worked(home: &TestHome, id: ItemId) -> Item {
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

/// Restores and expects success.
pub(crate) fn restored(home: &TestHome, request: &RestoreRequest) -> Item {
    let item = worked(home, request_object(home, request).expect("asks"));
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    item
}

pub(crate) fn to(folder: &TempDir, name: &str) -> RestoreRequest {
    let target = RestorationTarget::Folder(folder.path().to_owned());
    RestoreRequest { target, ..RestoreRequest::of_system(format!("{INSTITUTION}/{name}")) }
}

fn file(home: &Home, object: &Object, path: &str) -> File {
    let files = home.registry.read(|tx| objects::files(tx, object.id, object.head, "deposit/", "", 1_000));
    let path = format!("deposit/{path}");
    files.expect("files").into_iter().find(|file| file.path == path).expect("the file")
}

/// Changes the bytes of a content where they lie.
fn damage(home: &TestHome, file: &File, store: &str) {
    let copies = home.registry.read(|tx| objects::copies(tx, file.content)).expect("copies");
    let copy = copies.iter().find(|copy| copy.store == store).expect("the copy");
    let path = home.file(store, &copy.key);
    let mut bytes = std::fs::read(&path).expect("reads");
    let last = bytes.last_mut().expect("a byte");
    *last ^= 1;
    // A new file, whatever the permissions of the old one.
    std::fs::remove_file(&path).expect("removes");
    std::fs::write(&path, bytes).expect("writes");
}

fn events_of(home: &Home, object: &Object, kind: &str) -> Vec<Event> {
    let read =
        home.registry.read(|tx| events::of_object(tx, Scope::System, object.id, None, EventCursor::START, 10_000));
    read.expect("events").0.into_iter().filter(|event| event.kind == kind).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("lists");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

/// More than what is proved before it is handed on.
fn large() -> Vec<u8> {
    (0_u32..1_500_000).flat_map(u32::to_le_bytes).collect()
}

#[test]
fn a_restored_object_is_a_valid_bag_with_every_file_of_every_deposit() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("b/c.txt", b"two")]);
    home.ingest("letters", &[("a.txt", b"one, changed"), ("d.txt", b"three")]);
    let folder = TempDir::new().expect("a folder");
    let item = restored(&home, &to(&folder, "letters"));
    let archive = folder.path().join("letters.tar");
    let options = CheckOptions {
        profile: ProfileChoice::Given(Box::new(Profile::builtin("aptrust").expect("a profile"))),
        ..CheckOptions::default()
    };
    let report = validate(&archive, &options).expect("validates");
    assert_eq!(report.verdict, Verdict::Valid, "{:?}", report.problems);
    assert_eq!(report.manifests.len(), 2);
    assert_eq!(report.tag_manifests.len(), 2);
    for (label, value) in [
        ("Source-Organization", "Test University"),
        ("Payload-Oxum", "20.3"),
        ("Original-Payload-Oxum", "17.2"),
        ("Original-Bagging-Date", "2026-01-31"),
        ("Bag-Size", "20 bytes"),
    ] {
        assert_eq!(report.tag("bag-info.txt", label).collect::<Vec<_>>(), [value], "{label}");
    }
    let files = contents(&archive);
    let payload: Vec<_> = files.iter().filter(|(path, _)| path.starts_with("data/")).collect();
    let expected: [(&str, &[u8]); 3] =
        [("data/a.txt", b"one, changed"), ("data/b/c.txt", b"two"), ("data/d.txt", b"three")];
    assert_eq!(payload.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect::<Vec<_>>(), expected);
    assert!(files.contains_key("aptrust-info.txt"));
    let sha256 = strongroom_digest::hash_reader(
        std::fs::File::open(&archive).expect("opens"),
        &[strongroom_digest::Algorithm::Sha256],
    );
    let (size, digests) = sha256.expect("hashes");
    let sha256 = digests.get(strongroom_digest::Algorithm::Sha256).expect("computed");
    let note = item.note.expect("a note");
    assert!(note.contains(&format!("{size} bytes, sha256:{sha256}")), "{note}");
    assert_eq!(names(folder.path()), ["letters.tar"]);
    let given = events_of(&home, &home.object("letters"), "dissemination");
    assert_eq!(given.len(), 1);
    assert!(given[0].outcome_detail.as_ref().expect("a detail").contains(&sha256.to_hex()));
}

#[test]
fn an_older_version_is_given_back_as_it_was() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    home.ingest("letters", &[("a.txt", b"changed"), ("d.txt", b"three")]);
    let folder = TempDir::new().expect("a folder");
    restored(&home, &RestoreRequest { version: Some(1), ..to(&folder, "letters") });
    let files = contents(&folder.path().join("letters.tar"));
    assert_eq!(files["data/a.txt"], b"one");
    assert!(!files.contains_key("data/d.txt"));
}

#[test]
fn a_deposit_is_given_back_byte_for_byte_even_when_it_brought_only_a_part() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("only-in-the-first.txt", b"two"), ("same.txt", b"same")]);
    let first = contents(&home.path().join("bags/letters.tar"));
    home.ingest("letters", &[("a.txt", b"one, changed"), ("same.txt", b"same"), ("100%.txt", b"odd")]);
    let second = contents(&home.path().join("bags/letters.tar"));
    for (version, deposited) in [(1, first), (2, second)] {
        let folder = TempDir::new().expect("a folder");
        restored(&home, &RestoreRequest { version: Some(version), submission: true, ..to(&folder, "letters") });
        assert_eq!(contents(&folder.path().join("letters.tar")), deposited, "version {version}");
    }
}

#[test]
fn damaged_copies_are_passed_over_and_told_of() {
    let home = fixture::home();
    let big = large();
    let object = home.ingest("letters", &[("a.txt", b"one"), ("big.bin", &big)]);
    for path in ["data/a.txt", "data/big.bin"] {
        damage(&home, &file(&home, &object, path), KEPT_IN[0]);
    }
    let folder = TempDir::new().expect("a folder");
    restored(&home, &to(&folder, "letters"));
    let files = contents(&folder.path().join("letters.tar"));
    assert_eq!(files["data/a.txt"], b"one");
    assert_eq!(files["data/big.bin"], big);
    let failed: Vec<_> =
        events_of(&home, &object, "fixity check").into_iter().filter(|event| event.outcome == "failure").collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
}

#[test]
fn a_wrong_copy_met_by_a_restoration_becomes_a_finding_and_is_repaired_next() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let wanted = file(&home, &object, "data/a.txt");
    damage(&home, &wanted, KEPT_IN[0]);
    let folder = TempDir::new().expect("a folder");
    restored(&home, &to(&folder, "letters"));
    let found = fixity::problems(&home, None, None, 10).expect("problems");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].content, found[0].store.as_str()), (Some(wanted.content), KEPT_IN[0]));
    assert!(found[0].detail.contains("found by a restoration"), "{found:?}");
    // It is due at once, long before its interval has passed.
    let summary = fixity::run(&home, &FixityRequest::default(), &mut |_| ()).expect("checks");
    assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
    assert!(fixity::problems(&home, None, None, 10).expect("problems").is_empty());
}

#[test]
fn without_a_right_copy_the_item_fails_and_nothing_is_left() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("a.txt", b"one"), ("big.bin", &large())]);
    for store in KEPT_IN {
        damage(&home, &file(&home, &object, "data/big.bin"), store);
    }
    let folder = TempDir::new().expect("a folder");
    for request in [
        to(&folder, "letters"),
        RestoreRequest { target: RestorationTarget::RestorationStore, ..to(&folder, "letters") },
    ] {
        let item = worked(&home, request_object(&home, &request).expect("asks"));
        assert_eq!(item.status, ItemStatus::Failed);
        assert!(item.needs_review);
        let problems = home.registry.read(|tx| items::problems(tx, Scope::System, item.id, 10)).expect("problems");
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path.as_deref(), Some("data/big.bin"));
    }
    assert!(names(folder.path()).is_empty());
    assert!(home.keys("restoration").is_empty());
    assert!(events_of(&home, &object, "dissemination").is_empty());
}

#[test]
fn what_an_attempt_that_was_cut_short_left_in_the_folder_goes() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let folder = TempDir::new().expect("a folder");
    let id = request_object(&home, &to(&folder, "letters")).expect("asks");
    std::fs::write(folder.path().join(format!(".{id}-0.partial")), "half of a bag").expect("writes");
    assert_eq!(worked(&home, id).status, ItemStatus::Succeeded);
    assert_eq!(names(folder.path()), ["letters.tar"]);
}

#[test]
fn without_a_folder_the_bag_lies_at_the_institutions_place() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("big.bin", &large())]);
    let request = RestoreRequest::of_system(format!("{INSTITUTION}/letters"));
    restored(&home, &request);
    restored(&home, &request);
    assert_eq!(home.keys("restoration"), ["test.edu/letters-2.tar", "test.edu/letters.tar"]);
    let report = validate(&home.file("restoration", "test.edu/letters.tar"), &CheckOptions::default());
    assert_eq!(report.expect("validates").verdict, Verdict::Valid);
}

#[test]
fn a_single_file_is_given_back_proved() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("b/a.txt", b"one")]);
    let wanted = file(&home, &object, "data/b/a.txt");
    damage(&home, &wanted, KEPT_IN[0]);
    let folder = TempDir::new().expect("a folder");
    for target in [RestorationTarget::Folder(folder.path().to_owned()), RestorationTarget::RestorationStore] {
        let request = RestoreFileRequest { target, ..RestoreFileRequest::of_system(wanted.id.to_string()) };
        let item = worked(&home, request_file(&home, &request).expect("asks"));
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    }
    assert_eq!(std::fs::read(folder.path().join("a.txt")).expect("reads"), b"one");
    assert_eq!(home.keys("restoration"), ["test.edu/letters/data/b/a.txt"]);
    assert_eq!(events_of(&home, &object, "dissemination").len(), 2);
}

#[test]
fn what_cannot_be_given_back_is_refused_when_it_is_asked_for() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let folder = TempDir::new().expect("a folder");
    let absent = RestoreRequest { object: "test.edu/none".into(), ..to(&folder, "letters") };
    assert!(request_object(&home, &absent).is_err());
    for version in [0, 2] {
        assert!(request_object(&home, &RestoreRequest { version: Some(version), ..to(&folder, "letters") }).is_err());
    }
    std::fs::write(folder.path().join("letters.tar"), "here already").expect("writes");
    assert!(request_object(&home, &to(&folder, "letters")).is_err());
    let no_file = RestoreFileRequest::of_system("letters");
    assert!(request_file(&home, &no_file).is_err());
}
