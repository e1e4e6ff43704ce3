//! In which state of a version each of its changes may be made; each is made to one of two that are alike but for their ids.

use std::time::Duration;

use strongroom_registry::versions::{self, Version};
use strongroom_registry::work::Claim;
use strongroom_registry::{RegistryError, Stage, Time, VersionId, VersionState, discarding};

use super::versioning::{discard, refused_state};
use super::world::*;

fn kept(world: &World<'_>, id: VersionId) -> Version {
    world.read(|tx| versions::get(tx, id)).expect("it is there")
}

/// A version of an object of this name that is being prepared.
fn preparing(world: &World<'_>, name: &str) -> (Claim, Version) {
    let object = world.object(name);
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    (claim, version)
}

fn drop_rows(world: &World<'_>, version: &Version) {
    let version = version.clone();
    assert!(world.write(move |tx| discarding::drop_rows(tx, &version)));
}

/// While nobody says that a discarded version was swept, its bytes are looked for.
pub(crate) fn a_version_is_swept_once_and_not_before_its_rows_are_gone(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = preparing(&world, "bag");
    let (of_other, other) = preparing(&world, "another");
    let sweep = || -> Option<Time> {
        world.write(move |tx| discarding::set_swept(tx, version.id));
        kept(&world, version.id).swept_at
    };
    assert_eq!(sweep(), None, "it is being prepared");
    discard(&world, &claim, &version);
    discard(&world, &of_other, &other);
    assert_eq!(sweep(), None, "its rows are there");
    drop_rows(&world, &version);
    drop_rows(&world, &other);
    let first = sweep();
    assert!(first.is_some());
    assert_eq!(kept(&world, other.id).swept_at, None);
    subject.advance(Duration::from_hours(1));
    assert_eq!(sweep(), first, "the time in which it is swept again began with the first");
}

pub(crate) fn the_first_line_of_a_record_stays_as_it_was_first_written(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = preparing(&world, "bag");
    let (of_other, other) = preparing(&world, "another");
    let freeze = |claim: &Claim, version: &Version, line: &'static str| {
        let (claim, version) = (claim.clone(), version.clone());
        world.registry.write(move |tx| versions::freeze_record(tx, &claim, &version, line))
    };
    assert_eq!(freeze(&claim, &version, "a line").expect("is kept"), "a line");
    assert_eq!(kept(&world, other.id).record_head, None);
    assert_eq!(freeze(&claim, &version, "a later line").expect("one is kept"), "a line");
    assert_eq!(kept(&world, version.id).record_head.as_deref(), Some("a line"));
    world.commit(&claim, &version);
    assert_eq!(freeze(&claim, &version, "a later line").expect("one is kept"), "a line");
    world.publish(&claim, &[]);
    assert_eq!(kept(&world, version.id).record_head, None, "the record lies in the stores");
    world.commit(&of_other, &other);
    let refused = freeze(&of_other, &other, "too late").expect_err("what is committed has its record");
    assert!(matches!(refused, RegistryError::NotFound { .. }), "{refused}");
    assert_eq!(kept(&world, other.id).record_head, None);
}

pub(crate) fn a_published_version_is_not_committed_again(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = world.committing();
    world.publish(&claim, &[]);
    refused_state(&world, {
        let (claim, version) = (claim.clone(), version.clone());
        move |tx| versions::commit(tx, &claim, &version, digests(b"inventory").sha512)
    });
    assert_eq!(kept(&world, version.id).state, VersionState::Published);
}

pub(crate) fn of_two_committed_versions_one_is_published(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = preparing(&world, "bag");
    let (of_other, other) = preparing(&world, "another");
    world.commit(&claim, &version);
    world.commit(&of_other, &other);
    world.publish(&claim, &[]);
    assert_eq!(kept(&world, version.id).state, VersionState::Published);
    let other = kept(&world, other.id);
    assert_eq!((other.state, other.published_at), (VersionState::Committing, None));
}

pub(crate) fn an_item_that_ends_discards_what_it_was_preparing_and_nothing_else(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, other) = preparing(&world, "another");
    let (claim, version) = preparing(&world, "given up");
    discard(&world, &claim, &version);
    drop_rows(&world, &version);
    world.write(move |tx| discarding::set_swept(tx, version.id));
    world.finish(&claim, &fatal());
    assert_eq!(kept(&world, version.id).state, VersionState::Dropped);
    assert_eq!(kept(&world, other.id).state, VersionState::Preparing);

    let (claim, published) = world.committing();
    world.publish(&claim, &[]);
    world.finish(&claim, &next(Stage::named("notify")));
    let (claim, _) = world.claim(Stage::named("notify"));
    world.finish(&claim, &fatal());
    assert_eq!(kept(&world, published.id).state, VersionState::Published);
    assert_eq!(kept(&world, other.id).state, VersionState::Preparing);
}
