//! Who waits for space in staging, and who may pass.

use std::time::Duration;

use strongroom_registry::interim::{self, Demand, Needed, Provision, SpaceHolder};
use strongroom_registry::items::{NewItem, Request};
use strongroom_registry::work::{self, Claim, StageEnd};
use strongroom_registry::{InstitutionId, ItemId, ItemStatus, Stage, WaitKey, WaitReason, tenants};

use super::world::*;

const HOUR: Duration = Duration::from_hours(1);
const CAPACITY: u64 = 100;

fn known(bytes: u64) -> Demand {
    Demand { bytes, free: 0, free_when_first: 0, ahead: None, capacity: CAPACITY, first_after: HOUR }
}

/// A deposit of unknown size, which begins while so many bytes are free; once it is first, while a tenth of that is.
fn unknown(free: u64) -> Demand {
    Demand { free, free_when_first: free / 10, ahead: Some(free / 10), ..known(0) }
}

const RESERVED: Provision = Provision::Reserved { was_first: false };
const NO_ROOM: Provision = no_room(None);

const fn no_room(behind: Option<ItemId>) -> Provision {
    Provision::NoRoom { needed: 0, free: 0, refused: 0, behind, most: None, is_quota: false }
}

fn behind(first: ItemId) -> Provision {
    no_room(Some(first))
}

/// A new item of an institution that has come to `provision`.
fn new_of(world: &World<'_>, institution: InstitutionId, name: &str) -> ItemId {
    let collection = (institution == world.ours).then_some(world.collection);
    let id = world.make(&NewItem { institution, collection, ..world.new_item(name) });
    world.drive(id, Stage::named("provision"));
    id
}

fn new(world: &World<'_>, name: &str) -> ItemId {
    new_of(world, world.ours, name)
}

/// Has an item ask for space: the stage goes on, or the item waits; the others wait as before. Of one that waits it is returned behind
/// which other.
fn ask(world: &World<'_>, item: ItemId, demand: Demand) -> Provision {
    match ask_in_full(world, item, demand) {
        Provision::NoRoom { behind, .. } => no_room(behind),
        provided => provided,
    }
}

fn ask_in_full(world: &World<'_>, item: ItemId, demand: Demand) -> Provision {
    let claim = claim_of(world, item);
    let asking = claim.clone();
    let provided = world.write(move |tx| interim::provision(tx, &asking, &demand));
    let end = match provided {
        Provision::Reserved { .. } => next(Stage::named("fetch")),
        _ => StageEnd::Defer { until: world.now(), reason: WaitReason::StagingSpace, note: "no room".into() },
    };
    world.finish(&claim, &end);
    provided
}

/// The space of an item becomes free.
fn give_back(world: &World<'_>, item: ItemId) {
    world.write(move |tx| {
        let place = interim::discard_staging(tx, item)?;
        interim::drop_staged_rows(tx, item, place)
    });
}

fn set_quota(world: &World<'_>, institution: InstitutionId, quota: u64) {
    world.write(move |tx| tenants::set_institution(tx, institution, "An institution", (true, Some(quota), None)));
}

/// An item that has 60 of 100 bytes, and one that waits for 80.
fn one_has_and_one_waits(world: &World<'_>) -> (ItemId, ItemId) {
    let has = new(world, "has");
    assert_eq!(ask(world, has, known(60)), RESERVED);
    let large = new(world, "large");
    assert_eq!(ask(world, large, known(80)), NO_ROOM);
    (has, large)
}

pub(crate) fn small_items_pass_a_large_one_until_it_has_waited_for_long(subject: &dyn Subject) {
    let world = World::new(subject);
    let (has, large) = one_has_and_one_waits(&world);
    let early = new(&world, "early");
    assert_eq!(ask(&world, early, known(10)), RESERVED);
    subject.advance(Duration::from_secs(3_599));
    assert_eq!(ask(&world, large, known(80)), NO_ROOM);
    let next_to_last = new(&world, "next to last");
    assert_eq!(ask(&world, next_to_last, known(10)), RESERVED);
    subject.advance(Duration::from_secs(1));
    let late = new(&world, "late");
    assert_eq!(ask(&world, late, known(10)), behind(large));
    assert_eq!(ask(&world, late, unknown(5)), behind(large), "nor one of unknown size");
    for gone in [has, early, next_to_last] {
        give_back(&world, gone);
        assert_eq!(ask(&world, late, known(30)), behind(large), "what becomes free is kept for it");
    }
    assert_eq!(ask(&world, late, known(20)), RESERVED, "what it does not need is free to others");
    assert!(matches!(ask(&world, large, known(80)), Provision::Reserved { .. }));
    assert_eq!(ask(&world, new(&world, "after"), known(1)), NO_ROOM, "there is no room, and it is behind none");
}

pub(crate) fn items_that_have_waited_for_long_get_space_in_the_order_of_their_waits(subject: &dyn Subject) {
    let world = World::new(subject);
    let (has, large) = one_has_and_one_waits(&world);
    subject.advance(Duration::from_mins(1));
    let second = new(&world, "second");
    assert_eq!(ask(&world, second, known(50)), NO_ROOM);
    let third = new(&world, "third");
    assert_eq!(ask(&world, third, known(45)), NO_ROOM);
    subject.advance(HOUR * 2);
    give_back(&world, has);
    assert_eq!(ask(&world, third, known(45)), behind(large));
    assert_eq!(ask(&world, second, known(50)), behind(large));
    assert_eq!(ask(&world, large, known(80)), Provision::Reserved { was_first: true }, "the others are to be woken");
    give_back(&world, large);
    assert_eq!(ask(&world, third, known(55)), behind(second));
    assert_eq!(ask(&world, second, known(50)), Provision::Reserved { was_first: true });
    assert_eq!(ask(&world, third, known(45)), RESERVED);
}

pub(crate) fn an_item_that_has_space_gets_more_while_another_is_first(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, large) = one_has_and_one_waits(&world);
    subject.advance(HOUR);
    assert_eq!(ask(&world, new(&world, "late"), known(1)), behind(large));
    let (claim, _) = world.claim(Stage::named("fetch"));
    let grows = claim.clone();
    assert!(world.write(move |tx| interim::reserve(tx, &grows, 90, CAPACITY)));
    assert_eq!(
        world.write(move |tx| interim::provision(tx, &claim, &known(95))),
        RESERVED,
        "a repeat of its stage too"
    );
}

pub(crate) fn an_item_of_unknown_size_is_passed_until_it_has_waited_for_long(subject: &dyn Subject) {
    let world = World::new(subject);
    let has = new(&world, "has");
    assert_eq!(ask(&world, has, known(60)), RESERVED);
    let waits = new(&world, "waits");
    assert_eq!(ask(&world, waits, unknown(50)), NO_ROOM);
    assert_eq!(ask(&world, new(&world, "early"), known(5)), RESERVED);
    subject.advance(HOUR);
    let late = new(&world, "late");
    assert_eq!(ask(&world, late, known(31)), behind(waits), "too little would be left: 4 of 35 bytes");
    assert_eq!(
        ask(&world, new(&world, "small"), known(30)),
        RESERVED,
        "the one that is first needs no more than 5 bytes"
    );
    assert_eq!(ask(&world, new(&world, "smaller"), known(1)), behind(waits));
    assert_eq!(ask(&world, waits, unknown(50)), Provision::Reserved { was_first: true });
    give_back(&world, has);
    assert_eq!(ask(&world, late, known(50)), Provision::Reserved { was_first: true });
}

pub(crate) fn an_item_that_can_never_begin_keeps_none_waiting(subject: &dyn Subject) {
    let world = World::new(subject);
    let quota = 70;
    set_quota(&world, world.theirs, quota);
    let (too_large, beyond) = (new(&world, "too large"), new_of(&world, world.theirs, "beyond its quota"));
    assert_eq!(ask(&world, too_large, known(CAPACITY + 1)), NO_ROOM);
    assert_eq!(ask(&world, beyond, known(quota + 1)), NO_ROOM);
    subject.advance(HOUR);
    assert_eq!(ask(&world, new(&world, "ours"), known(10)), RESERVED);
    assert_eq!(ask(&world, new_of(&world, world.theirs, "theirs"), known(10)), RESERVED);
}

pub(crate) fn an_item_that_waits_for_the_quota_of_its_institution_keeps_no_other_institution_waiting(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    set_quota(&world, world.theirs, 50);
    let has = new_of(&world, world.theirs, "has");
    assert_eq!(ask(&world, has, known(30)), RESERVED);
    let waits = new_of(&world, world.theirs, "waits");
    assert_eq!(ask(&world, waits, known(40)), NO_ROOM);
    subject.advance(HOUR);
    assert_eq!(ask(&world, new(&world, "ours"), known(30)), RESERVED);
    let theirs = new_of(&world, world.theirs, "theirs");
    assert_eq!(ask(&world, theirs, known(10)), behind(waits), "the quota is kept for it");
    give_back(&world, has);
    assert_eq!(ask(&world, theirs, known(20)), behind(waits));
    assert_eq!(ask(&world, theirs, known(10)), RESERVED, "what it does not need of the quota");
    // It needs 40 of the 60 that are left.
    let ours = new(&world, "ours again");
    assert_eq!(ask(&world, ours, known(30)), behind(waits));
    assert!(matches!(ask(&world, waits, known(40)), Provision::Reserved { .. }));
}

pub(crate) fn an_item_that_a_person_stops_or_sends_back_keeps_none_waiting_and_wakes_those_behind_it(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let has = new(&world, "has");
    assert_eq!(ask(&world, has, known(60)), RESERVED);
    for request in [Request::Hold, Request::Cancel, Request::Delete, Request::Requeue(Some(Stage::named("receive")))] {
        let large = new(&world, &format!("large, {request:?}"));
        assert_eq!(ask(&world, large, known(80)), NO_ROOM, "{request:?}");
        subject.advance(HOUR);
        let late = new(&world, &format!("late, {request:?}"));
        assert_eq!(ask(&world, late, known(10)), behind(large), "{request:?}");
        let claim = claim_of(&world, late);
        let until = world.later(HOUR);
        let waits = StageEnd::Defer { until, reason: WaitReason::StagingSpace, note: "behind the first".into() };
        world.finish(&claim, &waits);
        world.ask(large, request).expect("is done");
        if matches!(request, Request::Requeue(_)) {
            subject.advance(HOUR);
        } else {
            assert!(world.tasks(late).iter().all(|task| task.ready_at <= world.now()), "{request:?} wakes it");
        }
        assert_eq!(ask(&world, late, known(10)), RESERVED, "{request:?}");
        give_back(&world, late);
    }
}

/// The claim of one of the items that wait; the others wait as before.
fn claim_of(world: &World<'_>, item: ItemId) -> Claim {
    claim_at(world, Stage::named("provision"), item)
}

fn claim_at(world: &World<'_>, stage: Stage, item: ItemId) -> Claim {
    let mut found = None;
    for assignment in world.lease(1, stage, 99).assignments {
        let (claim, _) = assignment.claimed.expect("an item");
        if claim.item == item {
            found = Some(claim);
        } else {
            world.finish(&claim, &StageEnd::Released { note: "not its turn".into() });
        }
    }
    found.expect("it is at the stage")
}

pub(crate) fn an_item_that_is_released_waits_anew(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, large) = one_has_and_one_waits(&world);
    subject.advance(HOUR);
    world.ask(large, Request::Hold).expect("is held");
    world.ask(large, Request::Release).expect("is released");
    assert_eq!(ask(&world, large, known(80)), NO_ROOM);
    assert_eq!(ask(&world, new(&world, "small"), known(10)), RESERVED);
    subject.advance(HOUR);
    assert_eq!(ask(&world, new(&world, "late"), known(10)), behind(large));
}

pub(crate) fn a_wait_that_began_by_a_clock_that_was_ahead_is_counted_from_its_next_attempt(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, large) = one_has_and_one_waits(&world);
    subject.set_back(HOUR * 24);
    assert_eq!(ask(&world, new(&world, "small"), known(5)), RESERVED);
    // Its task is due by the clock that was ahead.
    world.write(|tx| work::wake_all(tx, &WaitKey::staging(), None));
    assert_eq!(ask(&world, large, known(80)), NO_ROOM);
    subject.advance(HOUR);
    assert_eq!(ask(&world, new(&world, "late"), known(5)), behind(large));
}

pub(crate) fn what_stopped_items_have_keeps_none_waiting_behind_one_that_needs_it(subject: &dyn Subject) {
    let world = World::new(subject);
    let (has, large) = one_has_and_one_waits(&world);
    subject.advance(HOUR);
    let late = new(&world, "late");
    assert_eq!(ask(&world, late, known(10)), behind(large));
    let claim = claim_of(&world, late);
    let until = world.later(HOUR);
    let waits = StageEnd::Defer { until, reason: WaitReason::StagingSpace, note: "behind the first".into() };
    world.finish(&claim, &waits);
    world.ask(has, Request::Hold).expect("is held");
    assert!(world.tasks(late).iter().all(|task| task.ready_at <= world.now()), "it is woken");
    assert_eq!(ask(&world, late, known(10)), RESERVED, "a person may never release the one that has the space");
    world.ask(has, Request::Release).expect("is released");
    assert_eq!(ask(&world, new(&world, "later"), known(10)), behind(large), "what it has becomes free again");
}

pub(crate) fn an_item_that_waits_says_which_other_has_most(subject: &dyn Subject) {
    let world = World::new(subject);
    let (has, large) = one_has_and_one_waits(&world);
    assert_eq!(ask(&world, new(&world, "has less"), known(10)), RESERVED);
    world.ask(has, Request::Hold).expect("is held");
    let most = SpaceHolder {
        item: has,
        institution: world.ours,
        bytes: 60,
        status: ItemStatus::Held,
        stage: Stage::named("fetch"),
    };
    let waits = Provision::NoRoom { needed: 80, free: 30, refused: 0, behind: None, most: Some(most), is_quota: false };
    assert_eq!(ask_in_full(&world, large, known(80)), waits);
    set_quota(&world, world.theirs, 50);
    let theirs = new_of(&world, world.theirs, "theirs");
    assert_eq!(ask(&world, theirs, known(20)), RESERVED);
    let item = new_of(&world, world.theirs, "beyond their quota");
    let most = SpaceHolder {
        item: theirs,
        institution: world.theirs,
        bytes: 20,
        status: ItemStatus::Pending,
        stage: Stage::named("fetch"),
    };
    let waits = Provision::NoRoom { needed: 40, free: 30, refused: 0, behind: None, most: Some(most), is_quota: true };
    assert_eq!(ask_in_full(&world, item, known(40)), waits, "of the institution whose quota it is");
}

pub(crate) fn an_item_that_gave_its_space_back_begins_with_what_it_needs_at_least(subject: &dyn Subject) {
    let world = World::new(subject);
    let has = new(&world, "has");
    assert_eq!(ask(&world, has, known(30)), RESERVED);
    let grows = new(&world, "grows");
    assert_eq!(ask(&world, grows, known(10)), RESERVED);
    let claim = claim_at(&world, Stage::named("fetch"), grows);
    let growing = claim.clone();
    assert!(!world.write(move |tx| interim::reserve(tx, &growing, 71, CAPACITY)));
    let giving = claim.clone();
    world.write(move |tx| {
        let place = interim::discard_staging(tx, giving.item)?;
        interim::drop_staged_rows(tx, giving.item, place)?;
        interim::give_back(tx, &giving, Needed { free: 90, refused: 71 }, None)
    });
    world.finish(&claim, &next(Stage::named("provision")));
    let waits = Provision::NoRoom {
        needed: 90,
        free: 70,
        refused: 71,
        behind: None,
        most: Some(SpaceHolder {
            item: has,
            institution: world.ours,
            bytes: 30,
            status: ItemStatus::Pending,
            stage: Stage::named("fetch"),
        }),
        is_quota: false,
    };
    assert_eq!(ask_in_full(&world, grows, known(10)), waits);
    give_back(&world, has);
    assert!(matches!(ask(&world, grows, known(10)), Provision::Reserved { .. }));
    assert_eq!(world.read(|tx| interim::reserved(tx, grows)), 90);
    assert_eq!(ask(&world, new(&world, "other"), known(11)), NO_ROOM);
}

pub(crate) fn an_empty_place_passes_none_that_is_first(subject: &dyn Subject) {
    let world = World::new(subject);
    let (has, large) = one_has_and_one_waits(&world);
    let stated = new(&world, "stated");
    assert_eq!(ask(&world, stated, unknown(20)), RESERVED);
    assert_eq!(world.read(|tx| interim::reserved(tx, stated)), 0);
    subject.advance(HOUR);
    // Its bytes are read now.
    let claim = claim_at(&world, Stage::named("fetch"), stated);
    let reading = claim.clone();
    let asked = world.write(move |tx| interim::provision(tx, &reading, &known(5)));
    assert!(matches!(asked, Provision::NoRoom { behind: Some(first), .. } if first == large), "{asked:?}");
    let giving = claim.clone();
    world.write(move |tx| {
        let place = interim::discard_staging(tx, giving.item)?;
        interim::drop_staged_rows(tx, giving.item, place)?;
        interim::give_back(tx, &giving, Needed { free: 10, refused: 5 }, None)
    });
    world.finish(&claim, &next(Stage::named("provision")));
    give_back(&world, has);
    assert_eq!(ask(&world, stated, unknown(20)), RESERVED, "beside the one that is first there is room for ten bytes");
    assert!(matches!(ask(&world, large, known(80)), Provision::Reserved { .. }));
}

pub(crate) fn an_item_that_has_to_wait_again_has_waited_since_its_first_wait(subject: &dyn Subject) {
    let world = World::new(subject);
    let has = new(&world, "has");
    assert_eq!(ask(&world, has, known(60)), RESERVED);
    let stated = new(&world, "stated");
    assert_eq!(ask(&world, stated, unknown(50)), NO_ROOM);
    subject.advance(HOUR);
    let later = new(&world, "later");
    assert_eq!(ask(&world, later, known(90)), NO_ROOM);
    assert!(matches!(ask(&world, stated, unknown(50)), Provision::Reserved { .. }));
    let claim = claim_at(&world, Stage::named("fetch"), stated);
    let since = world.read(|tx| interim::waited_since(tx, stated));
    assert!(since.is_some());
    let giving = claim.clone();
    world.write(move |tx| {
        let place = interim::discard_staging(tx, giving.item)?;
        interim::drop_staged_rows(tx, giving.item, place)?;
        interim::give_back(tx, &giving, Needed { free: 70, refused: 35 }, since)
    });
    world.finish(&claim, &next(Stage::named("provision")));
    assert_eq!(ask(&world, stated, unknown(50)), NO_ROOM);
    subject.advance(HOUR);
    assert_eq!(ask(&world, later, known(90)), NO_ROOM);
    give_back(&world, has);
    assert_eq!(ask(&world, later, known(90)), behind(stated), "it came later");
}

/// An item that found no room for so many bytes while it was read has given back all that it had.
fn found_no_room(world: &World<'_>, item: ItemId, needed: Needed) {
    let claim = claim_at(world, Stage::named("fetch"), item);
    let giving = claim.clone();
    world.write(move |tx| {
        let place = interim::discard_staging(tx, giving.item)?;
        interim::drop_staged_rows(tx, giving.item, place)?;
        interim::give_back(tx, &giving, needed, None)
    });
    world.finish(&claim, &next(Stage::named("provision")));
}

pub(crate) fn of_what_an_item_needs_whose_bytes_others_state_it_reserves_what_had_come(subject: &dyn Subject) {
    let world = World::new(subject);
    let has = new(&world, "has");
    assert_eq!(ask(&world, has, known(30)), RESERVED);
    let grows = new(&world, "grows");
    assert_eq!(ask(&world, grows, unknown(20)), RESERVED);
    found_no_room(&world, grows, Needed { free: 80, refused: 40 });
    assert_eq!(ask(&world, grows, unknown(20)), NO_ROOM, "beside the other one it would find no room again");
    give_back(&world, has);
    assert!(matches!(ask(&world, grows, unknown(20)), Provision::Reserved { .. }));
    assert_eq!(world.read(|tx| interim::reserved(tx, grows)), 42, "what had come, and a part ahead");
    assert_eq!(
        ask(&world, new(&world, "other"), known(58)),
        RESERVED,
        "the rest is not reserved before its bytes come"
    );
}

pub(crate) fn an_item_needs_no_more_than_can_become_free_but_for_what_there_was_no_room_for(subject: &dyn Subject) {
    needs_no_more_than_can_become_free(subject, 100);
}

pub(crate) fn an_item_needs_no_more_of_a_quota_than_can_become_free(subject: &dyn Subject) {
    needs_no_more_than_can_become_free(subject, 80);
}

fn needs_no_more_than_can_become_free(subject: &dyn Subject, quota: u64) {
    let world = World::new(subject);
    let kept = new(&world, "kept");
    assert_eq!(ask(&world, kept, known(10)), RESERVED);
    let has = new(&world, "has");
    assert_eq!(ask(&world, has, known(30)), RESERVED);
    set_quota(&world, world.ours, quota);
    let grows = new(&world, "grows");
    assert_eq!(ask(&world, grows, known(5)), RESERVED);
    found_no_room(&world, grows, Needed { free: quota, refused: 60 });
    assert_eq!(ask(&world, grows, known(5)), NO_ROOM);
    // A person may never release it.
    world.ask(kept, Request::Hold).expect("is held");
    give_back(&world, has);
    assert!(matches!(ask(&world, grows, known(5)), Provision::Reserved { .. }));
    assert_eq!(world.read(|tx| interim::reserved(tx, grows)), quota - 10);
    // There was no room for nearly all: it cannot do with less.
    found_no_room(&world, grows, Needed { free: quota, refused: quota - 5 });
    assert_eq!(ask(&world, grows, known(5)), NO_ROOM);
    // Requeued, it is read again with what it asks for.
    world.ask(grows, Request::Requeue(None)).expect("is requeued");
    assert!(matches!(ask(&world, grows, known(5)), Provision::Reserved { .. }));
    assert_eq!(world.read(|tx| interim::reserved(tx, grows)), 5);
}

pub(crate) fn an_item_that_is_stopped_while_it_is_refused_its_first_bytes_waits_anew(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, stated) = (ask(&world, new(&world, "has"), known(95)), new(&world, "stated"));
    assert_eq!(ask(&world, stated, unknown(5)), RESERVED);
    let claim = claim_at(&world, Stage::named("fetch"), stated);
    let reading = claim.clone();
    let asked = world.write(move |tx| interim::provision(tx, &reading, &known(10)));
    assert!(matches!(asked, Provision::NoRoom { .. }), "{asked:?}");
    world.ask(stated, Request::Hold).expect("is to be held");
    let giving = claim.clone();
    world.write(move |tx| {
        let place = interim::discard_staging(tx, giving.item)?;
        interim::drop_staged_rows(tx, giving.item, place)
    });
    world.finish(&claim, &next(Stage::named("provision")));
    assert_eq!(world.find(stated).status, ItemStatus::Held);
    subject.advance(HOUR);
    world.ask(stated, Request::Release).expect("is released");
    assert_eq!(ask(&world, stated, known(10)), NO_ROOM);
    assert_eq!(ask(&world, new(&world, "small"), known(1)), RESERVED, "the released one is not first yet");
}

pub(crate) fn those_behind_an_item_that_is_requeued_are_woken(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, large) = one_has_and_one_waits(&world);
    subject.advance(HOUR);
    let late = new(&world, "late");
    assert_eq!(ask(&world, late, known(10)), behind(large));
    let claim = claim_of(&world, late);
    let until = world.later(HOUR);
    let waits = StageEnd::Defer { until, reason: WaitReason::StagingSpace, note: "behind the first".into() };
    world.finish(&claim, &waits);
    world.ask(large, Request::Requeue(None)).expect("is requeued");
    assert!(world.tasks(late).iter().all(|task| task.ready_at <= world.now()), "it is woken");
}
