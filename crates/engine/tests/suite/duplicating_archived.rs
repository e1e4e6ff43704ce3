//! Duplication from and to archived storage classes, which cannot be read back: what is not proved is recorded as not proved.

use std::time::Duration;

use strongroom_engine::app::duplication;
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::CopyOutcome;
use strongroom_registry::duplicated_items::DuplicatedItem;
use strongroom_s3_double::Operation;
use strongroom_storage::{Retrieval, RetrievalRequest};

use crate::duplication_world::{Kind, SPACE, World, key, space, world};
use crate::fixture::{Engine, INSTITUTION, on_both_databases};

const PAIR: (&str, &str) = ("one", "two");
const ARCHIVED: Kind = Kind::S3With("storage_class = \"GLACIER\"\n");
/// Without checksums that prove anything.
const ARCHIVED_UNPROVED: Kind = Kind::S3With("storage_class = \"GLACIER\"\nchecksums = \"none\"\n");
const IN_PARTS: Kind = Kind::S3With("storage_class = \"DEEP_ARCHIVE\"\npart_size = \"5 MiB\"\n");
const NO_SAMPLE: &str = "[duplication]\nverify_one_in = 0\n";

on_both_databases! {
    a_copy_into_an_archived_class_is_proved_by_its_checksum_and_one_that_replaces_it_is_not
    a_copy_that_cannot_be_read_back_is_recorded_as_not_proved
    a_copy_in_parts_into_an_archived_class_is_recorded_as_not_proved
    what_is_archived_in_the_source_is_retrieved_once_and_copied_when_it_can_be_read
    a_description_that_differs_of_an_archived_copy_is_noted_and_left
    an_archived_copy_of_another_length_is_replaced
}

fn two(source: Kind, destination: Kind, engine: Engine) -> Option<World> {
    let world = world(engine, &[("one", source), ("two", destination)], NO_SAMPLE)?;
    world.policy(&[("one", "two", false)]);
    Some(world)
}

fn recorded(world: &World, key: &str) -> DuplicatedItem {
    world.recorded(PAIR, key).expect("is recorded")
}

fn bytes(world: &World, store: &str, key: &str) -> Vec<u8> {
    world.double.stored(&format!("{store}/{SPACE}/{key}")).expect("is there").bytes()
}

/// Makes an archived content item readable.
fn retrieve(world: &World, store: &str, name: &str) {
    let how = RetrievalRequest { days: 7, tier: "Bulk".to_owned() };
    let asked = world.store(store).request_retrieval(&space(), &key(name), &how).expect("is asked");
    assert_eq!(asked, Retrieval::UnderWay);
    world.double.turn_clock(Duration::from_hours(5));
}

fn a_copy_into_an_archived_class_is_proved_by_its_checksum_and_one_that_replaces_it_is_not(engine: Engine) {
    let Some(world) = two(Kind::Folder, ARCHIVED, engine) else { return };
    world.put("one", "a.txt", "the bytes", "ann");
    world.sweep(false);
    let copied = recorded(&world, "a.txt");
    assert!(copied.outcome == CopyOutcome::Equal && copied.verified_at.is_some(), "{copied:?}");
    // Others replace it by as many other bytes.
    world.put("two", "a.txt", "the mites", "ann");
    let ended = world.sweep(false);
    assert_eq!((ended.queued, ended.failed), (1, 0), "{ended:?}");
    let replaced = recorded(&world, "a.txt");
    assert_eq!(replaced.verified_at, None, "{replaced:?}");
    assert!(replaced.detail.contains("their bytes are not compared"), "{}", replaced.detail);
    // As soon as it can be read, both are compared.
    retrieve(&world, "two", "a.txt");
    world.sweep(true);
    let repaired = recorded(&world, "a.txt");
    assert!(repaired.outcome == CopyOutcome::Equal && repaired.verified_at.is_some(), "{repaired:?}");
    assert_eq!(bytes(&world, "two", "a.txt"), b"the bytes");
}

fn a_copy_that_cannot_be_read_back_is_recorded_as_not_proved(engine: Engine) {
    let Some(world) = two(Kind::Folder, ARCHIVED_UNPROVED, engine) else { return };
    world.put("one", "a.txt", "the bytes", "ann");
    world.sweep(false);
    let copied = recorded(&world, "a.txt");
    assert_eq!((copied.outcome, copied.verified_at), (CopyOutcome::Equal, None), "{copied:?}");
    assert!(copied.detail.contains("its bytes cannot be read back"), "{}", copied.detail);
    // An event changes nothing of that.
    world.report("one/maps/a.txt", false, None);
    world.drain();
    assert_eq!(recorded(&world, "a.txt").verified_at, None);
    retrieve(&world, "two", "a.txt");
    world.sweep(true);
    assert!(recorded(&world, "a.txt").verified_at.is_some(), "it is read");
    // Another copy of the same source is not proved by what was read of the one before.
    assert!(world.double.take("two/maps/a.txt").is_some());
    world.sweep(false);
    assert_eq!(bytes(&world, "two", "a.txt"), b"the bytes");
    let again = recorded(&world, "a.txt");
    assert_eq!((again.outcome, again.verified_at), (CopyOutcome::Equal, None), "{again:?}");
}

fn a_copy_in_parts_into_an_archived_class_is_recorded_as_not_proved(engine: Engine) {
    let Some(world) = two(Kind::Folder, IN_PARTS, engine) else { return };
    let large = "sheet 1\n".repeat(800_000);
    world.put("one", "large.txt", &large, "ann");
    world.put("one", "small.txt", "the bytes", "ann");
    world.sweep(false);
    assert!(bytes(&world, "two", "large.txt") == large.as_bytes());
    let copied = recorded(&world, "large.txt");
    assert!(copied.destination_etag.as_ref().is_some_and(|etag| etag.ends_with("-2")), "{copied:?}");
    assert_eq!((copied.outcome, copied.verified_at), (CopyOutcome::Equal, None), "{copied:?}");
    assert!(recorded(&world, "small.txt").verified_at.is_some(), "one request has a checksum of the whole");
    assert_eq!(world.sweep(true).state, "done");
    assert_eq!(recorded(&world, "large.txt").verified_at, None);
    retrieve(&world, "two", "large.txt");
    world.sweep(true);
    assert!(recorded(&world, "large.txt").verified_at.is_some());
}

fn what_is_archived_in_the_source_is_retrieved_once_and_copied_when_it_can_be_read(engine: Engine) {
    let Some(world) = two(ARCHIVED, Kind::Folder, engine) else { return };
    world.put("one", "a.txt", "the bytes", "ann");
    world.put("one", "b.txt", "the bytes", "ann");
    world.put("two", "b.txt", "of another length", "ann");
    let (begun, _) = duplication::start(&world.call(), Some(INSTITUTION), false).expect("begins");
    let waits = duplication::wait(&world.call(), &begun.run, &Shutdown::new()).expect("ends");
    assert_eq!((waits.later, waits.dead), (2, 0), "{waits:?}");
    assert_eq!(world.found("two", "a.txt"), None);
    assert_eq!(world.found("two", "b.txt").expect("stays").0, "of another length");
    assert!(world.recorded(PAIR, "a.txt").is_none(), "nothing is claimed of it");
    world.home.clock.advance(Duration::from_hours(24));
    world.drain();
    assert_eq!(world.found("two", "a.txt"), None, "it cannot be read yet");
    world.double.turn_clock(Duration::from_hours(5));
    world.home.clock.advance(Duration::from_hours(24));
    world.drain();
    for key in ["a.txt", "b.txt"] {
        assert_eq!(world.found("two", key).expect("is copied").0, "the bytes");
        assert!(recorded(&world, key).verified_at.is_some());
    }
    assert_eq!(world.double.counts().of(Operation::RestoreObject), 2, "each is requested once");
    assert_eq!(world.dead(), 0);
}

fn a_description_that_differs_of_an_archived_copy_is_noted_and_left(engine: Engine) {
    let Some(world) = two(Kind::S3, ARCHIVED, engine) else { return };
    world.put("one", "a.txt", "the bytes", "ann");
    world.sweep(false);
    let copied = recorded(&world, "a.txt");
    world.pass_a_second();
    world.put("one", "a.txt", "the bytes", "bob");
    for _ in 0..2 {
        world.sweep(false);
        let noted = recorded(&world, "a.txt");
        assert!(noted.detail.contains("the description differs"), "{noted:?}");
        // Both stores vouch for the bytes.
        assert!(noted.outcome == CopyOutcome::Equal && noted.verified_at >= copied.verified_at, "{noted:?}");
        let there = world.double.stored("two/maps/a.txt").expect("is there");
        assert_eq!(there.metadata.get("creator").map(String::as_str), Some("ann"));
        assert_eq!(there.class.as_deref(), Some("GLACIER"));
    }
    assert_eq!(world.dead(), 0);
}

fn an_archived_copy_of_another_length_is_replaced(engine: Engine) {
    let Some(world) = two(Kind::Folder, ARCHIVED, engine) else { return };
    world.put("one", "a.txt", "the bytes", "ann");
    world.put("two", "a.txt", "of another length", "ann");
    world.sweep(false);
    assert_eq!(bytes(&world, "two", "a.txt"), b"the bytes");
    let copied = recorded(&world, "a.txt");
    assert!(copied.outcome == CopyOutcome::Equal && copied.verified_at.is_some(), "{copied:?}");
}
