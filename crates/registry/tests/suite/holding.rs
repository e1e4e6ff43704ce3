//! Holds of items, batches and collections: independent of each other, and checked before every stage.

use strongroom_registry::holds::{self, On, SETTLED_STATUSES};
use strongroom_registry::items::{self, Asker, ItemProblem, NewItem, Request};
use strongroom_registry::work::{self, HeartbeatOutcome, StageEnd};
use strongroom_registry::{BatchId, BatchState, HoldKind, ItemId, ItemStatus, RegistryError, Scope, Stage, batches};

use super::advancing::{advance_into, room};
use super::world::*;

fn place(world: &World<'_>, on: On) {
    let ours = world.ours;
    assert!(world.write(move |tx| holds::place(tx, on, ours, Asker { who: "ann", reason: Some("rights") })));
}

fn lift(world: &World<'_>, on: On) {
    assert!(world.write(move |tx| holds::lift(tx, on)));
}

/// Settles everything, in pages of two items; how many changed.
fn settle(world: &World<'_>, batch: Option<BatchId>) -> u64 {
    let mut changed = 0;
    for status in SETTLED_STATUSES {
        let mut after = None;
        loop {
            let page = world.read(|tx| holds::unsettled(tx, batch, status, after, 2));
            let found = page.items;
            changed += world.write(move |tx| holds::settle(tx, &Table, &found, "ann")).0;
            let Some(last) = page.last else { break };
            after = Some(last);
        }
    }
    changed
}

/// An item of a batch, and all that can be held for it.
fn item_with_all(world: &World<'_>) -> (ItemId, [On; 3]) {
    let (batch, ids) = world.batch(1);
    (ids[0], [On::Item(ids[0]), On::Batch(batch), On::Collection(world.collection)])
}

pub(crate) fn holds_are_independent_and_a_release_names_what_still_holds(subject: &dyn Subject) {
    let world = World::new(subject);
    let (item, all) = item_with_all(&world);
    for on in all {
        place(&world, on);
        let ours = world.ours;
        assert!(!world.write(move |tx| holds::place(tx, on, ours, "bob".into())), "there is one each");
    }
    settle(&world, None);
    let held = world.find(item);
    assert_eq!((held.status, held.is_on_hold), (ItemStatus::Held, true));
    let of_item = world.read(|tx| holds::of_item(tx, &held));
    let told: Vec<_> = of_item.iter().map(|hold| (hold.on.kind(), hold.placed_by.as_str())).collect();
    assert_eq!(told.len(), 3);
    for kind in HoldKind::ALL {
        assert!(told.contains(&(*kind, "ann")), "{told:?}");
    }
    assert!(matches!(world.ask(item, Request::Hold), Err(RegistryError::State { .. })), "it has one of its own");
    world.ask(item, Request::Release).expect("its own hold is lifted");
    let left = world.find(item);
    assert_eq!(left.status, ItemStatus::Held);
    let note = left.note.expect("a note");
    assert!(note.contains("released by a person; still held with"), "{note}");
    let Err(RegistryError::StillHeld { holds: named, .. }) = world.ask(item, Request::Release) else {
        panic!("it has no hold of its own any more")
    };
    assert_eq!(named.iter().map(|hold| hold.on.kind()).collect::<Vec<_>>().len(), 2);
    let batch = world.find(item).batch.expect("a batch");
    let release = move |world: &World<'_>| world.ask_batch(batch, Request::Release);
    release(&world).expect("the hold on the batch is lifted");
    assert_eq!(world.find(item).status, ItemStatus::Held, "its collection is held");
    lift(&world, all[2]);
    assert_eq!(settle(&world, None), 1);
    assert_eq!((world.find(item).status, world.topics(item).len()), (ItemStatus::Pending, 1));
    let refused = world.ask(item, Request::Release).expect_err("nothing holds it");
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
}

pub(crate) fn i09_a_hold_of_any_kind_takes_effect_before_the_next_stage_also_where_that_is_inline(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let (item, all) = item_with_all(&world);
    for (on, stage, to) in
        [(all[0], "receive", "estimate"), (all[1], "estimate", "provision"), (all[2], "provision", "fetch")]
    {
        let (claim, _) = world.claim(Stage::named(stage));
        assert_eq!(claim.item, item);
        place(&world, on);
        assert_eq!(world.find(item).status, ItemStatus::Started);
        let beat = claim.clone();
        let told = world.write(move |tx| work::heartbeat(tx, &[(beat.lease, Some(beat.clone()))], LEASE));
        assert_eq!(told, [HeartbeatOutcome::StopRequested]);
        let (end, to_room) = (next(Stage::named(to)), room(Stage::named(to)));
        let goes_on = advance_into(&world, &claim, &end, &to_room).expect("answers");
        assert!(goes_on.is_none(), "the worker does not go on with {to}");
        world.finish(&claim, &end);
        assert_eq!(world.status(item), (Stage::named(to), ItemStatus::Held), "it stands where it will continue");
        assert!(world.topics(item).is_empty());
        lift(&world, on);
        assert_eq!(settle(&world, world.find(item).batch), 1);
        assert_eq!(world.status(item), (Stage::named(to), ItemStatus::Pending));
    }
}

pub(crate) fn a_hold_is_met_at_the_claim_and_where_the_worker_dies(subject: &dyn Subject) {
    let world = World::new(subject);
    let (item, all) = item_with_all(&world);
    for on in all {
        place(&world, on);
        let leasing = world.lease(1, Stage::named("receive"), 1);
        assert!(leasing.assignments.is_empty(), "no stage begins");
        assert_eq!(world.find(item).status, ItemStatus::Held);
        lift(&world, on);
        settle(&world, None);
        world.claim(Stage::named("receive"));
        place(&world, on);
        world.crash();
        assert_eq!(world.find(item).status, ItemStatus::Held);
        lift(&world, on);
        settle(&world, None);
        assert_eq!(world.find(item).status, ItemStatus::Pending);
    }
}

pub(crate) fn whatever_arrives_under_a_hold_is_held_and_continues_when_it_is_lifted(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(1);
    let state = || world.read(|tx| batches::get(tx, Scope::System, batch)).expect("is there").state;
    for on in [On::Batch(batch), On::Collection(world.collection)] {
        place(&world, on);
        let new = NewItem { batch: Some(batch), ..world.new_item("arrives") };
        let arrived = world.make(&new);
        assert_eq!((world.find(arrived).status, world.topics(arrived).len()), (ItemStatus::Held, 0));
        assert_eq!(world.history(arrived).last().expect("a line").status, ItemStatus::Held);
        settle(&world, Some(batch));
        assert_eq!(state(), BatchState::Held);
        let elsewhere = world.make(&NewItem { collection: None, ..world.new_item("elsewhere") });
        assert_eq!(world.find(elsewhere).status, ItemStatus::Pending);
        world.ask(elsewhere, Request::Delete).expect("is deleted");
        lift(&world, on);
        settle(&world, Some(batch));
        assert_eq!(state(), BatchState::Processing);
        for item in [arrived, ids[0]] {
            assert_eq!((world.find(item).status, world.topics(item).len()), (ItemStatus::Pending, 1));
        }
    }
}

pub(crate) fn a_requeued_item_obeys_the_holds_that_there_are(subject: &dyn Subject) {
    let world = World::new(subject);
    let (item, all) = item_with_all(&world);
    for (times, on) in (1..).zip(all) {
        let (claim, _) = world.claim(Stage::named("receive"));
        place(&world, on);
        world.finish(&claim, &fatal());
        assert_eq!(world.find(item).status, ItemStatus::Failed);
        world.ask(item, Request::Requeue(None)).expect("is requeued");
        assert_eq!((world.find(item).status, world.find(item).requeues), (ItemStatus::Held, times));
        assert!(world.topics(item).is_empty());
        lift(&world, on);
        settle(&world, None);
        assert_eq!(world.find(item).status, ItemStatus::Pending);
    }
    // Its own hold ends with it, where it did not fail.
    place(&world, all[0]);
    world.ask(item, Request::Cancel).expect("is cancelled");
    world.ask(item, Request::Requeue(None)).expect("is requeued");
    assert_eq!((world.find(item).status, world.find(item).is_on_hold), (ItemStatus::Pending, false));
}

pub(crate) fn a_committed_item_goes_on_under_every_hold(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, _) = world.committing();
    let item = claim.item;
    assert!(matches!(world.ask(item, Request::Hold), Err(RegistryError::State { .. })));
    place(&world, On::Collection(world.collection));
    let beat = claim.clone();
    let told = world.write(move |tx| work::heartbeat(tx, &[(beat.lease, Some(beat.clone()))], LEASE));
    assert!(matches!(told[0], HeartbeatOutcome::Held(_)), "it is not asked to stop: {told:?}");
    world.publish(&claim, &[]);
    world.finish(&claim, &next(Stage::named("notify")));
    assert_eq!(settle(&world, None), 0);
    let (claim, _) = world.claim(Stage::named("notify"));
    world.finish(&claim, &next(Stage::named("cleanup")));
    let (claim, _) = world.claim(Stage::named("cleanup"));
    world.finish(&claim, &succeeded());
    assert_eq!(world.find(item).status, ItemStatus::Succeeded);
}

pub(crate) fn what_a_process_left_between_a_hold_and_its_items_is_settled_page_by_page(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(5);
    let (claim, at_work) = world.claim(Stage::named("receive"));
    place(&world, On::Batch(batch));
    assert_eq!(settle(&world, None), 4);
    assert_eq!(settle(&world, None), 0, "a repeat changes nothing");
    assert_eq!(world.find(at_work.id).status, ItemStatus::Started);
    world.finish(&claim, &StageEnd::Released { note: "asked to stop".into() });
    assert!(ids.iter().all(|id| world.find(*id).status == ItemStatus::Held));
    lift(&world, On::Batch(batch));
    assert_eq!(settle(&world, None), 5);
    assert!(ids.iter().all(|id| world.find(*id).status == ItemStatus::Pending && world.topics(*id).len() == 1));
}

pub(crate) fn what_a_stage_holds_for_a_person_has_a_hold_with_its_reason(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    world.finish(&claim, &StageEnd::Held { note: "look at this".into() });
    let held = world.find(item.id);
    let found = world.read(|tx| holds::of_item(tx, &held));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].placed_by.as_str(), found[0].reason.as_deref()), ("system", Some("look at this")));
    assert_eq!(settle(&world, None), 0, "nothing but a person lets it go on");
    world.ask(item.id, Request::Release).expect("goes on");
    assert_eq!(world.find(item.id).status, ItemStatus::Pending);
}

pub(crate) fn a_package_that_would_fail_again_is_not_requeued(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, _) = world.batch(3);
    let fail = |codes: &[(&str, &str)]| {
        let (claim, item) = world.claim(Stage::named("receive"));
        let problem = |(severity, code): &(&str, &str)| ItemProblem {
            severity: (*severity).to_owned(),
            code: (*code).to_owned(),
            file: None,
            path: None,
            line: None,
            message: "wrong".into(),
        };
        let problems = codes.iter().map(problem).collect();
        world.finish(&claim, &StageEnd::Invalid { note: "invalid".into(), problems });
        item.id
    };
    let permanent =
        fail(&[("warning", "path.case"), ("error", "profile.tag_required"), ("error", "manifest.digest_mismatch")]);
    let by_profile = fail(&[("error", "profile.tag_required"), ("warning", "manifest.name")]);
    let elsewhere = fail(&[("error", "package.not_fetched")]);
    let refused = world.ask(permanent, Request::Requeue(None)).expect_err("it would fail again");
    assert!(
        matches!(&refused, RegistryError::Permanent { code, .. } if code == "manifest.digest_mismatch"),
        "{refused}"
    );
    let done = world.ask_batch(batch, Request::Requeue(None)).expect("is requeued");
    assert_eq!((done.items, done.permanent), (2, 1));
    assert_eq!(world.find(permanent).status, ItemStatus::Failed);
    for item in [by_profile, elsewhere] {
        assert_eq!((world.find(item).status, world.find(item).requeues), (ItemStatus::Pending, 1));
    }
    let failed = world.find(permanent);
    assert!(world.read(|tx| items::is_permanent(tx, &failed)).is_some());
}
