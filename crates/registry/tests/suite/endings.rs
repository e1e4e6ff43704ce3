//! How a stage ends: item, history, task and whoever waits change together.

use std::time::Duration;

use strongroom_queue::{NewTask, TaskState, tasks};
use strongroom_registry::items::{self, ItemProblem, NewItem, Request};
use strongroom_registry::work::{self, Claim, ItemOutcome, Next, SWEEP_TOPIC, StageEnd};
use strongroom_registry::{ItemId, ItemStatus, Scope, Stage, WaitReason};

use super::world::*;

/// What the last line of the history says.
fn last_word(world: &World<'_>, id: ItemId) -> (Stage, ItemStatus, String) {
    let line = world.history(id).pop().expect("a line");
    (line.stage, line.status, line.note.unwrap_or_default())
}

/// Ends the stage that a claim is of: what came of the item.
fn outcome(world: &World<'_>, claim: &Claim, end: StageEnd) -> Option<ItemOutcome> {
    let claim = claim.clone();
    let ended = world.write(move |tx| {
        let next = Next { writes: None, room: None, known_schema: None };
        work::end_stage(tx, &Table, (&claim, &holder(1).to_string()), &end, next)
    });
    ended.outcome
}

pub(crate) fn whoever_ends_an_item_hears_what_came_of_it_and_only_then(subject: &dyn Subject) {
    let receive = Stage::named("receive");
    let transient = |world: &World<'_>| StageEnd::Transient {
        retry_at: world.later(Duration::ZERO),
        max_attempts: MAX_ATTEMPTS,
        note: "the disk is full".into(),
    };
    let world = World::new(subject);
    let id = world.item();
    for _ in 1..MAX_ATTEMPTS {
        let (claim, _) = world.claim(receive);
        assert_eq!(outcome(&world, &claim, transient(&world)), None, "it is tried again");
    }
    let (claim, _) = world.claim(receive);
    subject.advance(Duration::from_secs(7));
    let spent = outcome(&world, &claim, transient(&world)).expect("its attempts are spent");
    assert_eq!((spent.item, spent.stage, spent.status), (id, receive, ItemStatus::Failed));
    assert_eq!(spent.note, "failed after 3 attempts: the disk is full");
    assert_eq!((spent.action.as_str(), spent.object_identifier.as_str()), ("ingest", "example.edu/bag"));
    assert!(spent.age >= Duration::from_secs(7), "{:?}", spent.age);
    let ends = [
        (StageEnd::Succeeded { note: "kept".into() }, ItemStatus::Succeeded, "kept"),
        (StageEnd::Fatal { note: "no".into(), problems: Vec::new() }, ItemStatus::Failed, "no"),
        (StageEnd::Invalid { note: "not valid".into(), problems: Vec::new() }, ItemStatus::Failed, "not valid"),
        (StageEnd::Held { note: "look".into() }, ItemStatus::Held, "look"),
        (StageEnd::Cancelled { note: "gone".into() }, ItemStatus::Cancelled, "gone"),
    ];
    for (number, (end, status, note)) in ends.into_iter().enumerate() {
        world.item_named(&format!("other-{number}"));
        let (claim, _) = world.claim(receive);
        let found = outcome(&world, &claim, end).expect("it ended");
        assert_eq!((found.status, found.note.as_str()), (status, note));
    }
    world.item_named("on its way");
    let (claim, _) = world.claim(receive);
    assert_eq!(outcome(&world, &claim, next(Stage::named("estimate"))), None, "it goes on");
    let (claim, item) = world.claim(Stage::named("estimate"));
    world.ask(item.id, Request::Cancel).expect("is asked");
    let asked = outcome(&world, &claim, next(Stage::named("fetch"))).expect("it was cancelled");
    assert_eq!((asked.item, asked.status), (item.id, ItemStatus::Cancelled));
    assert!(asked.note.contains("by a person"), "{}", asked.note);
}

pub(crate) fn an_item_that_ends_while_it_is_leased_or_taken_over_is_told(subject: &dyn Subject) {
    let receive = Stage::named("receive");
    let world = World::new(subject);
    let id = world.item();
    for attempt in 1..=MAX_ATTEMPTS {
        world.claim_as(attempt, receive);
        world.crash();
    }
    let outcomes = world.lease(9, receive, 9).outcomes;
    let found: Vec<_> = outcomes.iter().map(|one| (one.item, one.status)).collect();
    assert_eq!(found, [(id, ItemStatus::Failed)], "its attempts ended without a word");
    let held = world.item_named("another");
    world.claim(receive);
    world.ask(held, Request::Hold).expect("is asked");
    subject.advance(LEASE * 2);
    let outcomes = world.write(|tx| work::reclaim(tx, 100)).outcomes;
    let found: Vec<_> = outcomes.iter().map(|one| (one.item, one.status)).collect();
    assert_eq!(found, [(held, ItemStatus::Held)], "its worker is gone");
}

pub(crate) fn next_goes_on_with_a_new_task(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.item();
    let (claim, _) = world.claim(Stage::named("receive"));
    let other = world.item_named("another");
    assert_eq!(world.finish(&claim, &next(Stage::named("estimate"))), ["ingest.estimate"]);
    let item = world.find(id);
    assert_eq!((item.stage, item.status, item.retry_count), (Stage::named("estimate"), ItemStatus::Pending, 0));
    assert_eq!((item.holder, item.lease_until), (None, None));
    let tasks = world.tasks(id);
    assert_eq!(tasks.len(), 1, "the task of the stage is done");
    assert_eq!((tasks[0].topic.as_str(), tasks[0].state, tasks[0].spent), ("ingest.estimate", TaskState::Ready, 0));
    assert_eq!(last_word(&world, id), (Stage::named("estimate"), ItemStatus::Pending, "on to estimate".into()));
    let numbers = |id| world.history(id).iter().map(|line| line.number).collect::<Vec<u64>>();
    assert_eq!(numbers(id), [1, 2, 3], "submitted, started, ended");
    assert_eq!(numbers(other), [1], "each item has a history of its own");
}

pub(crate) fn every_task_of_an_item_has_its_priority_and_takes_turns_by_its_institution(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.make(&NewItem { priority: 7, size: Some(1), ..world.new_item("bag") });
    let (ours, task) = (world.ours.to_string(), world.tasks(id).remove(0));
    assert_eq!((task.priority, &task.fair_key, task.max_attempts), (7, &ours, u32::MAX));
    let (claim, _) = world.claim(Stage::named("receive"));
    world.finish(&claim, &next(Stage::named("estimate")));
    let task = world.tasks(id).remove(0);
    assert_eq!((task.priority, &task.fair_key, task.max_attempts), (7, &ours, u32::MAX));
}

pub(crate) fn defer_waits_with_the_same_task_and_spends_nothing(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.item();
    for _ in 0..MAX_ATTEMPTS * 2 {
        let (claim, _) = world.claim(Stage::named("receive"));
        assert_eq!(claim.spent, 1, "waiting is no failure");
        let until = world.later(Duration::from_mins(10));
        world.finish(&claim, &StageEnd::Defer { until, reason: WaitReason::Other, note: "not yet".into() });
        let task = &world.tasks(id)[0];
        assert_eq!((task.task, task.state, task.ready_at), (claim.lease.task, TaskState::Delayed, until));
        assert_eq!(world.status(id), (Stage::named("receive"), ItemStatus::Pending));
        assert_eq!(last_word(&world, id).2, "not yet");
        assert!(world.lease(1, Stage::named("receive"), 1).assignments.is_empty());
        subject.advance(Duration::from_mins(10));
    }
}

pub(crate) fn only_a_refused_store_asks_for_a_person_while_it_is_waited_for(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.item();
    for (reason, asks) in [(WaitReason::RefusedStore, true), (WaitReason::Store, false), (WaitReason::Other, false)] {
        let (claim, _) = world.claim(Stage::named("receive"));
        let until = world.later(Duration::from_mins(10));
        world.finish(&claim, &StageEnd::Defer { until, reason, note: "waits".into() });
        let item = world.find(id);
        assert_eq!((item.wait_reason, item.needs_review), (Some(reason), asks));
        subject.advance(Duration::from_mins(10));
    }
}

pub(crate) fn defer_does_not_sleep_through_a_wake_up(subject: &dyn Subject) {
    let world = World::new(subject);
    let (waiting, item) = world.claimed_at(Stage::named("provision"));
    // Room is made while the stage decides that there is none; only items that wait are woken, so by hand:
    let id = item.id;
    world.write(move |tx| {
        tasks::enqueue(tx, &[NewTask { max_attempts: 9, ..NewTask::new("ingest.provision", id.to_string(), "") }])?;
        Ok(())
    });
    let until = world.later(Duration::from_hours(1));
    world.finish(&waiting, &StageEnd::Defer { until, reason: WaitReason::Other, note: "no room".into() });
    let (again, _) = world.claim(Stage::named("provision"));
    world.finish(&again, &StageEnd::Defer { until, reason: WaitReason::Other, note: "no room".into() });
    assert!(world.lease(1, Stage::named("provision"), 1).assignments.is_empty(), "it was woken once");
}

fn transient(world: &World<'_>) -> StageEnd {
    StageEnd::Transient {
        retry_at: world.later(Duration::from_secs(5)),
        max_attempts: MAX_ATTEMPTS,
        note: "the store is out of reach".into(),
    }
}

pub(crate) fn transient_errors_are_retried_until_the_attempts_are_spent(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("write"));
    let id = item.id;
    world.finish(&claim, &transient(&world));
    assert_eq!((world.status(id), world.find(id).retry_count), ((Stage::named("write"), ItemStatus::Pending), 1));
    assert_eq!(last_word(&world, id).2, "the store is out of reach");
    assert!(world.lease(1, Stage::named("write"), 1).assignments.is_empty(), "not before its time");
    subject.advance(Duration::from_secs(5));
    world.claim(Stage::named("write"));
    world.crash();
    let (claim, _) = world.claim(Stage::named("write"));
    assert_eq!(claim.spent, MAX_ATTEMPTS, "a crash counts as well");
    world.finish(&claim, &transient(&world));
    let item = world.find(id);
    assert_eq!((item.stage, item.status), (Stage::named("write"), ItemStatus::Failed));
    assert!(item.needs_review);
    assert_eq!(item.retry_count, u64::from(MAX_ATTEMPTS));
    assert!(item.note.expect("a note").ends_with("the store is out of reach"), "the exact text is shown");
    assert_eq!(world.dead(Stage::named("write")), 1);
    assert!(world.topics(id).is_empty(), "what was staged is kept");
}

pub(crate) fn fatal_fails_the_item_and_sweeps_behind_it(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("validate"));
    let problem = |line| ItemProblem {
        severity: "error".into(),
        code: "manifest.file_missing".into(),
        file: Some("manifest-md5.txt".into()),
        path: Some("data/a".into()),
        line: Some(line),
        message: "is not there".into(),
    };
    world.write({
        let (claim, before) = (claim.clone(), problem(9));
        move |tx| work::note_problems(tx, &claim, std::slice::from_ref(&before))
    });
    let problems = vec![problem(1), problem(2)];
    let topics = world.finish(&claim, &StageEnd::Fatal { note: "invalid".into(), problems: problems.clone() });
    assert_eq!(topics, [SWEEP_TOPIC]);
    let item = world.find(item.id);
    assert_eq!((item.stage, item.status, item.needs_review), (Stage::named("validate"), ItemStatus::Failed, true));
    assert_eq!(item.note.as_deref(), Some("invalid"));
    assert_eq!(last_word(&world, item.id), (Stage::named("validate"), ItemStatus::Failed, "invalid".into()));
    assert_eq!(world.topics(item.id), [SWEEP_TOPIC]);
    assert_eq!(world.dead(Stage::named("validate")), 0);
    assert_eq!(world.read(|tx| items::problems(tx, Scope::System, item.id, 10)), problems);
    assert_eq!(world.read(|tx| items::problems(tx, Scope::System, item.id, 1)), problems[..1]);
}

pub(crate) fn only_a_verdict_on_the_package_ends_an_item_as_invalid(subject: &dyn Subject) {
    let world = World::new(subject);
    let problems = vec![ItemProblem {
        severity: "error".into(),
        code: "profile.tag_required".into(),
        file: None,
        path: None,
        line: None,
        message: "is not there".into(),
    }];
    let (claim, item) = world.claimed_at(Stage::named("validate"));
    let id = item.id;
    let fatal = StageEnd::Fatal { note: "ours".into(), problems: problems.clone() };
    world.finish(&claim, &fatal);
    assert_eq!((world.status(id).1, world.find(id).is_verdict), (ItemStatus::Failed, false));
    world.ask(id, Request::Requeue(None)).expect("is requeued");
    let validate = |world: &World<'_>, end: &StageEnd| {
        let (claim, _) = world.claim(Stage::named("validate"));
        world.finish(&claim, end);
    };
    let verdict = StageEnd::Invalid { note: "the bag is invalid".into(), problems: problems.clone() };
    validate(&world, &verdict);
    let item = world.find(id);
    assert_eq!((item.status, item.is_verdict, item.needs_review), (ItemStatus::Failed, true, true));
    assert_eq!(world.read(|tx| items::problems(tx, Scope::System, id, 10)), problems);
    assert_eq!(world.topics(id), [SWEEP_TOPIC], "it is swept behind, as by any end for good");
    world.ask(id, Request::Requeue(None)).expect("is requeued");
    assert!(!world.find(id).is_verdict, "nothing is known of how it ends next");
    validate(&world, &fatal);
    assert_eq!((world.status(id).1, world.find(id).is_verdict), (ItemStatus::Failed, false));
}

pub(crate) fn staging_that_is_lost_again_and_again_asks_for_a_person(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = world.item();
    world.drive(id, Stage::named("validate"));
    let lost = StageEnd::StagingLost {
        to: Stage::named("provision"),
        max_losses: 3,
        note: "other bytes".into(),
        advice: "check the disk of staging".into(),
    };
    let lose = |from: Stage| {
        let (claim, _) = world.claim(from);
        world.finish(&claim, &lost);
    };
    let fetch = || {
        let (claim, _) = world.claim(Stage::named("provision"));
        world.finish(&claim, &next(Stage::named("validate")));
    };
    lose(Stage::named("validate"));
    assert_eq!(last_word(&world, id).2, "other bytes; fetching again");
    assert_eq!(world.status(id), (Stage::named("provision"), ItemStatus::Pending));
    fetch();
    lose(Stage::named("validate"));
    fetch();
    lose(Stage::named("validate"));
    let item = world.find(id);
    assert_eq!((item.status, item.needs_review, item.is_verdict), (ItemStatus::Failed, true, false));
    let note = item.note.expect("a note");
    assert!(note.contains("3 times") && note.contains("check the disk of staging"), "{note}");
    world.ask(id, Request::Requeue(None)).expect("is requeued");
    assert_eq!(world.find(id).staging_losses, 0, "a person was at it");
}

pub(crate) fn back_begins_an_earlier_stage_afresh(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("write"));
    let back = StageEnd::Back { to: Stage::named("provision"), note: "staging is lost".into() };
    assert_eq!(world.finish(&claim, &back), ["ingest.provision"]);
    assert_eq!(world.status(item.id), (Stage::named("provision"), ItemStatus::Pending));
    assert_eq!(world.topics(item.id), ["ingest.provision"]);
    assert_eq!(last_word(&world, item.id).2, "staging is lost");
    let (claim, _) = world.claim(Stage::named("provision"));
    assert_eq!(claim.spent, 1);
    // Back to the stage itself is a task of its own too.
    world.finish(&claim, &StageEnd::Back { to: Stage::named("provision"), note: "once more".into() });
    assert_eq!(world.claim(Stage::named("provision")).0.spent, 1);
}

pub(crate) fn attempts_are_counted_until_the_item_goes_on(subject: &dyn Subject) {
    let world = World::new(subject);
    let until = world.now();
    let stays = [
        StageEnd::Defer { until, reason: WaitReason::Other, note: "not yet".into() },
        StageEnd::Released { note: "the worker drains".into() },
        StageEnd::Held { note: "look at this".into() },
    ];
    let goes_on = [
        next(Stage::named("cleanup")),
        StageEnd::Back { to: Stage::named("provision"), note: "staging is lost".into() },
        StageEnd::StagingLost {
            to: Stage::named("provision"),
            max_losses: 3,
            note: "other bytes".into(),
            advice: "check the disk".into(),
        },
        succeeded(),
    ];
    for (ends, expected) in [(stays.as_slice(), 1), (goes_on.as_slice(), 0)] {
        for end in ends {
            let (claim, item) = world.claimed_at(Stage::named("write"));
            world.finish(&claim, &transient(&world));
            assert_eq!(world.find(item.id).retry_count, 1);
            subject.advance(Duration::from_secs(5));
            world.finish(&world.claim(Stage::named("write")).0, end);
            assert_eq!(world.find(item.id).retry_count, expected, "{end:?}");
            if !world.find(item.id).status.is_ended() {
                world.ask(item.id, Request::Cancel).expect("out of the way");
            }
        }
    }
}

pub(crate) fn held_waits_for_a_person_without_a_task(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("notify"));
    assert!(world.finish(&claim, &StageEnd::Held { note: "look at this".into() }).is_empty());
    assert_eq!(world.status(item.id), (Stage::named("notify"), ItemStatus::Held));
    assert!(world.topics(item.id).is_empty());
    assert_eq!(world.ask(item.id, Request::Release).expect("goes on"), ["ingest.notify"]);
    assert_eq!(world.claim(Stage::named("notify")).0.item, item.id);
}

pub(crate) fn succeeded_ends_without_a_sweep(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("cleanup"));
    assert!(world.finish(&claim, &succeeded()).is_empty());
    assert_eq!(last_word(&world, item.id), (Stage::named("cleanup"), ItemStatus::Succeeded, "done".into()));
    assert!(world.topics(item.id).is_empty());
    assert!(!world.find(item.id).needs_review);
}

pub(crate) fn released_gives_the_attempt_back(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("fetch"));
    for _ in 0..MAX_ATTEMPTS * 2 {
        let (id, fence) = (item.id, world.find(item.id).fence);
        let held = Claim { fence, lease: lease_of(&world, id), ..claim.clone() };
        world.finish(&held, &StageEnd::Released { note: "the worker drains".into() });
        assert_eq!(world.status(id), (Stage::named("fetch"), ItemStatus::Pending));
        assert_eq!(last_word(&world, id).2, "the worker drains");
        assert_eq!(world.claim(Stage::named("fetch")).0.spent, 1, "at once, with nothing spent");
    }
}

fn lease_of(world: &World<'_>, id: ItemId) -> strongroom_queue::Lease {
    let task = &world.tasks(id)[0];
    strongroom_queue::Lease { task: task.task, attempt: task.attempt }
}

pub(crate) fn a_committing_item_does_not_fail(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, _) = world.committing();
    let id = claim.item;
    world.finish(&claim, &fatal());
    let item = world.find(id);
    assert_eq!((item.stage, item.status, item.needs_review), (Stage::named("record"), ItemStatus::Pending, true));
    assert_eq!(item.retry_count, 1);
    assert!(world.lease(1, Stage::named("record"), 1).assignments.is_empty(), "it rests first");
    subject.advance(Duration::from_mins(2));
    for _ in 0..MAX_ATTEMPTS * 2 {
        let (claim, _) = world.claim(Stage::named("record"));
        world.finish(&claim, &transient(&world));
        assert_eq!(world.status(id), (Stage::named("record"), ItemStatus::Pending));
        subject.advance(Duration::from_secs(5));
    }
    assert!(world.find(id).needs_review);
    assert_eq!(world.dead(Stage::named("record")), 0);
    let (claim, _) = world.claim(Stage::named("record"));
    world.publish(&claim, &[]);
    world.finish(&claim, &next(Stage::named("notify")));
    assert!(!world.find(id).needs_review, "in the end it went well");
}

pub(crate) fn retry_brings_task_and_item_back(subject: &dyn Subject) {
    let world = World::new(subject);
    let ids = [world.item_named("a"), world.item_named("b")];
    for _ in 0..MAX_ATTEMPTS {
        assert_eq!(world.lease(1, Stage::named("receive"), 9).assignments.len(), 2);
        world.crash();
    }
    world.lease(1, Stage::named("receive"), 9);
    assert_eq!(world.dead(Stage::named("receive")), 2);
    let dead = world.read(|tx| Ok(tasks::list(tx, "ingest.receive", TaskState::Dead, None, 9)?.tasks));
    let only = dead.iter().find(|task| task.key == ids[1].to_string()).expect("is dead").task;
    let back = world.write(move |tx| work::retry_one(tx, &Table, ("ingest.receive", only), "a person"));
    assert_eq!((back.tasks, back.topics), (1, vec!["ingest.receive".to_owned()]));
    assert_eq!(world.status(ids[0]), (Stage::named("receive"), ItemStatus::Failed));
    assert_eq!(world.status(ids[1]), (Stage::named("receive"), ItemStatus::Pending));
    assert_eq!(world.claim(Stage::named("receive")).0.spent, 1, "with all its attempts");
    let back = world.write(|tx| work::retry(tx, &Table, "ingest.receive", None, "a person"));
    assert_eq!((back.tasks, world.dead(Stage::named("receive"))), (1, 0));
    assert!(!world.find(ids[0]).needs_review);

    world.write(|tx| {
        tasks::enqueue(tx, &[NewTask { max_attempts: 1, ..NewTask::new(SWEEP_TOPIC, "a", "") }])?;
        let leased = tasks::lease(
            tx,
            &strongroom_queue::LeaseRequest {
                topics: vec![SWEEP_TOPIC.into()],
                keys: None,
                limit: 1,
                holder: holder(1),
                duration: LEASE,
            },
        )?;
        let outcome = strongroom_queue::Outcome::Dead { reason: "no".into() };
        tasks::settle(tx, &[strongroom_queue::Settlement { lease: leased[0].lease, outcome }])?;
        Ok(())
    });
    let back = world.write(|tx| work::retry(tx, &Table, SWEEP_TOPIC, None, "a person"));
    let topics = vec![SWEEP_TOPIC.to_owned()];
    assert_eq!((back.tasks, back.topics), (1, topics), "a task that is no stage comes back as itself");
    assert_eq!(world.write(|tx| work::retry(tx, &Table, SWEEP_TOPIC, None, "a person")).tasks, 0);
}

pub(crate) fn dead_tasks_are_brought_back_a_hundred_at_a_time(subject: &dyn Subject) {
    const MANY: u64 = 250;
    let world = World::new(subject);
    world.write(|tx| {
        let new: Vec<NewTask> = (0..MANY).map(|number| NewTask::new(SWEEP_TOPIC, number.to_string(), "")).collect();
        tasks::enqueue(tx, &new)?;
        let request = strongroom_queue::LeaseRequest {
            topics: vec![SWEEP_TOPIC.into()],
            keys: None,
            limit: 999,
            holder: holder(1),
            duration: LEASE,
        };
        let dead = |lease| strongroom_queue::Settlement {
            lease,
            outcome: strongroom_queue::Outcome::Dead { reason: "no".into() },
        };
        let all: Vec<_> = tasks::lease(tx, &request)?.iter().map(|task| dead(task.lease)).collect();
        tasks::settle(tx, &all)?;
        Ok(())
    });
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let page = world.write(move |tx| work::retry(tx, &Table, SWEEP_TOPIC, after, "a person"));
        pages.push(page.tasks);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(pages, [100, 100, 50]);
}

pub(crate) fn a_newer_deposit_is_woken_however_the_older_one_ends(subject: &dyn Subject) {
    let world = World::new(subject);
    let ways: [fn(&World<'_>, ItemId) -> Vec<String>; 5] = [
        |world, _| world.finish(&world.claim(Stage::named("fetch")).0, &succeeded()),
        |world, _| world.finish(&world.claim(Stage::named("fetch")).0, &fatal()),
        |world, _| {
            let give_up = StageEnd::Transient { retry_at: world.now(), max_attempts: 1, note: "no".into() };
            world.finish(&world.claim(Stage::named("fetch")).0, &give_up)
        },
        |world, id| world.ask(id, Request::Cancel).expect("is cancelled"),
        |world, id| world.ask(id, Request::Delete).expect("is put away"),
    ];
    for (number, end) in ways.into_iter().enumerate() {
        let name = format!("bag-{number}");
        let older = world.item_named(&name);
        world.drive(older, Stage::named("fetch"));
        let [younger, youngest] = [world.item_named(&name), world.item_named(&name)];
        let other = world.item_named("another object");
        let hour = world.later(Duration::from_hours(1));
        for id in [younger, youngest, other] {
            let (claim, item) = world.claim(Stage::named("receive"));
            assert_eq!(claim.item, id);
            let waits_for = world.read(|tx| items::older_open(tx, &item));
            assert_eq!(
                waits_for,
                [(younger, older), (youngest, younger)].into_iter().find(|one| one.0 == id).map(|one| one.1)
            );
            world.finish(&claim, &StageEnd::Defer { until: hour, reason: WaitReason::Other, note: "waits".into() });
        }
        assert!(world.lease(1, Stage::named("receive"), 9).assignments.is_empty());
        assert!(end(&world, older).contains(&"ingest.receive".to_owned()), "way {number}");
        let (claim, item) = world.claim(Stage::named("receive"));
        assert_eq!(claim.item, younger, "way {number}");
        assert_eq!(world.read(|tx| items::older_open(tx, &item)), None);
        assert!(world.lease(1, Stage::named("receive"), 9).assignments.is_empty(), "the others still wait");
        for id in [youngest, other] {
            world.ask(id, Request::Cancel).expect("out of the way");
        }
        world.finish(&claim, &succeeded());
    }
}

pub(crate) fn an_item_that_is_wanted_again_while_its_last_attempt_fails_leaves_one_dead_task(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, item) = world.claimed_at(Stage::named("write"));
    let id = item.id;
    world.write(move |tx| {
        let task = strongroom_queue::NewTask {
            item: Some(id.0),
            ..strongroom_queue::NewTask::new("ingest.write", id.to_string(), "")
        };
        tasks::enqueue(tx, &[task])?;
        Ok(())
    });
    let retry_at = world.later(Duration::from_secs(1));
    world.finish(&claim, &StageEnd::Transient { retry_at, max_attempts: 1, note: "again and again".into() });
    subject.advance(LEASE);
    assert!(
        world.lease(1, Stage::named("write"), 9).assignments.is_empty(),
        "what was wanted of it is of an ended item"
    );
    assert_eq!(world.dead(Stage::named("write")), 1);
    assert!(world.topics(id).is_empty());
}
