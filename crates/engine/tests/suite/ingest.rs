//! Ingest where something changes between two stages: what staging loses, what a collection loses.

pub(crate) mod committing;
mod completing;
mod healing;
pub(crate) mod identity;
mod jumping;
mod requeueing;
mod sweeping;
mod syncing;
mod verifying;
mod waiting;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{Home, work_on};
use strongroom_queue::tasks;
use strongroom_registry::items::Item;
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{CollectionId, ItemId, ItemStatus, RegistryError, Scope, Stage, items};

use super::fixture::{INSTITUTION, KEPT_IN, TestHome, has_reached, home, topics_before};

/// Deposits a bag; its work item.
pub(crate) fn hand_in(home: &Home, bag: &Path) -> ItemId {
    let request = DepositRequest {
        sources: vec![PackageSource::LocalPath(bag.to_path_buf())],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(home, &request).expect("deposits");
    made.items.first().copied().expect("an item")
}

fn collection(home: &TestHome, name: &'static str) -> CollectionId {
    let id = CollectionId::new();
    let rules = CollectionRules { name: name.into(), ..CollectionRules::default() };
    home.registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?;
            let institution = institution.map(|institution| institution.id).expect("the institution");
            tenants::add_collection(tx, id, institution, name, (&rules, "test"))
        })
        .expect("adds it");
    id
}

fn remove(home: &TestHome, collection: CollectionId) {
    let rules = CollectionRules { name: "removed".into(), ..CollectionRules::default() };
    home.registry
        .write(move |tx| tenants::set_collection(tx, collection, (&rules, "test"), false))
        .expect("removes it");
}

fn find(home: &TestHome, id: ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

fn set_paused(home: &TestHome, stage: Stage, paused: bool) {
    let topic = format!("ingest.{stage}");
    home.registry
        .write(move |tx| Ok::<_, RegistryError>(tasks::set_paused(tx, &topic, paused)?))
        .expect("pauses or resumes");
}

/// Works on an item until it ends; when it has come to `stage`, `act` is run before that stage begins.
fn work_with_a_pause(home: &TestHome, id: ItemId, stage: Stage, act: impl FnOnce()) -> Item {
    set_paused(home, stage, true);
    std::thread::scope(|scope| {
        let work = scope.spawn(|| work_on(&home.home, &[id], &Shutdown::new()).expect("works"));
        let begun = Instant::now();
        loop {
            let item = find(home, id);
            if item.stage == stage && item.status == ItemStatus::Pending {
                break;
            }
            assert!(begun.elapsed() < Duration::from_mins(2), "{} at {}: {:?}", item.status, item.stage, item.note);
            std::thread::park_timeout(Duration::from_millis(5));
        }
        act();
        set_paused(home, stage, false);
        work.join().expect("ends");
    });
    find(home, id)
}

fn notes(home: &TestHome, id: ItemId) -> Vec<String> {
    let history = home.registry.read(|tx| items::history(tx, Scope::System, id)).expect("its history");
    history.into_iter().filter_map(|line| line.note).collect()
}

/// What a power cut does to files that were not synced: they have their lengths, and zeros.
fn lose_staged_bytes(home: &TestHome) {
    let staged = home.keys("staging");
    assert!(!staged.is_empty(), "something is staged");
    for key in staged {
        let path: PathBuf = home.file("staging", &key);
        let length = std::fs::metadata(&path).expect("a staged file").len();
        let file = std::fs::OpenOptions::new().write(true).truncate(true).open(&path).expect("opens");
        file.set_len(length).expect("fills it with zeros");
    }
}

#[test]
fn a_valid_bag_whose_staged_bytes_are_lost_is_fetched_again_and_kept() {
    for stage in
        [Stage::named("validate"), Stage::named("resolve"), Stage::named("characterize"), Stage::named("write")]
    {
        let home = home();
        // One file in a pack, one by itself.
        let large = vec![7; 400_000];
        let bag = home.bag("letters", &[("a.txt", b"one"), ("b.bin", &large)]);
        let id = hand_in(&home, &bag);
        let item = work_with_a_pause(&home, id, stage, || lose_staged_bytes(&home));
        assert_eq!(item.status, ItemStatus::Succeeded, "lost before {stage}: {:?}", item.note);
        let notes = notes(&home, id);
        assert!(notes.iter().any(|note| note.contains("fetching again")), "lost before {stage}: {notes:?}");
        let object = home.object("letters");
        assert_eq!(object.head, 1);
        let files = home
            .registry
            .read(|tx| strongroom_registry::objects::files(tx, object.id, 1, "deposit/data/", "", 10))
            .expect("files");
        assert_eq!(files.len(), 2);
        for file in files {
            let copies =
                home.registry.read(|tx| strongroom_registry::objects::copies(tx, file.content)).expect("copies");
            assert_eq!(copies.len(), KEPT_IN.len());
            for copy in copies {
                let kept = std::fs::read(home.file(&copy.store, &copy.key)).expect("a copy");
                assert!(kept == b"one" || kept == large, "{} in {}", file.path, copy.store);
            }
        }
    }
}

#[test]
fn a_staging_disk_that_never_gives_back_what_it_got_asks_for_a_person_and_condemns_no_bag() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    for fetches in 1.. {
        identity::work_until(&home, id, Stage::named("validate"));
        assert!(fetches <= 20, "it is fetched again and again: {:?}", notes(&home, id));
        lose_staged_bytes(&home);
        let validate = ["ingest.validate".to_owned()];
        let workers = strongroom_engine::build_runtime(&home.home, Some(&validate)).expect("a runtime").build();
        workers.run_until(&Shutdown::new(), &|| {
            find(&home, id).stage != Stage::named("validate") || find(&home, id).status.is_ended()
        });
        if find(&home, id).status.is_ended() {
            assert!(fetches > 1, "once is no reason");
            break;
        }
    }
    let item = find(&home, id);
    assert_eq!((item.status, item.needs_review, item.is_verdict), (ItemStatus::Failed, true, false));
    let note = item.note.expect("a note");
    assert!(note.contains("the staging store staging") && note.contains("items requeue"), "{note}");
    let problems = home.registry.read(|tx| items::problems(tx, Scope::System, id, 10)).expect("reads");
    assert!(problems.is_empty(), "nothing is held against the bag: {problems:?}");
    // With a disk that works it is kept after all.
    home.registry
        .write(move |tx| {
            items::request(tx, &Workflows::standard(), Scope::System, id, items::Request::Requeue(None), "a person")
        })
        .expect("is requeued");
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(find(&home, id).status, ItemStatus::Succeeded, "{:?}", find(&home, id).note);
}

#[test]
fn a_bag_that_is_invalid_itself_is_still_refused() {
    let home = home();
    let bag = home.bag("letters", &[("a.txt", b"one")]);
    let bytes = std::fs::read(&bag).expect("the bag");
    let at = bytes.windows(3).position(|window| window == b"one").expect("the payload");
    let mut changed = bytes;
    changed.splice(at..at + 3, *b"two");
    std::fs::write(&bag, changed).expect("damages the bag");
    let id = hand_in(&home, &bag);
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    let item = find(&home, id);
    assert_eq!(item.status, ItemStatus::Failed);
    assert!(item.is_verdict, "the package itself was read");
    let note = item.note.expect("a note");
    assert!(note.contains("manifest.digest_mismatch"), "{note}");
}

#[test]
fn a_removed_collection_takes_no_deposits_neither_new_ones_nor_those_that_wait() {
    let home = home();
    let photos = collection(&home, "photos");
    let bag = home.bag("letters", &[("a.txt", b"one")]);
    let request = DepositRequest {
        collection: Some("photos".into()),
        sources: vec![PackageSource::LocalPath(bag.clone())],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let waiting = deposit(&home.home, &request).expect("the collection is there").items;
    remove(&home, photos);
    let refused = deposit(&home.home, &request).expect_err("the collection was removed").to_string();
    assert!(refused.contains("photos") && refused.contains("takes no deposits"), "{refused}");
    work_on(&home.home, &waiting, &Shutdown::new()).expect("works");
    let item = find(&home, waiting.first().copied().expect("an item"));
    assert_eq!((item.status, item.stage), (ItemStatus::Failed, Stage::named("receive")));
    assert!(item.note.is_some_and(|note| note.contains("takes no deposits")));
}

#[test]
fn an_item_that_waits_for_the_lease_of_an_object_is_woken_by_its_release_and_looks_no_more_often() {
    let home = home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let (object, owner) = (object.id, uuid::Uuid::now_v7());
    // Longer than the test may take: only the release can end the wait.
    let held = home.registry.write(move |tx| {
        let until = tx.now()?.plus(3_600_000_000);
        leases::hold(tx, object, owner, until)
    });
    assert!(matches!(held.expect("asks"), Hold::Held { .. }));
    let bag = home.bag("letters", &[("a.txt", b"two")]);
    let id = hand_in(&home, &bag);
    let shutdown = Shutdown::new();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| work_on(&home.home, &[id], &shutdown).expect("works"));
        let begun = Instant::now();
        let until = |is_so: &dyn Fn(&Item) -> bool| {
            while !is_so(&find(&home, id)) {
                if begun.elapsed() > Duration::from_mins(2) {
                    shutdown.request();
                    panic!("{:?}", find(&home, id));
                }
                std::thread::park_timeout(Duration::from_millis(5));
            }
        };
        let waits = |note: &str| note.starts_with("waits for other work");
        until(&|item| item.status == ItemStatus::Pending && item.note.as_deref().is_some_and(waits));
        assert_eq!(notes(&home, id).iter().filter(|note| waits(note)).count(), 1);
        let topics = home.registry.write(move |tx| leases::release_owner(tx, owner)).expect("lets go");
        assert_eq!(topics, ["ingest.compare".to_owned()]);
        home.registry.wakeups().notify(topics.iter().map(String::as_str));
        until(&|item| item.status.is_ended());
        work.join().expect("ends");
    });
    let item = find(&home, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!(home.object("letters").head, 2);
}

#[test]
fn the_events_of_each_deposit_are_recorded() {
    let home = home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let first = crate::rebuild::all_events(&home, &object);
    assert_eq!(first.iter().filter(|event| event.kind == "creation").count(), 1);
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    let events = crate::rebuild::all_events(&home, &home.object("letters"));
    let count = |kind: &str, is_of_file: bool| {
        events.iter().filter(|event| event.kind == kind && event.file.is_some() == is_of_file).count()
    };
    for kind in ["validation", "ingestion", "access assignment"] {
        assert_eq!(count(kind, false), 2, "{kind} is of each version");
    }
    for kind in ["creation", "identifier assignment"] {
        assert_eq!(count(kind, false), 1, "{kind} is of the first");
    }
    let object = home.object("letters");
    let files = home
        .registry
        .read(|tx| strongroom_registry::objects::files(tx, object.id, 2, "deposit/data/", "", 10))
        .expect("files");
    for file in files {
        let of_file = events.iter().filter(|event| event.file == Some(file.id) && event.kind == "ingestion").count();
        assert_eq!(of_file, 1, "{}", file.path);
    }
}
