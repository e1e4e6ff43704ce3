//! Acceptance cases of the reference that belong to no agent, by number. The others are with what they are about; docs/coming-from-krikri.md
//! has the list.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use strongroom_engine::activities::RecordOutcome;
use strongroom_engine::app::activities::{self, ActivityState, Filter, Request};
use strongroom_engine::app::views::ActivityView;
use strongroom_engine::build_runtime;
use strongroom_engine::runtime::Shutdown;
use strongroom_oai_double::{OaiDouble, OaiFault};
use strongroom_queue::tasks;
use strongroom_records::RecordState;
use strongroom_registry::RegistryError;

use super::harvesting::some_records;
use super::lists::{RECORDS, world};
use super::scripted::Script;
use super::{TOPIC, begin, begin_behind, call, check_counts, home_for, ids, options, records, show, work};
use crate::fixture::{Engine, on_both_databases};

on_both_databases! {
    case_1_an_activity_is_one_row_and_one_task_or_an_error
    case_2_an_activity_has_the_times_of_its_run_and_says_how_it_ended
    case_3_an_activity_is_found_by_its_identifier_or_a_part_of_it_alone
    case_4_an_agent_is_told_for_which_activity_it_works
    case_12_two_workers_that_populate_at_once_make_one_list_with_one_query
    case_12_a_chain_takes_what_the_list_has_without_asking_provenance
    rate_and_time_left_follow_from_counts_and_times
    after_a_retry_the_rate_is_that_of_what_was_processed_since_and_the_run_began_when_it_began
}

fn processed() -> RecordOutcome {
    RecordOutcome::processed(None)
}

fn case_1_an_activity_is_one_row_and_one_task_or_an_error(engine: Engine) {
    let Some(home) = home_for(engine, "provider.example.edu") else { return };
    let list = || activities::list(&call(&home), &Filter::default(), None).expect("lists").items;
    let given = [("url", "https://provider.example.edu/oai"), ("set", "maps"), ("set", "atlases")];
    let id = begin(&home, "harvest", &given);
    let made = list();
    assert_eq!((made.len(), made[0].activity, made[0].state), (1, id, ActivityState::Queued));
    assert_eq!(made[0].options["set"], serde_json::json!(["maps", "atlases"]));
    let waiting = home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &id.to_string())?)).expect("reads");
    assert_eq!((waiting.len(), waiting[0].topic.as_str()), (1, TOPIC));
    let harvest =
        |pairs: &[(&str, &str)]| Request { agent: "harvest".to_owned(), options: options(pairs), ..Request::default() };
    for (request, expected) in [
        (Request { agent: "gopher".to_owned(), ..Request::default() }, "agent"),
        (Request { agent: "deposit".to_owned(), ..Request::default() }, "takes the records of another activity"),
        (Request { input: Some(id), ..harvest(&given) }, "finds its records itself"),
        (Request { follow: true, ..harvest(&given) }, "only another activity can be followed"),
        (harvest(&[("url", "https://provider.example.edu/oai"), ("kind", "gopher")]), "gopher"),
        (harvest(&[("institution", "test.edu"), ("institution", "other.edu")]), "belongs to one institution"),
        (harvest(&[("url", "https://provider.example.edu/oai"), ("institution", "other.edu")]), "other.edu"),
    ] {
        let error = activities::run(&call(&home), &request).expect_err("is refused").to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert_eq!(list().len(), 1, "what is refused leaves nothing");
}

fn case_2_an_activity_has_the_times_of_its_run_and_says_how_it_ended(engine: Engine) {
    let script = Script::new(4, true, |_, _| processed());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    let queued = show(&home, id);
    assert_eq!((queued.started_at, queued.ended_at), (None, None));
    let (clock, context) = (home.clock.clone(), call(&home));
    let at_work: Arc<Mutex<Vec<ActivityView>>> = Arc::default();
    let seen = at_work.clone();
    script.change(move |_, _| {
        clock.advance(Duration::from_secs(1));
        seen.lock().expect("no poison").push(activities::show(&context, id).expect("the activity"));
        processed()
    });
    work(&home);
    let first = show(&home, id);
    let time = |text: &Option<String>| text.as_deref().expect("a time").parse::<jiff::Timestamp>().expect("a time");
    let lasted = time(&first.ended_at).duration_since(time(&first.started_at)).as_secs();
    assert!(lasted >= RECORDS as i64, "{lasted} s");
    assert_eq!((first.state, first.error.as_deref()), (ActivityState::Finished, None));
    // Run again, it has not ended while it runs.
    at_work.lock().expect("no poison").clear();
    activities::rerun(&call(&home), id, false).expect("runs again");
    assert_eq!((show(&home, id).started_at, show(&home, id).ended_at), (None, None));
    work(&home);
    let seen = std::mem::take(&mut *at_work.lock().expect("no poison"));
    assert_eq!(seen.len(), RECORDS);
    assert!(seen.iter().all(|view| view.ended_at.is_none() && view.started_at.is_some() && view.run == 2), "{seen:?}");
    assert!(time(&show(&home, id).ended_at) > time(&first.ended_at));
    // One that failed as a whole has ended, and says why.
    let provider = OaiDouble::start(some_records(3));
    provider.on(OaiFault::Html);
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let failing = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let failed = show(&home, failing);
    assert_eq!(failed.state, ActivityState::Failed);
    assert!(failed.ended_at.is_some() && failed.error.is_some(), "{failed:?}");
    // What has not begun does not end otherwise than by a person.
    let waiting = begin(&home, "harvest", &[("url", &provider.base_url())]);
    assert!(activities::restart(&call(&home), waiting).is_err());
}

fn case_3_an_activity_is_found_by_its_identifier_or_a_part_of_it_alone(engine: Engine) {
    let Some(home) = home_for(engine, "provider.example.edu") else { return };
    let url = "https://provider.example.edu/oai";
    let id = begin(&home, "harvest", &[("url", url)]);
    let other = begin(&home, "harvest", &[("url", url)]);
    let text = id.to_string();
    let named = |text: &str| activities::named(&call(&home), text);
    assert_eq!(named(&text).expect("finds it"), id);
    let part = format!("{}...{}", &text[..4], &text[text.len() - 6..]);
    assert_eq!(named(&part).expect("finds it"), id);
    for unknown in ["https://elsewhere.example.edu/activity/1", "00000000-0000-7000-8000-000000000000", ""] {
        assert!(named(unknown).is_err(), "{unknown:?}");
    }
    assert!(named(&text[..4]).is_err(), "both begin so: {id} {other}");
    // Very long options are kept as they are.
    let sets: Vec<String> = (0..2_000).map(|number| format!("set-{number:04}")).collect();
    let mut pairs = vec![("url", url)];
    pairs.extend(sets.iter().map(|set| ("set", set.as_str())));
    let long = begin(&home, "harvest", &pairs);
    assert_eq!(show(&home, long).options["set"], serde_json::json!(sets));
}

fn case_4_an_agent_is_told_for_which_activity_it_works(engine: Engine) {
    let told: Arc<Mutex<Vec<_>>> = Arc::default();
    let tells = told.clone();
    let script = Script::new(8, false, move |record, work| {
        tells.lock().expect("no poison").push((work.activity.id, work.activity.run));
        // The names of the entities are its own.
        RecordOutcome::processed(Some(format!("urn:{}:{record}", work.activity.id)))
    });
    let Some((home, harvest)) = world(engine, &script) else { return };
    let (one, other) =
        (begin_behind(&home, "scripted", harvest, false), begin_behind(&home, "scripted", harvest, false));
    work(&home);
    let mut told = std::mem::take(&mut *told.lock().expect("no poison"));
    told.sort_unstable();
    let mut expected: Vec<_> = [one, other].into_iter().flat_map(|id| vec![(id, 1); RECORDS]).collect();
    expected.sort_unstable();
    assert_eq!(told, expected);
    let results = records(&home, one, RecordState::Processed);
    assert!(results.iter().all(|record| record.result == Some(format!("urn:{one}:{}", record.record))));
}

fn case_12_two_workers_that_populate_at_once_make_one_list_with_one_query(engine: Engine) {
    let provider = OaiDouble::start(some_records(45));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    let copy = begin_behind(&home, "copy", id, true);
    let is_over = || [id, copy].into_iter().all(|id| show(&home, id).state == ActivityState::Finished);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let runtime = build_runtime(&home, Some(&[TOPIC.to_owned()])).expect("a runtime").build();
                    runtime.run_until(&Shutdown::new(), &is_over)
                })
            })
            .collect();
        // Counts are exact at every instant.
        while workers.iter().any(|worker| !worker.is_finished()) {
            for id in [id, copy] {
                check_counts(&show(&home, id));
            }
        }
        for worker in workers {
            assert!(worker.join().expect("ends").failure.is_none());
        }
    });
    assert_eq!(provider.queries().len(), 5, "one request for each page");
    for id in [id, copy] {
        let view = show(&home, id);
        check_counts(&view);
        assert_eq!((view.processed, view.populated), (Some(45), Some(45)), "{view:?}");
    }
}

fn case_12_a_chain_takes_what_the_list_has_without_asking_provenance(engine: Engine) {
    let provider = OaiDouble::start(some_records(12));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let harvest = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let made: Vec<String> =
        records(&home, harvest, RecordState::Processed).into_iter().filter_map(|record| record.result).collect();
    // By what provenance says now, two of them are not to be processed.
    provider.change(|records| {
        for record in &mut records[3..5] {
            *record = record.clone().deleted();
        }
    });
    let later = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    assert_eq!(show(&home, later).invalidated, Some(2));
    let copy = begin_behind(&home, "copy", harvest, false);
    work(&home);
    let mut expected = made;
    expected.sort();
    assert_eq!(ids(&home, copy, RecordState::Processed), expected, "the records of the harvest, as they were");
}

fn rate_and_time_left_follow_from_counts_and_times(engine: Engine) {
    let script = Script::new(50, true, |_, _| processed());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    let (clock, context) = (home.clock.clone(), call(&home));
    let seen: Arc<Mutex<Vec<ActivityView>>> = Arc::default();
    let keeps = seen.clone();
    script.change(move |_, _| {
        keeps.lock().expect("no poison").push(activities::show(&context, id).expect("the activity"));
        // Two seconds for each record.
        clock.advance(Duration::from_secs(2));
        processed()
    });
    work(&home);
    let seen = std::mem::take(&mut *seen.lock().expect("no poison"));
    assert_eq!((seen[0].records_per_second, seen[0].seconds_left), (None, None), "nothing has ended yet");
    let half = &seen[RECORDS / 2];
    assert_eq!((half.state, half.is_complete), (ActivityState::Running, Some(true)));
    assert_eq!((half.processed, half.todo, half.processing), (Some(10), Some(0), Some(10)));
    let (rate, left) = (half.records_per_second.expect("a rate"), half.seconds_left.expect("a time"));
    // The clock goes on by itself as well.
    assert!(rate > 0.0 && rate <= 0.5, "{rate}");
    assert_eq!(left, (10.0 / rate).ceil() as u64);
    let ended = show(&home, id);
    assert_eq!(ended.seconds_left, None);
    assert!(ended.records_per_second.is_some_and(|rate| rate <= 0.5), "{ended:?}");
}

fn after_a_retry_the_rate_is_that_of_what_was_processed_since_and_the_run_began_when_it_began(engine: Engine) {
    let script = Script::new(50, true, |_, _| processed());
    let Some((home, harvest)) = world(engine, &script) else { return };
    let id = begin_behind(&home, "scripted", harvest, false);
    let bad = ids(&home, harvest, RecordState::Processed).first().cloned().expect("a record");
    let wrong = bad.clone();
    script.change(
        move |record, _| {
            if *record == *wrong { RecordOutcome::Failed { error: "wrong".to_owned() } } else { processed() }
        },
    );
    work(&home);
    let first = show(&home, id);
    assert_eq!((first.state, first.failed), (ActivityState::FinishedWithErrors, Some(1)));
    // A person looks an hour later.
    home.clock.advance(Duration::from_hours(1));
    let clock = home.clock.clone();
    script.change(move |_, _| {
        clock.advance(Duration::from_secs(10));
        processed()
    });
    activities::retry_failed(&call(&home), id).expect("retries");
    work(&home);
    let second = show(&home, id);
    assert_eq!((second.state, second.run), (ActivityState::Finished, 1));
    assert_eq!(second.started_at, first.started_at, "the run is the same");
    // One record in ten seconds, and not all of them.
    assert!(second.records_per_second.is_some_and(|rate| rate <= 0.1), "{second:?}");
}
