//! Items that wait for the confirmation of a program: what wakes them, and what is said of them in the end.

use std::time::Duration;

use strongroom_queue::TaskState;
use strongroom_registry::batches::{BatchAct, BatchRequest, NewBatch, Step};
use strongroom_registry::confirmations::{self, GivenUp};
use strongroom_registry::items::{self, NewItem, Request};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{BatchId, ItemId, ItemStatus, Stage, WaitReason, batches};

use super::world::*;

/// More than a page of a request has.
const MANY: usize = 130;

/// A batch of the collection with so many items, all of which wait for a confirmation.
fn waiting(world: &World<'_>, count: usize) -> (BatchId, Vec<ItemId>) {
    let (batch, institution, collection) = (BatchId::new(), world.ours, world.collection);
    world.write(move |tx| {
        let new = NewBatch { collection: Some(collection), ..new_batch(batch, institution, Some(count as u64)) };
        batches::create(tx, &new)
    });
    let new: Vec<NewItem> =
        (0..count).map(|number| NewItem { batch: Some(batch), ..world.new_item(&format!("bag-{number}")) }).collect();
    let mut ids: Vec<ItemId> = new.iter().map(|new| new.id).collect();
    ids.sort_by_key(|id| id.0);
    world.write(move |tx| items::create_all(tx, &Table, &mut new.iter().cloned()));
    for _ in 0..count {
        let (claim, _) = world.claim(Stage::named("receive"));
        world.finish(&claim, &next(CONFIRM));
    }
    for _ in 0..count {
        let (claim, _) = world.claim(CONFIRM);
        wait(world, &claim);
    }
    (batch, ids)
}

fn wait(world: &World<'_>, claim: &strongroom_registry::work::Claim) {
    let until = world.later(Duration::from_hours(1));
    let note = "waits for the program".to_owned();
    world.finish(claim, &StageEnd::Defer { until, reason: WaitReason::Confirmation, note });
}

fn is_due(world: &World<'_>, id: ItemId) -> bool {
    world.tasks(id).iter().all(|task| task.state == TaskState::Ready)
}

fn due(world: &World<'_>, ids: &[ItemId]) -> usize {
    ids.iter().filter(|id| is_due(world, **id)).count()
}

/// One step of a request to requeue a batch with new rules.
fn take_rules(world: &World<'_>, batch: BatchId, step: Step) -> BatchRequest {
    world.write(move |tx| {
        let by = "a person".into();
        let act = BatchAct { request: Request::Requeue(None), by, step, takes_new_rules: true };
        batches::request(tx, &Table, strongroom_registry::Scope::System, batch, act)
    })
}

pub(crate) fn new_rules_wake_what_waits_for_a_confirmation_page_by_page(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = waiting(&world, MANY);
    let collection = world.collection;
    let rules = CollectionRules { placement: Some("Other".into()), ..CollectionRules::default() };
    world.write(move |tx| tenants::set_collection(tx, collection, (&rules, "a person"), true));
    assert_eq!(due(&world, &ids), 0);
    let begun = take_rules(&world, batch, Step::Begin);
    assert_eq!((begun.items, begun.has_changed), (0, true));
    let first = take_rules(&world, batch, Step::Page { after: None, of: None });
    assert_eq!((first.items, first.has_changed, first.topics), (0, true, vec![topic(CONFIRM)]));
    assert_eq!(due(&world, &ids), 50);
    assert_eq!(world.read(|tx| batches::rules_version(tx, batch)), Some(2));
    // The process was killed here; the same request does the rest, though the batch has the rules.
    assert!(!take_rules(&world, batch, Step::Begin).has_changed);
    let mut next = Some(Step::Page { after: None, of: None });
    while let Some(step) = next {
        let done = take_rules(&world, batch, step);
        assert!(done.has_changed);
        next = done.next;
    }
    assert_eq!(due(&world, &ids), MANY);
    // One that a worker looks at meanwhile looks again.
    let (claim, item) = world.claim(CONFIRM);
    let mut next = Some(Step::Begin);
    while let Some(step) = next {
        next = take_rules(&world, batch, step).next;
    }
    wait(&world, &claim);
    assert!(is_due(&world, item.id), "it does not sleep through it");
}

pub(crate) fn a_confirmation_that_is_given_up_wakes_what_waits_and_requeues_what_failed(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = waiting(&world, 2);
    let given_up = GivenUp { by: "ann".into(), reason: "the program is gone".into() };
    let give_up = |id: ItemId| {
        let given_up = given_up.clone();
        world.write(move |tx| {
            let item = items::find(tx, strongroom_registry::Scope::System, id)?;
            confirmations::give_up(tx, &Table, &item, &given_up)
        })
    };
    assert_eq!(world.read(|tx| confirmations::given_up(tx, ids[0])), None);
    assert_eq!(give_up(ids[0]), [topic(CONFIRM)]);
    assert!(is_due(&world, ids[0]) && !is_due(&world, ids[1]));
    assert_eq!(world.read(|tx| confirmations::given_up(tx, ids[0])), Some(given_up.clone()));
    let last = world.history(ids[0]).pop().expect("a line");
    assert_eq!(last.note.as_deref(), Some("its confirmation was given up by ann: the program is gone"));
    assert_eq!((last.actor.as_deref(), last.status), (Some("ann"), ItemStatus::Pending));
    let (claim, _) = world.claim(CONFIRM);
    world.finish(&claim, &succeeded());
    take_rules(&world, batch, Step::Page { after: None, of: None });
    let (claim, _) = world.claim(CONFIRM);
    world.finish(&claim, &fatal());
    give_up(ids[1]);
    let item = world.find(ids[1]);
    assert_eq!((item.status, item.stage, item.requeues), (ItemStatus::Pending, CONFIRM, 1));
}

pub(crate) fn what_the_stage_before_said_is_known_whatever_was_said_since(subject: &dyn Subject) {
    let world = World::new(subject);
    let notify = Stage::named("notify");
    let said = |id: ItemId| world.read(|tx| items::note_at(tx, id, notify));
    let (claim, item) = world.claimed_at(Stage::named("record"));
    assert_eq!(said(item.id), None, "it has not come there");
    world.finish(&claim, &StageEnd::Next { next: notify, note: "version 1 is published".into() });
    world.claim(notify);
    world.crash();
    let (claim, again) = world.claim(notify);
    assert_eq!(again.note.as_deref(), Some("its worker stopped without reporting an end"));
    assert_eq!(said(item.id).as_deref(), Some("version 1 is published"));
    world.finish(&claim, &StageEnd::Released { note: "the worker drains".into() });
    let (claim, _) = world.claim(notify);
    world.finish(&claim, &fatal());
    world.ask(item.id, Request::Requeue(None)).expect("is requeued");
    assert_eq!(said(item.id).as_deref(), Some("version 1 is published"));
    // Behind an earlier stage it comes there again, with what that says.
    world.ask(item.id, Request::Requeue(Some(Stage::named("compare")))).expect("is requeued");
    let (claim, _) = world.claim(Stage::named("compare"));
    world.finish(&claim, &StageEnd::Next { next: notify, note: "nothing has changed".into() });
    assert_eq!(said(item.id).as_deref(), Some("nothing has changed"));
}
