//! Restorations of many objects as one batch: what has no work items yet, how far their making came, and what the receipt says.

use std::time::Duration;

use strongroom_registry::batches::{self, NewBatch};
use strongroom_registry::items::NewItem;
use strongroom_registry::restorations::{self, ObjectVersion, RestorationResult};
use strongroom_registry::work::Claim;
use strongroom_registry::{Action, BatchId, ItemId, ItemStatus, ObjectId, Stage, retention};

use super::reporting::tell_all;
use super::world::*;

const HOUR: Duration = Duration::from_hours(1);

fn entries(world: &World<'_>, batch: BatchId) -> Vec<ObjectVersion> {
    world.read(|tx| restorations::entries(tx, batch, 10))
}

fn note(world: &World<'_>, batch: BatchId, object: ObjectId) {
    world.write(move |tx| restorations::put_entries(tx, batch, &[ObjectVersion { object, version: 1 }]));
}

/// A batch of restorations of these objects.
fn batch_of(world: &World<'_>, objects: &[ObjectId]) -> (BatchId, Vec<ItemId>) {
    let (batch, ours) = (BatchId::new(), world.ours);
    world.write(move |tx| batches::create(tx, &NewBatch { kind: "restoration", ..new_batch(batch, ours, None) }));
    let make = |object: &ObjectId| {
        let action = Action::named("restore_object");
        world.make(&NewItem { batch: Some(batch), object: Some(*object), action, ..world.new_item("bag") })
    };
    (batch, objects.iter().map(make).collect())
}

fn claim(world: &World<'_>) -> Claim {
    world.claim(Stage::named("restore")).0
}

pub(crate) fn a_list_is_noted_once_for_each_object_and_goes_as_work_items_are_made(subject: &dyn Subject) {
    let world = World::new(subject);
    let (one, other) = (world.object("one").id, world.object("other").id);
    let batch = BatchId::new();
    for object in [one, other, one] {
        note(&world, batch, object);
    }
    let mut wanted = [one, other];
    wanted.sort_unstable();
    assert_eq!(entries(&world, batch).iter().map(|entry| entry.object).collect::<Vec<_>>(), wanted);
    assert!(entries(&world, BatchId::new()).is_empty());
    world.write(move |tx| restorations::drop_entry(tx, batch, one));
    assert_eq!(entries(&world, batch), [ObjectVersion { object: other, version: 1 }]);
    assert_eq!(world.write(move |tx| restorations::drop_entries(tx, batch, 10)), 1);
    assert!(entries(&world, batch).is_empty());
}

pub(crate) fn a_list_without_a_batch_is_forgotten_after_a_time_and_one_with_a_batch_is_not(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("one").id;
    let (made, _) = batch_of(&world, &[]);
    let cut_short = BatchId::new();
    note(&world, made, object);
    note(&world, cut_short, object);
    let before = world.now();
    assert_eq!(world.write(move |tx| restorations::drop_unused(tx, before.plus(-1_000_000), 10)), 0);
    subject.advance(HOUR);
    let before = world.now();
    assert_eq!(world.write(move |tx| restorations::drop_unused(tx, before, 10)), 1);
    assert!(entries(&world, cut_short).is_empty());
    assert_eq!(entries(&world, made).len(), 1);
}

pub(crate) fn the_objects_of_a_collection_come_in_pages_once_they_are_published(subject: &dyn Subject) {
    let world = World::new(subject);
    let collection = world.collection;
    let page = |after| world.read(|tx| restorations::objects_of_collection(tx, collection, after, 1));
    world.object("unpublished");
    assert!(page(None).is_empty());
    let (claim, version) = world.committing();
    let id = version.object;
    assert!(page(None).is_empty(), "it is not published yet");
    world.publish(&claim, &["primary"]);
    assert_eq!(page(None), [ObjectVersion { object: id, version: 1 }]);
    assert!(page(Some(id)).is_empty());
}

pub(crate) fn how_far_a_batch_came_follows_from_its_items_and_the_receipt_has_all_of_them(subject: &dyn Subject) {
    let world = World::new(subject);
    let mut objects = [world.object("one").id, world.object("other").id];
    objects.sort_unstable();
    let (batch, _) = batch_of(&world, &objects);
    // What makes the others and writes the receipt is none of them.
    let action = Action::named("restore_batch");
    world.make(&NewItem { batch: Some(batch), action, ..world.new_item("receipt") });
    assert_eq!(world.read(|tx| restorations::progress(tx, batch)), (2, Some(objects[1])));
    assert_eq!(world.read(|tx| restorations::progress(tx, BatchId::new())), (0, None));
    assert_eq!(world.read(|tx| restorations::open_items(tx, batch)), 2);
    assert_eq!(world.read(|tx| restorations::amount(tx, batch)).0, 2);
    let waiting = world.object("waits").id;
    world.write(move |tx| restorations::put_entries(tx, batch, &[ObjectVersion { object: waiting, version: 1 }]));
    assert_eq!(world.read(|tx| restorations::amount(tx, batch)).0, 3, "with those that have no work items yet");
    world.write(move |tx| restorations::drop_entry(tx, batch, waiting));

    let claim = claim(&world);
    let result = RestorationResult { place: "example.edu/bag.tar".into(), size: 7, sha256: "00".repeat(32) };
    let (whose, put) = (claim.clone(), result.clone());
    world.write(move |tx| restorations::put_result(tx, &whose, &put));
    world.finish(&claim, &succeeded());
    assert_eq!(world.read(|tx| restorations::open_items(tx, batch)), 1);
    let first = world.read(|tx| restorations::items_of_batch(tx, batch, None, 1));
    let rest = world.read(|tx| restorations::items_of_batch(tx, batch, Some(first[0].id), 10));
    let all: Vec<_> = first.into_iter().chain(rest).collect();
    assert_eq!(all.len(), 2);
    for item in all {
        let is_done = item.id == claim.item;
        assert_eq!(item.status == ItemStatus::Succeeded, is_done);
        assert_eq!(item.result, is_done.then(|| result.clone()));
    }
    let late = claim.clone();
    world.refused(move |tx| restorations::put_result(tx, &late, &result));
}

pub(crate) fn ended_items_of_a_batch_are_kept_until_its_receipt_is_written(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("one").id;
    let (batch, _) = batch_of(&world, &[object]);
    let claim = claim(&world);
    let whose = claim.clone();
    let result = RestorationResult { place: "example.edu/bag.tar".into(), size: 7, sha256: "00".repeat(32) };
    world.write(move |tx| restorations::put_result(tx, &whose, &result));
    world.finish(&claim, &succeeded());
    let action = Action::named("restore_batch");
    let maker = world.make(&NewItem { batch: Some(batch), action, ..world.new_item("receipt") });
    subject.advance(HOUR);
    let drop = |world: &World<'_>| {
        let before = world.now();
        world.write(move |tx| retention::drop_items(tx, before, None)).0
    };
    assert_eq!(drop(&world), 0);
    world.ask(maker, strongroom_registry::items::Request::Cancel).expect("cancels");
    tell_all(&world);
    subject.advance(HOUR);
    assert_eq!(drop(&world), 1, "with what is known of its result");
}
