//! Items that go on at their next stage under the lease that their worker has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use strongroom_queue::{NewTask, TaskState, tasks};
use strongroom_registry::items::Request;
use strongroom_registry::leases::{self, Holding};
use strongroom_registry::work::{self, Assignment, BareEnd, Claim, HeartbeatOutcome, Next, Room, StageEnd};
use strongroom_registry::{ItemStatus, RegistryError, Stage};

use super::world::*;

const VALIDATE: Stage = Stage::named("validate");

pub(crate) fn room(stage: Stage) -> Room {
    Room { topic: topic(stage), max_total: None, duration: LEASE * 3, passes: false }
}

pub(crate) fn advance_into(
    world: &World<'_>,
    claim: &Claim,
    end: &StageEnd,
    room: &Room,
) -> Result<Option<Assignment>, RegistryError> {
    let goes_on_with_others = goes_on_with_others(world, claim, end, room);
    let (claim, end, room) = (claim.clone(), end.clone(), room.clone());
    let by_queue = "item that goes on at once";
    let ended = world.registry.write_by_rows(move |tx| {
        let next = Next { writes: None, room: Some(&room), known_schema: None };
        let ended = work::end_stage(tx, &Table, (&claim, &holder(1).to_string()), &end, next)?;
        // Undone, so that the same end is tried for other reasons.
        ended.goes_on.ok_or_else(|| RegistryError::NotFound { what: by_queue, id: claim.item.to_string() })
    });
    assert_eq!(goes_on_with_others, ended.is_ok(), "written with others it is the same");
    match ended {
        Ok(assignment) => Ok(Some(assignment)),
        Err(RegistryError::NotFound { what, .. }) if what == by_queue => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the item would go on at once where its end is written with those of others.
fn goes_on_with_others(world: &World<'_>, claim: &Claim, end: &StageEnd, room: &Room) -> bool {
    let (claim, end, room) = (claim.clone(), end.clone(), room.clone());
    let goes_on = Arc::new(AtomicBool::new(false));
    let found = goes_on.clone();
    let undone = world.registry.write_by_rows::<(), _, _>(move |tx| {
        let bare = BareEnd { claim: claim.clone(), end: end.clone(), room: Some(room.clone()), known_schema: None };
        let ended = work::end_stages(tx, &Table, &holder(1).to_string(), &[bare])?;
        let goes_on = ended.iter().flatten().any(|one| one.goes_on.is_some());
        found.store(goes_on, Ordering::SeqCst);
        Err(RegistryError::NotFound { what: "end", id: claim.item.to_string() })
    });
    assert!(matches!(undone, Err(RegistryError::NotFound { what: "end", .. })), "{undone:?}");
    goes_on.load(Ordering::SeqCst)
}

/// Goes on from `fetch` to `validate`.
fn advance(world: &World<'_>, claim: &Claim) -> Option<(Claim, Assignment)> {
    let found = advance_into(world, claim, &next(VALIDATE), &room(VALIDATE)).expect("answers")?;
    let claimed = found.claimed.clone().expect("it is a stage").0;
    Some((claimed, found))
}

pub(crate) fn an_item_goes_on_under_the_lease_that_its_worker_has(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag").id;
    let (claim, before) = world.claimed_at(Stage::named("fetch"));
    let (owner, until) = (claim.item.0, world.later(LEASE));
    let held = claim.clone();
    world.write(move |tx| {
        work::set_object(tx, &held, object)?;
        leases::hold(tx, object, owner, until)
    });
    let (on, assignment) = advance(&world, &claim).expect("goes on");
    assert_eq!((on.lease, on.fence, on.spent), (claim.lease, claim.fence, 1));
    assert_eq!(assignment.task.topic, "ingest.validate");
    let item = world.find(claim.item);
    assert_eq!((item.stage, item.status), (VALIDATE, ItemStatus::Started));
    assert_eq!((item.topic.as_str(), item.fence), ("ingest.validate", before.fence));
    assert_eq!(item.holder, Some(holder(1).to_string()));
    assert_eq!(world.topics(claim.item), ["ingest.validate"], "one task, in another topic");
    let lines: Vec<_> = world.history(claim.item).into_iter().map(|line| (line.stage, line.status)).collect();
    assert_eq!(lines[lines.len() - 2..], [(VALIDATE, ItemStatus::Pending), (VALIDATE, ItemStatus::Started)]);

    // Longer than the lease was, and shorter than it is: the stage's own.
    subject.advance(LEASE * 2);
    assert_eq!(world.reclaim(), Vec::<String>::new());
    assert_eq!(world.read(|tx| leases::holding(tx, object, owner)), Holding::Held, "the object's lease goes with it");
    let held = vec![(on.lease, Some(on.clone()))];
    let pulses = world.write(move |tx| work::heartbeat(tx, &held, LEASE));
    assert!(matches!(pulses[..], [HeartbeatOutcome::Held(_)]), "{pulses:?}");
    world.finish(&on, &next(Stage::named("resolve")));
    assert_eq!(world.status(claim.item), (Stage::named("resolve"), ItemStatus::Pending));
}

pub(crate) fn an_item_that_goes_on_is_taken_over_at_the_stage_it_is_at(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, _) = world.claimed_at(Stage::named("fetch"));
    let (on, _) = advance(&world, &claim).expect("goes on");
    subject.advance(LEASE * 4);
    assert_eq!(world.reclaim(), ["ingest.validate"]);
    let (taken, _) = world.claim_as(2, VALIDATE);
    assert_eq!((taken.item, taken.spent), (claim.item, 2), "the attempt that went wrong was of this stage");
    assert!(taken.fence > on.fence);
    let refused = advance_into(&world, &on, &next(Stage::named("resolve")), &room(Stage::named("resolve")));
    assert!(matches!(refused, Err(RegistryError::FenceLost { .. })), "{refused:?}");
}

pub(crate) fn an_item_goes_by_the_queue_where_anything_stands_in_its_way(subject: &dyn Subject) {
    let world = World::new(subject);
    let fetched = || world.claimed_at(Stage::named("fetch")).0;
    let by_queue = |claim: &Claim, end: &StageEnd, room: &Room, why: &str| {
        let (before, lines) = (world.find(claim.item), world.history(claim.item).len());
        assert!(advance_into(&world, claim, end, room).expect("answers").is_none(), "{why}");
        let after = world.find(claim.item);
        assert_eq!((after.stage, after.status, after.fence), (before.stage, before.status, before.fence), "{why}");
        assert_eq!(world.history(claim.item).len(), lines, "{why}");
    };
    let on = next(VALIDATE);

    let claim = fetched();
    by_queue(&claim, &succeeded(), &room(VALIDATE), "another end");
    by_queue(&claim, &on, &room(Stage::named("resolve")), "room for another stage");
    by_queue(&claim, &on, &Room { max_total: Some(0), ..room(VALIDATE) }, "no room among all processes");

    world.write(|tx| Ok(tasks::set_paused(tx, "ingest.validate", true)?));
    by_queue(&claim, &on, &room(VALIDATE), "a paused topic");
    world.write(|tx| Ok(tasks::set_paused(tx, "ingest.validate", false)?));
    world.write(|tx| Ok(tasks::set_all_paused(tx, true)?));
    by_queue(&claim, &on, &room(VALIDATE), "all topics paused");
    world.write(|tx| Ok(tasks::set_all_paused(tx, false)?));

    let id = claim.item;
    world.write(move |tx| {
        let task = NewTask { item: Some(id.0), ..NewTask::new("ingest.validate", id.to_string(), "") };
        let not_before = Some(tx.now()?.plus(LEASE.as_micros() as i64));
        tasks::enqueue(tx, &[NewTask { not_before, ..task }])?;
        Ok(())
    });
    by_queue(&claim, &on, &room(VALIDATE), "a task of its own that waits there");
    world.finish(&claim, &fatal());

    world.write(|tx| {
        let not_before = Some(tx.now()?.plus(1_000_000));
        tasks::enqueue(tx, &[NewTask { not_before, ..NewTask::new("ingest.validate", "delayed", "") }])?;
        Ok(())
    });
    subject.advance(Duration::from_secs(2));
    let claim = fetched();
    by_queue(&claim, &on, &room(VALIDATE), "another was delayed and is due");
    world.write(|tx| Ok(tasks::delete_key(tx, "delayed")?));
    world.finish(&claim, &fatal());

    let waits = world.item_named("another");
    world.drive(waits, VALIDATE);
    let claim = fetched();
    by_queue(&claim, &on, &room(VALIDATE), "others wait for their turn");
    let (other, _) = world.claim(VALIDATE);
    assert_eq!(other.item, waits);

    world.ask(claim.item, Request::Hold).expect("is asked");
    by_queue(&claim, &on, &room(VALIDATE), "a person holds it");
    world.finish(&claim, &on);
    assert_eq!(world.status(claim.item), (VALIDATE, ItemStatus::Held));
}

pub(crate) fn a_wake_up_for_the_stage_before_is_not_kept(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    world.write(move |tx| {
        let task = NewTask { item: Some(item.id.0), ..NewTask::new("ingest.fetch", item.id.to_string(), "") };
        tasks::enqueue(tx, &[task])?;
        Ok(())
    });
    let (on, _) = advance(&world, &claim).expect("goes on");
    let until = world.later(Duration::from_hours(1));
    let reason = strongroom_registry::WaitReason::Other;
    world.finish(&on, &StageEnd::Defer { until, reason, note: "waits".into() });
    assert!(world.lease(1, VALIDATE, 9).assignments.is_empty(), "it sleeps");
    assert_eq!(world.find(claim.item).wait_until, Some(until), "and tells until when");
}

/// The task keeps its identifier and its attempts as a fence; what is wanted once more of the stage before stays behind.
pub(crate) fn a_stage_that_ends_by_the_queue_puts_its_task_into_the_next_line(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, _) = world.claimed_at(Stage::named("fetch"));
    world.finish(&claim, &next(VALIDATE));
    let key = claim.item.to_string();
    let of_item = || world.read(|tx| Ok(tasks::of_key(tx, &key)?));
    let found = of_item();
    assert_eq!(found.iter().map(|task| task.task).collect::<Vec<_>>(), [claim.lease.task], "the same task");
    assert_eq!((found[0].topic.as_str(), found[0].state), ("ingest.validate", TaskState::Ready));
    let (on, _) = world.claim_as(2, VALIDATE);
    assert!(on.lease.attempt > claim.lease.attempt && on.fence > claim.fence);
    assert_eq!(on.spent, 1, "the attempts of the stage before do not count");
    let late = world.registry.write({
        let claim = claim.clone();
        move |tx| work::finish(tx, &Table, &claim, "late", &next(VALIDATE))
    });
    assert!(matches!(late, Err(RegistryError::FenceLost { .. })), "{late:?}");

    let id = on.item;
    world.write(move |tx| {
        let task = NewTask { item: Some(id.0), ..NewTask::new("ingest.validate", id.to_string(), "") };
        tasks::enqueue(tx, &[task])?;
        Ok(())
    });
    world.finish(&on, &next(Stage::named("resolve")));
    assert_eq!(world.topics(id), ["ingest.validate", "ingest.resolve"], "it was wanted once more where it was");
    assert_eq!(world.status(id), (Stage::named("resolve"), ItemStatus::Pending));
}
