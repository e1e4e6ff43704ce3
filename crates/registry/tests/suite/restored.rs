//! What restorations put where people fetch it, and when it goes: each at a place of its own.

use std::time::Duration;

use strongroom_registry::items::NewItem;
use strongroom_registry::restored::{self, Announced, Left, Place, Restored, Turn};
use strongroom_registry::work::{Claim, StageEnd};
use strongroom_registry::{Action, ItemId, RegistryError, RestoredState, Stage};

use super::world::*;

const DAY: Duration = Duration::from_hours(24);
const OURS: Turn = Turn::Ours { announced: None };

fn place() -> Place {
    Place { store: "restoration".into(), key: "example.edu/bag.tar".into() }
}

/// A restoration that a worker has.
fn claimed(world: &World<'_>) -> Claim {
    world.make(&NewItem { action: Action::named("restore_object"), ..world.new_item("bag") });
    world.claim(Stage::named("restore")).0
}

fn begin(world: &World<'_>, claim: &Claim) -> Turn {
    begin_at(world, claim, &place().key)
}

fn begin_at(world: &World<'_>, claim: &Claim, key: &str) -> Turn {
    let (claim, ours, place) = (claim.clone(), world.ours, Place { key: key.into(), ..place() });
    world.write(move |tx| restored::begin(tx, &claim, ours, &place))
}

fn announced() -> Announced {
    Announced { size: 7, sha256: "00".repeat(32) }
}

/// Puts something that stays for a day, and ends the restoration.
fn put(world: &World<'_>, claim: &Claim, etag: &'static str) {
    assert_eq!(begin(world, claim), OURS);
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

pub(crate) fn a_place_that_a_restoration_has_used_is_never_used_by_another(subject: &dyn Subject) {
    let world = World::new(subject);
    let first = claimed(&world);
    assert_eq!(begin(&world, &first), OURS);
    assert_eq!(begin(&world, &first), OURS, "again by the same does no harm");
    let second = claimed(&world);
    assert_eq!(begin(&world, &second), Turn::Taken, "something is being put there");
    put(&world, &first, "one");
    assert_eq!(begin(&world, &second), Turn::Taken, "something lies there");
    let row = one(&world, first.item);
    subject.advance(DAY + Duration::from_secs(1));
    let known = row.clone();
    assert!(world.write(move |tx| restored::begin_removal(tx, &known)));
    assert_eq!(begin(&world, &second), Turn::Taken, "something is being removed there");
    world.write(move |tx| restored::end_removal(tx, &row, true));
    assert_eq!(begin(&world, &second), Turn::Taken, "a removal that comes late would meet what is put there");
}

pub(crate) fn a_later_attempt_knows_what_an_earlier_one_was_about_to_put(subject: &dyn Subject) {
    let world = World::new(subject);
    let first = claimed(&world);
    assert_eq!(begin(&world, &first), OURS);
    let said = announced();
    let (claim, noted) = (first.clone(), said.clone());
    world.write(move |tx| restored::announce(tx, &claim, &place(), &noted));
    world.finish(&first, &StageEnd::Released { note: "stops".into() });
    let again = world.claim(Stage::named("restore")).0;
    assert_eq!(begin(&world, &again), Turn::Ours { announced: Some(said.clone()) });
    let late = world.refused(move |tx| restored::announce(tx, &first, &place(), &said));
    assert!(matches!(late, RegistryError::FenceLost { .. }), "the earlier attempt says nothing any more: {late:?}");
    let claim = again.clone();
    world.write(move |tx| restored::give_up(tx, &claim, &place()));
    assert!(world.read(|tx| restored::of_item(tx, again.item)).is_empty(), "nothing of its own lies there");
}

pub(crate) fn what_a_restoration_had_put_when_it_ended_early_has_its_time_and_nothing_else_has(subject: &dyn Subject) {
    let world = World::new(subject);
    let left = [Left::Nothing, Left::Other, Left::Ours("two", 3)].map(|left| {
        let claim = claimed(&world);
        assert_eq!(begin_at(&world, &claim, &format!("{left:?}")), OURS);
        assert!(world.read(|tx| restored::abandoned(tx, None, 10)).is_empty(), "it is still at it");
        world.finish(&claim, &fatal());
        let mut found = world.read(|tx| restored::abandoned(tx, None, 10));
        let (row, until) = (found.remove(0), world.later(DAY));
        assert!(found.is_empty());
        world.write(move |tx| restored::settle_abandoned(tx, &row, left, Some(until)));
        one(&world, claim.item)
    });
    let states = left.each_ref().map(|one| (one.state, one.expires_at.is_some()));
    assert_eq!(states, [(RestoredState::Removed, false), (RestoredState::Changed, false), (RestoredState::Kept, true)]);
    let unused = claimed(&world);
    assert_eq!(begin_at(&world, &unused, &format!("{:?}", Left::Nothing)), OURS, "nothing was ever put there");
}
