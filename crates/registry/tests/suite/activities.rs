//! Activities: how they go on and end, what they take from each other, and what people ask of them.

use std::time::Duration;

use strongroom_queue::tasks;
use strongroom_records::{
    Addition, Arrival, ClaimRequest, Counts, Cursor, Ending, ListId, NewRecord, Outcome, Population, PopulationRequest,
    RecordState, Takes, lists,
};
use strongroom_registry::activities::{
    self, Activity, ActivityFilter, Input, NewActivity, Populated, Rerun, TRANSITIONS,
};
use strongroom_registry::journal::Actor;
use strongroom_registry::pipelines::{self, NewRun, Pipeline, Step};
use strongroom_registry::provenance::{self, By, Made};
use strongroom_registry::{ActivityId, ActivityState, InstitutionId, RegistryError, Scope, Transaction, watermarks};

use super::world::*;

fn new(world: &World<'_>, agent: &str, input: Input) -> NewActivity {
    NewActivity {
        id: ActivityId::new(),
        agent: agent.to_owned(),
        options: serde_json::json!({ "url": "https://example.org/oai" }),
        institution: Some(world.ours),
        actor: Actor::system(),
        input,
        watermark: None,
        only_changed: false,
        step_of: None,
    }
}

fn make(world: &World<'_>, agent: &str, input: Input) -> ActivityId {
    let new = new(world, agent, input);
    let id = new.id;
    world.write(move |tx| activities::create(tx, &new));
    id
}

fn show(world: &World<'_>, id: ActivityId) -> Activity {
    world.read(move |tx| activities::find(tx, Scope::System, id))
}

fn state(world: &World<'_>, id: ActivityId) -> ActivityState {
    show(world, id).state
}

fn waiting(world: &World<'_>, id: ActivityId) -> usize {
    world.read(move |tx| Ok(tasks::of_key(tx, &id.to_string())?)).len()
}

fn counts(world: &World<'_>, id: ActivityId) -> Counts {
    let list = show(world, id).list;
    world.read(move |tx| Ok(lists::status(tx, list)?)).counts
}

fn population(world: &World<'_>, id: ActivityId) -> Population {
    let request = PopulationRequest { list: show(world, id).list, worker: "worker".into(), lease: LEASE };
    let taken = world.write(move |tx| {
        activities::begin(tx, id, ActivityState::Populating)?;
        Ok(lists::take_population(tx, &request)?)
    });
    taken.expect("the population is free")
}

fn record(number: usize) -> String {
    format!("urn:record:{number:04}")
}

/// Has the agent of a source find records.
fn find(world: &World<'_>, id: ActivityId, numbers: std::ops::Range<usize>, is_last: bool) {
    let population = population(world, id);
    let records: Vec<NewRecord> = numbers.map(|number| NewRecord::todo(record(number))).collect();
    let addition = Addition { records, cursor: Some("there".into()), is_last };
    world.write(move |tx| Ok(lists::add(tx, &population, &addition)?));
}

/// Takes all that there is of the input, in pages of three.
fn populate(world: &World<'_>, id: ActivityId) -> Populated {
    let mut population = population(world, id);
    loop {
        let held = population.clone();
        let page = world.write(move |tx| activities::populate(tx, id, &held, 3));
        if page.is_caught_up {
            return page;
        }
        let list = population.list;
        population.cursor = world.read(move |tx| Ok(lists::status(tx, list)?)).cursor;
    }
}

/// Processes up to `limit` records. What came of them is recorded in the same transaction.
fn process(world: &World<'_>, id: ActivityId, limit: usize, outcome: fn(&str) -> Outcome) -> usize {
    let activity = show(world, id);
    let request = ClaimRequest { list: activity.list, worker: "worker".into(), limit, lease: LEASE };
    let chunk = world.write(move |tx| {
        activities::begin(tx, id, ActivityState::Running)?;
        Ok(lists::claim(tx, &request)?)
    });
    let Some(chunk) = chunk else { return 0 };
    let by = By::from(&activity);
    let processed = chunk.records.len();
    world.write(move |tx| {
        let ends: Vec<Ending> = (chunk.records.iter())
            .map(|record| Ending { number: record.number, outcome: outcome(&record.id) })
            .collect();
        lists::finish(tx, chunk.lease, &ends)?;
        let mut made = Vec::new();
        for (record, end) in chunk.records.iter().zip(&ends) {
            if let Outcome::Processed { result } = &end.outcome {
                made.push(Made { record: &record.id, entity: result.as_ref().unwrap_or(&record.id) });
            }
        }
        provenance::record(tx, by, &made)?;
        activities::wake_followers(tx, id)
    });
    processed
}

fn done(_: &str) -> Outcome {
    Outcome::Processed { result: None }
}

fn mapped(id: &str) -> Outcome {
    Outcome::Processed { result: Some(format!("{id}:mapped")) }
}

fn odd_fail(id: &str) -> Outcome {
    if id.ends_with(['1', '3', '5', '7', '9']) { Outcome::Failed { error: "is odd".into() } } else { done(id) }
}

fn drain(world: &World<'_>, id: ActivityId, outcome: fn(&str) -> Outcome) {
    while process(world, id, 4, outcome) > 0 {}
}

fn retry_failed(tx: &mut dyn Transaction, id: ActivityId) -> Result<u64, RegistryError> {
    let until = tx.now()?;
    activities::retry_failed(tx, Scope::System, id, until)
}

fn finish(world: &World<'_>, id: ActivityId) -> Option<ActivityState> {
    world.write(move |tx| activities::finish_if_done(tx, id))
}

fn ids(world: &World<'_>, list: ListId, state: RecordState) -> Vec<String> {
    let page = world.read(move |tx| Ok(lists::page(tx, list, (state, Cursor::START), 1_000)?));
    let mut ids: Vec<String> = page.into_iter().map(|record| record.id).collect();
    ids.sort_unstable();
    ids
}

fn records(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(record).collect()
}

/// A harvest of so many records that has finished.
fn harvested(world: &World<'_>, all: usize) -> ActivityId {
    let harvest = make(world, "harvest", Input::Source);
    find(world, harvest, 0..all, true);
    drain(world, harvest, done);
    assert_eq!(finish(world, harvest), Some(ActivityState::Finished));
    harvest
}

/// K9 and case 1: neither a row that no task is for, nor a task that no row is for.
pub(crate) fn an_activity_and_its_first_task_are_made_together_or_not_at_all(subject: &dyn Subject) {
    let world = World::new(subject);
    let new = new(&world, "harvest", Input::Source);
    let id = new.id;
    let dropped = new.clone();
    let refused = world.refused(move |tx| {
        activities::create(tx, &dropped)?;
        Err::<(), _>(RegistryError::NotFound { what: "power", id: "cut".into() })
    });
    assert!(matches!(refused, RegistryError::NotFound { what: "power", .. }));
    assert!(world.read(move |tx| activities::get(tx, Scope::System, id)).is_none());
    assert_eq!(waiting(&world, id), 0);
    let made = new.clone();
    world.write(move |tx| activities::create(tx, &made));
    let activity = show(&world, id);
    assert_eq!((activity.state, activity.run, activity.options), (ActivityState::Queued, 1, new.options));
    assert_eq!(waiting(&world, id), 1);
    assert_eq!(counts(&world, id), Counts::default());
}

/// Case 3, and nothing without bounds.
pub(crate) fn options_are_kept_as_they_are_up_to_a_length(subject: &dyn Subject) {
    let world = World::new(subject);
    let with = |length: usize| NewActivity {
        options: serde_json::json!({ "text": "x".repeat(length), "chain": ["split", "trim"] }),
        ..new(&world, "enrich", Input::Source)
    };
    let long = with(60_000);
    let (id, options) = (long.id, long.options.clone());
    world.write(move |tx| activities::create(tx, &long));
    assert_eq!(show(&world, id).options, options);
    let endless = with(70_000);
    let refused = world.refused(move |tx| activities::create(tx, &endless));
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
}

/// Every pair that the table has, and none besides.
pub(crate) fn activities_take_the_transitions_of_the_table_and_no_other(subject: &dyn Subject) {
    let world = World::new(subject);
    for from in ActivityState::ALL {
        for to in ActivityState::ALL {
            let id = make(&world, "harvest", Input::Source);
            bring(&world, id, *from);
            let request = act(*to, id);
            let is_allowed = TRANSITIONS.contains(&(*from, *to));
            let before = show(&world, id);
            let _ = world.registry.write(move |tx| request(tx));
            let after = show(&world, id);
            if is_allowed {
                assert_eq!(after.state, *to, "{from} to {to}");
            } else {
                assert_eq!((after.state, after.list), (*from, before.list), "{from} to {to}");
            }
        }
    }
}

/// Brings a new activity into a state.
fn bring(world: &World<'_>, id: ActivityId, to: ActivityState) {
    let before = match to {
        ActivityState::Queued => return,
        ActivityState::FinishedWithErrors => {
            let population = population(world, id);
            let failed = NewRecord { id: record(1), arrival: Arrival::Failed { error: "no".into() } };
            let addition = Addition { records: vec![failed], cursor: None, is_last: true };
            world.write(move |tx| Ok(lists::add(tx, &population, &addition)?));
            assert_eq!(finish(world, id), Some(to));
            return;
        }
        ActivityState::Finished => {
            find(world, id, 0..0, true);
            assert_eq!(finish(world, id), Some(to));
            return;
        }
        _ => act(to, id),
    };
    world.write(move |tx| before(tx));
    assert_eq!(state(world, id), to);
}

type Act = Box<dyn Fn(&mut dyn Transaction) -> Result<(), RegistryError> + Send>;

/// What leads to a state, where anything does.
fn act(to: ActivityState, id: ActivityId) -> Act {
    match to {
        ActivityState::Queued => Box::new(move |tx| {
            let found = activities::find(tx, Scope::System, id)?;
            match found.state {
                ActivityState::Paused => activities::resume(tx, Scope::System, id),
                _ => activities::rerun(tx, Scope::System, id, Rerun::Anew).map(drop),
            }
        }),
        ActivityState::Populating | ActivityState::Running => {
            Box::new(move |tx| activities::begin(tx, id, to).map(drop))
        }
        ActivityState::Paused => Box::new(move |tx| activities::pause(tx, Scope::System, id)),
        ActivityState::Failed => Box::new(move |tx| activities::fail(tx, id, "the server is gone")),
        ActivityState::Cancelled => Box::new(move |tx| activities::cancel(tx, Scope::System, id)),
        ActivityState::Finished | ActivityState::FinishedWithErrors => Box::new(move |tx| {
            let list = activities::find(tx, Scope::System, id)?.list;
            let request = PopulationRequest { list, worker: "other".into(), lease: Duration::ZERO };
            if let Some(population) = lists::take_population(tx, &request)? {
                let failed = NewRecord { id: record(1), arrival: Arrival::Failed { error: "no".into() } };
                let records = if to == ActivityState::Finished { Vec::new() } else { vec![failed] };
                lists::add(tx, &population, &Addition { records, cursor: None, is_last: true })?;
            }
            activities::finish_if_done(tx, id).map(drop)
        }),
    }
}

/// Case 2 and K5: with times, and with its error.
pub(crate) fn success_and_failure_are_told_apart(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = make(&world, "harvest", Input::Source);
    assert_eq!(finish(&world, id), None, "there is more to do");
    let began = world.now();
    find(&world, id, 0..4, true);
    subject.advance(LEASE);
    drain(&world, id, odd_fail);
    assert_eq!(finish(&world, id), Some(ActivityState::FinishedWithErrors));
    let activity = show(&world, id);
    assert_eq!((activity.started_at, activity.ended_at), (Some(began), Some(world.now())));
    let other = make(&world, "harvest", Input::Source);
    world.write(move |tx| activities::fail(tx, other, &"gone ".repeat(10_000)));
    let failed = show(&world, other);
    assert!(failed.error.is_some_and(|error| error.starts_with("gone") && error.chars().count() <= 2_000));
    assert!(failed.ended_at.is_some());
    world.write(move |tx| activities::restart(tx, Scope::System, other));
    let again = show(&world, other);
    assert_eq!((again.state, again.error, again.ended_at), (ActivityState::Queued, None, None));
    assert_eq!(waiting(&world, other), 1);
}

/// Case 12: harvest, map, enrich, with what each made, and provenance is never asked: nothing was recorded in it.
pub(crate) fn a_chain_takes_what_was_processed_without_asking_provenance(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = make(&world, "harvest", Input::Source);
    find(&world, harvest, 0..10, true);
    let list = show(&world, harvest).list;
    world.write(move |tx| {
        let request = ClaimRequest { list, worker: "worker".into(), limit: 10, lease: LEASE };
        let chunk = lists::claim(tx, &request)?.expect("there are records");
        let ends: Vec<Ending> =
            chunk.records.iter().map(|one| Ending { number: one.number, outcome: mapped(&one.id) }).collect();
        lists::finish(tx, chunk.lease, &ends)?;
        activities::finish_if_done(tx, harvest)
    });
    let map = make(&world, "map", Input::Snapshot(harvest, Takes::Results));
    let tool = make(&world, "tool", Input::Snapshot(harvest, Takes::Records));
    assert!(populate(&world, map).is_complete && populate(&world, tool).is_complete);
    let by = By { activity: harvest, run: 1, institution: Some(world.ours) };
    assert!(world.read(move |tx| provenance::results(tx, by, true, None, 10)).is_empty());
    let of_map = ids(&world, show(&world, map).list, RecordState::Todo);
    assert_eq!(of_map, records(0..10).into_iter().map(|id| format!("{id}:mapped")).collect::<Vec<_>>());
    assert_eq!(ids(&world, show(&world, tool).list, RecordState::Todo), records(0..10));
    assert_eq!(counts(&world, harvest).processed, 10, "two have taken it, and it is there for others");
}

/// It begins when the one before has records, and ends when that has ended and everything was taken.
pub(crate) fn a_follower_ends_with_what_it_follows(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = make(&world, "harvest", Input::Source);
    let map = make(&world, "map", Input::Follow(harvest, Takes::Records));
    assert_eq!(waiting(&world, map), 0, "there is nothing to do");
    find(&world, harvest, 0..4, false);
    process(&world, harvest, 2, done);
    assert_eq!(waiting(&world, map), 1, "there are records");
    let page = populate(&world, map);
    assert_eq!((page.is_caught_up, page.is_complete), (true, false));
    drain(&world, map, done);
    assert_eq!(finish(&world, map), None);
    drain(&world, harvest, done);
    find(&world, harvest, 4..9, true);
    drain(&world, harvest, done);
    assert!(!populate(&world, map).is_complete, "it has not ended");
    assert_eq!(finish(&world, harvest), Some(ActivityState::Finished));
    assert!(populate(&world, map).is_complete);
    drain(&world, map, done);
    assert_eq!(finish(&world, map), Some(ActivityState::Finished));
    assert_eq!(ids(&world, show(&world, map).list, RecordState::Processed), records(0..9));
}

/// Where failed records are retried, those that followed to the end take them as well; nothing is taken twice.
pub(crate) fn followers_go_on_where_what_they_follow_goes_on(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = make(&world, "harvest", Input::Source);
    let map = make(&world, "map", Input::Follow(harvest, Takes::Records));
    let index = make(&world, "index", Input::Follow(map, Takes::Records));
    find(&world, harvest, 0..10, true);
    drain(&world, harvest, odd_fail);
    let end_all = || {
        finish(&world, harvest);
        for follower in [map, index] {
            assert!(populate(&world, follower).is_complete);
            drain(&world, follower, done);
            assert_eq!(finish(&world, follower), Some(ActivityState::Finished));
        }
    };
    end_all();
    assert_eq!(state(&world, harvest), ActivityState::FinishedWithErrors);
    assert_eq!((counts(&world, map).processed, counts(&world, index).processed), (5, 5));
    let retried = world.write(move |tx| retry_failed(tx, harvest));
    assert_eq!(retried, 5);
    for id in [harvest, map, index] {
        assert_eq!(state(&world, id), ActivityState::Queued);
    }
    drain(&world, harvest, done);
    end_all();
    assert_eq!(state(&world, harvest), ActivityState::Finished);
    assert_eq!(ids(&world, show(&world, index).list, RecordState::Processed), records(0..10));
    assert_eq!(world.write(move |tx| retry_failed(tx, harvest)), 0);
    assert_eq!(state(&world, harvest), ActivityState::Finished, "there is nothing to retry");
}

/// One that follows may have taken all there was, and still be at work, be paused or have failed, when failed records of what it follows are
/// retried. It takes those as well.
pub(crate) fn followers_that_have_not_ended_take_what_is_retried_as_well(subject: &dyn Subject) {
    let world = World::new(subject);
    for stopped in [None, Some(ActivityState::Paused), Some(ActivityState::Failed)] {
        let harvest = make(&world, "harvest", Input::Source);
        let map = make(&world, "map", Input::Follow(harvest, Takes::Records));
        let index = make(&world, "index", Input::Follow(map, Takes::Records));
        find(&world, harvest, 0..10, true);
        drain(&world, harvest, odd_fail);
        assert_eq!(finish(&world, harvest), Some(ActivityState::FinishedWithErrors));
        assert!(populate(&world, map).is_complete);
        process(&world, map, 2, done);
        match stopped {
            None => {}
            Some(ActivityState::Paused) => world.write(move |tx| activities::pause(tx, Scope::System, map)),
            Some(_) => world.write(move |tx| activities::fail(tx, map, "the disk is full")),
        }
        assert_eq!(world.write(move |tx| retry_failed(tx, harvest)), 5);
        match stopped {
            None => assert_eq!(state(&world, map), ActivityState::Running),
            Some(to) => assert_eq!(state(&world, map), to, "that is for a person to change"),
        }
        drain(&world, harvest, done);
        assert_eq!(finish(&world, harvest), Some(ActivityState::Finished));
        match stopped {
            None => {}
            Some(ActivityState::Paused) => world.write(move |tx| activities::resume(tx, Scope::System, map)),
            Some(_) => world.write(move |tx| activities::restart(tx, Scope::System, map)),
        }
        drain(&world, map, done);
        assert_eq!(finish(&world, map), None, "its list is not complete");
        for follower in [map, index] {
            assert!(populate(&world, follower).is_complete);
            drain(&world, follower, done);
            assert_eq!(finish(&world, follower), Some(ActivityState::Finished));
        }
        assert_eq!(ids(&world, show(&world, index).list, RecordState::Processed), records(0..10));
    }
}

/// Its list has another cursor than one that was populated by what it follows.
pub(crate) fn a_run_of_the_same_records_takes_what_is_retried_later_as_well(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = make(&world, "harvest", Input::Source);
    let map = make(&world, "map", Input::Follow(harvest, Takes::Records));
    find(&world, harvest, 0..10, true);
    drain(&world, harvest, odd_fail);
    finish(&world, harvest);
    let end = || {
        assert!(populate(&world, map).is_complete);
        drain(&world, map, done);
        assert_eq!(finish(&world, map), Some(ActivityState::Finished));
    };
    end();
    world.write(move |tx| activities::rerun(tx, Scope::System, map, Rerun::SameRecords));
    end();
    assert_eq!(world.write(move |tx| retry_failed(tx, harvest)), 5);
    drain(&world, harvest, done);
    finish(&world, harvest);
    end();
    assert_eq!(ids(&world, show(&world, map).list, RecordState::Processed), records(0..10));
}

/// It may be restarted; one that is cancelled has ended, once nothing of it is at a worker.
pub(crate) fn a_follower_waits_for_one_that_failed_and_not_for_one_that_was_cancelled(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = make(&world, "harvest", Input::Source);
    let map = make(&world, "map", Input::Follow(harvest, Takes::Records));
    find(&world, harvest, 0..6, false);
    process(&world, harvest, 2, done);
    world.write(move |tx| activities::fail(tx, harvest, "the server is gone"));
    assert!(!populate(&world, map).is_complete);
    world.write(move |tx| activities::restart(tx, Scope::System, harvest));
    let list = show(&world, harvest).list;
    let request = ClaimRequest { list, worker: "worker".into(), limit: 1, lease: LEASE };
    let chunk = world.write(move |tx| Ok(lists::claim(tx, &request)?)).expect("there are records");
    world.write(move |tx| activities::cancel(tx, Scope::System, harvest));
    assert_eq!(counts(&world, harvest).cancelled, 3);
    assert!(!populate(&world, map).is_complete, "a worker has a record");
    world.write(move |tx| {
        let ends = [Ending { number: chunk.records[0].number, outcome: done("") }];
        Ok(lists::finish(tx, chunk.lease, &ends)?)
    });
    assert!(populate(&world, map).is_complete);
    assert_eq!(counts(&world, map).populated(), 3);
}

/// Q8 and case 12: with what was made and this activity has not processed, and with what it has as processed.
pub(crate) fn a_lost_list_is_rebuilt_from_provenance_without_repeating_what_is_processed(subject: &dyn Subject) {
    let world = World::new(subject);
    for takes in [Takes::Results, Takes::Records] {
        let harvest = make(&world, "harvest", Input::Source);
        find(&world, harvest, 0..10, true);
        drain(&world, harvest, mapped);
        finish(&world, harvest);
        let map = make(&world, "map", Input::Follow(harvest, takes));
        populate(&world, map);
        process(&world, map, 4, mapped);
        let (lost, before) = (show(&world, map).list, ids(&world, show(&world, map).list, RecordState::Processed));
        let left = ids(&world, lost, RecordState::Todo);
        assert!(!world.write(move |tx| activities::rebuild_list(tx, map)), "it is there");
        while !world.write(move |tx| Ok(lists::remove(tx, lost, 5)?)) {}
        assert!(world.write(move |tx| activities::rebuild_list(tx, map)));
        assert!(populate(&world, map).is_complete);
        let list = show(&world, map).list;
        assert_eq!(ids(&world, list, RecordState::Processed), before);
        assert_eq!(ids(&world, list, RecordState::Todo), left);
        drain(&world, map, mapped);
        assert_eq!(finish(&world, map), Some(ActivityState::Finished));
        let mut all = [before, left].concat();
        all.sort_unstable();
        assert_eq!(ids(&world, list, RecordState::Processed), all, "as of a run that was not disturbed");
    }
}

/// It takes what that has processed again, and nothing twice.
pub(crate) fn a_follower_goes_on_where_what_it_follows_lost_its_list(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = make(&world, "harvest", Input::Source);
    let map = make(&world, "map", Input::Follow(harvest, Takes::Records));
    find(&world, harvest, 0..8, false);
    process(&world, harvest, 5, mapped);
    populate(&world, map);
    assert_eq!(counts(&world, map).populated(), 5);
    let lost = show(&world, harvest).list;
    while !world.write(move |tx| Ok(lists::remove(tx, lost, 100)?)) {}
    let page = populate(&world, map);
    assert!(!page.is_complete, "it waits: {page:?}");
    assert!(world.write(move |tx| activities::rebuild_list(tx, harvest)));
    while show(&world, harvest).is_rebuilding {
        let held = population(&world, harvest);
        world.write(move |tx| activities::populate(tx, harvest, &held, 100));
    }
    find(&world, harvest, 0..8, true);
    drain(&world, harvest, mapped);
    assert_eq!(finish(&world, harvest), Some(ActivityState::Finished));
    assert!(populate(&world, map).is_complete);
    drain(&world, map, done);
    assert_eq!(finish(&world, map), Some(ActivityState::Finished));
    assert_eq!(ids(&world, show(&world, map).list, RecordState::Processed), records(0..8));
}

/// Its agent goes on from the beginning, and what it has processed already is not repeated.
pub(crate) fn a_lost_list_of_a_source_begins_with_what_was_processed(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = make(&world, "harvest", Input::Source);
    find(&world, harvest, 0..8, false);
    process(&world, harvest, 5, mapped);
    let lost = show(&world, harvest).list;
    while !world.write(move |tx| Ok(lists::remove(tx, lost, 100)?)) {}
    assert!(world.write(move |tx| activities::rebuild_list(tx, harvest)));
    let mut population = population(&world, harvest);
    while show(&world, harvest).is_rebuilding {
        let held = population.clone();
        world.write(move |tx| activities::populate(tx, harvest, &held, 2));
        let list = population.list;
        population.cursor = world.read(move |tx| Ok(lists::status(tx, list)?)).cursor;
    }
    assert_eq!(population.cursor, None, "the agent begins anew");
    find(&world, harvest, 0..8, true);
    assert_eq!(ids(&world, population.list, RecordState::Todo), records(5..8));
    assert_eq!(ids(&world, population.list, RecordState::Processed), records(0..5));
}

/// Q19, Q20: its number rises, it has a list of its own, and the list of the run before goes.
pub(crate) fn another_run_has_a_number_and_a_list_of_its_own(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = make(&world, "harvest", Input::Source);
    find(&world, id, 0..6, true);
    assert!(matches!(
        world.refused(move |tx| activities::rerun(tx, Scope::System, id, Rerun::SameRecords)),
        RegistryError::State { .. }
    ));
    drain(&world, id, odd_fail);
    finish(&world, id);
    let first = show(&world, id);
    assert_eq!(world.write(move |tx| activities::rerun(tx, Scope::System, id, Rerun::SameRecords)), 2);
    let second = show(&world, id);
    assert_eq!((second.state, second.run, second.started_at), (ActivityState::Queued, 2, None));
    assert!(second.list != first.list);
    assert!(populate(&world, id).is_complete);
    assert_eq!(ids(&world, second.list, RecordState::Todo), records(0..6));
    drain(&world, id, done);
    assert_eq!(finish(&world, id), Some(ActivityState::Finished));
    let removed = world.read(move |tx| Ok(lists::being_removed(tx, 10)?));
    assert_eq!(removed, [first.list], "the rest of it is removed page by page");
    let by = |run| By { activity: id, run, institution: Some(world.ours) };
    let made = |run| world.read(move |tx| provenance::results(tx, by(run), true, None, 100)).len();
    assert_eq!((made(1), made(2)), (3, 6), "what came of the first run is known");
    assert_eq!(world.write(move |tx| activities::rerun(tx, Scope::System, id, Rerun::Anew)), 3);
    assert_eq!(counts(&world, id).populated(), 0);
}

/// A run that ended before it had taken all records of the one before is no source of them: the next one is over the list of that one, and nothing
/// of either list stays.
pub(crate) fn another_run_after_one_that_had_not_taken_all_records_takes_those_of_the_run_before(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let gone = |list: ListId| {
        let left = world.read(move |tx| Ok(lists::being_removed(tx, 10)?));
        left.contains(&list) || world.read(move |tx| Ok(lists::status(tx, list).is_err()))
    };
    for pages in [0, 1] {
        let id = harvested(&world, 8);
        let first = show(&world, id).list;
        world.write(move |tx| activities::rerun(tx, Scope::System, id, Rerun::SameRecords));
        let half = show(&world, id).list;
        for _ in 0..pages {
            let held = population(&world, id);
            world.write(move |tx| activities::populate(tx, id, &held, 3));
        }
        world.write(move |tx| activities::cancel(tx, Scope::System, id));
        world.write(move |tx| activities::rerun(tx, Scope::System, id, Rerun::SameRecords));
        assert_eq!(show(&world, id).previous_list, Some(first));
        assert!(gone(half) && !gone(first));
        assert!(populate(&world, id).is_complete);
        assert_eq!(ids(&world, show(&world, id).list, RecordState::Todo), records(0..8), "after {pages} pages");
        assert!(gone(first));
    }
    // Begun anew, it needs neither.
    let id = harvested(&world, 8);
    let first = show(&world, id).list;
    world.write(move |tx| activities::rerun(tx, Scope::System, id, Rerun::SameRecords));
    let half = show(&world, id).list;
    world.write(move |tx| activities::cancel(tx, Scope::System, id));
    world.write(move |tx| activities::rerun(tx, Scope::System, id, Rerun::Anew));
    assert_eq!(show(&world, id).previous_list, None);
    assert!(gone(half) && gone(first));
    // Nor is it needed when the records are removed after their time.
    let id = harvested(&world, 8);
    let first = show(&world, id).list;
    world.write(move |tx| activities::rerun(tx, Scope::System, id, Rerun::SameRecords));
    world.write(move |tx| activities::cancel(tx, Scope::System, id));
    let had = world.write(move |tx| {
        let activity = activities::lock(tx, Scope::System, id)?;
        activities::remove_previous(tx, &activity)
    });
    assert!(had && gone(first));
    assert_eq!(show(&world, id).previous_list, None);
}

/// What a run had not found when it failed would be left out in silence.
pub(crate) fn records_that_were_not_all_found_are_not_run_again(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = make(&world, "harvest", Input::Source);
    find(&world, id, 0..4, false);
    drain(&world, id, done);
    world.write(move |tx| activities::fail(tx, id, "the provider is away"));
    let refused = world.refused(move |tx| activities::rerun(tx, Scope::System, id, Rerun::SameRecords));
    let RegistryError::State { state: said, .. } = &refused else { panic!("{refused}") };
    assert_eq!(said, activities::LIST_UNFINISHED);
    assert_eq!(state(&world, id), ActivityState::Failed);
    world.write(move |tx| activities::rerun(tx, Scope::System, id, Rerun::Anew));
    assert_eq!(counts(&world, id).populated(), 0);
    // Nor what it had not found when a person cancelled it.
    find(&world, id, 0..4, false);
    world.write(move |tx| activities::cancel(tx, Scope::System, id));
    let refused = world.refused(move |tx| activities::rerun(tx, Scope::System, id, Rerun::SameRecords));
    assert!(
        matches!(&refused, RegistryError::State { state, .. } if state == activities::LIST_UNFINISHED),
        "{refused}"
    );
}

/// What another activity still takes is not removed behind its back.
pub(crate) fn an_activity_is_not_run_again_while_its_records_are_being_taken(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = harvested(&world, 5);
    let map = make(&world, "map", Input::Snapshot(harvest, Takes::Records));
    let refused = world.refused(move |tx| activities::rerun(tx, Scope::System, harvest, Rerun::Anew));
    assert!(matches!(refused, RegistryError::Named { .. }), "{refused}");
    populate(&world, map);
    drain(&world, map, done);
    finish(&world, map);
    world.write(move |tx| activities::rerun(tx, Scope::System, harvest, Rerun::Anew));
}

/// Q21: nothing is lost, and nothing goes on meanwhile.
pub(crate) fn an_activity_is_paused_resumed_and_cancelled(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = make(&world, "harvest", Input::Source);
    find(&world, id, 0..6, true);
    process(&world, id, 2, done);
    world.write(move |tx| activities::pause(tx, Scope::System, id));
    let begun = world.write(move |tx| activities::begin(tx, id, ActivityState::Running));
    assert_eq!(begun.state, ActivityState::Paused, "a worker reads that it is not to go on");
    assert_eq!(finish(&world, id), None);
    world.write(move |tx| activities::resume(tx, Scope::System, id));
    assert!(show(&world, id).started_at.is_some());
    process(&world, id, 2, done);
    world.write(move |tx| activities::cancel(tx, Scope::System, id));
    let found = counts(&world, id);
    assert_eq!((found.processed, found.cancelled, found.populated()), (4, 2, 6));
    assert_eq!(process(&world, id, 2, done), 0);
    let refused = world.refused(move |tx| activities::restart(tx, Scope::System, id));
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
}

/// "Only what changed since the last run": one that did not end well moves nothing, and what is before a watermark was taken.
pub(crate) fn a_watermark_moves_when_a_run_ends_well(subject: &dyn Subject) {
    let world = World::new(subject);
    let ours = world.ours;
    let run = |only_changed: bool| {
        let new = NewActivity {
            watermark: Some("harvest maps".into()),
            only_changed,
            ..new(&world, "harvest", Input::Source)
        };
        let id = new.id;
        world.write(move |tx| activities::create(tx, &new));
        id
    };
    let mark = || world.read(move |tx| watermarks::get(tx, Some(ours), "harvest maps")).map(|mark| mark.value);
    let note = |id, value: &'static str| world.write(move |tx| activities::note_watermark(tx, id, value));
    let first = run(true);
    assert_eq!(show(&world, first).watermark_from, None);
    note(first, "2026-01-01");
    world.write(move |tx| activities::fail(tx, first, "the server is gone"));
    assert_eq!(mark(), None);
    let second = run(true);
    note(second, "2026-02-01");
    find(&world, second, 0..2, true);
    drain(&world, second, odd_fail);
    assert_eq!(finish(&world, second), Some(ActivityState::FinishedWithErrors));
    assert_eq!(mark().as_deref(), Some("2026-02-01"), "what failed is retried by its own activity");
    assert_eq!(show(&world, run(true)).watermark_from.as_deref(), Some("2026-02-01"));
    assert_eq!(show(&world, run(false)).watermark_from, None, "all of it");
    let theirs = world.theirs;
    assert_eq!(world.read(move |tx| watermarks::get(tx, Some(theirs), "harvest maps")), None);
}

fn step(name: &str, takes: Takes) -> Step {
    Step { name: name.to_owned(), agent: name.to_owned(), options: serde_json::json!({}), takes }
}

fn chain() -> Vec<Step> {
    vec![step("harvest", Takes::Records), step("map", Takes::Records), step("index", Takes::Results)]
}

fn set(world: &World<'_>, institution: Option<InstitutionId>, name: &'static str, steps: Vec<Step>) -> Pipeline {
    world.write(move |tx| {
        let id = pipelines::set(tx, institution, name, &steps, &Actor::system())?;
        Ok(pipelines::get(tx, id)?.expect("it is there"))
    })
}

fn new_run(pipeline: &Pipeline, watermark: Option<&str>, only_changed: bool) -> NewRun {
    NewRun {
        actor: Actor::system(),
        options: pipeline.steps.iter().map(|step| step.options.clone()).collect(),
        watermark: watermark.map(str::to_owned),
        only_changed,
    }
}

fn run(world: &World<'_>, pipeline: &Pipeline, new: NewRun) -> (u64, Vec<ActivityId>) {
    let pipeline = pipeline.clone();
    world.write(move |tx| pipelines::run(tx, &pipeline, &new))
}

/// One command makes all steps, each behind the one before, and each begins when that has records.
pub(crate) fn a_pipeline_is_run_step_by_step(subject: &dyn Subject) {
    let world = World::new(subject);
    let ours = world.ours;
    let pipeline = set(&world, Some(ours), "maps", chain());
    let refused = world.refused(move |tx| pipelines::set(tx, Some(ours), "maps", &[], &Actor::system()));
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
    assert_eq!(pipeline.steps, chain());
    assert_eq!(world.read(move |tx| pipelines::by_name(tx, None, "maps")), None);
    let id = pipeline.id;
    let (number, made) = run(&world, &pipeline, new_run(&pipeline, None, true));
    let [harvest, map, index] = made[..] else { panic!("three steps") };
    assert_eq!([harvest, map, index].map(|id| waiting(&world, id)), [1, 0, 0]);
    let listed = world.read(move |tx| pipelines::of_run(tx, id, 1));
    assert_eq!((number, listed.iter().map(|one| one.id).collect::<Vec<_>>()), (1, made));
    find(&world, harvest, 0..5, true);
    process(&world, harvest, 2, done);
    assert_eq!([map, index].map(|id| waiting(&world, id)), [1, 0]);
    drain(&world, harvest, done);
    finish(&world, harvest);
    for (follower, outcome) in [(map, mapped as fn(&str) -> Outcome), (index, done)] {
        assert!(populate(&world, follower).is_complete);
        drain(&world, follower, outcome);
        assert_eq!(finish(&world, follower), Some(ActivityState::Finished));
    }
    let indexed = ids(&world, show(&world, index).list, RecordState::Processed);
    assert_eq!(indexed, records(0..5).into_iter().map(|id| format!("{id}:mapped")).collect::<Vec<_>>());
    assert_eq!(world.read(move |tx| pipelines::list(tx, Scope::Institution(ours), None, 10))[0].runs, 1);
}

/// It is the watermark of the pipeline and of the source: others that take the source do not move it, and another source has another.
pub(crate) fn a_pipeline_has_a_watermark_of_its_own_for_each_source(subject: &dyn Subject) {
    let world = World::new(subject);
    let pipeline = set(&world, Some(world.ours), "maps", chain());
    let other = set(&world, Some(world.ours), "atlases", chain());
    let from = |pipeline: &Pipeline, source: &str| {
        let (_, made) = run(&world, pipeline, new_run(pipeline, Some(source), true));
        assert!(made.iter().skip(1).all(|id| show(&world, *id).watermark.is_none()));
        (made[0], show(&world, made[0]).watermark_from)
    };
    let (first, begins) = from(&pipeline, "https://one.example.org");
    assert_eq!(begins, None);
    find(&world, first, 0..2, true);
    world.write(move |tx| activities::note_watermark(tx, first, "2024-05-01"));
    drain(&world, first, done);
    assert_eq!(finish(&world, first), Some(ActivityState::Finished));
    assert_eq!(from(&pipeline, "https://one.example.org").1.as_deref(), Some("2024-05-01"));
    assert_eq!(from(&pipeline, "https://two.example.org").1, None);
    assert_eq!(from(&other, "https://one.example.org").1, None);
    let whole = run(&world, &pipeline, new_run(&pipeline, Some("https://one.example.org"), false)).1;
    assert_eq!(show(&world, whole[0]).watermark_from, None);
}

/// Two people at once: one sets or removes it while the other, who has read it, runs it.
pub(crate) fn a_pipeline_that_was_changed_meanwhile_is_not_run(subject: &dyn Subject) {
    let world = World::new(subject);
    let before = set(&world, Some(world.ours), "maps", chain());
    let after = set(&world, Some(world.ours), "maps", vec![step("harvest", Takes::Records)]);
    assert_eq!((before.id, after.runs), (after.id, 0));
    let new = new_run(&before, None, false);
    let (stale, request) = (before.clone(), new.clone());
    let refused = world.refused(move |tx| pipelines::run(tx, &stale, &request));
    assert!(refused.to_string().contains("changed by another command"), "{refused}");
    let made = run(&world, &after, new_run(&after, None, false)).1;
    let id = after.id;
    world.write(move |tx| pipelines::remove(tx, id));
    for stale in [before, after] {
        let new = new_run(&stale, None, false);
        let refused = world.refused(move |tx| pipelines::run(tx, &stale, &new));
        assert!(matches!(refused, RegistryError::NotFound { .. }), "{refused}");
    }
    // The run that there is goes on, and says what it is of.
    find(&world, made[0], 0..2, true);
    drain(&world, made[0], done);
    assert_eq!(finish(&world, made[0]), Some(ActivityState::Finished));
    let step_of = show(&world, made[0]).step_of.expect("a step");
    let kept = world.read(move |tx| pipelines::get(tx, step_of.pipeline)).expect("the row stays");
    assert_eq!((kept.name.as_str(), kept.steps.len(), kept.runs), ("maps", 0, 1));
}

/// Of one that was removed only its activities speak; set again, it is the same pipeline.
pub(crate) fn a_pipeline_is_found_by_its_name_within_a_scope(subject: &dyn Subject) {
    let world = World::new(subject);
    let (ours, theirs) = (world.ours, world.theirs);
    let own = set(&world, Some(ours), "maps", chain());
    let foreign = set(&world, Some(theirs), "maps", chain());
    let found = |scope| world.read(move |tx| pipelines::find(tx, scope, "maps")).id;
    assert_eq!((found(Scope::Institution(ours)), found(Scope::Institution(theirs))), (own.id, foreign.id));
    let refused = world.refused(move |tx| pipelines::find(tx, Scope::System, "maps"));
    assert!(matches!(refused, RegistryError::Ambiguous { .. }), "{refused}");
    let id = foreign.id;
    world.write(move |tx| pipelines::remove(tx, id));
    assert_eq!(found(Scope::System), own.id);
    let refused = world.refused(move |tx| pipelines::find(tx, Scope::Institution(theirs), "maps"));
    assert!(matches!(refused, RegistryError::NotFound { .. }), "{refused}");
    let listed = world.read(move |tx| pipelines::list(tx, Scope::System, None, 10));
    assert_eq!(listed.iter().map(|one| one.id).collect::<Vec<_>>(), [own.id]);
    assert_eq!(set(&world, Some(theirs), "maps", chain()).id, foreign.id);
    assert_eq!(found(Scope::Institution(theirs)), foreign.id);
}

/// And no more: a run is one transaction.
pub(crate) fn a_pipeline_of_the_most_steps_is_run_at_once(subject: &dyn Subject) {
    let world = World::new(subject);
    let ours = world.ours;
    let steps = |count: usize| -> Vec<Step> {
        (0..count).map(|number| step(&format!("step{number}"), Takes::Records)).collect()
    };
    let too_many = steps(pipelines::MOST_STEPS + 1);
    let refused = world.refused(move |tx| pipelines::set(tx, Some(ours), "long", &too_many, &Actor::system()));
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
    let pipeline = set(&world, Some(ours), "long", steps(pipelines::MOST_STEPS));
    let (_, made) = run(&world, &pipeline, new_run(&pipeline, None, false));
    assert_eq!(made.len(), pipelines::MOST_STEPS);
    let last = show(&world, made[made.len() - 1]);
    assert_eq!(last.input, Input::Follow(made[made.len() - 2], Takes::Records));
}

/// Nor can one be followed.
pub(crate) fn activities_of_another_institution_are_not_seen(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = make(&world, "harvest", Input::Source);
    let theirs = Scope::Institution(world.theirs);
    assert_eq!(world.read(move |tx| activities::get(tx, theirs, harvest)), None);
    let listed = |scope| world.read(move |tx| activities::list(tx, scope, &ActivityFilter::default(), None, 10)).len();
    assert_eq!((listed(theirs), listed(Scope::Institution(world.ours)), listed(Scope::System)), (0, 1, 1));
    for request in [activities::pause, activities::cancel, activities::restart] {
        let refused = world.refused(move |tx| request(tx, theirs, harvest));
        assert!(matches!(refused, RegistryError::NotFound { .. }), "{refused}");
    }
    for institution in [Some(world.theirs), None::<InstitutionId>] {
        let foreign = NewActivity { institution, ..new(&world, "map", Input::Follow(harvest, Takes::Records)) };
        let refused = world.refused(move |tx| activities::create(tx, &foreign));
        assert!(matches!(refused, RegistryError::NotFound { .. }), "{refused}");
    }
    let newest = ActivityFilter {
        state: Some(ActivityState::Queued),
        agent: Some("harvest".into()),
        order: strongroom_registry::Order::NewestFirst,
    };
    assert_eq!(world.read(move |tx| activities::list(tx, Scope::System, &newest, None, 10))[0].id, harvest);
    let list = show(&world, harvest).list;
    assert_eq!(world.read(move |tx| activities::of_list(tx, list)).map(|one| one.id), Some(harvest));
}
