//! Claiming, losing and giving up; items without a task.

use std::time::Duration;

use strongroom_queue::{Lease, LeaseRequest, TaskState, tasks};
use strongroom_registry::items::{Item, Request};
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::work::{self, Claim, HeartbeatOutcome};
use strongroom_registry::{
    Action, ItemId, ItemStatus, Position, RegistryError, Stage, Subject as About, Transaction, WaitReason, Workflows,
};
use uuid::Uuid;

use super::world::*;

pub(crate) fn a_claim_and_the_lease_of_its_task_come_together(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.item();
    let before = world.find(id);
    let undone = world.refused(|tx| {
        let request = strongroom_queue::LeaseRequest {
            topics: vec!["ingest.receive".to_owned()],
            keys: None,
            limit: 1,
            holder: holder(1),
            duration: LEASE,
        };
        assert_eq!(work::lease(tx, &Table, &request, &|_| 3)?.assignments.len(), 1);
        Err::<(), _>(RegistryError::NotFound { what: "anything", id: String::new() })
    });
    assert!(matches!(undone, RegistryError::NotFound { .. }));
    assert_eq!(world.find(id).status, ItemStatus::Pending, "neither is claimed");
    assert_eq!(world.tasks(id)[0].state, TaskState::Ready, "nor leased");

    let (claim, item) = world.claim(Stage::named("receive"));
    let kept = world.find(id);
    assert_eq!((item.status, item.fence), (kept.status, kept.fence), "the claim tells what is kept");
    assert_eq!((item.holder.clone(), item.lease_until), (kept.holder.clone(), kept.lease_until));
    assert_eq!(item.updated_at, kept.updated_at);
    assert_eq!(kept.fence, before.fence + 1);
    assert_eq!(kept.holder, Some(holder(1).to_string()));
    let task = &world.tasks(id)[0];
    assert_eq!((task.state, task.lease_until), (TaskState::Leased, kept.lease_until));
    assert_eq!((claim.lease, claim.spent), (Lease { task: task.task, attempt: task.attempt }, 1));
    assert!(
        world.lease(2, Stage::named("receive"), 9).assignments.is_empty(),
        "an item is held by one worker at a time"
    );
}

pub(crate) fn a_worker_that_stops_without_a_word_loses_its_item(subject: &dyn Subject) {
    let world = World::new(subject);
    let (lost, item) = world.claimed_at(Stage::named("fetch"));
    assert!(world.reclaim().is_empty(), "while its lease lasts nobody takes it");
    assert_eq!(world.crash(), ["ingest.fetch"]);
    assert_eq!(world.status(item.id), (Stage::named("fetch"), ItemStatus::Pending));
    assert_eq!(world.find(item.id).holder, None);
    assert_eq!(world.history(item.id).last().expect("a line").status, ItemStatus::Pending);
    let pulses = world.write({
        let lost = lost.clone();
        move |tx| work::heartbeat(tx, &[(lost.lease, Some(lost.clone()))], LEASE)
    });
    assert_eq!(pulses, [HeartbeatOutcome::Lost]);
    let refused = world.try_finish(&lost, &next(Stage::named("validate"))).expect_err("it is lost");
    assert!(matches!(refused, RegistryError::FenceLost { .. }), "{refused}");
    let (taken, _) = world.claim_as(2, Stage::named("fetch"));
    assert!(taken.fence > lost.fence);
    assert_eq!(taken.spent, 2, "the attempt of the one that crashed counts");
    assert!(matches!(world.try_finish(&lost, &succeeded()), Err(RegistryError::FenceLost { .. })));
    world.finish(&taken, &next(Stage::named("validate")));
    assert_eq!(world.status(item.id), (Stage::named("validate"), ItemStatus::Pending));
}

pub(crate) fn a_task_whose_item_has_moved_on_is_settled_unseen(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    // Wanted once more while it is worked on: its task comes back when the item is elsewhere.
    world.write(move |tx| {
        let task = strongroom_queue::NewTask::new("ingest.fetch", item.id.to_string(), "");
        tasks::enqueue(tx, &[strongroom_queue::NewTask { item: Some(item.id.0), ..task }])?;
        Ok(())
    });
    world.finish(&claim, &next(Stage::named("validate")));
    assert_eq!(world.topics(claim.item).len(), 2);
    assert!(world.lease(1, Stage::named("fetch"), 9).assignments.is_empty());
    assert_eq!(world.topics(claim.item), ["ingest.validate"]);
    assert_eq!(world.status(claim.item), (Stage::named("validate"), ItemStatus::Pending));
}

pub(crate) fn a_task_without_an_item_is_leased_as_what_it_is(subject: &dyn Subject) {
    let world = World::new(subject);
    world.write(|tx| {
        tasks::enqueue(tx, &[strongroom_queue::NewTask::new("ingest.fetch", ItemId::new().to_string(), "")])?;
        Ok(())
    });
    let leased = world.lease(1, Stage::named("fetch"), 9).assignments;
    assert_eq!(leased.len(), 1, "whatever its topic and key look like");
    assert!(leased[0].claimed.is_none());
}

pub(crate) fn a_worker_leaves_the_items_of_workflows_that_it_does_not_know(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.item();
    let fence = world.find(id).fence;
    let request = LeaseRequest {
        topics: vec!["ingest.receive".into()],
        keys: None,
        limit: 9,
        holder: holder(1),
        duration: LEASE,
    };
    // The registry of another worker, of which nothing is registered.
    let stranger = subject.registry();
    let unknown = stranger.workflows();
    let leasing = stranger.write(move |tx| work::lease(tx, unknown.as_ref(), &request, &|_| 1)).expect("leases");
    assert!(leasing.assignments.is_empty());
    let item = world.find(id);
    assert_eq!((item.status, item.fence), (ItemStatus::Pending, fence), "as if nobody had looked");
    assert!(world.lease(2, Stage::named("receive"), 9).assignments.is_empty(), "it rests a moment");
    subject.advance(LEASE);
    let (claim, _) = world.claim(Stage::named("receive"));
    assert_eq!((claim.item, claim.spent), (id, 1), "no attempt was spent");
}

pub(crate) fn attempts_of_workers_that_crash_are_counted_and_the_item_fails_with_its_task(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.item();
    for attempt in 1..=MAX_ATTEMPTS {
        let (claim, _) = world.claim_as(attempt, Stage::named("receive"));
        assert_eq!(claim.spent, attempt);
        world.crash();
    }
    let fence = world.find(id).fence;
    assert!(world.lease(9, Stage::named("receive"), 9).assignments.is_empty());
    let item = world.find(id);
    assert_eq!((item.stage, item.status), (Stage::named("receive"), ItemStatus::Failed));
    assert!(item.needs_review);
    assert!(item.fence > fence);
    assert_eq!(item.retry_count, 3);
    assert!(item.note.expect("a note").contains("failed after 3 attempts"));
    assert_eq!(world.dead(Stage::named("receive")), 1, "task and item ended together");
    assert!(world.topics(id).is_empty(), "what was staged is kept: nothing is swept");
    assert_eq!(world.history(id).last().expect("a line").status, ItemStatus::Failed);
}

pub(crate) fn giving_up_wakes_the_newer_deposit(subject: &dyn Subject) {
    let world = World::new(subject);
    let older = world.item();
    world.drive(older, Stage::named("fetch"));
    let younger = world.item();
    let (waiting, _) = world.claim(Stage::named("receive"));
    let hour = world.later(Duration::from_hours(1));
    world.finish(
        &waiting,
        &work::StageEnd::Defer { until: hour, reason: WaitReason::Other, note: "an older deposit is open".into() },
    );
    for _ in 0..MAX_ATTEMPTS {
        world.claim(Stage::named("fetch"));
        world.crash();
    }
    assert!(world.lease(1, Stage::named("receive"), 9).assignments.is_empty(), "the newer one still waits");
    let fence = world.find(younger).fence;
    let leasing = world.lease(1, Stage::named("fetch"), 9);
    assert_eq!(world.find(older).status, ItemStatus::Failed);
    assert_eq!(world.find(younger).fence, fence, "only who gave up loses what it held");
    assert_eq!(leasing.topics, ["ingest.receive"], "the runtime is told whom to wake");
    assert_eq!(world.claim(Stage::named("receive")).0.item, younger);
}

pub(crate) fn a_committing_item_rests_after_crashes_and_is_tried_again(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, _) = world.committing();
    let id = claim.item;
    world.crash();
    for _ in 1..MAX_ATTEMPTS {
        world.claim(Stage::named("record"));
        world.crash();
    }
    for _ in 0..3 {
        assert!(world.lease(1, Stage::named("record"), 9).assignments.is_empty(), "it rests");
        let item = world.find(id);
        assert_eq!((item.stage, item.status), (Stage::named("record"), ItemStatus::Pending));
        assert!(item.needs_review, "a person should look");
        subject.advance(Duration::from_mins(11));
        for _ in 0..MAX_ATTEMPTS {
            assert_eq!(world.claim(Stage::named("record")).0.item, id, "it is tried as often again");
            world.crash();
        }
    }
    assert_eq!(world.dead(Stage::named("record")), 0);
}

pub(crate) fn a_heartbeat_extends_task_item_and_object_lease_together(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag").id;
    let (claim, item) = world.claimed_at(Stage::named("write"));
    let until = item.lease_until.expect("a lease");
    world.write(move |tx| leases::hold(tx, object, item.id.0, until));
    subject.advance(Duration::from_secs(40));
    let beat = {
        let claim = claim.clone();
        move |world: &World<'_>| {
            let claim = claim.clone();
            world.write(move |tx| work::heartbeat(tx, &[(claim.lease, Some(claim.clone()))], LEASE))
        }
    };
    let expected = world.later(LEASE);
    assert_eq!(beat(&world), [HeartbeatOutcome::Held(expected)]);
    assert_eq!(world.find(item.id).lease_until, Some(expected));
    assert_eq!(world.tasks(item.id)[0].lease_until, Some(expected));
    let other = Uuid::from_u128(1);
    let hold = world.write(move |tx| leases::hold(tx, object, other, expected));
    assert_eq!(hold, Hold::Busy { until: expected });
    world.ask(item.id, Request::Hold).expect("is asked");
    assert_eq!(beat(&world), [HeartbeatOutcome::StopRequested]);
    world.finish(&claim, &next(Stage::named("verify")));
    assert_eq!(beat(&world), [HeartbeatOutcome::Lost]);
}

pub(crate) fn a_heartbeat_extends_only_what_its_claim_still_holds(subject: &dyn Subject) {
    let world = World::new(subject);
    world.item_named("one");
    let (first, _) = world.claim(Stage::named("receive"));
    world.item_named("two");
    let (second, item) = world.claim(Stage::named("receive"));
    assert_eq!(first.fence, second.fence, "what tells them apart is the item");
    subject.advance(Duration::from_secs(40));
    let beat = |claim: &Claim| {
        let claim = claim.clone();
        world.write(move |tx| work::heartbeat(tx, &[(claim.lease, Some(claim.clone()))], LEASE))
    };
    assert_eq!(beat(&first), [HeartbeatOutcome::Held(world.later(LEASE))]);
    assert_eq!(world.find(second.item).lease_until, item.lease_until, "nobody told of it");
    // Its task is still leased to it, and the item has moved on.
    assert_eq!(beat(&Claim { fence: second.fence - 1, ..second.clone() }), [HeartbeatOutcome::Lost]);
    assert_eq!(world.find(second.item).lease_until, item.lease_until);
    let held = work::StageEnd::Held { note: "waits for a person".into() };
    world.finish(&second, &held);
    assert_eq!(beat(&Claim { lease: first.lease, ..second.clone() }), [HeartbeatOutcome::Lost], "nobody works on it");
    assert_eq!(world.find(second.item).lease_until, None);
}

pub(crate) fn every_stranded_item_and_no_other_is_given_a_task(subject: &dyn Subject) {
    let world = World::new(subject);
    let healthy = world.item_named("healthy");
    let (claim, _) = world.claim(Stage::named("receive"));
    let deferred = world.item_named("deferred");
    let (waiting, _) = world.claim(Stage::named("receive"));
    let hour = world.later(Duration::from_hours(1));
    world.finish(&waiting, &work::StageEnd::Defer { until: hour, reason: WaitReason::Other, note: "waits".into() });
    let held = world.item_named("held");
    world.ask(held, Request::Hold).expect("is held");
    let cancelled = world.item_named("cancelled");
    world.ask(cancelled, Request::Cancel).expect("is cancelled");
    let stranded: Vec<ItemId> = (0..5).map(|number| world.item_named(&format!("stranded-{number}"))).collect();
    let elsewhere = stranded[0];
    world.write({
        let stranded = stranded.clone();
        move |tx| {
            for id in &stranded {
                tasks::delete_key(tx, &id.to_string())?;
            }
            // A task of another stage does not count.
            tasks::enqueue(tx, &[strongroom_queue::NewTask::new("ingest.fetch", elsewhere.to_string(), "")])?;
            Ok(())
        }
    });
    let mut found = Vec::new();
    let mut after = ItemId(Uuid::nil());
    loop {
        let page = world.read(|tx| work::open_items(tx, after, 2));
        assert!(page.written_ahead.is_empty());
        let Some(last) = page.last else { break };
        assert!(last > after);
        after = last;
        found.extend(page.without_task);
    }
    assert_eq!(found, stranded);
    // Between the read and the write one of them ends, and another gets its task.
    world.ask(stranded[1], Request::Cancel).expect("is cancelled");
    let everybody = [found, vec![healthy, deferred, held, cancelled]].concat();
    let topics = world.write({
        let everybody = everybody.clone();
        move |tx| work::requeue_stranded(tx, &Table, &everybody)
    });
    assert_eq!(topics, ["ingest.receive"; 4]);
    assert!(world.write(move |tx| work::requeue_stranded(tx, &Table, &everybody)).is_empty(), "once is enough");
    let leased = world.lease(1, Stage::named("receive"), 99).assignments;
    let leased: Vec<ItemId> = leased.into_iter().filter_map(|one| one.claimed).map(|(claim, _)| claim.item).collect();
    assert_eq!(leased.len(), 4);
    assert!(stranded.iter().all(|id| *id == stranded[1] || leased.contains(id)));
    assert_eq!(world.find(healthy).fence, claim.fence, "who works is not disturbed");
}

pub(crate) fn an_item_that_waits_by_a_clock_that_was_ahead_is_due_when_it_is_right_again(subject: &dyn Subject) {
    const DAY: Duration = Duration::from_hours(24);
    let world = World::new(subject);
    let wait = |name: &str, by: Duration| {
        let id = world.item_named(name);
        let (claim, _) = world.claim(Stage::named("receive"));
        let until = world.later(by);
        let note = "a store is away".into();
        world.finish(&claim, &work::StageEnd::Defer { until, reason: WaitReason::Other, note });
        id
    };
    let waits_long = wait("long", 3 * DAY);
    subject.advance(DAY);
    let ahead = wait("ahead", Duration::from_mins(2));
    subject.set_back(DAY);
    let open = world.read(|tx| work::open_items(tx, ItemId(Uuid::nil()), 9));
    assert_eq!((open.last, open.written_ahead.clone()), (Some(ahead), vec![ahead]), "not {waits_long}");
    assert!(world.lease(1, Stage::named("receive"), 9).assignments.is_empty());
    let topics = world.write(move |tx| work::wake_written_ahead(tx, &open.written_ahead));
    assert_eq!(topics, [topic(Stage::named("receive"))]);
    let (_, item) = world.claim(Stage::named("receive"));
    assert_eq!(item.id, ahead);
    let open = world.read(|tx| work::open_items(tx, ItemId(Uuid::nil()), 9));
    assert!(open.written_ahead.is_empty(), "once is enough");
}

/// The workflows of a program that has another topic for each stage of deposits.
struct Moved;

impl Workflows for Moved {
    fn stages(&self, action: Action) -> Vec<Stage> {
        Table.stages(action)
    }

    fn position(&self, subject: About<'_>, stage: Stage) -> Position {
        let position = Table.position(subject, stage);
        Position { topic: format!("{}.moved", position.topic), ..position }
    }

    fn restart(&self, tx: &mut dyn Transaction, item: &Item, wanted: Stage) -> Result<Stage, RegistryError> {
        Table.restart(tx, item, wanted)
    }
}

pub(crate) fn an_item_whose_task_is_in_the_topic_of_another_program_goes_on_in_that_of_its_stage(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let id = world.item();
    let lease = |topic: &'static str| {
        world.write(move |tx| {
            let request = LeaseRequest {
                topics: vec![topic.to_owned()],
                keys: None,
                limit: 9,
                holder: holder(1),
                duration: LEASE,
            };
            work::lease(tx, &Moved, &request, &|_| 3)
        })
    };
    let moved = lease("ingest.receive");
    assert!(moved.assignments.is_empty());
    assert_eq!(moved.topics, ["ingest.receive.moved"], "its workers are to be woken");
    assert_eq!(world.topics(id), ["ingest.receive.moved"]);
    let item = world.find(id);
    assert_eq!((item.topic.as_str(), item.status, item.fence), ("ingest.receive.moved", ItemStatus::Pending, 0));
    assert_eq!(item.note.as_deref(), Some("goes on in the topic ingest.receive.moved"));
    assert_eq!(lease("ingest.receive.moved").assignments.len(), 1);
    assert_eq!(world.status(id), (Stage::named("receive"), ItemStatus::Started));
}
