//! A copy whose other copies cannot be read now: it waits for what is retrieved, and is given up only where every source has
//! said that it cannot serve.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use strongroom_registry::WaitReason;
use strongroom_storage::{Body, Head, Key, Retrieval, StorageError};

use super::*;
use crate::backfill::home_with_third;
use crate::saying::{Says, saying};

/// How a store answers for contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// As it is.
    Right,
    /// In the cold; it can be retrieved.
    Cold,
    /// In the cold; it cannot be retrieved.
    Frozen,
    /// As a store that is away.
    Away,
    /// It times out.
    TimesOut,
    /// The bytes stop with an error of the network.
    Breaks,
    /// Its medium cannot open them.
    Unreadable,
}

/// A store whose answers change.
struct Moody {
    name: &'static str,
    mood: Mutex<Mood>,
    requested: AtomicUsize,
}

impl Moody {
    fn is(name: &'static str, mood: Mood) -> (&'static str, Arc<Self>) {
        (name, Arc::new(Self { name, mood: Mutex::new(mood), requested: AtomicUsize::new(0) }))
    }

    fn mood(&self, key: &Key) -> Mood {
        if key.as_str().contains("/content/") { *self.mood.lock().expect("locks") } else { Mood::Right }
    }

    fn set(&self, mood: Mood) {
        *self.mood.lock().expect("locks") = mood;
    }

    fn failure(&self, key: &Key, source: std::io::Error) -> StorageError {
        StorageError::Io { store: self.name.into(), act: "read", key: key.clone(), source }
    }
}

struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::ConnectionReset.into())
    }
}

impl Says for Moody {
    fn head(
        &self,
        key: &Key,
        head: Result<Head, StorageError>,
        _: &dyn Fn() -> Result<Body, StorageError>,
    ) -> Result<Head, StorageError> {
        match self.mood(key) {
            Mood::Cold | Mood::Frozen => Ok(Head { readable: false, class: Some("GLACIER".into()), ..head? }),
            Mood::Away => Err(StorageError::Away { store: self.name.into(), reason: "it does not answer".into() }),
            Mood::TimesOut => Err(self.failure(key, std::io::ErrorKind::TimedOut.into())),
            Mood::Right | Mood::Breaks | Mood::Unreadable => head,
        }
    }

    fn open(&self, key: &Key, body: Result<Body, StorageError>) -> Result<Body, StorageError> {
        match self.mood(key) {
            Mood::Right => body,
            Mood::Breaks => Ok(Box::new(Broken)),
            Mood::Unreadable => Err(self.failure(key, rustix::io::Errno::IO.into())),
            mood => panic!("{key} is opened though it is {mood:?}"),
        }
    }

    fn request_retrieval(&self, _: &Key) -> Result<Retrieval, StorageError> {
        if *self.mood.lock().expect("locks") == Mood::Frozen {
            return Err(StorageError::Unusable { store: self.name.into(), reason: "nothing can be retrieved".into() });
        }
        self.requested.fetch_add(1, Ordering::SeqCst);
        Ok(Retrieval::UnderWay)
    }
}

/// A home with three stores in each placement that all have everything, an object, and the keys of one content by store.
fn home_of_three() -> (TestHome, Object, BTreeMap<String, String>) {
    let made = home_with_third();
    strongroom_engine::backfill::run(&made, &strongroom_engine::backfill::BackfillRequest::new("third"), &mut |_| ())
        .expect("fills it");
    let object = made.object("photographs");
    let keys = copies(&made, &object, "deposit/data/1.tif").into_iter().map(|copy| (copy.store, copy.key)).collect();
    (made, object, keys)
}

fn in_primary() -> FixityRequest {
    FixityRequest { store: Some("primary".into()), ..all() }
}

fn due() -> FixityRequest {
    FixityRequest { store: Some("primary".into()), ..FixityRequest::default() }
}

#[test]
fn a_copy_whose_source_is_cold_waits_and_is_repaired_when_that_is_retrieved() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    let bad = damage(&made, "primary", &key);
    let secondary = Moody::is("secondary", Mood::Cold);
    let source = secondary.1.clone();
    let cold = saying(&made, [secondary]);
    let summary = run(&cold, &in_primary());
    assert_eq!((summary.postponed, summary.unrepairable, summary.failed), (1, 0, 0), "{summary:?}");
    assert!(source.requested.load(Ordering::SeqCst) > 0);
    let told = (logs(&made, "primary").len(), events(&made, &object).len(), made.keys("quarantine").len());
    // It stays due, and nothing new is told while it waits.
    for round in 1..=2 {
        let summary = run(&cold, &due());
        assert_eq!((summary.postponed, summary.damaged, summary.failed), (1, 0, 0), "round {round}: {summary:?}");
        let [found] = findings(&made).try_into().expect("one finding");
        assert_eq!((found.state, found.wait_reason), (FindingState::Open, Some(WaitReason::Retrieval)));
        assert!(found.detail.contains("waits for the retrieval of its copy in store secondary"), "{found:?}");
        assert_eq!(fs::read(made.file("primary", &key)).expect("reads"), bad);
        let now = (logs(&made, "primary").len(), events(&made, &object).len(), made.keys("quarantine").len());
        assert_eq!(now, told, "round {round}");
    }
    source.set(Mood::Right);
    let summary = run(&cold, &due());
    assert_eq!((summary.repaired, summary.postponed), (1, 0), "{summary:?}");
    assert_eq!(fs::read(made.file("primary", &key)).expect("reads"), b"dear reader");
    let [found] = findings(&made).try_into().expect("one finding");
    assert_eq!((found.state, found.wait_reason), (FindingState::Repaired, None));
}

#[test]
fn a_copy_waits_for_what_is_retrieved_whatever_the_other_stores_lack() {
    for mood in [None, Some(Mood::Away)] {
        let (made, _, keys) = home_of_three();
        damage(&made, "primary", &keys["primary"]);
        if mood.is_none() {
            fs::remove_file(made.file("third", &keys["third"])).expect("is lost");
        }
        let third = Moody::is("third", mood.unwrap_or(Mood::Right));
        let cold = saying(&made, [Moody::is("secondary", Mood::Cold), third]);
        for round in 1..=3 {
            let summary = run(&cold, &due_or_all(round));
            assert_eq!((summary.postponed, summary.failed), (1, 0), "{mood:?}, round {round}: {summary:?}");
        }
        // What fails for another reason may have a good copy: that is found out first.
        let failing = saying(&made, [Moody::is("secondary", Mood::Cold), Moody::is("third", Mood::TimesOut)]);
        let summary = run(&failing, &due());
        assert_eq!((summary.failed, summary.postponed), (1, 0), "{summary:?}");
    }
}

fn due_or_all(round: u32) -> FixityRequest {
    if round == 1 { in_primary() } else { due() }
}

#[test]
fn a_store_that_fails_is_asked_again_before_anything_is_retrieved() {
    let (made, _, keys) = home_of_three();
    damage(&made, "primary", &keys["primary"]);
    let secondary = Moody::is("secondary", Mood::Cold);
    let source = secondary.1.clone();
    let failing = saying(&made, [secondary, Moody::is("third", Mood::TimesOut)]);
    let summary = run(&failing, &in_primary());
    assert_eq!((summary.failed, summary.postponed), (1, 0), "{summary:?}");
    assert_eq!(source.requested.load(Ordering::SeqCst), 0);
}

#[test]
fn a_copy_is_not_given_up_while_a_store_that_is_away_may_have_a_good_one() {
    let (made, _, keys) = home_of_three();
    damage(&made, "primary", &keys["primary"]);
    let away = saying(&made, [Moody::is("secondary", Mood::Frozen), Moody::is("third", Mood::Away)]);
    let summary = run(&away, &in_primary());
    assert_eq!((summary.unrepairable, summary.repaired), (0, 0), "{summary:?}");
    assert_eq!(findings(&made)[0].state, FindingState::Open);
    assert_eq!(run(&made, &in_primary()).repaired, 1);
}

#[test]
fn a_source_whose_bytes_stop_to_come_says_nothing_of_itself_and_the_next_serves() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    damage(&made, "primary", &key);
    let breaking = saying(&made, [Moody::is("secondary", Mood::Breaks)]);
    let summary = run(&breaking, &in_primary());
    assert_eq!((summary.failed, summary.unrepairable), (1, 0), "{summary:?}");
    assert_eq!(findings(&made)[0].state, FindingState::Open);
    assert_eq!(run(&made, &in_primary()).repaired, 1);

    let (made, _, keys) = home_of_three();
    damage(&made, "primary", &keys["primary"]);
    let breaking = saying(&made, [Moody::is("secondary", Mood::Breaks)]);
    let summary = run(&breaking, &in_primary());
    assert_eq!((summary.repaired, summary.failed), (1, 0), "{summary:?}");
    assert!(findings(&made)[0].detail.contains("replaced from store third"), "{:?}", findings(&made));
}

#[test]
fn a_source_that_its_medium_cannot_open_is_doubted_and_repairs_nothing() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    damage(&made, "primary", &key);
    let unreadable = saying(&made, [Moody::is("secondary", Mood::Unreadable)]);
    let summary = run(&unreadable, &in_primary());
    assert_eq!((summary.unrepairable, summary.failed), (1, 0), "{summary:?}");
    // The source is due at once.
    let only = FixityRequest { store: Some("secondary".into()), ..FixityRequest::default() };
    assert_eq!(run(&made, &only).checked, 1);
}

#[test]
fn a_copy_in_whose_place_something_else_lies_is_given_up_with_what_lies_there() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    let file = made.file("primary", &key);
    fs::remove_file(&file).expect("is lost");
    fs::create_dir_all(file.join("a folder")).expect("a folder in its place");
    fs::write(file.join("a folder/a.txt"), b"something").expect("writes");
    let summary = run(&made, &in_primary());
    assert_eq!((summary.unrepairable, summary.failed), (1, 0), "{summary:?}");
    let problems = fixity::problems(&made, None, None, 10).expect("problems");
    assert!(problems.iter().any(|finding| finding.detail.contains("cannot be stored there")), "{problems:?}");
    assert!(file.join("a folder/a.txt").exists(), "it is not touched");
}

/// A person moved the file to another disk and left a link to it; or something makes a named pipe of its name.
#[test]
fn a_copy_in_whose_place_something_lies_that_is_no_file_is_a_problem_until_it_is_taken_away() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    let file = made.file("primary", &key);
    let moved = made.path().join("moved");
    let [link, pipe]: [&dyn Fn(); 2] = [
        &|| {
            fs::rename(&file, &moved).expect("moves it");
            std::os::unix::fs::symlink(&moved, &file).expect("links to it");
        },
        &|| {
            fs::remove_file(&file).expect("removes it");
            let pipe = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, &file, pipe, rustix::fs::Mode::RUSR, 0).expect("makes a pipe");
        },
    ];
    for put_in_its_place in [link, pipe] {
        put_in_its_place();
        let summary = run(&made, &in_primary());
        assert_eq!((summary.unrepairable, summary.failed), (1, 0), "{summary:?}");
        let problems = fixity::problems(&made, None, None, 10).expect("problems");
        assert!(problems.iter().any(|finding| finding.detail.contains("cannot be stored there")), "{problems:?}");
        fs::remove_file(&file).expect("takes it away");
        let summary = run(&made, &in_primary());
        assert_eq!((summary.repaired, summary.failed), (1, 0), "{summary:?}");
        assert!(fixity::problems(&made, None, None, 10).expect("problems").is_empty());
    }
}
