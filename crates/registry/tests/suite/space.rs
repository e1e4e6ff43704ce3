//! Staging space, object leases, and the interim rows' totals.

use std::time::Duration;

use strongroom_registry::interim::Needed;
use strongroom_registry::items::{NewItem, Request};
use strongroom_registry::leases::{self, Hold, Holding};
use strongroom_registry::versions;
use strongroom_registry::work::{self, StageEnd};
use strongroom_registry::{Action, ItemStatus, Stage, Time, WaitKey, WaitReason, interim};
use uuid::Uuid;

use super::world::*;

pub(crate) fn the_ledger_never_exceeds_the_capacity(subject: &dyn Subject) {
    let world = World::new(subject);
    let claims: Vec<_> = (0..12)
        .map(|number| {
            world.item_named(&format!("bag-{number}"));
            world.claim(Stage::named("receive")).0
        })
        .collect();
    let granted = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for claim in &claims {
            let (registry, granted) = (world.registry.clone(), &granted);
            scope.spawn(move || {
                let claim = claim.clone();
                let has_room = registry.write(move |tx| interim::reserve(tx, &claim, 30, 100)).expect("answers");
                granted.fetch_add(u64::from(has_room), std::sync::atomic::Ordering::SeqCst);
            });
        }
    });
    assert_eq!(granted.into_inner(), 3, "as many as there is room for");
    let ask = |index: usize, bytes, capacity| {
        let claim = claims[index].clone();
        world.write(move |tx| interim::reserve(tx, &claim, bytes, capacity))
    };
    let held: Vec<usize> = (0..12).filter(|index| ask(*index, 30, 90)).collect();
    assert_eq!(held.len(), 3, "asking again changes nothing");
    assert!(!ask(held[0], 41, 100), "growth beyond the capacity is refused");
    assert!(ask(held[0], 40, 100));
    assert!(!ask((0..12).find(|index| !held.contains(index)).expect("one"), 1, 100));
    assert!(ask(held[0], 0, 100));
}

pub(crate) fn space_comes_back_and_those_who_wait_are_woken(subject: &dyn Subject) {
    let world = World::new(subject);
    let (has, _) = world.claimed_at(Stage::named("provision"));
    let reserved = has.clone();
    assert!(world.write(move |tx| interim::reserve(tx, &reserved, 100, 100)));
    world.finish(&has, &next(Stage::named("fetch")));
    let (waits, item) = world.claimed_at(Stage::named("provision"));
    let asked = waits.clone();
    assert!(!world.write(move |tx| interim::reserve(tx, &asked, 1, 100)));
    let until = world.later(Duration::from_hours(1));
    world.finish(&waits, &StageEnd::Defer { until, reason: WaitReason::Other, note: "no room".into() });
    let ended = has.item;
    let topics = world.write(move |tx| {
        let place = interim::discard_staging(tx, ended)?;
        assert!(place.is_some_and(|place| place.is_discarded && place.id.is_some()));
        assert!(interim::drop_staged_rows(tx, ended, place)?);
        assert_eq!(interim::staging_place(tx, ended)?, None);
        work::wake_all(tx, &WaitKey::staging(), None)
    });
    assert_eq!(topics, ["ingest.provision"]);
    let (claim, _) = world.claim(Stage::named("provision"));
    assert_eq!(claim.item, item.id);
    let asked = claim.clone();
    assert!(world.write(move |tx| interim::reserve(tx, &asked, 100, 100)));
    world.write(move |tx| interim::give_back(tx, &claim, Needed { free: 100, refused: 100 }, None));
}

/// A worker that is killed may leave files in staging that have no row.
pub(crate) fn an_item_that_failed_keeps_the_space_of_what_was_not_recorded(subject: &dyn Subject) {
    let world = World::new(subject);
    for may_lie_there in [false, true] {
        let (claim, item) = world.claimed_at(Stage::named("fetch"));
        let held = claim.clone();
        world.write(move |tx| {
            assert!(interim::reserve(tx, &held, 100, 100)?);
            interim::set_unrecorded(tx, &held, true)?;
            interim::set_unrecorded(tx, &held, may_lie_there)
        });
        world.finish(&claim, &StageEnd::Fatal { note: "it ends".into(), problems: Vec::new() });
        let id = item.id;
        assert_eq!(world.read(move |tx| interim::reserved(tx, id)), if may_lie_there { 100 } else { 0 });
    }
}

fn hold(world: &World<'_>, object: strongroom_registry::ObjectId, owner: Uuid, until: Time) -> Hold {
    world.write(move |tx| leases::hold(tx, object, owner, until))
}

const A: Uuid = Uuid::from_u128(1);
const B: Uuid = Uuid::from_u128(2);

pub(crate) fn i08_one_owner_holds_an_object(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag").id;
    let until = world.later(LEASE);
    assert_eq!(hold(&world, object, A, until), Hold::Held { fence: 1, kept: false });
    assert_eq!(hold(&world, object, A, until), Hold::Held { fence: 1, kept: true });
    assert_eq!(hold(&world, object, B, until), Hold::Busy { until });
    assert!(matches!(hold(&world, world.object("another").id, B, until), Hold::Held { fence: 1, .. }));
    assert_eq!(world.read(leases::live), 2);
    world.write(|tx| leases::release_owner(tx, A));
    assert_eq!(hold(&world, object, B, until), Hold::Held { fence: 2, kept: false });
    assert_eq!(hold(&world, object, A, until), Hold::Busy { until });
}

pub(crate) fn a_lease_that_ran_out_is_taken_over_with_a_higher_fence(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag").id;
    let until = world.later(LEASE);
    hold(&world, object, A, until);
    subject.advance(LEASE * 2);
    assert_eq!(world.read(leases::live), 0);
    let until = world.later(LEASE);
    assert_eq!(hold(&world, object, A, until), Hold::Held { fence: 1, kept: true }, "nobody came in between");
    subject.advance(LEASE * 2);
    let until = world.later(LEASE);
    assert_eq!(hold(&world, object, B, until), Hold::Held { fence: 2, kept: false });
    subject.advance(LEASE * 2);
    let until = world.later(LEASE);
    assert_eq!(hold(&world, object, A, until), Hold::Held { fence: 3, kept: false }, "somebody may have changed it");
}

pub(crate) fn a_committing_object_is_kept_for_its_item(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = world.committing();
    let owner = claim.item.0;
    let until = world.later(LEASE);
    assert!(matches!(hold(&world, version.object, B, until), Hold::Busy { .. }), "though nobody holds it yet");
    assert!(matches!(hold(&world, version.object, owner, until), Hold::Held { .. }));
    world.crash();
    subject.advance(LEASE * 10);
    let until = world.later(LEASE);
    assert!(matches!(hold(&world, version.object, B, until), Hold::Busy { .. }), "nor when the lease ran out");
    assert!(matches!(hold(&world, version.object, owner, until), Hold::Held { .. }));
    let (claim, _) = world.claim(Stage::named("record"));
    world.publish(&claim, &[]);
    world.write(move |tx| leases::release_owner(tx, owner));
    assert!(matches!(hold(&world, version.object, B, until), Hold::Held { .. }));
}

pub(crate) fn a_lease_is_its_owners_alone_and_ends_at_its_moment(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag").id;
    hold(&world, object, A, world.later(LEASE));
    let holding = |owner| world.read(move |tx| leases::holding(tx, object, owner));
    assert_eq!((holding(A), holding(B)), (Holding::Held, Holding::NotHeld));
    subject.advance(LEASE);
    assert_eq!((holding(A), holding(B)), (Holding::NotHeld, Holding::NotHeld));
    assert_eq!(hold(&world, object, B, world.later(LEASE)), Hold::Held { fence: 2, kept: false });
}

pub(crate) fn who_waits_for_an_object_is_woken_when_it_is_let_go(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag").id;
    let hour = world.later(Duration::from_hours(1));
    let waits = |knows: Option<strongroom_registry::ObjectId>| {
        let (claim, item) = world.claimed_at(Stage::named("write"));
        let held = claim.clone();
        world.write(move |tx| knows.map_or(Ok(()), |object| work::set_object(tx, &held, object)));
        world.finish(&claim, &StageEnd::Defer { until: hour, reason: WaitReason::Other, note: "it is held".into() });
        item.id
    };
    let waiting = waits(Some(object));
    // Of another object, of none yet, one that a person holds, one that has ended, and one that is no deposit.
    waits(Some(world.object("another").id));
    waits(None);
    let held = waits(Some(object));
    world.ask(held, Request::Hold).expect("is held");
    let ended = waits(Some(object));
    world.ask(ended, Request::Cancel).expect("is cancelled");
    world.make(&NewItem { action: Action::named("restore_object"), object: Some(object), ..world.new_item("bag") });
    let (claim, _) = world.claimed_at(Stage::named("write"));
    hold(&world, object, claim.item.0, hour);
    let held = claim.clone();
    world.write(move |tx| work::set_object(tx, &held, object));
    assert!(world.lease(1, Stage::named("write"), 9).assignments.is_empty());
    let topics = world.finish(&claim, &StageEnd::Held { note: "lets it go".into() });
    assert_eq!(topics, ["ingest.write"]);
    let leased = world.lease(1, Stage::named("write"), 9).assignments;
    let leased: Vec<_> = leased.into_iter().filter_map(|one| one.claimed).map(|(claim, _)| claim.item).collect();
    assert_eq!(leased, [waiting]);
}

pub(crate) fn a_released_lease_is_not_extended(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag").id;
    let (claim, item) = world.claimed_at(Stage::named("record"));
    hold(&world, object, item.id.0, world.later(LEASE));
    world.write(move |tx| leases::release_owner(tx, item.id.0));
    world.write(move |tx| work::heartbeat(tx, &[(claim.lease, Some(claim.clone()))], LEASE));
    assert_eq!(world.find(item.id).status, ItemStatus::Started);
    assert_eq!(world.read(leases::live), 0);
    assert!(matches!(hold(&world, object, B, world.later(LEASE)), Hold::Held { fence: 2, .. }));
}

pub(crate) fn totals_count_the_payload(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    let files: Vec<_> = [("bagit.txt", 1), ("data/a", 2), ("data/b/c", 3), ("DATA/d", 4), ("database", 5)]
        .into_iter()
        .map(|(path, size)| interim_file(path, &vec![b'x'; size]))
        .collect();
    for _ in 0..2 {
        let (claim, files) = (claim.clone(), files.clone());
        world.write(move |tx| interim::put_files(tx, &claim, &files));
    }
    let totals = world.read(|tx| interim::totals(tx, item.id));
    assert_eq!((totals.files, totals.bytes, totals.payload_files), (5, 15, 2), "put twice, kept once");
    let (mut paths, mut after) = (Vec::new(), String::new());
    loop {
        let page = world.read(|tx| interim::files_after(tx, item.id, &after, 2));
        let Some(last) = page.last() else { break };
        after.clone_from(&last.path);
        paths.extend(page.into_iter().map(|file| file.path));
    }
    assert_eq!(paths, ["DATA/d", "bagit.txt", "data/a", "data/b/c", "database"], "in byte order");
    assert!(world.read(|tx| versions::of_item(tx, item.id)).is_none());
}
