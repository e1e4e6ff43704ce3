//! Receiving: what depositors put into the stores is taken in once it no longer changes, once, and removed when it is kept.

mod collections;
mod fetching;
mod keeping;
mod lifetimes;
mod listing;
mod mails;
mod model;
mod parts;
mod removing;
mod replacing;
mod stuck;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
use strongroom_digest::Algorithm;
use strongroom_engine::receiving::{self, ScanSummary, UploadReport};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::work_on;
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::journal::{self, LineFilter};
use strongroom_registry::{ItemStatus, Scope, Stage, UploadState, objects};

use crate::fixture::{INSTITUTION, TestHome, has_reached, home, topics_before};

const SETTLE: Duration = Duration::from_secs(31);

fn look(home: &TestHome) -> ScanSummary {
    receiving::watch(home, &Shutdown::new()).expect("looks")
}

/// Looks twice, so that whatever lies there settles.
fn settle(home: &TestHome) -> ScanSummary {
    look(home);
    home.clock.advance(SETTLE);
    look(home)
}

fn uploads(home: &TestHome) -> Vec<UploadReport> {
    receiving::list(home, Scope::System, true, None, 1_000).expect("lists")
}

fn states(home: &TestHome) -> Vec<(String, UploadState)> {
    uploads(home).into_iter().map(|upload| (upload.key, upload.state)).collect()
}

fn state(home: &TestHome, key: &str) -> UploadState {
    states(home).into_iter().find(|(known, _)| known == key).expect("the upload").1
}

fn all_items(home: &TestHome) -> Vec<Item> {
    home.registry.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 1_000)).expect("lists")
}

/// Works until no item is open.
fn work(home: &TestHome) {
    let open: Vec<_> = all_items(home).into_iter().filter(|item| !item.status.is_ended()).map(|item| item.id).collect();
    work_on(home, &open, &Shutdown::new()).expect("works");
}

/// What the journal says of removals of uploads.
fn removals(home: &TestHome) -> Vec<String> {
    let all = LineFilter::default();
    let lines = home.registry.read(|tx| journal::list(tx, Scope::System, &all, None, 1_000)).expect("lists");
    let removals = lines.into_iter().filter(|line| line.act == "receiving.remove");
    removals.map(|line| format!("{}: {} {}", line.actor.name, line.target, line.outcome)).collect()
}

/// Works until the bytes of every open item are staged, and no further.
fn work_until_read(home: &TestHome) {
    work_until(home, Stage::named("validate"));
}

/// Works until every open item has come to a stage, and no further.
fn work_until(home: &TestHome, stage: Stage) {
    let topics = topics_before(stage);
    let workers = strongroom_engine::build_runtime(home, Some(&topics)).expect("a runtime").build();
    let has_come = |item: &Item| item.status.is_ended() || has_reached(item, stage);
    workers.run_until(&Shutdown::new(), &|| all_items(home).iter().all(has_come));
}

/// Where an upload of this name lies.
fn place(home: &TestHome, name: &str) -> PathBuf {
    let place = home.file("receiving", INSTITUTION);
    fs::create_dir_all(&place).expect("makes the place");
    place.join(name)
}

fn key(name: &str) -> String {
    format!("{INSTITUTION}/{name}")
}

/// Puts a bag into the receiving store, as a tar.
fn upload(home: &TestHome, name: &str, files: &[(&str, &[u8])]) {
    let bag = home.bag(name, files);
    fs::rename(bag, place(home, &format!("{name}.tar"))).expect("puts it there");
}

/// Makes a bag of no profile at `path`.
fn plain_bag(path: &Path, form: Serialization, files: &[(&str, &[u8])]) {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').next());
    let options = WriterOptions {
        algorithms: vec![Algorithm::Sha256],
        base_directory: name.map(str::to_owned),
        ..WriterOptions::default()
    };
    let mut writer = BagWriter::create(path, form, options).expect("begins a bag");
    for (file, bytes) in files {
        writer.add_payload(&NewFile::new(&format!("data/{file}"), bytes.len() as u64), *bytes).expect("adds a file");
    }
    writer.finish(&[]).expect("finishes the bag");
}

/// Puts a bag into the receiving store, as a folder.
fn upload_folder(home: &TestHome, name: &str, files: &[(&str, &[u8])]) {
    plain_bag(&place(home, name), Serialization::Directory, files);
}

#[test]
fn a_bag_is_taken_in_when_it_has_settled_and_removed_when_it_is_kept() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    assert_eq!(look(&home).submitted, 0);
    assert_eq!(states(&home), [(key("letters.tar"), UploadState::Settling)]);
    home.clock.advance(Duration::from_secs(20));
    assert_eq!(look(&home).submitted, 0, "not long enough");
    home.clock.advance(Duration::from_secs(11));
    assert_eq!(look(&home).submitted, 1);
    let [item] = all_items(&home).try_into().expect("one item");
    assert_eq!((item.name.as_str(), item.object_identifier.as_str()), ("letters.tar", "test.edu/letters"));
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Submitted);
    work(&home);
    assert_eq!(all_items(&home)[0].status, ItemStatus::Succeeded, "{:?}", all_items(&home)[0].note);
    assert_eq!(home.object("letters").head, 1);
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Removed);
    assert_eq!(removals(&home), ["strongroom: receiving: test.edu/letters.tar done"]);
    assert!(home.keys("receiving").is_empty());
    assert!(home.keys("staging").is_empty());
    assert_eq!(settle(&home).submitted, 0);
    assert_eq!(all_items(&home).len(), 1);
}

#[test]
fn a_folder_is_taken_in_and_removed_as_a_whole() {
    let home = home();
    upload_folder(&home, "letters", &[("a.txt", b"one"), ("b/c.txt", b"two")]);
    assert_eq!(settle(&home).submitted, 1);
    assert_eq!(states(&home), [(key("letters/"), UploadState::Submitted)]);
    work(&home);
    let [item] = all_items(&home).try_into().expect("one item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let object = home.object("letters");
    let files = home.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 10)).expect("files");
    assert_eq!(
        files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        ["deposit/data/a.txt", "deposit/data/b/c.txt"]
    );
    assert!(home.keys("receiving").is_empty());
    assert!(!place(&home, "letters").exists());
    assert!(home.keys("staging").is_empty());
    assert_eq!(state(&home, &key("letters/")), UploadState::Removed);
}

#[test]
fn every_kind_of_archive_is_taken_in() {
    let home = home();
    let forms = [
        ("one.tar", Serialization::Tar),
        ("two.tar.gz", Serialization::TarGz),
        ("three.tgz", Serialization::TarGz),
        ("four.zip", Serialization::Zip),
    ];
    for (name, form) in forms {
        plain_bag(&place(&home, name), form, &[("a.txt", b"one")]);
    }
    assert_eq!(settle(&home).submitted, 4);
    work(&home);
    for item in all_items(&home) {
        let problems = home.registry.read(|tx| items::problems(tx, Scope::System, item.id, 10)).expect("problems");
        assert_eq!(item.status, ItemStatus::Succeeded, "{}: {:?} {problems:?}", item.name, item.note);
    }
    assert!(home.keys("receiving").is_empty());
}
