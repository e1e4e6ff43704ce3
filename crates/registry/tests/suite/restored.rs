//! What restorations put where people fetch it, and when it goes: one at a time at each place, the latest counts.

use std::time::Duration;

use strongroom_registry::items::NewItem;
use strongroom_registry::restored::{self, Left, Place, Restored, Turn};
use strongroom_registry::work::{Claim, StageEnd};
use strongroom_registry::{Action, ItemId, RestoredState, Stage};

use super::world::*;

const DAY: Duration = Duration::from_hours(24);

fn place() -> Place {
    Place { store: "restoration".into(), key: "example.edu/bag.tar".into() }
}

/// A restoration that a worker has.
fn claimed(world: &World<'_>) -> Claim {
    world.make(&NewItem { action: Action::RestoreObject, ..world.new_item("bag") });
    world.claim(Stage::Restore).0
}

fn begin(world: &World<'_>, claim: &Claim) -> Turn {
    let (claim, ours) = (claim.clone(), world.ours);
    world.write(move |tx| restored::begin(tx, &claim, ours, &place()))
}

/// Puts something that stays for a day, and ends the restoration.
fn put(world: &World<'_>, claim: &Claim, etag: &'static str) {
    assert_eq!(begin(world, claim), Turn::Ours);
    let (whose, until) = (claim.clone(), world.later(DAY));
    world.write(move |tx| restored::keep(tx, &whose, &place(), etag, 7, Some(until)));
    world.finish(claim, &succeeded());
}

fn one(world: &World<'_>, item: ItemId) -> Restored {
    let mut all = world.read(|tx| restored::of_item(tx, item));
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn expired(world: &World<'_>) -> Vec<ItemId> {
    world.read(|tx| restored::expired(tx, None, 10)).into_iter().map(|one| one.item).collect()
}

pub(crate) fn a_result_is_removed_when_its_time_has_run_out_and_its_history_says_so(subject: &dyn Subject) {
    let world = World::new(subject);
    let claim = claimed(&world);
    put(&world, &claim, "one");
    let known = one(&world, claim.item);
    assert_eq!((known.state, known.etag.as_deref(), known.size), (RestoredState::Kept, Some("one"), Some(7)));
    assert!(expired(&world).is_empty());
    let early = known.clone();
    assert!(!world.write(move |tx| restored::begin_removal(tx, &early)), "its time has not run out");
    subject.advance(DAY + Duration::from_secs(1));
    assert_eq!(expired(&world), [claim.item]);
    for was_there in [true, true] {
        let row = known.clone();
        world.write(move |tx| {
            restored::begin_removal(tx, &row)?;
            restored::end_removal(tx, &row, was_there)
        });
    }
    assert_eq!(one(&world, claim.item).state, RestoredState::Removed);
    assert!(expired(&world).is_empty());
    let told = world.history(claim.item).into_iter().filter_map(|line| line.note);
    assert_eq!(told.filter(|note| note.contains("removed from store restoration")).count(), 1, "told once");
}

pub(crate) fn what_was_put_later_in_the_same_place_has_a_time_of_its_own(subject: &dyn Subject) {
    let world = World::new(subject);
    let first = claimed(&world);
    put(&world, &first, "same");
    subject.advance(DAY / 2);
    let second = claimed(&world);
    put(&world, &second, "same");
    assert_eq!(one(&world, first.item).state, RestoredState::Replaced);
    subject.advance(DAY / 2 + Duration::from_secs(1));
    assert!(expired(&world).is_empty(), "the older has nothing there any more");
    subject.advance(DAY / 2);
    assert_eq!(expired(&world), [second.item]);
}

pub(crate) fn one_restoration_at_a_time_puts_something_in_a_place(subject: &dyn Subject) {
    let world = World::new(subject);
    let first = claimed(&world);
    assert_eq!(begin(&world, &first), Turn::Ours);
    assert_eq!(begin(&world, &first), Turn::Ours, "again by the same does no harm");
    let second = claimed(&world);
    assert!(matches!(begin(&world, &second), Turn::Busy(_)));
    // One that nobody works on keeps nobody from it.
    world.finish(&first, &StageEnd::Released { note: "stops".into() });
    assert_eq!(begin(&world, &second), Turn::Ours);
    let again = world.claim(Stage::Restore).0;
    assert_eq!(again.item, first.item);
    assert!(matches!(begin(&world, &again), Turn::Busy(_)));
}

pub(crate) fn nothing_is_put_where_something_is_being_removed_and_nothing_removed_where_something_is_put(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let first = claimed(&world);
    put(&world, &first, "one");
    subject.advance(DAY + Duration::from_secs(1));
    let row = one(&world, first.item);
    let expired = row.clone();
    assert!(world.write(move |tx| restored::begin_removal(tx, &expired)));
    let second = claimed(&world);
    let Turn::Busy(until) = begin(&world, &second) else { panic!("it is being removed") };
    // Whoever removed it died.
    subject.advance(Duration::from_micros((until.0 - world.now().0).unsigned_abs()));
    assert_eq!(begin(&world, &second), Turn::Ours);
    assert!(!world.write(move |tx| restored::begin_removal(tx, &row)), "it is being replaced");
}

pub(crate) fn what_a_restoration_had_put_when_it_ended_early_has_its_time_too(subject: &dyn Subject) {
    let world = World::new(subject);
    let first = claimed(&world);
    put(&world, &first, "one");
    let left = ["nothing", "one", "two"].map(|etag| {
        let claim = claimed(&world);
        assert_eq!(begin(&world, &claim), Turn::Ours);
        assert!(world.read(|tx| restored::abandoned(tx, None, 10)).is_empty(), "it is still at it");
        world.finish(&claim, &fatal());
        let mut found = world.read(|tx| restored::abandoned(tx, None, 10));
        let (row, until) = (found.remove(0), world.later(DAY));
        assert!(found.is_empty());
        world.write(move |tx| {
            let left = if etag == "nothing" { Left::Nothing } else { Left::Bytes(etag, 3) };
            restored::settle_abandoned(tx, &row, left, Some(until))
        });
        one(&world, claim.item)
    });
    let states = left.each_ref().map(|one| one.state);
    assert_eq!(states, [RestoredState::Removed, RestoredState::Replaced, RestoredState::Kept]);
    assert!(left[2].expires_at.is_some());
    assert_eq!(one(&world, first.item).state, RestoredState::Replaced, "other bytes lie in its place");
}
