//! Duplication between plain stores of which one misbehaves: while it does, nothing is recorded as equal that is not, the source is not written,
//! no good copy is lost, and what is not done is reported. Afterwards the next sweep completes everything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use strongroom_engine::app::duplication;
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::CopyOutcome;
use strongroom_registry::duplicated_items::DuplicatedItem;
use strongroom_s3_double::{Fault, Operation, Rules, WrongListing};

use Operation::{CopyObject, DeleteObject, GetObject, HeadObject, ListObjects, PutObject};

use crate::deletions::{ANN, as_user};
use crate::duplication_world::{Kind, SPACE, World, key, space, world};
use crate::fixture::{Engine, INSTITUTION};

/// A folder, and the double of an S3 server whose checksums are as strong as the bytes.
const TO_S3: [(&str, Kind); 2] = [("one", Kind::Folder), ("two", QUICK)];
const FROM_S3: [(&str, Kind); 2] = [("one", QUICK), ("two", Kind::Folder)];
const IN_S3: [(&str, Kind); 2] = [("one", QUICK), ("two", QUICK)];
const QUICK: Kind = Kind::S3With("attempts = 2\n");
/// The same without checksums that prove anything: copies are read back.
const WITH_MD5: [(&str, Kind); 2] =
    [("one", Kind::Folder), ("two", Kind::S3With("attempts = 2\nchecksums = \"md5\"\n"))];
const WITH_NONE: [(&str, Kind); 2] =
    [("one", Kind::Folder), ("two", Kind::S3With("attempts = 2\nchecksums = \"none\"\n"))];

/// How often a fault happens.
#[derive(Debug, Clone, Copy)]
enum Often {
    Always,
    /// At each second request, from the first one on.
    EachSecond,
    /// At the first read of each key.
    FirstReads,
}

/// A store that misbehaves.
#[derive(Debug, Clone, Copy)]
struct Trouble {
    stores: [(&'static str, Kind); 2],
    operations: &'static [Operation],
    fault: Fault,
    often: Often,
    /// Whether something is left undone while it lasts, where that is certain.
    stops: Option<bool>,
    /// Whether nothing can know that something is left undone: a name that no listing has.
    is_silent: bool,
}

impl Trouble {
    const fn new(stores: [(&'static str, Kind); 2], operation: &'static [Operation], fault: Fault) -> Self {
        Self { stores, operations: operation, fault, often: Often::Always, stops: Some(true), is_silent: false }
    }

    /// Everything is done in spite of it.
    const fn passes(self) -> Self {
        Self { stops: Some(false), ..self }
    }

    const fn each_second(self) -> Self {
        Self { often: Often::EachSecond, stops: None, ..self }
    }

    const fn at_first_reads(self) -> Self {
        Self { often: Often::FirstReads, stops: None, ..self }
    }

    /// A name that is in no listing is left until it is listed.
    const fn silent(self) -> Self {
        Self { is_silent: true, stops: None, ..self }
    }

    fn begin(&self, world: &World) {
        for operation in self.operations {
            match self.often {
                Often::Always => world.double.always(*operation, Some(self.fault)),
                Often::FirstReads => world.double.at_first_reads(self.fault),
                Often::EachSecond => {
                    (0..500).for_each(|nth| world.double.plan(*operation, nth * 2 + 1, self.fault));
                }
            }
        }
    }
}

/// A content item as it lies in a store, beside the processor.
#[derive(Clone, PartialEq, Eq)]
struct Lying {
    bytes: Vec<u8>,
    creator: String,
    etag: String,
    /// What changes with each write.
    version: String,
}

impl fmt::Debug for Lying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", String::from_utf8_lossy(&self.bytes), self.creator)
    }
}

/// What lies in a store. Asked of the double itself, of which the faults are not.
fn lying(world: &World, (store, kind): (&str, Kind)) -> BTreeMap<String, Lying> {
    if kind == Kind::Folder {
        let folder = world.home.path().join("plain").join(store).join(SPACE);
        let entries = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let files = entries.filter(|path| path.is_file());
        return files
            .map(|path| {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                let head = world.store(store).head(&space(), &key(&name)).expect("is there");
                let modified = std::fs::metadata(&path).expect("is there").modified().expect("a time");
                let creator = head.description.properties().get("creator").unwrap_or_default().to_owned();
                let version = format!("{:?}", modified.duration_since(UNIX_EPOCH).expect("a time"));
                (name, Lying { bytes: std::fs::read(&path).expect("reads"), creator, etag: head.etag, version })
            })
            .collect();
    }
    let prefix = format!("{store}/{SPACE}/");
    let keys = world.double.keys().into_iter().filter(|name| name.starts_with(&prefix));
    keys.map(|name| {
        let stored = world.double.stored(&name).expect("is there");
        let creator = stored.metadata.get("creator").cloned().unwrap_or_default();
        let version = format!("{} {:?}", stored.etag, stored.metadata);
        (name[prefix.len()..].to_owned(), Lying { bytes: stored.bytes(), creator, etag: stored.etag, version })
    })
    .collect()
}

/// Keys whose copy is as the source has it.
fn good(source: &BTreeMap<String, Lying>, destination: &BTreeMap<String, Lying>) -> BTreeSet<String> {
    let is_good = |key: &String, there: &Lying| {
        source.get(key).is_some_and(|here| (&here.bytes, &here.creator) == (&there.bytes, &there.creator))
    };
    destination.iter().filter(|(key, there)| is_good(key, there)).map(|(key, _)| key.clone()).collect()
}

/// Whether both have the same.
fn are_alike(source: &BTreeMap<String, Lying>, destination: &BTreeMap<String, Lying>) -> bool {
    good(source, destination).len() == source.len() && destination.len() == source.len()
}

/// One content item of each kind: of some the copy is right, recorded or not; the others are to be copied, compared, described or deleted.
fn prepare(trouble: &Trouble) -> Option<World> {
    let settings = "[duplication]\nverify_one_in = 1\n[workers.\"duplicate.low\"]\nmax_attempts = 2\n\
                    [workers.\"duplicate.high\"]\nmax_attempts = 2\n";
    let world = world(Engine::Sqlite, &trouble.stores, settings)?;
    world.double.set_rules(Rules { most_listed: 3, ..Rules::AWS });
    world.policy(&[("one", "two", true)]);
    for key in ["a good", "b changed", "c deleted", "d described", "e good"] {
        world.put("one", key, "the bytes", "ann");
    }
    assert_eq!(world.sweep(false).state, "done");
    world.pass_a_second();
    world.put("one", "b changed", "the sytes", "ann");
    world.put("one", "d described", "the bytes", "bob");
    world.remove("one", "c deleted");
    for (key, there) in [("f good", "the bytes"), ("g other", "the mites"), ("h longer", "of another length")] {
        world.put("one", key, "the bytes", "ann");
        world.put("two", key, there, "ann");
    }
    world.put("one", "i new", "the bytes", "ann");
    world.put("one", "j empty", "", "ann");
    world.put("one", "k new", "the bytes", "ann");
    Some(world)
}

fn begin_sweep(world: &World) {
    let (begun, _) = duplication::start(&world.call(), Some(INSTITUTION), false).expect("begins");
    let ended = duplication::wait(&world.call(), &begun.run, &Shutdown::new()).expect("ends").sweep;
    if ended.held > 0 {
        // A deletion of which the task was given up is one of few content items.
        duplication::allow_deletions(&as_user(&world.home, ANN), &ended.run).expect("is allowed");
        duplication::wait(&world.call(), &ended.run, &Shutdown::new()).expect("ends");
    }
}

/// Whether anything says that something is left to do.
fn is_reported(world: &World) -> bool {
    let run = duplication::list(&world.call(), None, None).expect("lists").items;
    let run = run.first().expect("a sweep").run.clone();
    let parts = duplication::parts(&world.call(), &run, None).expect("lists").items;
    let ended = duplication::wait(&world.call(), &run, &Shutdown::new()).expect("is shown");
    parts.iter().any(|part| part.error.is_some()) || ended.later > 0 || ended.dead > 0 || ended.has_problems
}

fn run(trouble: &Trouble) {
    let Some(world) = prepare(trouble) else { return };
    let [one, two] = trouble.stores;
    let (source, before) = (lying(&world, one), lying(&world, two));
    let good_before = good(&source, &before);
    assert_eq!(good_before.len(), 3, "{trouble:?}");
    trouble.begin(&world);
    world.report(&format!("one/{SPACE}/c deleted"), true, None);
    world.report(&format!("one/{SPACE}/k new"), false, None);
    world.drain();
    begin_sweep(&world);
    for _ in 0..3 {
        let while_it_lasts = |what: &str| format!("{what} while it lasts: {trouble:?}");
        let there = lying(&world, two);
        assert_eq!(lying(&world, one), source, "{}", while_it_lasts("the source is not written"));
        let good_now = good(&source, &there);
        assert!(good_before.is_subset(&good_now), "{} {good_now:?}", while_it_lasts("no good copy is lost"));
        for (key, here) in &source {
            let recorded = world.recorded(("one", "two"), key).filter(|item| item.outcome == CopyOutcome::Equal);
            let is_of = |item: &DuplicatedItem, lying: &Lying, etag: &Option<String>| {
                item.verified_at.is_some() && etag.as_deref() == Some(lying.etag.as_str())
            };
            if let (Some(item), Some(there)) = (recorded, there.get(key))
                && is_of(&item, here, &item.source_etag)
                && is_of(&item, there, &item.destination_etag)
            {
                assert_eq!(here.bytes, there.bytes, "{} {key} {item:?}", while_it_lasts("nothing wrong is equal"));
            }
        }
        let is_done = are_alike(&source, &there);
        assert!(
            is_done || trouble.is_silent || is_reported(&world),
            "{} {there:?}",
            while_it_lasts("what is not done is reported")
        );
        world.home.clock.advance(Duration::from_hours(3));
        world.drain();
    }
    let there = lying(&world, two);
    let is_done = are_alike(&source, &there);
    assert!(trouble.stops.is_none_or(|stops| stops != is_done), "{trouble:?} {there:?}");
    world.double.end_faults();
    if trouble.fault == Fault::Stale {
        // What such an answer shows again, or shows to be gone, ends the deletion: the copy stays, until the deletion is recorded again.
        world.report(&format!("one/{SPACE}/c deleted"), true, None);
    }
    world.home.clock.advance(Duration::from_hours(3));
    world.drain();
    begin_sweep(&world);
    let there = lying(&world, two);
    assert!(are_alike(&source, &there), "the next sweep completes it: {trouble:?} {there:?}");
    assert_eq!(lying(&world, one), source);
    assert_eq!(world.sweep(false).state, "done");
    let problems = duplication::problems(&world.call(), None, None).expect("lists").items;
    assert!(problems.is_empty(), "{trouble:?} {problems:?}");
    for key in source.keys() {
        let recorded = world.recorded(("one", "two"), key).expect("is recorded");
        assert!(recorded.outcome == CopyOutcome::Equal && recorded.verified_at.is_some(), "{trouble:?} {recorded:?}");
    }
}

/// Runs them side by side: they wait for times of a second.
fn run_all(troubles: &[Trouble]) {
    std::thread::scope(|scope| {
        let running: Vec<_> = troubles.iter().map(|trouble| scope.spawn(|| run(trouble))).collect();
        let failed: Vec<_> = running.into_iter().filter_map(|thread| thread.join().err()).collect();
        assert!(failed.is_empty(), "{} of {} fail", failed.len(), troubles.len());
    });
}

#[test]
fn a_put_that_goes_wrong_is_repeated_or_found_by_what_is_kept() {
    const PUT: &[Operation] = &[PutObject];
    run_all(&[
        // What is there is known again.
        Trouble::new(TO_S3, PUT, Fault::RefuseAfter).passes(),
        Trouble::new(TO_S3, PUT, Fault::KeepsOther),
        Trouble::new(TO_S3, PUT, Fault::KeepsLess),
        Trouble::new(TO_S3, PUT, Fault::OtherChecksum),
        Trouble::new(IN_S3, PUT, Fault::KeepsOther),
        Trouble::new(IN_S3, PUT, Fault::KeepsLess).each_second(),
        Trouble::new(WITH_MD5, PUT, Fault::KeepsOtherUnnoticed),
        Trouble::new(WITH_MD5, PUT, Fault::KeepsLess),
        Trouble::new(WITH_NONE, PUT, Fault::KeepsOtherUnnoticed),
        Trouble::new(WITH_NONE, PUT, Fault::KeepsOtherUnnoticed).each_second(),
    ]);
}

#[test]
fn a_read_that_goes_wrong_is_repeated_and_proves_nothing() {
    const GET: &[Operation] = &[GetObject];
    run_all(&[
        Trouble::new(FROM_S3, GET, Fault::Corrupt { at: 0 }).at_first_reads(),
        Trouble::new(FROM_S3, GET, Fault::Short { to: 3 }).each_second(),
        Trouble::new(FROM_S3, GET, Fault::Torn { after: 3 }).each_second(),
        Trouble::new(FROM_S3, GET, Fault::Short { to: 3 }),
        Trouble::new(FROM_S3, GET, Fault::Torn { after: 3 }),
        Trouble::new(TO_S3, GET, Fault::Corrupt { at: 0 }).at_first_reads(),
        Trouble::new(WITH_NONE, GET, Fault::Corrupt { at: 0 }).at_first_reads(),
        Trouble::new(WITH_NONE, GET, Fault::Short { to: 3 }).each_second(),
        Trouble::new(IN_S3, GET, Fault::Corrupt { at: 0 }).at_first_reads(),
        Trouble::new(IN_S3, GET, Fault::Short { to: 3 }).at_first_reads(),
    ]);
}

#[test]
fn an_inspection_that_goes_wrong_overwrites_nothing_good() {
    const HEAD: &[Operation] = &[HeadObject];
    run_all(&[
        Trouble::new(TO_S3, HEAD, Fault::OtherChecksum).passes(),
        Trouble::new(FROM_S3, HEAD, Fault::OtherChecksum),
        Trouble::new(IN_S3, HEAD, Fault::OtherChecksum).each_second(),
        Trouble::new(TO_S3, HEAD, Fault::Stale),
        Trouble::new(FROM_S3, HEAD, Fault::Stale),
        Trouble::new(IN_S3, HEAD, Fault::Stale).each_second(),
        Trouble::new(TO_S3, HEAD, Fault::Refuse(503)),
        Trouble::new(FROM_S3, HEAD, Fault::Refuse(403)),
    ]);
}

#[test]
fn a_listing_that_goes_wrong_ends_nothing_and_deletes_nothing() {
    const LIST: &[Operation] = &[ListObjects];
    let wrong = [
        WrongListing::Repeats,
        WrongListing::Omits,
        WrongListing::Misorders,
        WrongListing::EndsEarly,
        WrongListing::FailsBehindFirst,
    ];
    let of = |stores, wrong| {
        let trouble = Trouble::new(stores, LIST, Fault::Listing(wrong));
        let is_silent = matches!(wrong, WrongListing::Omits | WrongListing::EndsEarly);
        if is_silent { trouble.silent() } else { trouble }
    };
    let pairs = [TO_S3, FROM_S3];
    let troubles: Vec<Trouble> = pairs.into_iter().flat_map(|stores| wrong.map(|wrong| of(stores, wrong))).collect();
    run_all(&troubles);
}

#[test]
fn a_deletion_that_is_not_done_is_not_recorded() {
    const DELETE: &[Operation] = &[DeleteObject];
    run_all(&[
        Trouble::new(TO_S3, DELETE, Fault::NotDone),
        Trouble::new(IN_S3, DELETE, Fault::NotDone).each_second(),
        Trouble::new(TO_S3, DELETE, Fault::RefuseAfter).passes(),
        Trouble::new(TO_S3, DELETE, Fault::Refuse(503)),
    ]);
}

#[test]
fn a_service_that_refuses_for_a_while_is_asked_again() {
    const ALL: &[Operation] = &[HeadObject, GetObject, PutObject, DeleteObject, ListObjects, CopyObject];
    run_all(&[
        Trouble::new(TO_S3, ALL, Fault::Refuse(503)),
        Trouble::new(FROM_S3, ALL, Fault::Refuse(503)),
        Trouble::new(IN_S3, ALL, Fault::Refuse(500)),
        Trouble::new(TO_S3, ALL, Fault::Refuse(503)).each_second(),
    ]);
}
