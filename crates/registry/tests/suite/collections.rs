//! Collections: the versions of their rules, and which of them a batch has; the priorities of items.

use strongroom_registry::batches::NewBatch;
use strongroom_registry::items::{self, Item, NewItem, Request};
use strongroom_registry::tenants::{self, CollectionRules, RulesVersion};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{BatchId, RegistryError, Scope, Stage, batches};

use super::world::*;

/// Rules that name this placement.
fn placed(placement: &str) -> CollectionRules {
    CollectionRules { name: "Maps".into(), placement: Some(placement.into()), ..CollectionRules::default() }
}

fn set(world: &World<'_>, rules: CollectionRules) {
    let id = world.collection;
    world.write(move |tx| tenants::set_collection(tx, id, (&rules, "a person"), true));
}

fn versions(world: &World<'_>) -> Vec<RulesVersion> {
    world.read(|tx| tenants::rules_of(tx, world.collection, 0, 100))
}

/// A batch of the collection with an item.
fn batch(world: &World<'_>) -> (BatchId, Item) {
    let (batch, institution, collection) = (BatchId::new(), world.ours, world.collection);
    world.write(move |tx| {
        let new = NewBatch { collection: Some(collection), ..new_batch(batch, institution, Some(1)) };
        batches::create(tx, &new)
    });
    let id = world.make(&NewItem { batch: Some(batch), ..world.new_item("bag") });
    (batch, world.read(|tx| items::find(tx, Scope::System, id)))
}

fn placement_of(world: &World<'_>, item: &Item) -> Option<String> {
    world.read(|tx| tenants::collection_of(tx, item)).expect("has a collection").rules.placement
}

pub(crate) fn what_is_changed_of_a_collection_makes_a_version_of_its_rules(subject: &dyn Subject) {
    let world = World::new(subject);
    let rules = CollectionRules {
        priority: Some(7),
        accepted: vec!["bag".into(), "file".into()],
        most_bytes: Some(1 << 40),
        most_rows: Some(10),
        shoulder: Some("fk4".into()),
        ..placed("First")
    };
    set(&world, rules.clone());
    set(&world, rules.clone());
    set(&world, CollectionRules { name: "Sheets".into(), ..rules.clone() });
    let found = versions(&world);
    let told: Vec<(u64, Option<&str>)> = found.iter().map(|one| (one.version, one.set_by.as_deref())).collect();
    assert_eq!(told, [(1, Some("test")), (2, Some("a person"))], "neither a repeat nor a name is a version");
    assert_eq!(found[1].rules, CollectionRules { name: String::new(), ..rules.clone() });
    let now = world.read(|tx| tenants::collection_by_id(tx, world.collection)).expect("is there");
    assert_eq!((now.rules_version, now.rules.name.as_str()), (2, "Sheets"));
    let missing = world.refused(move |tx| {
        tenants::set_collection(tx, strongroom_registry::CollectionId::new(), (&rules, "a person"), true)
    });
    assert!(matches!(missing, RegistryError::NotFound { .. }), "{missing}");
}

pub(crate) fn a_batch_keeps_the_rules_that_it_began_with_until_a_person_says_otherwise(subject: &dyn Subject) {
    let world = World::new(subject);
    set(&world, placed("First"));
    let (first, before) = batch(&world);
    set(&world, placed("Second"));
    let (_, after) = batch(&world);
    let alone = world.make(&world.new_item("alone"));
    let alone = world.read(|tx| items::find(tx, Scope::System, alone));
    assert_eq!(placement_of(&world, &before).as_deref(), Some("First"));
    assert_eq!(placement_of(&world, &after).as_deref(), Some("Second"));
    assert_eq!(placement_of(&world, &alone).as_deref(), Some("Second"), "an item of no batch has those of now");
    assert!(world.write(move |tx| batches::take_new_rules(tx, first)));
    assert!(!world.write(move |tx| batches::take_new_rules(tx, first)), "it has them");
    assert_eq!(placement_of(&world, &before).as_deref(), Some("Second"));
}

pub(crate) fn the_tasks_of_an_item_are_more_urgent_the_smaller_it_is(subject: &dyn Subject) {
    let world = World::new(subject);
    for (size, added) in [(Some(1), 0), (Some(1 << 30), 0), (Some((1 << 30) + 1), 5), (Some(1 << 40), 10), (None, 10)] {
        let id = world.make(&NewItem { priority: 20, size, ..world.new_item("bag") });
        assert_eq!(world.tasks(id).remove(0).priority, 20 + added, "{size:?}");
    }
}

pub(crate) fn an_item_is_moved_at_once_where_it_waits_and_from_its_next_task_on_where_it_does_not(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let id = world.make(&NewItem { priority: 50, size: Some(1), ..world.new_item("bag") });
    let move_to = |priority| world.write(move |tx| items::move_to(tx, Scope::System, id, priority, "a person"));
    assert_eq!(move_to(7), ["ingest.receive"]);
    assert_eq!(world.tasks(id).iter().map(|task| task.priority).collect::<Vec<_>>(), [7]);
    let last = world.history(id).pop().expect("a line");
    assert_eq!(last.note.as_deref(), Some("moved from priority 50 to 7 by a person"));
    let (claim, _) = world.claim(Stage::named("receive"));
    assert_eq!(move_to(3), [""; 0], "a worker has it");
    world.finish(&claim, &next(Stage::named("estimate")));
    assert_eq!(world.tasks(id).remove(0).priority, 3);
    world.ask(id, Request::Hold).expect("is held");
    assert_eq!(move_to(90), [""; 0]);
    assert!(world.tasks(id).is_empty(), "it stays held");
    world.ask(id, Request::Release).expect("goes on");
    assert_eq!(world.tasks(id).remove(0).priority, 90);
    // What its stage has spent and waits for is the same.
    let (claim, _) = world.claim(Stage::named("estimate"));
    let retry_at = world.later(LEASE);
    world.finish(&claim, &StageEnd::Transient { retry_at, max_attempts: 9, note: "again".into() });
    assert_eq!(move_to(4), [topic(Stage::named("estimate"))]);
    let task = world.tasks(id).remove(0);
    assert_eq!((task.priority, task.spent, task.ready_at), (4, 1, retry_at));
    subject.advance(LEASE);
    assert_eq!(world.claim(Stage::named("estimate")).0.spent, 2);
    world.crash();
    world.ask(id, Request::Cancel).expect("is cancelled");
    let ended = world.refused(move |tx| items::move_to(tx, Scope::System, id, 1, "a person"));
    assert!(matches!(ended, RegistryError::State { .. }), "{ended}");
}
