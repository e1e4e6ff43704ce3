//! Objects that come in parts: who waits for whom, and what is told of a set.

use std::time::Duration;

use strongroom_registry::work::{self, Claim, StageEnd};
use strongroom_registry::{Description, ItemId, Part, Parts, Stage, WaitReason, items, objects, parts, versions};

use super::world::*;

fn part(number: u64, total: u64) -> Part {
    Part::new(number, total).expect("a part")
}

/// A deposit of the object `bag`: a part of it, or all of it.
fn deposit(world: &World<'_>, which: Option<Part>) -> ItemId {
    let id = world.item();
    if let Some(which) = which {
        world.write(move |tx| parts::put_item(tx, id, which));
        world.write(move |tx| parts::put_item(tx, id, which));
    }
    id
}

/// A claim on an item at its first stage, while others wait there too.
fn claim_of(world: &World<'_>, id: ItemId) -> Claim {
    let hour = world.later(Duration::from_hours(1));
    loop {
        let (claim, _) = world.claim(Stage::named("receive"));
        if claim.item == id {
            return claim;
        }
        world.finish(&claim, &StageEnd::Defer { until: hour, reason: WaitReason::Other, note: "waits".into() });
    }
}

/// Publishes a version that a deposit of this part makes.
fn publish(world: &World<'_>, which: Option<Part>) -> ItemId {
    let object = world.object("bag");
    let id = deposit(world, which);
    world.drive(id, Stage::named("record"));
    let (claim, _) = world.claim(Stage::named("record"));
    let said = Description { part: which, ..Description::default() };
    let (held, of) = (claim.clone(), object.clone());
    let version = world.write(move |tx| versions::prepare(tx, &held, &new_version(&of, &said)));
    world.put(&claim, &version, &format!("submission/v{}/bagit.txt", version.number), b"bagit");
    world.commit(&claim, &version);
    let before = standing(world);
    world.publish(&claim, &["primary"]);
    if which.is_none() {
        assert_eq!(standing(world), before, "a whole says nothing of parts");
    }
    world.finish(&claim, &succeeded());
    id
}

fn standing(world: &World<'_>) -> Option<String> {
    let object = world.object("bag");
    world.read(|tx| parts::at(tx, object.id, object.generation, object.head)).as_ref().map(Parts::to_string)
}

pub(crate) fn parts_of_one_set_do_not_wait_for_each_other(subject: &dyn Subject) {
    let world = World::new(subject);
    let deposits =
        [None, Some(part(1, 3)), Some(part(2, 3)), Some(part(1, 3)), Some(part(1, 2)), None, Some(part(3, 3))];
    let items = deposits.map(|which| deposit(&world, which));
    let waits_for = |id: ItemId| {
        let item = world.find(id);
        let older = world.read(|tx| items::older_open(tx, &item));
        older.map(|older| items.iter().position(|id| *id == older).expect("one of them"))
    };
    let found: Vec<Option<usize>> = items.iter().map(|id| waits_for(*id)).collect();
    // The whole waits for all; a part for the whole, for the same part, and for parts of another set.
    assert_eq!(found, [None, Some(0), Some(0), Some(1), Some(3), Some(4), Some(5)]);
    let last = world.find(items[6]);
    assert_eq!(world.read(|tx| items::open_up_to(tx, &last)), items);
    let other = world.find(world.item_named("another object"));
    assert_eq!(world.read(|tx| items::open_up_to(tx, &other)), [other.id]);
}

pub(crate) fn a_deposit_that_ends_wakes_the_next_that_waits_for_its_turn(subject: &dyn Subject) {
    let world = World::new(subject);
    let first = deposit(&world, Some(part(1, 3)));
    world.drive(first, Stage::named("fetch"));
    let beside = deposit(&world, Some(part(2, 3)));
    world.drive(beside, Stage::named("fetch"));
    let again = deposit(&world, Some(part(1, 3)));
    let hour = world.later(Duration::from_hours(1));
    let (claim, _) = world.claim(Stage::named("receive"));
    world.finish(&claim, &StageEnd::Defer { until: hour, reason: WaitReason::Other, note: "waits".into() });
    assert!(world.lease(1, Stage::named("receive"), 9).assignments.is_empty());
    let held = world.lease(1, Stage::named("fetch"), 2).assignments;
    let claim = held.iter().find_map(|one| one.claimed.as_ref().filter(|(claim, _)| claim.item == first));
    world.finish(&claim.expect("is leased").0, &succeeded());
    // The part beside is at work and need not be woken; the one behind it waits for what has ended.
    assert_eq!(world.claim(Stage::named("receive")).0.item, again);

    // What went on wakes those that waited with it.
    let third = deposit(&world, Some(part(3, 3)));
    let claim = claim_of(&world, third);
    world.finish(&claim, &StageEnd::Defer { until: hour, reason: WaitReason::Other, note: "waits".into() });
    let item = world.find(beside);
    let topics = world.write(move |tx| work::wake_younger(tx, &item));
    assert_eq!(topics, ["ingest.receive"]);
}

pub(crate) fn what_is_missing_follows_from_the_set_that_was_named_last(subject: &dyn Subject) {
    let world = World::new(subject);
    assert_eq!(standing(&world), None);
    publish(&world, None);
    assert_eq!(standing(&world), None, "a whole is no part");
    for (which, told) in [
        (part(2, 3), "incomplete: parts 1, 3 missing"),
        (part(2, 3), "incomplete: parts 1, 3 missing"),
        (part(3, 3), "incomplete: part 1 missing"),
        (part(1, 2), "incomplete: part 2 missing"),
        (part(1, 3), "complete"),
        (part(2, 2), "complete"),
    ] {
        let id = publish(&world, Some(which));
        assert_eq!(standing(&world).as_deref(), Some(told), "{which}");
        let item = world.find(id);
        assert_eq!(world.read(|tx| parts::of_item(tx, id)), Some(which));
        let (said, all) = world.read(|tx| parts::of_deposit(tx, &item)).expect("is a part");
        assert_eq!((said, all), (which, None), "the worker has not said which object it is of");
    }
    publish(&world, None);
    assert_eq!(standing(&world).as_deref(), Some("complete"), "a whole says nothing of parts");
    // Each version stays as it was told.
    let object = world.read(|tx| objects::find(tx, strongroom_registry::Scope::System, "example.edu/bag"));
    let at = |version| world.read(|tx| parts::at(tx, object.id, object.generation, version));
    let told: Vec<String> =
        (1..=8).map(|version| at(version).map_or_else(String::new, |all| all.to_string())).collect();
    assert_eq!(
        told,
        [
            "",
            "incomplete: parts 1, 3 missing",
            "incomplete: parts 1, 3 missing",
            "incomplete: part 1 missing",
            "incomplete: part 2 missing",
            "complete",
            "complete",
            "complete"
        ]
    );
    let other = strongroom_registry::GenerationId::new();
    assert_eq!(world.read(|tx| parts::at(tx, object.id, other, 8)), None, "another generation begins anew");
}
