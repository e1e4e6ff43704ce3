//! What people ask of items.

use std::time::Duration;

use strongroom_queue::LeaseRequest;
use strongroom_registry::discarding::Authority;
use strongroom_registry::items::{self, Asker, NewItem, Request};
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::work::{self, SWEEP_TOPIC, StageEnd};
use strongroom_registry::{Action, ItemStatus, RegistryError, Scope, Stage, WaitReason, holds};
use uuid::Uuid;

use super::world::*;

pub(crate) fn a_waiting_item_is_held_released_and_cancelled(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.item_named("held from the start");
    world.ask(id, Request::Hold).expect("is held");
    assert_eq!((world.find(id).status, world.topics(id).len()), (ItemStatus::Held, 0));
    assert_eq!(world.ask(id, Request::Release).expect("goes on"), ["ingest.receive"]);
    assert_eq!(world.topics(id), ["ingest.receive"]);
    world.ask(id, Request::Hold).expect("is held");
    assert_eq!((world.find(id).status, world.topics(id).len()), (ItemStatus::Held, 0));
    assert_eq!(world.find(id).note.as_deref(), Some("held by a person"));
    assert_eq!(world.ask(id, Request::Cancel).expect("is cancelled"), [SWEEP_TOPIC]);
    assert_eq!((world.find(id).status, world.topics(id)), (ItemStatus::Cancelled, vec![SWEEP_TOPIC.to_owned()]));
    let statuses: Vec<ItemStatus> = world.history(id).iter().map(|line| line.status).collect();
    let (pending, held) = (ItemStatus::Pending, ItemStatus::Held);
    assert_eq!(statuses, [pending, held, pending, held, ItemStatus::Cancelled]);
    world.ask(id, Request::Requeue(None)).expect("begins again");
    assert_eq!(world.topics(id), ["ingest.receive"], "nothing is swept from under it");
}

pub(crate) fn a_started_item_is_asked_and_follows_when_its_stage_ends(subject: &dyn Subject) {
    let world = World::new(subject);
    for (request, status) in [(Request::Hold, ItemStatus::Held), (Request::Cancel, ItemStatus::Cancelled)] {
        let (claim, item) = world.claimed_at(Stage::named("fetch"));
        assert!(world.ask(item.id, request).expect("is asked").is_empty());
        assert_eq!(world.find(item.id).status, ItemStatus::Started);
        let asked = world.find(item.id);
        let is_held = status == ItemStatus::Held;
        assert_eq!((asked.is_on_hold, asked.cancel_requested), (is_held, (!is_held).then_some(status)));
        for refused in [Request::Delete, Request::Requeue(None)] {
            assert!(matches!(world.ask(item.id, refused), Err(RegistryError::State { .. })), "{refused:?}");
        }
        world.finish(&claim, &next(Stage::named("validate")));
        let item = world.find(item.id);
        assert_eq!((item.stage, item.status, item.cancel_requested), (Stage::named("validate"), status, None));
        let expected: &[&str] = if status == ItemStatus::Held { &[] } else { &[SWEEP_TOPIC] };
        assert_eq!(world.topics(item.id), expected);
    }
}

pub(crate) fn a_request_is_carried_out_when_the_worker_dies(subject: &dyn Subject) {
    let world = World::new(subject);
    for (request, status) in [(Request::Hold, ItemStatus::Held), (Request::Cancel, ItemStatus::Cancelled)] {
        let (_, item) = world.claimed_at(Stage::named("fetch"));
        world.ask(item.id, request).expect("is asked");
        let topics = world.crash();
        let item = world.find(item.id);
        assert_eq!((item.stage, item.status, item.cancel_requested), (Stage::named("fetch"), status, None));
        assert_eq!(world.history(item.id).last().expect("a line").status, status);
        let expected: &[&str] = if status == ItemStatus::Held { &[] } else { &[SWEEP_TOPIC] };
        assert_eq!(world.topics(item.id), expected);
        assert!(expected.iter().all(|topic| topics.iter().any(|told| told == topic)), "{topics:?}");
    }
}

pub(crate) fn a_request_is_carried_out_instead_of_the_next_claim(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, item) = world.claimed_at(Stage::named("fetch"));
    world.ask(item.id, Request::Cancel).expect("is asked");
    subject.advance(LEASE * 2);
    // Somebody who knows tasks only has taken it over.
    world.write(|tx| {
        strongroom_queue::tasks::take_over_expired::<RegistryError>(tx, 9, &mut |_, _| Ok(true))?;
        Ok(())
    });
    let leasing = world.lease(2, Stage::named("fetch"), 9);
    assert!(leasing.assignments.is_empty());
    assert_eq!(leasing.topics, [SWEEP_TOPIC]);
    assert_eq!(world.find(item.id).status, ItemStatus::Cancelled);
    assert_eq!(world.topics(item.id), [SWEEP_TOPIC]);
}

pub(crate) fn a_release_withdraws_a_hold_that_was_only_asked_for(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    world.ask(item.id, Request::Hold).expect("is asked");
    world.ask(item.id, Request::Release).expect("is asked no more");
    world.finish(&claim, &next(Stage::named("validate")));
    assert_eq!(world.status(item.id), (Stage::named("validate"), ItemStatus::Pending));
    assert!(matches!(world.ask(item.id, Request::Release), Err(RegistryError::State { .. })));
}

pub(crate) fn a_cancelled_item_is_swept_however_its_stage_ended(subject: &dyn Subject) {
    let world = World::new(subject);
    let ends: [fn(&World<'_>) -> StageEnd; 6] = [
        |_| next(Stage::named("validate")),
        |_| StageEnd::Back { to: Stage::named("provision"), note: "back".into() },
        |world| StageEnd::Defer { until: world.now(), reason: WaitReason::Other, note: "waits".into() },
        |world| StageEnd::Transient { retry_at: world.now(), max_attempts: 3, note: "no".into() },
        |_| StageEnd::Held { note: "held".into() },
        |_| StageEnd::Released { note: "asked to stop".into() },
    ];
    for end in ends {
        let (claim, item) = world.claimed_at(Stage::named("fetch"));
        world.ask(item.id, Request::Cancel).expect("is asked");
        let end = end(&world);
        assert_eq!(world.finish(&claim, &end), [SWEEP_TOPIC], "{end:?}");
        assert_eq!(
            (world.find(item.id).status, world.topics(item.id)),
            (ItemStatus::Cancelled, vec![SWEEP_TOPIC.into()])
        );
    }
}

pub(crate) fn i12_row_and_history_of_a_deleted_item_stay_and_nothing_else_does(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    let give_up = StageEnd::Transient { retry_at: world.now(), max_attempts: 1, note: "no".into() };
    world.finish(&claim, &give_up);
    assert!(world.topics(item.id).is_empty());
    let (id, ours) = (item.id, world.ours);
    assert!(world.write(move |tx| holds::place(tx, holds::On::Item(id), ours, "ann".into())));
    assert_eq!(world.ask(item.id, Request::Delete).expect("is put away"), [SWEEP_TOPIC]);
    assert_eq!(world.topics(item.id), [SWEEP_TOPIC]);
    assert_eq!(world.dead(Stage::named("fetch")), 0, "its dead task goes with it");
    assert_eq!(world.find(item.id).status, ItemStatus::Deleted);
    assert!(world.history(item.id).len() >= 5);
    assert_eq!(world.read(|tx| holds::on(tx, holds::On::Item(id))), None);
    assert_eq!(world.read(leases::live), 0);
}

pub(crate) fn a_person_fails_an_item_that_keeps_what_it_has_and_can_be_requeued(subject: &dyn Subject) {
    let world = World::new(subject);
    let fail = |id| {
        world.registry.write(move |tx| {
            let by = Asker { who: "a person", reason: Some("the disk is sold") };
            items::request(tx, &Table, Scope::System, id, Request::Fail, by)
        })
    };
    let note = Some("failed by a person: the disk is sold");
    let waits = world.item_named("waits");
    assert!(fail(waits).expect("fails").is_empty(), "nothing of it is swept");
    let item = world.find(waits);
    assert_eq!((item.status, item.note.as_deref(), item.needs_review), (ItemStatus::Failed, note, true));
    assert!(world.topics(waits).is_empty());
    world.ask(waits, Request::Requeue(None)).expect("begins again");
    world.ask(waits, Request::Hold).expect("is held");
    let refused = fail(waits).expect_err("it is held");
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
    world.ask(waits, Request::Cancel).expect("is cancelled");
    assert!(fail(waits).is_err(), "it has ended");

    // One that a worker has fails when its stage ends, or its worker is gone.
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    assert!(fail(item.id).expect("is asked").is_empty());
    let asked = world.find(item.id);
    assert_eq!((asked.status, asked.cancel_requested), (ItemStatus::Started, Some(ItemStatus::Failed)));
    world.finish(&claim, &next(Stage::named("validate")));
    let failed = world.find(item.id);
    assert_eq!(
        (failed.stage, failed.status, failed.note.as_deref()),
        (Stage::named("validate"), ItemStatus::Failed, note)
    );
    assert!(failed.needs_review && failed.request_reason.is_none());
    assert_eq!(world.history(item.id).last().and_then(|line| line.actor.clone()).as_deref(), Some("a person"));
    assert!(world.topics(item.id).is_empty(), "nothing of it is swept");
    assert_eq!(world.ask(item.id, Request::Requeue(None)).expect("goes on"), ["ingest.validate"]);
    world.ask(item.id, Request::Cancel).expect("out of the way");
    let (_, item) = world.claimed_at(Stage::named("fetch"));
    fail(item.id).expect("is asked");
    world.crash();
    assert_eq!((world.find(item.id).status, world.find(item.id).note.as_deref()), (ItemStatus::Failed, note));
    assert!(world.topics(item.id).is_empty());
}

pub(crate) fn a_committed_item_cannot_be_stopped(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, _) = world.committing();
    let id = claim.item;
    let refuse_all = || {
        for request in [Request::Hold, Request::Cancel, Request::Fail, Request::Delete] {
            let refused = world.ask(id, request).expect_err("it only goes forward");
            assert!(matches!(refused, RegistryError::State { .. }), "{request:?}: {refused}");
        }
    };
    refuse_all();
    world.crash();
    refuse_all();
    assert_eq!(world.ask(id, Request::Requeue(Some(Stage::named("fetch")))).expect("goes on"), ["ingest.record"]);
    let (claim, _) = world.claim(Stage::named("record"));
    world.publish(&claim, &[]);
    world.finish(&claim, &next(Stage::named("notify")));
    refuse_all();
    let (claim, _) = world.claim(Stage::named("notify"));
    world.finish(&claim, &next(Stage::named("cleanup")));
    let (claim, _) = world.claim(Stage::named("cleanup"));
    world.finish(&claim, &fatal());
    world.ask(id, Request::Requeue(Some(Stage::named("receive")))).expect("begins again");
    let forward = (Stage::named("record"), ItemStatus::Pending);
    assert_eq!(world.status(id), forward, "where its workflow lets it begin from there");
    let (claim, _) = world.claim(Stage::named("record"));
    world.finish(&claim, &succeeded());
    world.ask(id, Request::Delete).expect("what has ended may be put away");
}

/// The request came while the item prepared its version, and the commit was begun before anybody looked for requests.
pub(crate) fn a_request_that_came_before_the_commit_does_not_stop_it(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("record"));
    let version = world.prepare(&claim, &object);
    world.put(&claim, &version, "deposit/data/a", b"a");
    world.ask(claim.item, Request::Cancel).expect("is asked");
    world.commit(&claim, &version);
    world.finish(&claim, &StageEnd::Cancelled { note: "as asked".into() });
    assert_eq!(world.status(claim.item), (Stage::named("record"), ItemStatus::Pending), "it only goes forward");
    subject.advance(Duration::from_mins(2));
    let (claim, _) = world.claim(Stage::named("record"));
    world.publish(&claim, &[]);
    world.finish(&claim, &next(Stage::named("notify")));
    assert_eq!(world.status(claim.item), (Stage::named("notify"), ItemStatus::Pending));
}

pub(crate) fn requeueing_begins_where_the_workflow_says_and_no_later(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    world.finish(&claim, &fatal());
    let refused = world.ask(item.id, Request::Requeue(Some(Stage::named("write")))).expect_err("a later stage");
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
    let earlier = Stage::named("estimate");
    assert_eq!(world.ask(item.id, Request::Requeue(Some(earlier))).expect("is requeued"), ["ingest.estimate"]);
    let item = world.find(item.id);
    assert_eq!((item.status, item.needs_review, item.retry_count), (ItemStatus::Pending, false, 0));
    assert_eq!(world.topics(item.id), ["ingest.estimate"], "the sweep that was to clear its staging is gone");
}

pub(crate) fn an_item_is_requeued_whatever_its_sweep_is_at(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("validate"));
    world.finish(&claim, &fatal());
    let sweeping =
        LeaseRequest { topics: vec![SWEEP_TOPIC.into()], keys: None, limit: 1, holder: holder(2), duration: LEASE };
    let sweep = world.write(move |tx| work::lease(tx, &Table, &sweeping, &|_| 3)).assignments;
    assert_eq!(sweep.len(), 1);
    world.ask(item.id, Request::Requeue(None)).expect("the sweep goes by what was discarded");
    assert_eq!(world.topics(item.id), ["ingest.validate"], "the task of the sweep is gone");
    let id = item.id;
    let late = world.refused(move |tx| Authority::Ended(id).check(tx));
    assert!(matches!(late, RegistryError::FenceLost { .. }), "a sweep under way stops: {late}");
}

pub(crate) fn a_stage_of_another_action_is_refused(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.make(&NewItem { action: Action::named("restore_object"), ..world.new_item("bag") });
    assert_eq!(world.topics(id), ["restoration.restore"]);
    for stage in INGEST {
        let refused = world.ask(id, Request::Requeue(Some(stage))).expect_err("it has one stage");
        assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
    }
    world.ask(id, Request::Requeue(Some(Stage::named("restore")))).expect("its own");
    assert_eq!(world.topics(id), ["restoration.restore"]);
    let ingest = world.item();
    assert!(world.ask(ingest, Request::Requeue(Some(Stage::named("restore")))).is_err());
}

pub(crate) fn an_item_at_rest_holds_no_object(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag").id;
    let until = world.later(LEASE * 60);
    let is_free = || {
        let other = Uuid::from_u128(7);
        let hold = world.write(move |tx| leases::hold(tx, object, other, until));
        world.write(move |tx| leases::release_owner(tx, other));
        matches!(hold, Hold::Held { .. })
    };
    let waiting = || {
        let (claim, item) = world.claimed_at(Stage::named("compare"));
        world.write(move |tx| leases::hold(tx, object, item.id.0, until));
        world.finish(&claim, &next(Stage::named("write")));
        assert!(!is_free(), "between two stages it is kept");
        item.id
    };
    for request in [Request::Hold, Request::Cancel, Request::Delete] {
        let id = waiting();
        world.ask(id, request).expect("comes to rest");
        assert!(is_free(), "{request:?}");
        if request != Request::Delete {
            world.ask(id, Request::Delete).expect("out of the way");
        }
    }
    waiting();
    for _ in 0..MAX_ATTEMPTS {
        world.claim(Stage::named("write"));
        world.crash();
    }
    world.lease(1, Stage::named("write"), 1);
    assert!(is_free(), "given up");
}
