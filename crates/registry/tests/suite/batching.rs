//! Batches: what their state follows from, and what is asked of all their items at once.

use strongroom_registry::items::{self, ItemFilter, Request};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{BatchId, BatchState, InstitutionId, ItemStatus, RegistryError, Scope, Stage, batches};

use super::world::*;

fn state(world: &World<'_>, id: BatchId) -> BatchState {
    world.read(|tx| batches::get(tx, Scope::System, id)).expect("is there").state
}

fn ask(world: &World<'_>, id: BatchId, request: Request) -> Result<Vec<String>, RegistryError> {
    let done = world.registry.write(move |tx| batches::request(tx, &Table, Scope::System, id, request, "a person"));
    done.map(|done| done.topics)
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
    assert_eq!(last.note.as_deref(), Some("held by a person"), "asked for while a worker had the item");
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
    let refused = ask(&world, batch, Request::Delete).expect_err("one is at work");
    assert!(matches!(refused, RegistryError::State { .. }));
    assert_eq!(world.find(other).status, ItemStatus::Cancelled, "all or none");
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

pub(crate) fn making_a_batch_twice_makes_one(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, ids) = world.batch(1);
    let institution: InstitutionId = world.ours;
    world.write(move |tx| batches::create(tx, batch, institution, None, "file", "another", None));
    let kept = world.read(|tx| batches::get(tx, Scope::System, batch)).expect("is there");
    assert_eq!((kept.kind.as_str(), kept.submitted_by.as_str()), ("bag", "someone"));
    let again = items::NewItem { id: ids[0], note: "again".into(), ..world.new_item("bag-0") };
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
