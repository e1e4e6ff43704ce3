//! Batches: what their state follows from, and what is asked of all their items at once.

use std::time::Duration;

use strongroom_registry::batches::{self, NewBatch, Step};
use strongroom_registry::items::{self, Item, ItemFilter, NewItem, Request};
use strongroom_registry::work::{self, HeartbeatOutcome, StageEnd};
use strongroom_registry::{
    Action, BatchId, BatchState, InstitutionId, ItemId, ItemStatus, Order, RegistryError, Scope, Stage, interim,
    reports,
};

use super::world::*;

fn state(world: &World<'_>, id: BatchId) -> BatchState {
    world.read(|tx| batches::get(tx, Scope::System, id)).expect("is there").state
}

fn ask(world: &World<'_>, id: BatchId, request: Request) -> Result<Vec<String>, RegistryError> {
    world.ask_batch(id, request).map(|done| done.topics)
}

pub(crate) fn the_state_of_a_batch_follows_from_its_items(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(3);
    assert_eq!(state(&world, batch), BatchState::Processing);
    let (claim, _) = world.claim(Stage::named("receive"));
    world.finish(&claim, &succeeded());
    assert_eq!(state(&world, batch), BatchState::Processing);
    let (claim, _) = world.claim(Stage::named("receive"));
    world.finish(&claim, &StageEnd::Held { note: "look".into() });
    assert_eq!(state(&world, batch), BatchState::Processing, "one still waits");
    world.ask(ids[2], Request::Hold).expect("is held");
    assert_eq!(state(&world, batch), BatchState::Held, "all that are open are held");
    world.ask(ids[2], Request::Release).expect("goes on");
    assert_eq!(state(&world, batch), BatchState::Processing);
    world.ask(ids[1], Request::Cancel).expect("is cancelled");
    let (claim, _) = world.claim(Stage::named("receive"));
    world.finish(&claim, &succeeded());
    assert_eq!(state(&world, batch), BatchState::Failed);
    world.ask(ids[1], Request::Requeue(None)).expect("begins again");
    assert_eq!(state(&world, batch), BatchState::Processing);
    for _ in 0..MAX_ATTEMPTS {
        world.claim(Stage::named("receive"));
        world.crash();
    }
    world.lease(1, Stage::named("receive"), 1);
    assert_eq!(state(&world, batch), BatchState::Failed, "given up");
    world.ask(ids[1], Request::Requeue(None)).expect("begins again");
    let (claim, _) = world.claim(Stage::named("receive"));
    world.finish(&claim, &succeeded());
    assert_eq!(state(&world, batch), BatchState::Completed);
}

pub(crate) fn i02_a_batch_ends_and_reports_only_when_every_row_has_an_item_and_none_is_open(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ours) = (BatchId::new(), world.ours);
    world.write(move |tx| batches::create(tx, &new_batch(batch, ours, None)));
    assert_eq!(state(&world, batch), BatchState::Pending);
    let list = |name: &str| world.make(&NewItem { batch: Some(batch), is_list: true, ..world.new_item(name) });
    let lists = [list("first"), list("second")];
    let mut rows = Vec::new();
    let mut make_rows = |number: usize| {
        let (claim, item) = world.claim(Stage::named("receive"));
        let new = NewItem { batch: Some(batch), ..world.new_item(&format!("row-{number}")) };
        rows.push(world.make(&new));
        // The row ends before the list is made: the batch is none that could be complete.
        world.ask(new.id, Request::Cancel).expect("is cancelled");
        world.ask(new.id, Request::Requeue(None)).expect("is requeued");
        assert_eq!(state(&world, batch), BatchState::Pending);
        for _ in 0..2 {
            world.write(move |tx| batches::list_made(tx, batch, item.id));
        }
        world.finish(&claim, &succeeded());
    };
    make_rows(1);
    let row_count = || world.read(|tx| batches::get(tx, Scope::System, batch)).expect("is there").row_count;
    let reported = || world.read(|tx| reports::list(tx, Scope::System, batch, 0, 9)).len();
    assert_eq!((state(&world, batch), row_count()), (BatchState::Pending, None), "another list is open");
    ask(&world, batch, Request::Hold).expect("is held");
    assert_eq!(state(&world, batch), BatchState::Held);
    ask(&world, batch, Request::Release).expect("goes on");
    assert_eq!(state(&world, batch), BatchState::Pending);
    for _ in [lists[1], rows[0]] {
        let (claim, item) = world.claim(Stage::named("receive"));
        if item.id == lists[1] {
            world.write(move |tx| batches::list_made(tx, batch, item.id));
        }
        assert_eq!(reported(), 0, "something is open");
        world.finish(&claim, &succeeded());
    }
    assert_eq!(row_count(), Some(1));
    assert_eq!((state(&world, batch), reported()), (BatchState::Completed, 1));
    // What read the lists is no row of the batch.
    let found = world.read(|tx| batches::get(tx, Scope::System, batch)).expect("is there");
    let counted = |found: &batches::Batch| world.read(|tx| batches::counts(tx, found));
    assert_eq!(counted(&found), [(ItemStatus::Succeeded, 1)]);
    // A list that ends before it made its rows.
    let other = BatchId::new();
    world.write(move |tx| batches::create(tx, &new_batch(other, ours, None)));
    let list = world.make(&NewItem { batch: Some(other), is_list: true, ..world.new_item("third") });
    world.ask(list, Request::Cancel).expect("is cancelled");
    assert_eq!(state(&world, other), BatchState::Failed);
    world.ask(list, Request::Requeue(None)).expect("begins again");
    assert_eq!(state(&world, other), BatchState::Pending);
}

pub(crate) fn what_was_deleted_counts_as_what_it_was(subject: &dyn Subject) {
    let world = World::new(subject);
    let end = |end: &StageEnd| {
        let (claim, item) = world.claim(Stage::named("receive"));
        world.finish(&claim, end);
        item.id
    };
    let (batch, _) = world.batch(2);
    world.ask(end(&succeeded()), Request::Delete).expect("is deleted");
    let failed = end(&fatal());
    assert_eq!(state(&world, batch), BatchState::Failed);
    world.ask(failed, Request::Delete).expect("is deleted");
    assert_eq!(world.find(failed).deleted_from, Some(ItemStatus::Failed));
    assert_eq!(state(&world, batch), BatchState::Failed, "the deletion does not complete it");
    let (batch, ids) = world.batch(2);
    world.ask(end(&succeeded()), Request::Delete).expect("is deleted");
    let waits = ids.into_iter().find(|id| world.find(*id).status == ItemStatus::Pending).expect("another");
    world.ask(waits, Request::Delete).expect("is deleted");
    assert_eq!(state(&world, batch), BatchState::Failed, "a row that was not worked on did not succeed");
    let (batch, _) = world.batch(1);
    world.ask(end(&succeeded()), Request::Delete).expect("is deleted");
    assert_eq!(state(&world, batch), BatchState::Completed);
}

/// Every pair that the table allows.
const ALLOWED: &[(BatchState, BatchState)] = &[
    (BatchState::Pending, BatchState::Held),
    (BatchState::Pending, BatchState::Processing),
    (BatchState::Pending, BatchState::Failed),
    (BatchState::Pending, BatchState::Deleted),
    (BatchState::Held, BatchState::Pending),
    (BatchState::Held, BatchState::Processing),
    (BatchState::Held, BatchState::Failed),
    (BatchState::Held, BatchState::Deleted),
    (BatchState::Processing, BatchState::Held),
    (BatchState::Processing, BatchState::Completed),
    (BatchState::Processing, BatchState::Failed),
    (BatchState::Processing, BatchState::Deleted),
    (BatchState::Failed, BatchState::Pending),
    (BatchState::Failed, BatchState::Held),
    (BatchState::Failed, BatchState::Processing),
    (BatchState::Failed, BatchState::Deleted),
    (BatchState::Completed, BatchState::Deleted),
];

pub(crate) fn i11_batches_take_the_transitions_of_the_table_and_no_other(subject: &dyn Subject) {
    for from in BatchState::ALL {
        for to in BatchState::ALL {
            assert_eq!(from.may_become(*to), ALLOWED.contains(&(*from, *to)), "{from} to {to}");
        }
    }
    // Acts of persons and workers in an order that follows from a number.
    let world = World::new(subject);
    let (batch, ids) = world.batch(3);
    let mut chance: u64 = 0x5DEE_CE66;
    let mut next_number = |below: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) % below
    };
    let mut last = state(&world, batch);
    for _ in 0..120 {
        let item = ids[usize::try_from(next_number(3)).expect("an index")];
        let request = [Request::Hold, Request::Release, Request::Cancel, Request::Fail, Request::Requeue(None)]
            [usize::try_from(next_number(5)).expect("an index")];
        match next_number(4) {
            0 => drop(world.ask(item, request)),
            1 => drop(ask(&world, batch, request)),
            _ => {
                let leased = world.lease(1, Stage::named("receive"), 1).assignments;
                let end = if next_number(5) == 0 { fatal() } else { next(Stage::named("receive")) };
                if let Some((claim, _)) = leased.into_iter().next().and_then(|one| one.claimed) {
                    world.finish(&claim, &end);
                }
            }
        }
        let now = state(&world, batch);
        assert!(now == last || last.may_become(now), "{last} to {now}");
        last = now;
    }
}

pub(crate) fn a_batch_is_held_and_released_as_one(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(3);
    let (claim, started) = world.claim(Stage::named("receive"));
    ask(&world, batch, Request::Hold).expect("is held");
    assert_eq!(state(&world, batch), BatchState::Processing, "one is at work still");
    world.finish(&claim, &next(Stage::named("estimate")));
    assert_eq!(state(&world, batch), BatchState::Held);
    let history = world.read(|tx| items::history(tx, Scope::System, started.id));
    let last = history.last().expect("a line");
    assert_eq!(last.note.as_deref(), Some("held with its batch by a person"), "asked for while a worker had the item");
    assert_eq!((last.actor.as_deref(), last.holder.as_deref()), (Some("a person"), None));
    assert_eq!(ask(&world, batch, Request::Release).expect("goes on"), ["ingest.estimate", "ingest.receive"]);
    assert_eq!(state(&world, batch), BatchState::Processing);
    assert!(ids.iter().all(|id| world.find(*id).status == ItemStatus::Pending));
    assert_eq!(world.find(started.id).stage, Stage::named("estimate"));
    // What was only asked for is withdrawn as well.
    let (claim, _) = world.claim(Stage::named("estimate"));
    ask(&world, batch, Request::Hold).expect("is held");
    ask(&world, batch, Request::Release).expect("goes on");
    world.finish(&claim, &next(Stage::named("provision")));
    assert_eq!(world.status(started.id), (Stage::named("provision"), ItemStatus::Pending));
    let unknown = ask(&world, BatchId::new(), Request::Hold).expect_err("there is none");
    assert!(matches!(unknown, RegistryError::NotFound { .. }));
}

pub(crate) fn a_batch_is_cancelled_but_for_what_is_committed(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(2);
    let object = world.object("bag-0");
    let (claim, item) = world.claim(Stage::named("receive"));
    let version = world.prepare(&claim, &object);
    world.commit(&claim, &version);
    ask(&world, batch, Request::Cancel).expect("is cancelled");
    let other = ids.into_iter().find(|id| *id != item.id).expect("another");
    assert_eq!(world.find(other).status, ItemStatus::Cancelled);
    let kept = world.find(item.id);
    assert_eq!((kept.status, kept.cancel_requested), (ItemStatus::Started, None));
    let refused = ask(&world, batch, Request::Fail).map(|_| world.find(item.id).cancel_requested);
    assert_eq!(refused.expect("nothing is meant"), None);
}

pub(crate) fn the_items_of_a_batch_that_wait_or_are_worked_on_fail_and_those_that_are_held_stay(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(3);
    let (claim, at_work) = world.claim(Stage::named("receive"));
    let others: Vec<_> = ids.into_iter().filter(|id| *id != at_work.id).collect();
    world.ask(others[0], Request::Hold).expect("is held");
    assert_eq!(world.ask_batch(batch, Request::Fail).expect("is asked").items, 2);
    assert_eq!(world.find(others[0]).status, ItemStatus::Held);
    assert_eq!(world.find(others[1]).status, ItemStatus::Failed);
    assert_eq!(state(&world, batch), BatchState::Processing);
    world.finish(&claim, &next(Stage::named("estimate")));
    assert_eq!(world.status(at_work.id), (Stage::named("estimate"), ItemStatus::Failed));
    assert_eq!(state(&world, batch), BatchState::Held);
    ask(&world, batch, Request::Requeue(None)).expect("begins again");
    assert_eq!(world.find(others[1]).status, ItemStatus::Pending);
}

/// The one that makes the items of rows is stopped first, wherever it is among them.
pub(crate) fn a_request_for_a_batch_changes_a_page_of_items_in_a_transaction_and_stops_lists_first(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let (batch, mut ids) = world.batch(115);
    ids.sort();
    let list = world.make(&NewItem { batch: Some(batch), is_list: true, ..world.new_item("list") });
    let of = |status| ids.iter().filter(|id| world.find(**id).status == status).count();
    let step = |step| world.ask_step(batch, Request::Cancel, step).expect("is cancelled");
    let begun = step(Step::Begin);
    assert_eq!((begun.items, begun.has_changed), (0, true));
    let Some(Step::Page { after: None, of: asked }) = begun.next else { panic!("{begun:?}") };
    let first = step(Step::Page { after: None, of: asked });
    assert_eq!((first.items, first.next), (51, Some(Step::Page { after: Some(ids[49]), of: asked })));
    assert_eq!((of(ItemStatus::Cancelled), world.find(list).status), (50, ItemStatus::Cancelled));
    assert_eq!(state(&world, batch), BatchState::Processing, "others wait");
    let second = step(Step::Page { after: Some(ids[49]), of: asked });
    assert_eq!((second.items, second.next), (50, Some(Step::Page { after: Some(ids[99]), of: asked })));
    let third = step(Step::Page { after: Some(ids[99]), of: asked });
    assert_eq!((third.items, third.next), (15, asked.map(Step::End)));
    assert_eq!(step(Step::End(asked.expect("a time"))).next, None);
    assert_eq!((of(ItemStatus::Cancelled), state(&world, batch)), (115, BatchState::Failed));
}

pub(crate) fn no_stage_begins_in_a_batch_that_is_being_cancelled_and_workers_end_its_items(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(3);
    let (_, others) = world.batch(1);
    let (going_on, at_work) = world.claim(Stage::named("receive"));
    let (failing, failed) = world.claim(Stage::named("receive"));
    world.finish(&failing, &fatal());
    let waiting = ids.iter().copied().find(|id| ![at_work.id, failed.id].contains(id)).expect("another");
    world.ask_step(batch, Request::Cancel, Step::Begin).expect("is written down");
    let stop = world.read(|tx| batches::stop_of(tx, batch)).expect("stands");
    assert_eq!((stop.status, stop.asked_by.as_str()), (ItemStatus::Cancelled, "a person"));
    assert_eq!(world.read(|tx| batches::stops(tx, None, 9)), [stop]);
    // The process is killed here, and workers go on.
    let outcome = world.write({
        let claim = going_on.clone();
        move |tx| work::heartbeat(tx, &[(claim.lease, Some(claim.clone()))], LEASE)
    });
    assert_eq!(outcome, [HeartbeatOutcome::StopRequested]);
    assert!(world.write({
        let claim = going_on.clone();
        move |tx| work::is_asked_to_stop(tx, &claim)
    }));
    // One at a time, as long as something is being cancelled.
    let leased = || world.lease(1, Stage::named("receive"), 9).assignments.len();
    assert_eq!(leased() + leased(), 1, "that of another batch");
    assert_eq!(world.find(others[0]).status, ItemStatus::Started);
    let cancelled = world.find(waiting);
    assert_eq!((cancelled.status, cancelled.note.as_deref()), (ItemStatus::Cancelled, Some("cancelled by a person")));
    let last = world.history(waiting).pop().expect("a line");
    assert_eq!((last.actor.as_deref(), last.holder.as_deref()), (Some("a person"), None));
    world.finish(&going_on, &next(Stage::named("estimate")));
    assert_eq!(world.status(at_work.id), (Stage::named("estimate"), ItemStatus::Cancelled));
    let refused = world.ask(failed.id, Request::Requeue(None)).expect_err("it would be cancelled");
    assert!(refused.to_string().contains("its batch is being cancelled"), "{refused}");
    assert_eq!(state(&world, batch), BatchState::Failed);
    ask(&world, batch, Request::Cancel).expect("there is nothing left to do");
    assert!(world.read(|tx| batches::stops(tx, None, 9)).is_empty());
    world.ask(failed.id, Request::Requeue(None)).expect("begins again");
    assert_eq!(world.find(failed.id).status, ItemStatus::Pending);
}

pub(crate) fn items_of_rows_that_are_made_behind_the_pages_of_a_cancellation_are_cancelled(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, _) = world.batch(1);
    let list = world.make(&NewItem { batch: Some(batch), is_list: true, ..world.new_item("list") });
    let step = |step| world.ask_step(batch, Request::Cancel, step).expect("is carried out").next;
    let page = step(Step::Begin).expect("pages");
    let end = step(page).expect("the end");
    assert!(matches!(end, Step::End(_)), "{end:?}");
    // A worker had looked before all that, and makes them now.
    let late = world.make(&NewItem { batch: Some(batch), ..world.new_item("late") });
    assert_eq!(step(end), Some(page), "once more");
    let end = step(page).expect("the end");
    assert_eq!((step(end), world.read(|tx| batches::stop_of(tx, batch))), (None, None));
    for id in [list, late] {
        assert_eq!(world.find(id).status, ItemStatus::Cancelled);
    }
}

pub(crate) fn pages_of_a_request_that_another_process_has_carried_out_change_nothing(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(2);
    let sleeping = world.ask_step(batch, Request::Fail, Step::Begin).expect("is written down").next.expect("pages");
    ask(&world, batch, Request::Fail).expect("fails");
    ask(&world, batch, Request::Requeue(None)).expect("begins again");
    let step = world.ask_step(batch, Request::Fail, sleeping).expect("wakes");
    assert_eq!((step.items, step.next), (0, None));
    world.subject.advance(Duration::from_secs(1));
    // Also where the same is being done for another reason.
    world.ask_step(batch, Request::Fail, Step::Begin).expect("is written down");
    let step = world.ask_step(batch, Request::Fail, sleeping).expect("wakes");
    assert_eq!((step.items, step.next), (0, None));
    assert!(ids.iter().all(|id| world.find(*id).status == ItemStatus::Pending));
    let refused = ask(&world, batch, Request::Requeue(None)).expect_err("it is being made to fail");
    assert!(refused.to_string().contains("it is being made to fail"), "{refused}");
}

pub(crate) fn a_cancellation_of_a_batch_takes_the_place_of_a_failure_and_stays(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(3);
    let (claim, at_work) = world.claim(Stage::named("receive"));
    let others: Vec<_> = ids.into_iter().filter(|id| *id != at_work.id).collect();
    world.ask(others[0], Request::Hold).expect("is held");
    let begin = |request| world.ask_step(batch, request, Step::Begin).expect("is written down");
    let stop = || world.read(|tx| batches::stop_of(tx, batch)).map(|stop| stop.status);
    let failing = begin(Request::Fail);
    assert_eq!(stop(), Some(ItemStatus::Failed));
    assert_eq!(world.find(at_work.id).cancel_requested, Some(ItemStatus::Failed));
    assert_eq!(world.find(others[0]).cancel_requested, None, "a failure does not mean what is held");
    world.subject.advance(Duration::from_secs(1));
    begin(Request::Cancel);
    let refused = world.ask_step(batch, Request::Fail, Step::Begin).expect_err("it is being cancelled");
    assert!(refused.to_string().contains("let it fail: it is being cancelled, as a person asked"), "{refused}");
    assert_eq!(stop(), Some(ItemStatus::Cancelled));
    let late = world.ask_step(batch, Request::Fail, failing.next.expect("pages")).expect("does nothing");
    assert_eq!((late.items, late.next), (0, None), "another person has it cancelled");
    ask(&world, batch, Request::Cancel).expect("is carried out");
    assert_eq!(stop(), None);
    assert!(others.iter().all(|id| world.find(*id).status == ItemStatus::Cancelled));
    world.finish(&claim, &next(Stage::named("estimate")));
    assert_eq!(world.find(at_work.id).status, ItemStatus::Cancelled);
    begin(Request::Fail);
    assert_eq!(stop(), None, "nothing is open");
    let (batch, _) = world.batch(1);
    world.ask_step(batch, Request::Cancel, Step::Begin).expect("is written down");
    world.ask_batch(batch, Request::Delete).expect("is deleted");
    assert!(world.read(|tx| batches::stops(tx, None, 9)).is_empty());
}

pub(crate) fn a_batch_that_is_deleted_begins_nothing_more_and_is_deleted_page_by_page(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(150);
    let (claim, at_work) = world.claim(Stage::named("receive"));
    let (failing, failed) = world.claim(Stage::named("receive"));
    world.finish(&failing, &fatal());
    let held = ids.iter().copied().find(|id| ![at_work.id, failed.id].contains(id)).expect("another");
    world.ask(held, Request::Hold).expect("is held");
    ask(&world, batch, Request::Hold).expect("is held");
    let begun = world.ask_step(batch, Request::Delete, Step::Begin).expect("begins");
    assert!(begun.has_changed && begun.next.is_some());
    // The process is killed here.
    assert_eq!(state(&world, batch), BatchState::Deleted);
    assert!(world.lease(1, Stage::named("receive"), 200).assignments.is_empty(), "none of it begins");
    let being_deleted = || world.read(|tx| batches::being_deleted(tx, None, 9));
    assert_eq!(being_deleted(), [(batch, "a person".to_owned())]);
    assert!(!ask(&world, batch, Request::Release).is_ok_and(|topics| !topics.is_empty()), "it cannot be released");
    let refused = world.ask(failed.id, Request::Requeue(None)).expect_err("its batch was deleted");
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
    ask(&world, batch, Request::Delete).expect("does the rest");
    for id in ids.iter().filter(|id| **id != at_work.id) {
        assert_eq!(world.find(*id).status, ItemStatus::Deleted);
    }
    assert_eq!(world.find(failed.id).deleted_from, Some(ItemStatus::Failed));
    assert_eq!(being_deleted().len(), 1, "a worker has one");
    assert_eq!(world.find(at_work.id).cancel_requested, Some(ItemStatus::Cancelled));
    world.finish(&claim, &next(Stage::named("estimate")));
    assert_eq!(world.find(at_work.id).status, ItemStatus::Cancelled);
    ask(&world, batch, Request::Delete).expect("does the rest");
    assert_eq!(world.find(at_work.id).status, ItemStatus::Deleted);
    assert!(being_deleted().is_empty());
    assert_eq!(state(&world, batch), BatchState::Deleted);
    assert!(world.read(|tx| strongroom_registry::reports::list(tx, Scope::System, batch, 0, 9)).is_empty());
}

pub(crate) fn what_is_committed_is_completed_in_a_batch_that_is_deleted(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, _) = world.batch(1);
    let object = world.object("bag-0");
    let (claim, item) = world.claim(Stage::named("receive"));
    let version = world.prepare(&claim, &object);
    world.commit(&claim, &version);
    ask(&world, batch, Request::Delete).expect("is deleted");
    assert_eq!(world.find(item.id).cancel_requested, None);
    world.publish(&claim, &[]);
    world.finish(&claim, &next(Stage::named("notify")));
    let (claim, _) = world.claim(Stage::named("notify"));
    world.finish(&claim, &succeeded());
    ask(&world, batch, Request::Delete).expect("does the rest");
    let item = world.find(item.id);
    assert_eq!((item.status, item.deleted_from), (ItemStatus::Deleted, Some(ItemStatus::Succeeded)));
}

pub(crate) fn a_deleted_batch_stays_deleted(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(2);
    let (other, _) = world.batch(0);
    let (claim, _) = world.claim(Stage::named("receive"));
    world.finish(&claim, &fatal());
    ask(&world, batch, Request::Delete).expect("is put away");
    assert!(ids.iter().all(|id| world.find(*id).status == ItemStatus::Deleted));
    assert_eq!(state(&world, batch), BatchState::Deleted);
    assert_eq!(state(&world, other), BatchState::Processing);
    ask(&world, other, Request::Delete).expect("is put away");
    assert!(world.read(|tx| batches::list(tx, Scope::System, &batches::BatchFilter::default(), None, 9)).is_empty());
    assert!(world.lease(1, Stage::named("receive"), 9).assignments.is_empty());
    ask(&world, batch, Request::Delete).expect("there is nothing left to do");
    assert_eq!(state(&world, batch), BatchState::Deleted);
}

pub(crate) fn the_paused_topics_are_named_in_which_items_of_a_batch_wait(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(2);
    let paused = || world.read(|tx| batches::paused_topics(tx, batch));
    let pause = |topic: &'static str| {
        world.write(move |tx| Ok::<_, RegistryError>(strongroom_queue::tasks::set_paused(tx, topic, true)?));
    };
    assert!(paused().is_empty());
    pause("ingest.fetch");
    assert!(paused().is_empty(), "none waits there");
    pause("ingest.receive");
    assert_eq!(paused(), ["ingest.receive"]);
    world.write(|tx| Ok::<_, RegistryError>(strongroom_queue::tasks::set_all_paused(tx, true)?));
    assert_eq!(paused(), ["all"]);
    for id in ids {
        world.ask(id, Request::Cancel).expect("is cancelled");
    }
    assert!(paused().is_empty());
}

pub(crate) fn of_facts_the_beginnings_are_shown(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    world.write(move |tx| {
        interim::set_fact(tx, &claim, "long", "caf\u{e9} and so on")?;
        interim::set_fact(tx, &claim, "short", "1")
    });
    let shown = world.read(|tx| interim::shown_facts(tx, item.id, 9, 4));
    let shown: Vec<_> = shown.iter().map(|fact| (fact.name.as_str(), fact.value.as_str(), fact.length)).collect();
    assert_eq!(shown, [("long", "caf\u{e9}", 14), ("short", "1", 1)]);
    assert_eq!(world.read(|tx| interim::shown_facts(tx, item.id, 1, 4)).len(), 1);
}

pub(crate) fn making_a_batch_twice_makes_one(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(1);
    let institution: InstitutionId = world.ours;
    world.write(move |tx| {
        batches::create(
            tx,
            &NewBatch { kind: "file", submitted_by: "another", ..new_batch(batch, institution, Some(1)) },
        )
    });
    let kept = world.read(|tx| batches::get(tx, Scope::System, batch)).expect("is there");
    assert_eq!((kept.kind.as_str(), kept.submitted_by.as_str()), ("bag", "someone"));
    let again = NewItem { id: ids[0], note: "again".into(), ..world.new_item("bag-0") };
    world.make(&again);
    assert_eq!(world.find(ids[0]).note.as_deref(), Some("submitted"));
    assert_eq!((world.history(ids[0]).len(), world.tasks(ids[0]).len()), (1, 1));
}

pub(crate) fn counts_and_listings_of_a_batch_are_its_own(subject: &dyn Subject) {
    let world = World::new(subject);
    let (first, ids) = world.batch(5);
    let (second, _) = world.batch(2);
    world.ask(ids[0], Request::Hold).expect("is held");
    let counts = |batch| world.read(|tx| items::counts(tx, Scope::System, batch));
    assert_eq!(counts(Some(first)), [(ItemStatus::Held, 1), (ItemStatus::Pending, 4)]);
    assert_eq!(counts(Some(second)), [(ItemStatus::Pending, 2)]);
    assert_eq!(counts(None), [(ItemStatus::Held, 1), (ItemStatus::Pending, 6)]);
    let filter = ItemFilter { batch: Some(first), ..ItemFilter::default() };
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = world.read(|tx| items::list(tx, Scope::System, &filter, after, 2));
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        listed.extend(page.iter().map(|item| item.id));
    }
    assert_eq!(listed, ids);
    let held = ItemFilter { status: Some(ItemStatus::Held), ..filter };
    assert_eq!(world.read(|tx| items::list(tx, Scope::System, &held, None, 9)).len(), 1);
    let all = world.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 99));
    assert_eq!(all.len(), 7);
}

pub(crate) fn a_list_shows_the_items_that_its_filter_means_whichever_index_it_is_read_from(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, in_batch) = world.batch(3);
    world.make(&NewItem { collection: None, ..world.new_item("bag-1") });
    world.make(&NewItem {
        collection: None,
        ..NewItem::new(Action::named("restore_object"), world.theirs, "example.org/maps")
    });
    world.make(&NewItem {
        collection: None,
        ..NewItem::new(Action::named("ingest"), world.theirs, "example.org/letters")
    });
    world.ask(in_batch[0], Request::Hold).expect("is held");
    world.ask(in_batch[2], Request::Cancel).expect("is cancelled");
    world.ask(in_batch[2], Request::Delete).expect("is deleted");
    let (claim, failing) = world.claim(Stage::named("receive"));
    world.finish(&claim, &fatal());
    let everything = world.read(|tx| {
        let mut found = items::list(tx, Scope::System, &ItemFilter::default(), None, 99)?;
        found.extend(items::find(tx, Scope::System, in_batch[2]));
        Ok(found)
    });
    assert_eq!(everything.len(), 6);
    let middle = everything[3].created_at;
    let scopes = [Scope::System, Scope::Institution(world.ours), Scope::Institution(world.theirs)];
    let statuses =
        [None, Some(ItemStatus::Pending), Some(ItemStatus::Held), Some(ItemStatus::Failed), Some(ItemStatus::Deleted)];
    let mut filters = Vec::new();
    for status in statuses {
        for action in [None, Some(Action::named("restore_object"))] {
            for needs_review in [None, Some(true)] {
                for since in [None, Some(middle), Some(world.later(Duration::from_hours(1)))] {
                    for object in [None, Some((world.ours, failing.object_identifier.clone()))] {
                        for batch in [None, Some(batch)] {
                            for collection in [None, Some(world.collection)] {
                                let object = object.clone();
                                filters.push(ItemFilter {
                                    status,
                                    action,
                                    needs_review,
                                    since,
                                    object,
                                    batch,
                                    collection,
                                    ..ItemFilter::default()
                                });
                            }
                        }
                    }
                }
            }
        }
    }
    for scope in scopes {
        for filter in &filters {
            let is_meant = |item: &Item| {
                (scope == Scope::System || scope == Scope::Institution(item.institution))
                    && filter.status.map_or(item.status != ItemStatus::Deleted, |status| status == item.status)
                    && filter.action.is_none_or(|action| action == item.action)
                    && filter.needs_review.is_none_or(|needed| needed == item.needs_review)
                    && filter.since.is_none_or(|since| item.created_at >= since)
                    && filter.batch.is_none_or(|batch| item.batch == Some(batch))
                    && filter.collection.is_none_or(|collection| item.collection == Some(collection))
                    && filter.object.as_ref().is_none_or(|(institution, identifier)| {
                        *institution == item.institution && *identifier == item.object_identifier
                    })
            };
            let mut expected: Vec<ItemId> =
                everything.iter().filter(|item| is_meant(item)).map(|item| item.id).collect();
            expected.sort_unstable();
            for order in [Order::OldestFirst, Order::NewestFirst] {
                // Those of a batch come oldest first.
                if order == Order::NewestFirst && filter.batch.is_none() {
                    expected.reverse();
                }
                let filter = ItemFilter { order, ..filter.clone() };
                let (mut listed, mut after) = (Vec::new(), None);
                loop {
                    let page = world.read(|tx| items::list(tx, scope, &filter, after, 2));
                    let Some(last) = page.last() else { break };
                    after = Some(last.id);
                    listed.extend(page.iter().map(|item| item.id));
                }
                assert_eq!(listed, expected, "{scope:?} {filter:?}");
            }
        }
    }
}

pub(crate) fn items_are_counted_by_collection_and_status(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, ids) = world.batch(3);
    world.ask(ids[0], Request::Hold).expect("is held");
    world.make(&NewItem { collection: None, ..world.new_item("loose") });
    world.make(&NewItem::new(Action::named("ingest"), world.theirs, "example.org/letters"));
    let counted = |institution| {
        let found = world.read(|tx| items::count_by_collection(tx, institution));
        found.into_iter().map(|one| (one.collection, one.status, one.items)).collect::<Vec<_>>()
    };
    let maps = || Some("maps".to_owned());
    let ours = [(None, ItemStatus::Pending, 1), (maps(), ItemStatus::Held, 1), (maps(), ItemStatus::Pending, 2)];
    assert_eq!(counted(world.ours), ours);
    assert_eq!(counted(world.theirs), [(None, ItemStatus::Pending, 1)]);
}
