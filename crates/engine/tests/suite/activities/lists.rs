//! What workers, deaths and people do to the list of an activity.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use strongroom_engine::activities::{AgentError, RecordOutcome};
use strongroom_engine::app::activities::{self, ActivityState};
use strongroom_engine::app::views::ActivityId;
use strongroom_engine::background;
use strongroom_engine::runtime::Shutdown;
use strongroom_queue::{LeaseRequest, Settlement, WorkerId, tasks};
use strongroom_records::{ClaimRequest, RecordState, lists};
use strongroom_registry::activities as rows;
use strongroom_registry::{RegistryError, Scope};

use super::scripted::{Script, Scripted};
use super::{begin_behind, call, check_counts, ids, records, show, work, world_of};
use crate::fixture::{Engine, TestHome, on_both_databases};

on_both_databases! {
    case_8_records_that_fail_are_named_and_the_run_completes
    case_12_what_a_dead_worker_had_is_processed_and_nothing_else_again
    case_12_a_list_that_was_lost_is_rebuilt_without_what_was_processed
    case_12_only_failed_records_are_retried
    a_record_that_ends_its_worker_each_time_fails_and_no_other
    a_pause_takes_effect_between_records_and_a_resume_goes_on
    several_tasks_work_on_an_activity_that_is_resumed
    a_cancelled_activity_processes_nothing_more
    what_a_dead_worker_had_of_a_cancelled_activity_is_cancelled
    what_follows_a_cancelled_activity_of_a_dead_worker_ends_without_the_background_task
    what_a_worker_of_an_earlier_run_says_does_not_fail_the_present_one
    an_activity_whose_workers_end_each_time_fails
    a_record_for_later_is_tried_again_until_its_attempts_are_spent
    another_run_takes_all_records_again
    a_listing_of_records_ends_where_another_run_begins
    several_workers_process_one_list
    a_snapshot_is_what_was_processed_and_a_follower_takes_the_rest
}

pub(super) const RECORDS: usize = 20;

/// A home with the agent `scripted`, and a finished harvest of a folder of XML files.
pub(super) fn world(engine: Engine, script: &Arc<Script>) -> Option<(TestHome, ActivityId)> {
    world_of(engine, vec![Arc::new(Scripted(script.clone()))], RECORDS)
}

fn done() -> RecordOutcome {
    RecordOutcome::processed(None)
}

fn failed(error: &str) -> RecordOutcome {
    RecordOutcome::Failed { error: error.to_owned() }
}

fn case_8_records_that_fail_are_named_and_the_run_completes(engine: Engine) {
    let script = Script::new(7, false, |record, _| if record < "05" { failed(record) } else { done() });
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(15), Some(5)));
    for record in records(&home, id, RecordState::Failed) {
        assert_eq!(record.error.as_deref(), Some(record.record.as_str()));
    }
}

fn case_12_what_a_dead_worker_had_is_processed_and_nothing_else_again(engine: Engine) {
    let script = Script::new(4, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    let stop_at = Arc::new(AtomicUsize::new(10));
    let left = stop_at.clone();
    let context = call(&home);
    // A worker that stops after ten records, by a pause, leaves the rest.
    script.change(move |_, _| {
        if left.fetch_sub(1, Ordering::SeqCst) == 1 {
            activities::pause(&context, id).expect("pauses");
        }
        done()
    });
    work(&home);
    let first = script.take_seen();
    script.change(|_, _| done());
    activities::resume(&call(&home), id).expect("resumes");
    // Another claims some, and dies.
    let list = home.registry.read(|tx| rows::find(tx, Scope::System, id)).expect("the activity").list;
    let chunk = home
        .registry
        .write(move |tx| {
            let request = ClaimRequest { list, worker: "dead".to_owned(), limit: 3, lease: Duration::from_mins(1) };
            Ok::<_, RegistryError>(lists::claim(tx, &request)?)
        })
        .expect("claims")
        .expect("a chunk");
    assert_eq!(chunk.records.len(), 3);
    check_counts(&show(&home, id));
    work(&home);
    let second = script.take_seen();
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(RECORDS as u64)));
    let all: BTreeSet<&String> = first.iter().chain(&second).collect();
    assert_eq!((all.len(), first.len() + second.len()), (RECORDS, RECORDS), "none is processed twice");
    // The worker that was dead can end nothing any more.
    let ended = home.registry.write(move |tx| {
        let endings = [strongroom_records::Ending {
            number: chunk.records[0].number,
            outcome: strongroom_records::Outcome::Processed { result: None },
        }];
        Ok::<_, RegistryError>(lists::finish(tx, chunk.lease, &endings)?)
    });
    assert!(ended.is_err());
}

/// Has a person pause an activity while its agent processes a record, by the number of those before it.
fn pause_at(home: &TestHome, script: &Script, id: ActivityId, before: usize) {
    let (context, count) = (call(home), Arc::new(AtomicUsize::new(0)));
    script.change(move |_, _| {
        if count.fetch_add(1, Ordering::SeqCst) == before {
            activities::pause(&context, id).expect("pauses");
        }
        done()
    });
}

fn case_12_a_list_that_was_lost_is_rebuilt_without_what_was_processed(engine: Engine) {
    let script = Script::new(4, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    pause_at(&home, &script, id, 7);
    work(&home);
    let before = script.take_seen();
    let list = home.registry.read(|tx| rows::find(tx, Scope::System, id)).expect("the activity").list;
    home.registry
        .write(move |tx| {
            while !lists::remove(tx, list, 1_000)? {}
            Ok::<_, RegistryError>(())
        })
        .expect("the list is lost");
    assert_eq!(show(&home, id).populated, None);
    script.change(|_, _| done());
    activities::resume(&call(&home), id).expect("resumes");
    work(&home);
    let after = script.take_seen();
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(RECORDS as u64)), "{view:?}");
    assert!(before.iter().all(|record| !after.contains(record)), "{before:?} {after:?}");
    assert_eq!(before.len() + after.len(), RECORDS);
}

fn case_12_only_failed_records_are_retried(engine: Engine) {
    let script = Script::new(50, false, |record, _| if record >= "18" { failed("not yet") } else { done() });
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    work(&home);
    script.take_seen();
    script.change(|_, _| done());
    assert_eq!(activities::retry_failed(&call(&home), id).expect("retries").records, 2);
    work(&home);
    let retried: BTreeSet<String> = script.take_seen().into_iter().collect();
    assert_eq!(retried.into_iter().collect::<Vec<_>>(), ["18.xml", "19.xml"]);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::Finished, Some(RECORDS as u64), Some(0)));
}

fn a_record_that_ends_its_worker_each_time_fails_and_no_other(engine: Engine) {
    let script = Script::new(8, false, |record, _| {
        assert_ne!(record, "05.xml", "a record that ends its worker");
        done()
    });
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!(ids(&home, id, RecordState::Failed), ["05.xml"], "{view:?}");
    assert_eq!((view.state, view.processed), (ActivityState::FinishedWithErrors, Some(RECORDS as u64 - 1)));
    assert_eq!(script.take_seen().iter().filter(|record| *record == "05.xml").count(), 3);
}

fn a_pause_takes_effect_between_records_and_a_resume_goes_on(engine: Engine) {
    let script = Script::new(50, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    pause_at(&home, &script, id, 4);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!(
        (view.state, view.processed, view.processing, view.todo),
        (ActivityState::Paused, Some(5), Some(0), Some(15))
    );
    script.change(|_, _| done());
    activities::resume(&call(&home), id).expect("resumes");
    work(&home);
    assert_eq!(show(&home, id).state, ActivityState::Finished);
    assert_eq!(script.take_seen().len(), RECORDS);
}

fn several_tasks_work_on_an_activity_that_is_resumed(engine: Engine) {
    let script = Script::new(2, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    pause_at(&home, &script, id, 1);
    work(&home);
    assert_eq!(show(&home, id).state, ActivityState::Paused);
    // The first record waits for another one to be processed beside it.
    let at_work = Arc::new((Mutex::new(0), Condvar::new()));
    let seen = at_work.clone();
    script.change(move |_, _| {
        let (count, changed) = &*seen;
        let mut now = count.lock().expect("no poison");
        *now += 1;
        changed.notify_all();
        drop(changed.wait_timeout_while(now, Duration::from_secs(30), |count| *count < 2).expect("no poison"));
        done()
    });
    activities::resume(&call(&home), id).expect("resumes");
    std::thread::scope(|scope| {
        scope.spawn(|| work(&home));
        let (count, changed) = &*at_work;
        let count = count.lock().expect("no poison");
        let (count, waited) =
            changed.wait_timeout_while(count, Duration::from_secs(20), |count| *count < 2).expect("no poison");
        assert!(!waited.timed_out(), "{count} at once");
    });
    assert_eq!(show(&home, id).state, ActivityState::Finished);
}

fn a_cancelled_activity_processes_nothing_more(engine: Engine) {
    let script = Script::new(50, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    let (context, count) = (call(&home), Arc::new(AtomicUsize::new(0)));
    script.change(move |_, _| {
        if count.fetch_add(1, Ordering::SeqCst) == 2 {
            activities::cancel(&context, id).expect("cancels");
        }
        done()
    });
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.cancelled), (ActivityState::Cancelled, Some(3), Some(17)), "{view:?}");
    assert!(activities::resume(&call(&home), id).is_err());
}

fn what_a_dead_worker_had_of_a_cancelled_activity_is_cancelled(engine: Engine) {
    let script = Script::new(50, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    pause_at(&home, &script, id, 4);
    work(&home);
    let claim = move |tx: &mut dyn strongroom_registry::Transaction| {
        let list = rows::find(tx, Scope::System, id)?.list;
        let request =
            ClaimRequest { list, worker: "a dead worker".to_owned(), limit: 6, lease: Duration::from_mins(1) };
        Ok::<_, RegistryError>(lists::claim(tx, &request)?.expect("a chunk").records.len())
    };
    assert_eq!(home.registry.write(claim).expect("claims"), 6);
    activities::cancel(&call(&home), id).expect("cancels");
    assert_eq!((show(&home, id).processing, show(&home, id).cancelled), (Some(6), Some(9)));
    home.clock.advance(Duration::from_mins(2));
    // The task of another activity returns what the dead worker had.
    script.change(|_, _| done());
    begin_behind(&home, "scripted", harvest, false);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.todo, view.processing, view.cancelled), (Some(0), Some(0), Some(15)), "{view:?}");
}

fn what_follows_a_cancelled_activity_of_a_dead_worker_ends_without_the_background_task(engine: Engine) {
    let script = Script::new(50, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    pause_at(&home, &script, id, 4);
    work(&home);
    let claim = move |tx: &mut dyn strongroom_registry::Transaction| {
        let list = rows::find(tx, Scope::System, id)?.list;
        let request =
            ClaimRequest { list, worker: "a dead worker".to_owned(), limit: 6, lease: Duration::from_mins(1) };
        Ok::<_, RegistryError>(lists::claim(tx, &request)?.expect("a chunk").records.len())
    };
    assert_eq!(home.registry.write(claim).expect("claims"), 6);
    let follower = begin_behind(&home, "copy", id, true);
    activities::cancel(&call(&home), id).expect("cancels");
    let (shutdown, is_over) = (Shutdown::new(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Five minutes of the registry, and the patience of the test behind them.
            for round in 0..3_000 {
                if is_over.load(Ordering::SeqCst) > 0 {
                    return;
                }
                if round < 300 {
                    home.clock.advance(Duration::from_secs(1));
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
            shutdown.request();
        });
        activities::work(&call(&home), &[follower], &shutdown).expect("works");
        is_over.store(1, Ordering::SeqCst);
    });
    let (view, behind) = (show(&home, id), show(&home, follower));
    assert_eq!((view.processing, view.cancelled), (Some(0), Some(15)), "{view:?}");
    assert_eq!((behind.state, behind.processed), (ActivityState::Finished, Some(5)), "{behind:?}");
}

fn what_a_worker_of_an_earlier_run_says_does_not_fail_the_present_one(engine: Engine) {
    let script = Script::new(50, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    let context = call(&home);
    script.change(move |_, work| {
        if work.activity.run > 1 {
            return done();
        }
        activities::cancel(&context, id).expect("cancels");
        activities::rerun(&context, id, false).expect("runs again");
        RecordOutcome::Stopped(AgentError::Fatal("the provider is gone".to_owned()))
    });
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.run, view.state, view.processed), (2, ActivityState::Finished, Some(RECORDS as u64)), "{view:?}");
}

fn an_activity_whose_workers_end_each_time_fails(engine: Engine) {
    let script = Script::new(50, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    let bury = move |tx: &mut dyn strongroom_registry::Transaction| {
        let (holder, duration) = (WorkerId::new("test.invalid", 1, "0-0-1"), Duration::from_mins(1));
        let request = LeaseRequest { topics: vec![super::TOPIC.to_owned()], keys: None, limit: 9, holder, duration };
        let reason = "the lease ran out on attempt 10 of 10".to_owned();
        let leased = tasks::lease(tx, &request)?;
        let dead = leased.iter().map(|task| Settlement {
            lease: task.lease,
            outcome: strongroom_queue::Outcome::Dead { reason: reason.clone() },
        });
        Ok::<_, RegistryError>(tasks::settle(tx, &dead.collect::<Vec<_>>())?.len())
    };
    assert_eq!(home.registry.write(bury).expect("is written"), 1);
    let keep = || background::run_now(&home, super::task("activities"), &Shutdown::new()).expect("runs");
    keep();
    let view = show(&home, id);
    assert_eq!(view.state, ActivityState::Failed);
    let error = view.error.expect("why");
    assert!(error.contains("attempt 10 of 10") && error.contains(&format!("activity restart {id}")), "{error}");
    // What was buried is told by the activity alone, and does not fail it again.
    activities::restart(&call(&home), id).expect("restarts");
    keep();
    assert_eq!(show(&home, id).state, ActivityState::Queued);
    work(&home);
    assert_eq!(show(&home, id).state, ActivityState::Finished);
}

fn a_record_for_later_is_tried_again_until_its_attempts_are_spent(engine: Engine) {
    let script = Script::new(50, false, |record, _| match record {
        "03.xml" => RecordOutcome::Later { after: Duration::from_secs(20), error: "busy".to_owned() },
        _ => done(),
    });
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    work(&home);
    let failed = records(&home, id, RecordState::Failed);
    assert_eq!((failed.len(), failed[0].attempts, failed[0].error.as_deref()), (1, 3, Some("busy")));
    assert_eq!(script.take_seen().len(), RECORDS + 2);
}

fn another_run_takes_all_records_again(engine: Engine) {
    let script = Script::new(50, false, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    work(&home);
    let first: BTreeSet<String> = script.take_seen().into_iter().collect();
    let again = activities::rerun(&call(&home), id, false).expect("runs again");
    assert_eq!((again.run, again.state), (2, ActivityState::Queued));
    work(&home);
    assert_eq!(script.take_seen().into_iter().collect::<BTreeSet<_>>(), first);
    assert_eq!(show(&home, id).processed, Some(RECORDS as u64));
}

fn several_workers_process_one_list(engine: Engine) {
    let met = Arc::new((Mutex::new(0), Condvar::new()));
    let meeting = met.clone();
    let script = Script::new(1, false, move |_, _| {
        // Two are processed at the same time once: each waits for the other.
        let (count, changed) = &*meeting;
        let mut count = count.lock().expect("no poison");
        *count += 1;
        changed.notify_all();
        let (count, waited) =
            changed.wait_timeout_while(count, Duration::from_mins(1), |count| *count < 2).expect("no poison");
        drop(count);
        assert!(!waited.timed_out(), "one worker alone");
        done()
    });
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(RECORDS as u64)));
    assert_eq!(script.take_seen().len(), RECORDS);
}

fn a_snapshot_is_what_was_processed_and_a_follower_takes_the_rest(engine: Engine) {
    let script = Script::new(50, true, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let first = begin_behind(&home, "scripted", harvest, false);
    pause_at(&home, &script, first, 5);
    work(&home);
    let snapshot = begin_behind(&home, "copy", first, false);
    let follower = begin_behind(&home, "copy", first, true);
    let second_follower = begin_behind(&home, "copy", follower, true);
    script.change(|_, _| done());
    // The snapshot is taken while the first waits.
    let has_taken = || show(&home, snapshot).state == ActivityState::Finished;
    let runtime = strongroom_engine::build_runtime(&home, Some(&[super::TOPIC.to_owned()])).expect("a runtime").build();
    runtime.run_until(&strongroom_engine::runtime::Shutdown::new(), &has_taken);
    assert_eq!(show(&home, snapshot).processed, Some(6));
    activities::resume(&call(&home), first).expect("resumes");
    work(&home);
    for id in [first, follower, second_follower] {
        let view = show(&home, id);
        assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(RECORDS as u64)), "{view:?}");
    }
    assert_eq!(show(&home, snapshot).processed, Some(6));
}

fn a_listing_of_records_ends_where_another_run_begins(engine: Engine) {
    let script = Script::new(7, false, |_, _| done());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    work(&home);
    let page = activities::records(&call(&home), id, None, None).expect("a page");
    assert_eq!(page.items.len(), RECORDS);
    let next = page.next.expect("there may be more");
    assert!(activities::records(&call(&home), id, None, Some(next)).expect("a page").items.is_empty());
    activities::rerun(&call(&home), id, true).expect("runs again");
    let refused = activities::records(&call(&home), id, None, Some(next)).expect_err("it is another list").to_string();
    assert!(refused.contains("was run again while its records were listed"), "{refused}");
}
