//! Pipelines: what one command makes, what of them can run, and what people may do with them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use strongroom_engine::activities::{AgentError, RecordOutcome};
use strongroom_engine::app::activities::{self, ActivityState, Request};
use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::pipelines::{self, Which};
use strongroom_engine::app::views::{ActivityId, PipelineRunView, Review, SetPipelineView};
use strongroom_engine::app::{Caller, OpContext};
use strongroom_engine::findings::Counting;
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::survey::Survey;
use strongroom_engine::{EngineError, Home, status};
use strongroom_oai_double::{OaiDouble, OaiFault, OaiRecord};
use strongroom_records::RecordState;
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::journal::Actor;
use strongroom_registry::{ActorKind, ItemId, Order, Scope, pipelines as rows, tenants};

use super::scripted::{Script, Scripted};
use super::{
    begin, begin_behind, call, check_counts, home_for, ids, options, records, show, work, work_rounds, world_of,
};
use crate::fixture::{Engine, INSTITUTION, on_both_databases};

on_both_databases! {
    a_pipeline_harvests_and_deposits_by_one_command_and_then_only_what_has_changed
    a_harvest_by_hand_does_not_hide_records_from_a_pipeline
    a_step_whose_records_fail_passes_the_others_on
    a_step_that_fails_keeps_those_behind_it_waiting_and_is_restarted
    what_is_waited_for_ends_when_only_a_person_can_go_on
    a_pipeline_that_cannot_run_is_refused_when_it_is_set
    a_pipeline_that_cannot_run_any_more_is_refused_when_it_is_run
    an_actor_of_an_institution_sets_and_runs_its_own_pipelines_and_names_no_path
    an_agent_that_a_worker_does_not_know_is_waited_for
    what_steps_have_in_urls_is_not_shown
    what_follows_a_failed_activity_says_so_and_is_not_waited_for
    activities_of_which_there_are_more_than_are_counted_are_told_with_at_least
    an_activity_says_why_it_is_tried_again
    work_items_of_activities_are_listed_with_others_by_their_time
    a_removed_pipeline_is_still_named_by_its_activities
    a_pipeline_that_several_institutions_have_is_named_with_its_institution
}

fn some_records(count: usize) -> Vec<OaiRecord> {
    (0..count).map(|number| OaiRecord::new(&format!("oai:x:{number:02}"), "2024-01-02T00:00:00Z")).collect()
}

fn maps() -> Which {
    Which { name: "maps".to_owned(), institution: None }
}

/// The steps of a harvest of this provider, and of its deposit.
fn harvest_and_deposit(url: &str) -> String {
    format!(
        "[[steps]]\nname = \"harvest\"\nagent = \"harvest\"\noptions = {{ url = \"{url}\" }}\n\
         [[steps]]\nname = \"deposit\"\nagent = \"deposit\"\n"
    )
}

/// The same, with the agent of the test between.
fn with_script(url: &str) -> String {
    harvest_and_deposit(url).replace(
        "[[steps]]\nname = \"deposit\"",
        "[[steps]]\nname = \"check\"\nagent = \"scripted\"\n[[steps]]\nname = \"deposit\"",
    )
}

fn set(home: &Arc<Home>, text: &str) -> SetPipelineView {
    pipelines::set(&call(home), &maps(), text.as_bytes()).expect("answers")
}

fn run(home: &Arc<Home>, only_changed: bool) -> PipelineRunView {
    pipelines::run(&call(home), &maps(), only_changed).expect("runs")
}

fn ids_of(run: &PipelineRunView) -> Vec<ActivityId> {
    run.activities.iter().map(|one| one.activity).collect()
}

fn register(home: &mut crate::fixture::TestHome, script: &Arc<Script>) {
    Arc::get_mut(&mut home.home).expect("the only one").register_agent(Arc::new(Scripted(script.clone())));
}

fn done() -> RecordOutcome {
    RecordOutcome::processed(None)
}

fn a_pipeline_harvests_and_deposits_by_one_command_and_then_only_what_has_changed(engine: Engine) {
    let provider = OaiDouble::start(some_records(12));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let made = set(&home, &harvest_and_deposit(&provider.base_url()));
    assert!(made.problems.is_empty() && made.set.is_some_and(|set| set.last_run.is_none() && set.steps.len() == 2));
    let first = run(&home, true);
    let [harvest, deposit] = ids_of(&first)[..] else { panic!("two steps") };
    let view = show(&home, deposit);
    assert_eq!((view.pipeline.as_deref(), view.pipeline_run, view.step), (Some("maps"), Some(1), Some(2)));
    assert_eq!((view.input, view.follows, view.institution.as_deref()), (Some(harvest), true, Some(INSTITUTION)));
    work(&home);
    for id in [harvest, deposit] {
        let view = show(&home, id);
        check_counts(&view);
        assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(12)), "{view:?}");
    }
    provider.change(|records| records.push(OaiRecord::new("oai:x:new", "2999-01-01T00:00:00Z")));
    let second = run(&home, true);
    assert_eq!(second.run, 2);
    assert!(second.activities[0].changed_since.is_some(), "{second:?}");
    work(&home);
    assert_eq!(ids(&home, second.activities[0].activity, RecordState::Processed), ["oai:x:new"]);
    assert_eq!(show(&home, second.activities[1].activity).processed, Some(1));
    let items = home.registry.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 100));
    assert_eq!(items.expect("lists").len(), 13);
    let shown = pipelines::show(&call(&home), &maps()).expect("the pipeline");
    let last = shown.last_run.expect("it was run");
    assert_eq!((shown.runs, last.run, ids_of(&last)), (2, 2, ids_of(&second)));
    // Without it, everything is taken.
    let third = run(&home, false);
    assert_eq!(third.activities[0].changed_since, None);
    work(&home);
    assert_eq!(show(&home, third.activities[0].activity).processed, Some(13));
}

fn a_harvest_by_hand_does_not_hide_records_from_a_pipeline(engine: Engine) {
    let provider = OaiDouble::start(some_records(5));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let url = provider.base_url();
    set(&home, &harvest_and_deposit(&url));
    run(&home, true);
    work(&home);
    // This one takes a record that the pipeline has not seen.
    provider.change(|records| records.push(OaiRecord::new("oai:x:new", "2999-01-01T00:00:00Z")));
    begin(&home, "harvest", &[("url", &url)]);
    work(&home);
    let of_pipeline = run(&home, true);
    work(&home);
    assert_eq!(ids(&home, of_pipeline.activities[0].activity, RecordState::Processed), ["oai:x:new"]);
    // And another source is read from its beginning, whatever came of the one before.
    let sets = harvest_and_deposit(&url).replace("\" }", "\", set = \"even\" }");
    assert!(set(&home, &sets).set.is_some());
    assert_eq!(run(&home, true).activities[0].changed_since, None);
}

fn a_step_whose_records_fail_passes_the_others_on(engine: Engine) {
    let provider = OaiDouble::start(some_records(10));
    let Some(mut home) = home_for(engine, &provider.web().authority()) else { return };
    let left = AtomicUsize::new(0);
    let script = Script::of_results(4, move |_, _| match left.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => RecordOutcome::Failed { error: "it is bad".to_owned() },
        _ => done(),
    });
    register(&mut home, &script);
    assert!(set(&home, &with_script(&provider.base_url())).set.is_some());
    let made = run(&home, false);
    work(&home);
    let states: Vec<_> =
        ids_of(&made).into_iter().map(|id| show(&home, id)).map(|one| (one.state, one.processed, one.failed)).collect();
    let (well, with_errors) = (ActivityState::Finished, ActivityState::FinishedWithErrors);
    assert_eq!(states, [(well, Some(10), Some(0)), (with_errors, Some(8), Some(2)), (well, Some(8), Some(0))]);
    // What failed is retried alone, and goes on through the steps behind.
    script.change(|_, _| done());
    activities::retry_failed(&call(&home), made.activities[1].activity).expect("retries");
    work(&home);
    let last = show(&home, made.activities[2].activity);
    assert_eq!((last.state, last.processed), (ActivityState::Finished, Some(10)));
}

fn a_step_that_fails_keeps_those_behind_it_waiting_and_is_restarted(engine: Engine) {
    let provider = OaiDouble::start(some_records(8));
    provider.on(OaiFault::Html);
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    set(&home, &harvest_and_deposit(&provider.base_url()));
    let made = run(&home, true);
    let [harvest, deposit] = ids_of(&made)[..] else { panic!("two steps") };
    let summary =
        activities::work(&call(&home), &[harvest, deposit], &Shutdown::new()).expect("works until it is over");
    assert!(summary.failure.is_none());
    assert_eq!(show(&home, harvest).state, ActivityState::Failed);
    let waiting = show(&home, deposit);
    assert_eq!((waiting.state, waiting.populated), (ActivityState::Queued, Some(0)));
    provider.mend();
    activities::restart(&call(&home), harvest).expect("restarts");
    activities::work(&call(&home), &[harvest, deposit], &Shutdown::new()).expect("works until it is over");
    for id in [harvest, deposit] {
        assert_eq!((show(&home, id).state, show(&home, id).processed), (ActivityState::Finished, Some(8)));
    }
    // The run that failed has not moved the watermark; the one that was restarted has.
    assert!(run(&home, true).activities[0].changed_since.is_some());
}

fn what_is_waited_for_ends_when_only_a_person_can_go_on(engine: Engine) {
    let provider = OaiDouble::start(some_records(6));
    let Some(mut home) = home_for(engine, &provider.web().authority()) else { return };
    let script = Script::of_results(2, |_, _| done());
    register(&mut home, &script);
    set(&home, &with_script(&provider.base_url()));
    let made = ids_of(&run(&home, false));
    let (context, paused) = (call(&home), made[1]);
    script.change(move |_, _| {
        // Only the first record pauses it; it is paused already for those that are processed meanwhile.
        let _ = activities::pause(&context, paused);
        done()
    });
    activities::work(&call(&home), &made, &Shutdown::new()).expect("works until it is over");
    let states: Vec<_> = made.iter().map(|id| show(&home, *id).state).collect();
    assert_eq!((states[0], states[1]), (ActivityState::Finished, ActivityState::Paused));
    assert!(states[2].is_at_work(), "{states:?}");
    script.change(|_, _| done());
    activities::resume(&call(&home), paused).expect("resumes");
    activities::work(&call(&home), &made, &Shutdown::new()).expect("works until it is over");
    assert!(made.iter().all(|id| show(&home, *id).state == ActivityState::Finished));
    assert_eq!(script.take_seen().into_iter().collect::<BTreeSet<_>>().len(), 6);
}

fn a_pipeline_that_cannot_run_is_refused_when_it_is_set(engine: Engine) {
    let Some(home) = home_for(engine, "provider.example.edu") else { return };
    let text = "[[steps]]\nname = \"first\"\nagent = \"deposit\"\n\
                [[steps]]\nname = \"second\"\nagent = \"harvest\"\noptions = { url = \"https://provider.example.edu\" }\n\
                [[steps]]\nname = \"third\"\nagent = \"gather\"\n\
                [[steps]]\nname = \"fourth\"\nagent = \"deposit\"\noptions = { colection = \"maps\" }\n\
                [[steps]]\nname = \"fifth\"\nagent = \"deposit\"\noptions = { collection = \"maps\" }\n\
                [[steps]]\nname = \"fifth\"\nagent = \"copy\"\n";
    let refused = set(&home, text);
    assert!(refused.set.is_none());
    let told: Vec<(Option<usize>, &str)> =
        refused.problems.iter().map(|one| (one.line, one.problem.as_str())).collect();
    let expected = [
        (1, "takes what another one made, and cannot be the first"),
        (4, "finds its records itself, and can only be the first"),
        (8, "there is no agent \"gather\""),
        (11, "unknown field `colection`"),
        (15, "there is no collection \"maps\""),
        (19, "another step has the name \"fifth\" as well"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((line, problem), (expected_line, expected)) in told.iter().zip(expected) {
        assert!(*line == Some(expected_line) && problem.contains(expected), "{told:?}");
    }
    assert!(refused.problems.iter().all(|one| one.step.is_some() && !one.next.is_empty()), "{refused:?}");
    assert!(pipelines::list(&call(&home), None, None).expect("lists").items.is_empty());
    // A pipeline that is there stays as it was.
    let right = harvest_and_deposit("https://provider.example.edu/oai");
    assert!(set(&home, &right).set.is_some());
    assert!(set(&home, text).set.is_none());
    assert_eq!(pipelines::show(&call(&home), &maps()).expect("is there").steps.len(), 2);
    let wrong_name = Which { name: "a b".to_owned(), institution: None };
    pipelines::set(&call(&home), &wrong_name, right.as_bytes()).expect_err("it is no name");
}

fn a_pipeline_that_cannot_run_any_more_is_refused_when_it_is_run(engine: Engine) {
    let Some(home) = home_for(engine, "provider.example.edu") else { return };
    let folder = home.path().join("records");
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = format!(
        "[[steps]]\nname = \"harvest\"\nagent = \"harvest\"\noptions = {{ kind = \"folder\", path = \"{}\" }}\n\
         [[steps]]\nname = \"pass-on\"\nagent = \"copy\"\n",
        folder.display()
    );
    assert!(set(&home, &text).set.is_some());
    let refused = pipelines::run(&call(&home), &maps(), true).expect_err("a folder tells no changes").to_string();
    assert!(refused.contains("does not tell what has changed"), "{refused}");
    std::fs::remove_dir_all(&folder).expect("removes");
    let refused = pipelines::run(&call(&home), &maps(), false).expect_err("the folder is gone");
    let told = refused.to_string();
    assert!(told.contains("the pipeline maps cannot run: step 1 (harvest): could not read"), "{told}");
    assert!(matches!(&refused, EngineError::Advised(advised) if !advised.next.is_empty()), "{refused:?}");
    let page = activities::list(&call(&home), &activities::Filter::default(), None).expect("lists");
    assert!(page.items.is_empty(), "nothing was made");
    assert_eq!(pipelines::show(&call(&home), &maps()).expect("is there").runs, 0);
}

fn an_actor_of_an_institution_sets_and_runs_its_own_pipelines_and_names_no_path(engine: Engine) {
    let provider = OaiDouble::start(some_records(3));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let institution = home.registry.read(|tx| tenants::institution(tx, Scope::System, INSTITUTION)).expect("reads");
    let scope = Scope::Institution(institution.expect("is there").id);
    let actor = Actor::new(ActorKind::User, "ann@example.edu");
    let own = OpContext::new(home.home.clone(), Caller::with_role(actor, scope, Role::InstitutionAdmin));
    let folder = home.path().to_str().expect("UTF-8").to_owned();
    let of_folder = format!(
        "[[steps]]\nname = \"harvest\"\nagent = \"harvest\"\noptions = {{ kind = \"folder\", path = \"{folder}\" }}\n"
    );
    let refused = pipelines::set(&own, &maps(), of_folder.as_bytes()).expect("answers");
    assert!(refused.set.is_none() && refused.problems[0].problem.contains("a path of the server"), "{refused:?}");
    // Nor does it run one that the installation has set.
    assert!(set(&home, &of_folder).set.is_some());
    let refused = pipelines::run(&own, &maps(), false).expect_err("a path of the server").to_string();
    assert!(refused.contains("a path of the server"), "{refused}");
    let right = harvest_and_deposit(&provider.base_url());
    assert!(pipelines::set(&own, &maps(), right.as_bytes()).expect("answers").set.is_some());
    let made = pipelines::run(&own, &maps(), false).expect("runs");
    assert_eq!(made.activities[1].actor, "ann@example.edu");
    work(&home);
    assert_eq!(show(&home, made.activities[1].activity).processed, Some(3));
    let foreign = Which { institution: Some("other.edu".to_owned()), ..maps() };
    pipelines::set(&own, &foreign, right.as_bytes()).expect_err("it is not its own");
}

fn an_agent_that_a_worker_does_not_know_is_waited_for(engine: Engine) {
    let provider = OaiDouble::start(some_records(4));
    let Some(mut home) = home_for(engine, &provider.web().authority()) else { return };
    let institution = home.registry.read(|tx| tenants::institution(tx, Scope::System, INSTITUTION)).expect("reads");
    let institution = institution.expect("is there").id;
    set(&home, &harvest_and_deposit(&provider.base_url()));
    // A newer program has set and run it.
    let made = home
        .registry
        .write(move |tx| {
            let mut found = rows::find(tx, Scope::System, "maps")?;
            "scripted".clone_into(&mut found.steps[1].agent);
            rows::set(tx, Some(institution), "maps", &found.steps, &Actor::system())?;
            let options = found.steps.iter().map(|step| step.options.clone()).collect();
            let new = rows::NewRun { actor: Actor::system(), options, watermark: None, only_changed: false };
            rows::run(tx, &found, &new)
        })
        .expect("runs")
        .1;
    let shutdown = Shutdown::new();
    let runtime = strongroom_engine::build_runtime(&home, Some(&[super::TOPIC.to_owned()])).expect("a runtime").build();
    let has_tried = || {
        let tasks = home.registry.read(|tx| {
            Ok::<_, strongroom_registry::RegistryError>(strongroom_queue::tasks::of_key(tx, &made[1].to_string())?)
        });
        tasks.expect("reads").iter().any(|task| task.spent > 0)
    };
    runtime.run_until(&shutdown, &has_tried);
    assert!(show(&home, made[1]).state.is_at_work(), "it is left to others");
    let script = Script::of_results(4, |_, _| done());
    let newer = Home::with_registry(home.path(), home.settings.clone(), home.registry.clone());
    home.home = Arc::new(newer.expect("opens the home"));
    register(&mut home, &script);
    work(&home);
    assert_eq!((show(&home, made[1]).state, show(&home, made[1]).processed), (ActivityState::Finished, Some(4)));
}

fn a_removed_pipeline_is_still_named_by_its_activities(engine: Engine) {
    let provider = OaiDouble::start(some_records(4));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    set(&home, &harvest_and_deposit(&provider.base_url()));
    let made = run(&home, true);
    pipelines::remove(&call(&home), &maps()).expect("removes");
    for refused in [
        pipelines::run(&call(&home), &maps(), true).map(drop),
        pipelines::show(&call(&home), &maps()).map(drop),
        pipelines::remove(&call(&home), &maps()).map(drop),
    ] {
        assert!(refused.expect_err("it is removed").to_string().contains("maps"));
    }
    work(&home);
    let view = show(&home, made.activities[1].activity);
    assert_eq!(
        (view.state, view.processed, view.pipeline.as_deref()),
        (ActivityState::Finished, Some(4), Some("maps"))
    );
    assert!(pipelines::list(&call(&home), None, None).expect("lists").items.is_empty());
    // Set again, it goes on behind what its runs have taken.
    set(&home, &harvest_and_deposit(&provider.base_url()));
    let again = run(&home, true);
    assert_eq!((again.run, again.activities[0].changed_since.is_some()), (2, true));
}

fn a_pipeline_that_several_institutions_have_is_named_with_its_institution(engine: Engine) {
    let Some(home) = home_for(engine, "provider.example.edu") else { return };
    strongroom_engine::app::institutions::add(&call(&home), "other.edu", None).expect("adds");
    let text = harvest_and_deposit("https://provider.example.edu/oai");
    pipelines::set(&call(&home), &maps(), text.as_bytes()).expect_err("which institution?");
    let of = |institution: &str| Which { institution: Some(institution.to_owned()), ..maps() };
    for institution in [INSTITUTION, "other.edu"] {
        assert!(pipelines::set(&call(&home), &of(institution), text.as_bytes()).expect("answers").set.is_some());
    }
    let refused = pipelines::show(&call(&home), &maps()).expect_err("there are two");
    assert!(refused.to_string().contains("other.edu") && refused.to_string().contains(INSTITUTION), "{refused}");
    assert!(matches!(&refused, EngineError::Advised(advised) if advised.next.contains("--institution")), "{refused:?}");
    let shown = pipelines::show(&call(&home), &of("other.edu")).expect("that one");
    assert_eq!(shown.institution.as_deref(), Some("other.edu"));
    let request = Request { agent: "copy".to_owned(), options: options(&[]), ..Request::default() };
    activities::run(&call(&home), &request).expect_err("it takes the records of another activity");
}

fn json(shown: &impl serde::Serialize) -> String {
    serde_json::to_string(shown).expect("JSON")
}

fn what_steps_have_in_urls_is_not_shown(engine: Engine) {
    let Some(home) = home_for(engine, "provider.example.edu") else { return };
    let text = "[[steps]]\nname = \"harvest\"\nagent = \"harvest\"\n\
                options = { kind = \"json\", url = \"https://provider.example.edu/rep?key=SECRET2\" }\n";
    let set = set(&home, text);
    assert!(set.problems.is_empty(), "{set:?}");
    let shown = pipelines::show(&call(&home), &maps()).expect("shows");
    let listed = pipelines::list(&call(&home), None, None).expect("lists").items;
    let ran = run(&home, false);
    let removed = pipelines::remove(&call(&home), &maps()).expect("removes");
    for text in [json(&set), json(&shown), json(&listed), json(&ran), json(&removed)] {
        assert!(text.contains("https://provider.example.edu/rep?key=...") && !text.contains("SECRET2"), "{text}");
    }
    // The worker has it.
    let id = ran.activities[0].activity;
    let kept = home.registry.read(|tx| strongroom_registry::activities::find(tx, Scope::System, id)).expect("is there");
    assert_eq!(kept.options["url"], "https://provider.example.edu/rep?key=SECRET2");
}

pub(super) fn review(home: &crate::fixture::TestHome) -> Review {
    let survey = Survey::of(home.path(), &home.settings, Some(&home.registry), Counting::Bounded).expect("looks");
    status::collect(home.path(), &home.settings, &home.registry, &survey).expect("collects").review
}

fn activities_of_which_there_are_more_than_are_counted_are_told_with_at_least(engine: Engine) {
    let Some(home) = home_for(engine, "provider.example.edu") else { return };
    let one = || begin(&home, "harvest", &[("url", "https://provider.example.edu/oai")]);
    let ids: Vec<_> = (0..1_000).map(|_| one()).collect();
    let fail = |ids: Vec<strongroom_registry::ActivityId>| {
        let fail_all = move |tx: &mut dyn strongroom_registry::Transaction| {
            ids.iter().try_for_each(|id| strongroom_registry::activities::fail(tx, *id, "it is away"))
        };
        home.registry.write(fail_all).expect("fail");
    };
    fail(ids[1..].to_vec());
    let told = review(&home);
    assert_eq!((told.at_least.as_slice(), told.entries[0].text.as_str()), (&[][..], "999 activities failed"));
    fail(vec![ids[0]]);
    fail(vec![one()]);
    let told = review(&home);
    assert_eq!((told.at_least.as_slice(), told.failed_activities), (&["failed_activities"][..], 1_000));
    assert_eq!(told.entries[0].text, "at least 1000 activities failed");
}

fn what_follows_a_failed_activity_says_so_and_is_not_waited_for(engine: Engine) {
    let provider = OaiDouble::start(some_records(8));
    provider.on(OaiFault::Html);
    let Some(mut home) = home_for(engine, &provider.web().authority()) else { return };
    let script = Script::of_results(2, |_, _| RecordOutcome::Failed { error: "it is bad".to_owned() });
    register(&mut home, &script);
    assert!(review(&home).entries.is_empty(), "{:?}", review(&home).entries);
    let harvest = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    assert_eq!(show(&home, harvest).state, ActivityState::Failed);
    let check = begin_behind(&home, "scripted", harvest, true);
    let deposit = begin_behind(&home, "deposit", check, true);
    for id in [check, deposit] {
        // The other one is not among those that are waited for.
        activities::work(&call(&home), &[id], &Shutdown::new()).expect("ends");
        let view = show(&home, id);
        assert!(view.state.is_at_work(), "{view:?}");
        assert_eq!(view.waits_for, Some(harvest), "{view:?}");
    }
    let told = review(&home);
    assert_eq!((told.failed_activities, told.waiting_activities, told.activities_with_errors), (1, 2, 0), "{told:?}");
    let entries: Vec<_> = told.entries.iter().map(|entry| (entry.text.as_str(), entry.next.as_str())).collect();
    let next = "strongroom activity list --state failed";
    assert_eq!(entries, [("1 activity failed", next), ("2 activities waiting for one that failed", next)]);
    let waiting: Vec<_> = told.first_activities.iter().map(|one| (one.activity, one.waits_for)).collect();
    assert_eq!(waiting, [(harvest, None), (deposit, Some(harvest)), (check, Some(harvest))]);
    assert!(told.first_activities[0].error.is_some());
    // It goes on, and what ended with failures needs a person until they are retried or given up.
    provider.mend();
    activities::restart(&call(&home), harvest).expect("restarts");
    activities::work(&call(&home), &[harvest, check, deposit], &Shutdown::new()).expect("ends");
    let told = review(&home);
    assert_eq!((told.failed_activities, told.waiting_activities, told.activities_with_errors), (0, 0, 1), "{told:?}");
    assert_eq!(told.first_activities[0].failed, Some(8));
    let (text, next) = (&told.entries[0].text, &told.entries[0].next);
    assert_eq!(text, "1 activity ended with records that failed");
    assert_eq!(next, "strongroom activity list --state finished_with_errors");
    activities::cancel(&call(&home), check).expect("its records are given up");
    assert!(review(&home).entries.is_empty());
    let view = show(&home, check);
    assert_eq!((view.state, view.failed), (ActivityState::Cancelled, Some(8)));
}

fn an_activity_says_why_it_is_tried_again(engine: Engine) {
    let provider = OaiDouble::start(some_records(2));
    let Some(mut home) = home_for(engine, &provider.web().authority()) else { return };
    let away = || RecordOutcome::Stopped(AgentError::Transient("the index is away".to_owned()));
    let script = Script::of_results(2, move |_, _| away());
    register(&mut home, &script);
    let harvest = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let id = begin_behind(&home, "scripted", harvest, false);
    assert_eq!(show(&home, id).attempt_error, None);
    // Until nothing is to be done but what is tried again later.
    let is_tried = || {
        work_rounds(&home, 0);
        show(&home, id).attempt_error.is_some()
    };
    assert!((0..10).any(|_| is_tried()));
    let view = show(&home, id);
    assert!(view.state.is_at_work() && view.error.is_none() && view.tried_again_at.is_some(), "{view:?}");
    assert!(view.attempt_error.as_deref().is_some_and(|error| error.contains("the index is away")), "{view:?}");
    let told =
        || review(&home).entries.iter().map(|entry| (entry.text.clone(), entry.next.clone())).collect::<Vec<_>>();
    let tried = [("1 activity tried again after an error".to_owned(), format!("strongroom activity show {id}"))];
    assert_eq!(told(), tried);
    // The error stays while a worker has the task, and until something has succeeded.
    let (seen, other) = (Arc::new(Mutex::new(None)), home.home.clone());
    let noted = seen.clone();
    script.change(move |_, _| {
        noted.lock().expect("no poison").get_or_insert_with(|| show(&other, id));
        done()
    });
    work(&home);
    let during = seen.lock().expect("no poison").take().expect("it was tried again");
    assert!(during.attempt_error.as_deref().is_some_and(|error| error.contains("the index is away")), "{during:?}");
    assert_eq!(during.tried_again_at, None, "it is tried now");
    let view = show(&home, id);
    assert_eq!((view.state, view.attempt_error, view.tried_again_at), (ActivityState::Finished, None, None));
    assert!(told().is_empty(), "{:?}", told());
}

fn work_items_of_activities_are_listed_with_others_by_their_time(engine: Engine) {
    let Some((home, harvest)) = world_of(engine, Vec::new(), 3) else { return };
    let mut made: Vec<BTreeSet<ItemId>> = Vec::new();
    for name in ["first", "second"] {
        let activity = begin_behind(&home, "deposit", harvest, false);
        work(&home);
        let of = records(&home, activity, RecordState::Processed).into_iter().filter_map(|record| record.result);
        made.push(of.map(|item| item.parse().expect("an id")).collect());
        let sources = vec![PackageSource::LocalPath(home.bag(name, &[("a.txt", b"text")]))];
        let request = DepositRequest { sources, ..DepositRequest::of_system(INSTITUTION) };
        made.push(deposit(&home, &request).expect("deposits").items.into_iter().collect());
    }
    let listed = home.registry.read(|tx| {
        let newest = ItemFilter { order: Order::NewestFirst, ..ItemFilter::default() };
        items::list(tx, Scope::System, &newest, None, 100)
    });
    let mut listed = listed.expect("lists").into_iter().map(|item| item.id);
    for group in made.iter().rev() {
        let next: BTreeSet<ItemId> = listed.by_ref().take(group.len()).collect();
        assert_eq!(&next, group);
    }
}
