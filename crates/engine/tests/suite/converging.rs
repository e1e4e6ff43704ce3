//! What stores lack of their placements is brought without a command: at the rate of the settings, once, and as long as it is wanted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use strongroom_engine::app::{self, Caller, OpContext};
use strongroom_engine::backfill::{self, BackfillProgress, StoreProgress};
use strongroom_engine::findings::Counting;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::survey::Survey;
use strongroom_engine::{EngineError, Home, background, build_runtime, work_on};
use strongroom_queue::{TopicCounts, tasks};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{CollectionId, InstitutionId, RegistryError, Scope};
use strongroom_storage::FolderStore;

use crate::fixture::{self, Engine, INSTITUTION, KEPT_IN, TestHome, on_both_databases};

on_both_databases! {
    a_store_that_joins_a_placement_gets_what_it_lacks_without_a_command
    the_rate_holds_over_restarts_in_two_processes_and_over_a_clock_that_jumps
    no_more_tasks_wait_than_the_settings_say
    what_a_store_that_is_away_lacks_is_enqueued_when_it_is_back
    a_task_that_was_given_up_is_not_enqueued_again_until_a_person_retries_it
    the_objects_of_a_collection_get_its_new_placement_and_their_copies
    an_object_that_comes_into_a_collection_gets_its_placement
    a_store_that_left_a_placement_gets_nothing_more_and_loses_nothing
    what_is_in_use_is_brought_later
}

const THIRD: &str = "third";
const TOPIC: &str = backfill::TOPIC;

/// A home with a third store that no placement names.
fn home(engine: Engine) -> Option<TestHome> {
    let made = fixture::home_on(engine, "[stores.third]\nkind = \"folder\"\npath = \"stores/third\"\n")?;
    FolderStore::create(THIRD, made.path().join("stores").join(THIRD)).expect("makes a store");
    Some(made)
}

/// Changes the settings, and opens the home again with them.
fn with_settings(made: &mut TestHome, change: impl FnOnce(String) -> String) {
    let path = made.path().join("strongroom.toml");
    let text = change(std::fs::read_to_string(&path).expect("settings"));
    std::fs::write(path, &text).expect("writes the settings");
    made.home = opened(made.path(), &text, &made.home);
}

fn opened(folder: &Path, settings: &str, like: &Home) -> Arc<Home> {
    let settings = Settings::from_toml(settings).expect("settings");
    Arc::new(Home::with_registry(folder, settings, like.registry.clone()).expect("opens"))
}

/// Every placement names the third store, too.
fn joined(text: &str) -> String {
    text.replace(&format!("{KEPT_IN:?}"), "[\"primary\", \"secondary\", \"third\"]")
}

/// One run of the background task; what it did.
fn compare(home: &Home) -> String {
    let task = background::TASKS.iter().find(|task| task.name == "placements").expect("the task");
    format!("{:?}", background::run_now(home, task, &Shutdown::new()).expect("runs"))
}

fn counts(home: &Home) -> TopicCounts {
    let counts = home.registry.read(|tx| Ok::<_, RegistryError>(tasks::counts(tx)?)).expect("counts");
    counts.into_iter().find(|counts| counts.topic == TOPIC).unwrap_or_default()
}

fn queued(home: &Home) -> u64 {
    let TopicCounts { ready, delayed, leased, .. } = counts(home);
    ready + delayed + leased
}

/// The workers process what is ready.
fn work(home: &Arc<Home>) {
    let runtime = build_runtime(home, Some(&[TOPIC.to_owned()])).expect("a runtime").build();
    let summary = runtime.run_until(&Shutdown::new(), &|| counts(home).ready + counts(home).leased == 0);
    assert_eq!(summary.panicked, 0);
}

/// The objects that a store lacks.
fn lacking(home: &Home) -> Vec<(String, String)> {
    let mut found = Vec::new();
    backfill::each_lacking((&home.settings, &home.registry), Scope::System, None, &mut |lacking| {
        found.push((lacking.object.object_identifier, lacking.store));
        Ok::<_, EngineError>(())
    })
    .expect("asks");
    found.sort();
    found
}

/// What `status` says of a store: open findings, and whether these are all.
fn findings(made: &TestHome, store: &str) -> (Option<u64>, bool) {
    let survey = Survey::of(made.path(), &made.settings, Some(&made.registry), Counting::Bounded).expect("looks");
    (survey.findings_in(store), survey.is_counted_whole(None))
}

fn progress(home: &Home) -> Option<StoreProgress> {
    BackfillProgress::read(&home.registry).expect("reads").stores.get(THIRD).copied()
}

/// Keys of storage roots.
fn keys(made: &TestHome, store: &str) -> Vec<String> {
    made.keys(store).into_iter().filter(|key| key.starts_with(INSTITUTION)).collect()
}

/// Every copy is read and is right.
fn check(home: &Home) {
    let checked = fixity::run(home, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| ());
    let checked = checked.expect("checks");
    assert_eq!((checked.damaged, checked.failed), (0, 0), "{checked:?}");
}

/// Deposits a file, which names no placement.
fn file(made: &TestHome, name: &str, bytes: &str, collection: Option<&str>) -> Object {
    let path = made.path().join(name);
    std::fs::write(&path, bytes).expect("writes");
    let request = DepositRequest {
        sources: vec![PackageSource::LocalPath(path)],
        collection: collection.map(str::to_owned),
        ..DepositRequest::of_system(INSTITUTION)
    };
    let deposited = deposit(made, &request).expect("deposits");
    work_on(made, &deposited.items, &Shutdown::new()).expect("works");
    made.object(name)
}

/// A collection whose rules name a placement, or none.
fn collection(home: &Home, name: &'static str, placement: Option<&str>) -> CollectionId {
    let id = CollectionId::new();
    let rules = rules(name, placement);
    home.registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
            tenants::add_collection(tx, id, institution, name, (&rules, "test"))
        })
        .expect("adds it");
    id
}

fn rules(name: &str, placement: Option<&str>) -> CollectionRules {
    CollectionRules { name: name.to_owned(), placement: placement.map(str::to_owned), ..CollectionRules::default() }
}

fn set_placement(home: &Home, id: CollectionId, name: &str, placement: Option<&str>) {
    let rules = rules(name, placement);
    home.registry.write(move |tx| tenants::set_collection(tx, id, (&rules, "test"), true)).expect("sets it");
}

fn placement(made: &TestHome, name: &str) -> String {
    made.object(name).description.placement.expect("a placement")
}

fn a_store_that_joins_a_placement_gets_what_it_lacks_without_a_command(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    made.ingest("letters", &[("a.txt", b"dear reader"), ("b.txt", b"yours")]);
    made.ingest("letters", &[("a.txt", b"dear reader, again")]);
    made.ingest("photographs", &[("1.tif", b"II*\0 and so on")]);
    assert!(compare(&made).contains("0 times"));
    assert_eq!(progress(&made), None);
    with_settings(&mut made, |text| joined(&text));
    assert_eq!(findings(&made, THIRD), (Some(2), true));
    assert!(compare(&made).contains("2 times a store lacks an object of its placement, 2 enqueued"));
    assert_eq!(queued(&made), 2);
    assert_eq!(progress(&made), Some(StoreProgress { lacking: 2, queued: 2, given_up: 0 }));
    assert!(!compare(&made).contains("enqueued"), "what waits is not enqueued again");
    work(&made);
    assert_eq!((lacking(&made), findings(&made, THIRD)), (Vec::new(), (Some(0), true)));
    assert_eq!(keys(&made, THIRD), keys(&made, "primary"));
    check(&made);
    compare(&made);
    assert_eq!((queued(&made), progress(&made)), (0, None));
    // A store that is replaced is filled in the same way.
    std::fs::remove_dir_all(made.path().join("stores").join(THIRD)).expect("is lost");
    made.try_stores();
    backfill::replace(&made, THIRD).expect("replaces");
    compare(&made);
    work(&made);
    assert_eq!(lacking(&made), []);
    assert_eq!(keys(&made, THIRD), keys(&made, "primary"));
}

fn the_rate_holds_over_restarts_in_two_processes_and_over_a_clock_that_jumps(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    for name in 0..12 {
        file(&made, &format!("{name}.txt"), "text", None);
    }
    with_settings(&mut made, |text| joined(&text) + "[backfill]\nobjects_per_hour = 60\n");
    compare(&made);
    assert_eq!(queued(&made), 1, "what a minute brings");
    let again =
        opened(made.path(), &std::fs::read_to_string(made.path().join("strongroom.toml")).expect("settings"), &made);
    compare(&again);
    compare(&made);
    assert_eq!(queued(&made), 1, "no process has a rate of its own");
    made.clock.advance(Duration::from_mins(2));
    compare(&again);
    compare(&made);
    assert_eq!(queued(&made), 3);
    made.clock.set_back(Duration::from_hours(24));
    compare(&made);
    assert_eq!(queued(&made), 3);
    made.clock.advance(Duration::from_mins(1));
    compare(&made);
    assert_eq!(queued(&made), 4);
    made.clock.advance(Duration::from_hours(24 * 365));
    compare(&made);
    compare(&made);
    assert_eq!(queued(&made), 9, "a pause brings what five minutes do");
    // A person who asks has no such limit.
    assert_eq!(backfill::enqueue(&made, THIRD).expect("enqueues"), 12);
    work(&made);
    assert_eq!(lacking(&made), []);
    with_settings(&mut made, |text| text.replace("objects_per_hour = 60", "objects_per_hour = 0"));
    std::fs::remove_dir_all(made.path().join("stores").join(THIRD)).expect("is lost");
    made.try_stores();
    backfill::replace(&made, THIRD).expect("replaces");
    assert!(compare(&made).contains("12 times"));
    assert_eq!((queued(&made), progress(&made)), (0, Some(StoreProgress { lacking: 12, queued: 0, given_up: 0 })));
    // Until then no other store is retired, and the answer says how far it is.
    let call = OpContext::new(made.home.clone(), Caller::at_console("tester"));
    let refused = app::stores::retire::<EngineError>(&call, "primary", false, &mut |_| Ok(())).expect_err("is refused");
    let text = format!("{refused:?}");
    assert!(text.contains("third lacks 12 objects; backfill.objects_per_hour is 0"), "{text}");
}

fn no_more_tasks_wait_than_the_settings_say(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    for name in 0..5 {
        file(&made, &format!("{name}.txt"), "text", None);
    }
    // Another institution with one object, which was made last: it has the second turn.
    made.registry
        .write(|tx| tenants::add_institution(tx, InstitutionId::new(), "z.test.edu", "Another"))
        .expect("adds it");
    let path = made.path().join("z.txt");
    std::fs::write(&path, "text").expect("writes");
    let sources = vec![PackageSource::LocalPath(path)];
    let request = DepositRequest { sources, ..DepositRequest::of_system("z.test.edu") };
    let deposited = deposit(&made, &request).expect("deposits");
    work_on(&made, &deposited.items, &Shutdown::new()).expect("works");
    with_settings(&mut made, |text| joined(&text) + "[backfill]\nmax_queued = 2\n");
    compare(&made);
    compare(&made);
    assert_eq!((queued(&made), lacking(&made).len()), (2, 6));
    work(&made);
    let left = lacking(&made);
    assert_eq!(left.len(), 4);
    assert!(left.iter().all(|(object, _)| object.starts_with("test.edu/")), "{left:?}");
    for wanted in [2, 0] {
        compare(&made);
        work(&made);
        assert_eq!(lacking(&made).len(), wanted);
    }
}

fn what_a_store_that_is_away_lacks_is_enqueued_when_it_is_back(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    file(&made, "a.txt", "text", None);
    with_settings(&mut made, |text| joined(&text));
    let (place, elsewhere) = (made.path().join("stores").join(THIRD), made.path().join("elsewhere"));
    std::fs::rename(&place, &elsewhere).expect("takes it away");
    compare(&made);
    assert_eq!((queued(&made), progress(&made).map(|found| found.lacking)), (0, Some(1)));
    std::fs::rename(&elsewhere, &place).expect("brings it back");
    compare(&made);
    assert_eq!(queued(&made), 1);
    // It goes again: the task waits, and no attempt is counted.
    std::fs::rename(&place, &elsewhere).expect("takes it away");
    work(&made);
    assert_eq!((counts(&made).delayed, counts(&made).dead), (1, 0));
    compare(&made);
    assert_eq!(queued(&made), 1);
    std::fs::rename(&elsewhere, &place).expect("brings it back");
    made.try_stores();
    made.clock.advance(Duration::from_hours(1));
    work(&made);
    assert_eq!((queued(&made), lacking(&made)), (0, Vec::new()));
    // A store that is out of use lacks nothing.
    for store in ["primary", "secondary"] {
        assert!(keys(&made, store) == keys(&made, THIRD), "{store}");
    }
    let retired = backfill::retire::<EngineError>(&made, &fixture::retire_request(THIRD, false), &mut |_| Ok(()));
    assert!(matches!(retired.expect("asks"), backfill::Retirement::Retired(_)));
    file(&made, "b.txt", "text", None);
    compare(&made);
    assert_eq!((queued(&made), progress(&made)), (0, None));
}

fn a_task_that_was_given_up_is_not_enqueued_again_until_a_person_retries_it(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    let object = file(&made, "a.txt", "text", None);
    with_settings(&mut made, |text| joined(&text) + "[workers.\"store.backfill\"]\nmax_attempts = 1\n");
    // A file where a folder is to be made, so that nothing can be put there.
    let key = keys(&made, "primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    let blocked = made.file(THIRD, &key).parent().expect("a folder").to_owned();
    std::fs::create_dir_all(blocked.parent().expect("a folder")).expect("makes a folder");
    std::fs::write(&blocked, "in the way").expect("writes");
    compare(&made);
    work(&made);
    assert_eq!((counts(&made).dead, queued(&made)), (1, 0));
    for _ in 0..3 {
        made.clock.advance(Duration::from_hours(1));
        assert!(compare(&made).contains("1 given up"));
    }
    assert_eq!((counts(&made).dead, queued(&made)), (1, 0));
    assert_eq!(progress(&made), Some(StoreProgress { lacking: 1, queued: 0, given_up: 1 }));
    std::fs::remove_file(&blocked).expect("removes it");
    // A person asks for the store: the task that was given up is not needed any more.
    backfill::enqueue(&made, THIRD).expect("enqueues");
    work(&made);
    assert_eq!((counts(&made).dead, queued(&made), lacking(&made)), (0, 0, Vec::new()));
    assert!(made.object("a.txt").id == object.id);
}

fn the_objects_of_a_collection_get_its_new_placement_and_their_copies(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    with_settings(&mut made, |text| {
        text.replace("Wasabi-TX = [\"primary\", \"secondary\"]", "Wasabi-TX = [\"secondary\", \"third\"]")
    });
    let id = collection(&made, "papers", Some("Standard"));
    for name in ["a.txt", "b.txt"] {
        file(&made, name, name, Some("papers"));
    }
    file(&made, "c.txt", "of none", None);
    // A bag names its placement.
    let bag = made.bag("letters", &[("a.txt", b"dear reader")]);
    let sources = vec![PackageSource::LocalPath(bag)];
    let request =
        DepositRequest { sources, collection: Some("papers".into()), ..DepositRequest::of_system(INSTITUTION) };
    let deposited = deposit(&made, &request).expect("deposits");
    work_on(&made, &deposited.items, &Shutdown::new()).expect("works");
    compare(&made);
    set_placement(&made, id, "papers", Some("wasabi-tx"));
    assert!(compare(&made).contains("2 given the placement of their collection"));
    let placements = ["a.txt", "b.txt", "c.txt", "letters"].map(|name| placement(&made, name));
    assert_eq!(placements, ["Wasabi-TX", "Wasabi-TX", "Standard", "Standard"]);
    compare(&made);
    work(&made);
    assert_eq!((lacking(&made), findings(&made, THIRD)), (Vec::new(), (Some(0), true)));
    assert_eq!(
        keys(&made, "primary").iter().filter(|key| key.ends_with("/0=ocfl_object_1.1")).count(),
        4,
        "nothing is deleted"
    );
    assert_eq!(keys(&made, THIRD).iter().filter(|key| key.ends_with("/0=ocfl_object_1.1")).count(), 2);
    check(&made);
    // A further deposit keeps it, and one that began by the old rules gets it afterwards.
    file(&made, "a.txt", "anew", Some("papers"));
    assert_eq!((placement(&made, "a.txt"), lacking(&made)), ("Wasabi-TX".to_owned(), Vec::new()));
    let object = made.object("b.txt").id;
    made.registry
        .write(move |tx| {
            let rules =
                strongroom_registry::placements::Rules { default: "Standard".into(), known: vec!["Standard".into()] };
            // Its placement is not among those that there are.
            assert_eq!(strongroom_registry::placements::follow(tx, &[object], &rules)?, 0);
            Ok::<_, RegistryError>(())
        })
        .expect("asks");
    // Without a placement of the rules, objects stay where they are.
    set_placement(&made, id, "papers", None);
    compare(&made);
    assert_eq!(placement(&made, "a.txt"), "Wasabi-TX");
    set_placement(&made, id, "papers", Some("Standard"));
    compare(&made);
    assert_eq!(placement(&made, "a.txt"), "Standard");
    let copies = made.registry.read(|tx| objects::object_copies(tx, object)).expect("copies");
    assert_eq!(copies.len(), 3);
}

fn an_object_that_comes_into_a_collection_gets_its_placement(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    with_settings(&mut made, |text| {
        text.replace("Wasabi-TX = [\"primary\", \"secondary\"]", "Wasabi-TX = [\"secondary\", \"third\"]")
    });
    file(&made, "a.txt", "one", None);
    collection(&made, "papers", Some("Wasabi-TX"));
    compare(&made);
    assert_eq!(placement(&made, "a.txt"), "Standard");
    file(&made, "a.txt", "two", Some("papers"));
    assert_eq!(placement(&made, "a.txt"), "Standard", "as the deposit found it");
    compare(&made);
    assert_eq!(placement(&made, "a.txt"), "Wasabi-TX");
    compare(&made);
    work(&made);
    assert_eq!((lacking(&made), findings(&made, THIRD)), (Vec::new(), (Some(0), true)));
    check(&made);
}

fn a_store_that_left_a_placement_gets_nothing_more_and_loses_nothing(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    file(&made, "a.txt", "text", None);
    with_settings(&mut made, |text| joined(&text));
    compare(&made);
    work(&made);
    let kept = keys(&made, THIRD);
    assert!(!kept.is_empty());
    file(&made, "b.txt", "text", None);
    // It lacks a further one when it leaves.
    std::fs::remove_dir_all(made.path().join("stores").join(THIRD)).expect("is lost");
    made.try_stores();
    backfill::replace(&made, THIRD).expect("replaces");
    compare(&made);
    assert_eq!(queued(&made), 2);
    with_settings(&mut made, |text| text.replace("[\"primary\", \"secondary\", \"third\"]", &format!("{KEPT_IN:?}")));
    compare(&made);
    work(&made);
    assert_eq!((counts(&made).dead, queued(&made)), (0, 0), "the tasks end, and are no problem");
    assert_eq!((keys(&made, THIRD), findings(&made, THIRD)), (Vec::new(), (Some(0), true)));
    assert_eq!((lacking(&made), progress(&made)), (Vec::new(), None));
    check(&made);
    with_settings(&mut made, |text| joined(&text));
    compare(&made);
    work(&made);
    let full = keys(&made, THIRD);
    assert_eq!(full, keys(&made, "primary"));
    with_settings(&mut made, |text| text.replace("[\"primary\", \"secondary\", \"third\"]", &format!("{KEPT_IN:?}")));
    file(&made, "c.txt", "text", None);
    compare(&made);
    work(&made);
    assert_eq!(keys(&made, THIRD), full, "nothing is added, and nothing is deleted");
}

fn what_is_in_use_is_brought_later(engine: Engine) {
    let Some(mut made) = home(engine) else { return };
    let object = file(&made, "a.txt", "text", None);
    with_settings(&mut made, |text| joined(&text));
    compare(&made);
    let id = object.id;
    let held = uuid::Uuid::now_v7();
    made.registry
        .write(move |tx| {
            let until = tx.now()?.plus(60_000_000);
            strongroom_registry::leases::hold(tx, id, held, until)
        })
        .expect("asks");
    work(&made);
    assert_eq!((counts(&made).delayed, counts(&made).dead, lacking(&made).len()), (1, 0, 1));
    made.clock.advance(Duration::from_mins(2));
    work(&made);
    assert_eq!((queued(&made), lacking(&made)), (0, Vec::new()));
}
