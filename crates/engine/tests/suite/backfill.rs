//! A store that joins a placement gets what it lacks; a store that leaves is let go only when nothing depends on it.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use strongroom_engine::backfill::{self, BackfillSummary, LackingCopy, Retirement, Unretired};
use strongroom_engine::findings::Counting;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::reconcile::{self, Code};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::survey::Survey;
use strongroom_engine::{EngineError, Home, background, build_runtime, rebuild};
use strongroom_registry::{Scope, stores};
use strongroom_storage::{Body, FolderStore, Key, PutOptions, StorageError};
use strongroom_storage_test::{Call, Fault, Faults, Layered, Operation};

use crate::fixity::sleeping::lose;
use crate::fixture::{self, INSTITUTION, KEPT_IN, TestHome};
use crate::ingest::committing::layered;
use crate::meanwhile::{Meanwhile, When};
use crate::saying::{Says, saying};

pub(crate) const THIRD: &str = "third";

/// Settings in which every placement names a third store as well.
fn settings_with_third(made: &TestHome) -> Settings {
    let text = std::fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let text = text.replace(&format!("{KEPT_IN:?}"), "[\"primary\", \"secondary\", \"third\"]");
    let text = format!("{text}\n[stores.third]\nkind = \"folder\"\npath = \"stores/third\"\n");
    std::fs::write(made.path().join("strongroom.toml"), &text).expect("writes the settings");
    Settings::from_toml(&text).expect("settings")
}

/// A home with two versions of one object and one of another, and then a third store in every placement.
pub(crate) fn home_with_third() -> TestHome {
    let mut made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader"), ("b.txt", b"yours")]);
    made.ingest("letters", &[("a.txt", b"dear reader, again")]);
    made.ingest("photographs", &[("1.tif", b"II*\0 and so on")]);
    FolderStore::create(THIRD, made.path().join("stores").join(THIRD)).expect("makes a store");
    let settings = settings_with_third(&made);
    let home = Home::with_registry(made.path(), settings, made.registry.clone()).expect("opens");
    made.home = Arc::new(home);
    made
}

fn lacking(home: &Home) -> Vec<LackingCopy> {
    let mut found = Vec::new();
    backfill::each_lacking((&home.settings, &home.registry), Scope::System, None, &mut |lacking| {
        found.push(lacking);
        Ok::<_, EngineError>(())
    })
    .expect("asks");
    found
}

fn run(home: &Home, store: &str) -> BackfillSummary {
    backfill::run(home, &backfill::BackfillRequest::new(store), &mut |_| ()).expect("runs")
}

/// Keys of storage roots: all but what is the store's own.
fn keys(made: &TestHome, store: &str) -> Vec<String> {
    made.keys(store).into_iter().filter(|key| key.starts_with(INSTITUTION)).collect()
}

fn bytes(made: &TestHome, store: &str) -> Vec<Vec<u8>> {
    keys(made, store).iter().map(|key| std::fs::read(made.file(store, key)).expect("reads")).collect()
}

fn retire(home: &Home, store: &str, allow_one_copy: bool) -> (Retirement, Vec<Unretired>) {
    let mut told = Vec::new();
    let outcome = backfill::retire(home, &fixture::retire_request(store, allow_one_copy), &mut |unretired| {
        told.push(unretired);
        Ok::<_, EngineError>(())
    });
    (outcome.expect("asks"), told)
}

#[test]
fn a_store_that_joins_a_placement_is_a_finding_until_it_is_brought_up() {
    let made = home_with_third();
    assert_eq!(lacking(&made).len(), 2, "one for each object");
    let mut differences = Vec::new();
    reconcile::run(&made, THIRD, &mut |difference| {
        differences.push((difference.code, difference.next()));
        Ok(())
    })
    .expect("compares");
    assert_eq!(differences.len(), 2, "{differences:?}");
    assert_eq!(differences[0], (Code::ObjectLacking, "strongroom store backfill third".to_owned()));

    let summary = run(&made, THIRD);
    assert_eq!((summary.objects, summary.failed, summary.postponed), (2, 0, 0), "{summary:?}");
    assert!(lacking(&made).is_empty());
    assert_eq!(keys(&made, THIRD), keys(&made, "primary"));
    assert_eq!(bytes(&made, THIRD), bytes(&made, "primary"));
    let checked = fixity::run(&made, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| ());
    let checked = checked.expect("checks");
    assert_eq!((checked.damaged, checked.failed, checked.passed), (0, 0, checked.checked), "{checked:?}");
    let mut differences = 0;
    reconcile::run(&made, THIRD, &mut |_| {
        differences += 1;
        Ok(())
    })
    .expect("compares");
    assert_eq!(differences, 0);
    assert_eq!(run(&made, THIRD), BackfillSummary::default(), "there is nothing left to bring");
}

#[test]
fn an_older_object_takes_a_deposit_after_a_store_joined_its_placement() {
    let made = home_with_third();
    let object = made.ingest("letters", &[("a.txt", b"dear reader"), ("c.txt", b"more")]);
    assert_eq!(object.head, 3);
    let of_letters = |store: &str| {
        let root = keys(&made, store).into_iter().find(|key| key.contains("/v3/")).expect("version 3");
        let root = root.split("/v3/").next().expect("a root").to_owned();
        keys(&made, store).into_iter().filter(|key| key.starts_with(&root)).collect::<Vec<_>>()
    };
    assert_eq!(of_letters(THIRD), of_letters("primary"), "every version lies there");
    assert_eq!(lacking(&made).len(), 1, "the other object is as it was");
    let checked = fixity::run(&made, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| ());
    assert_eq!(checked.expect("checks").damaged, 0);
}

#[test]
fn workers_bring_up_what_was_enqueued_and_once() {
    let made = home_with_third();
    assert_eq!(backfill::enqueue(&made, THIRD).expect("enqueues"), 2);
    assert_eq!(backfill::enqueue(&made, THIRD).expect("enqueues"), 2, "what waits is not enqueued twice");
    let runtime = build_runtime(&made.home, Some(&[backfill::TOPIC.to_owned()])).expect("a runtime").build();
    let summary = runtime.run_until(&Shutdown::new(), &|| lacking(&made).is_empty());
    assert!(summary.ended >= 1 && summary.panicked == 0);
    assert_eq!(bytes(&made, THIRD), bytes(&made, "primary"));
    assert!(backfill::enqueue(&made, "staging").is_err(), "no placement names it");
}

#[test]
fn bringing_up_that_was_cut_short_goes_on_and_never_shows_a_hole() {
    // A put of it fails, and somebody goes on afterwards.
    for nth in (1..200).step_by(7) {
        let made = home_with_third();
        let folder = FolderStore::open(THIRD, made.path().join("stores").join(THIRD)).expect("opens");
        let faulty = Arc::new(Layered::new(Arc::new(folder), Faults::new()));
        faulty.layer().plan(Operation::Put, nth, Fault::Fail(std::io::ErrorKind::TimedOut));
        let settings = made.settings.clone();
        let mut cut = Home::with_registry(made.path(), settings, made.registry.clone()).expect("opens");
        cut.stores.insert(THIRD.into(), faulty.clone());
        let summary = run(&cut, THIRD);
        if faulty.layer().happened() == 0 {
            assert!(nth > 30, "the puts were counted");
            return;
        }
        assert_eq!((summary.failed, summary.objects), (1, 1), "put {nth}: {summary:?}");
        for key in keys(&made, THIRD).iter().filter(|key| key.ends_with("/inventory.json") && !key.contains("/v")) {
            let root = key.trim_end_matches("inventory.json");
            let under = |store: &str| {
                let keys = keys(&made, store).into_iter();
                keys.filter(|key| key.starts_with(root) && key.contains("/content/")).collect::<Vec<_>>()
            };
            assert_eq!(under(THIRD), under("primary"), "put {nth}: a root inventory names what is there");
        }
        let summary = run(&made, THIRD);
        assert_eq!((summary.failed, summary.objects), (0, 1), "put {nth}: {summary:?}");
        assert_eq!(bytes(&made, THIRD), bytes(&made, "primary"), "put {nth}");
    }
    panic!("the puts never ended");
}

#[test]
fn a_damaged_source_brings_nothing_and_becomes_a_finding() {
    let made = home_with_third();
    let damaged = keys(&made, "primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    std::fs::write(made.file("primary", &damaged), b"other bytes").expect("writes");
    let summary = run(&made, THIRD);
    assert_eq!((summary.objects, summary.failed), (2, 0), "the other copy serves: {summary:?}");
    assert_eq!(bytes(&made, THIRD), bytes(&made, "secondary"));
    let found = fixity::problems(&made, None, None, 10).expect("problems");
    assert_eq!((found.len(), found[0].store.as_str()), (1, "primary"), "{found:?}");
}

#[test]
fn what_lies_there_with_other_bytes_is_never_taken_for_a_copy() {
    let made = home_with_third();
    let key = keys(&made, "primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    let third = made.store(THIRD).expect("a store").clone();
    strongroom_ocfl::StorageRoot::init(third.as_ref(), &Key::new(INSTITUTION).expect("a key")).expect("a root");
    third.put(&Key::new(&*key).expect("a key"), &mut &b"forged"[..], &PutOptions::default()).expect("puts");
    let summary = run(&made, THIRD);
    assert_eq!((summary.objects, summary.failed), (1, 1), "{summary:?}");
    let checked = fixity::run(&made, &FixityRequest::default(), &mut |_| ()).expect("checks");
    assert_eq!((checked.damaged, checked.repaired), (1, 1), "the bytes go to quarantine: {checked:?}");
    assert_eq!(run(&made, THIRD).objects, 1);
    assert_eq!(bytes(&made, THIRD), bytes(&made, "primary"));
}

#[test]
fn a_store_is_retired_only_when_the_rest_has_verified_copies_and_nothing_is_deleted() {
    let made = home_with_third();
    let (outcome, told) = retire(&made, "primary", false);
    assert_eq!(outcome, Retirement::Refused { objects: 2, placements: Vec::new() });
    assert!(told.iter().all(|lack| lack.store.as_deref() == Some(THIRD) && lack.object.is_some()), "{told:?}");
    assert!(!made.is_retired("primary").expect("asks"));

    run(&made, THIRD);
    let before = made.keys("primary");
    let (outcome, told) = retire(&made, "primary", false);
    assert!(matches!(outcome, Retirement::Retired(_)), "{told:?}");
    assert!(matches!(retire(&made, "primary", false).0, Retirement::Already(_)));
    let object = made.ingest("letters", &[("a.txt", b"dear reader"), ("c.txt", b"more")]);
    assert_eq!(object.head, 3);
    assert_eq!(made.keys("primary"), before, "it is neither written nor emptied");
    assert!(keys(&made, THIRD).iter().any(|key| key.contains("/v3/")));
    let checked = fixity::run(&made, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| ());
    assert_eq!(checked.expect("checks").damaged, 0, "what it lacks now is no damage");
    let report = fixity::report(&made, Scope::System).expect("reports");
    assert_eq!(report.iter().map(|store| store.store.as_str()).collect::<Vec<_>>(), ["secondary", THIRD]);
    assert!(lacking(&made).is_empty());
    // With the last but one gone, the last stays.
    let (outcome, told) = retire(&made, "secondary", false);
    assert!(matches!(outcome, Retirement::Refused { objects: 0, .. }), "{told:?}");
    assert!(told.iter().all(|lack| lack.placement.is_some() && lack.reason.contains("one copy")), "{told:?}");
    let (outcome, _) = retire(&made, "secondary", true);
    assert!(matches!(outcome, Retirement::Retired(_)));
    let (outcome, told) = retire(&made, THIRD, true);
    assert!(matches!(outcome, Retirement::Refused { .. }), "{told:?}");
    assert!(told.iter().any(|lack| lack.reason.contains("no store of it would remain")), "{told:?}");
}

#[test]
fn two_stores_of_a_placement_are_not_retired_at_once() {
    for _ in 0..10 {
        let made = fixture::home();
        made.ingest("letters", &[("a.txt", b"dear reader")]);
        let all = FixityRequest { all: true, ..FixityRequest::default() };
        fixity::run(&made, &all, &mut |_| ()).expect("checks");
        let other = made.opened_again();
        let barrier = std::sync::Barrier::new(2);
        let retire_with = |home: &Home, store: &str| {
            barrier.wait();
            retire(home, store, true).0
        };
        let outcomes = std::thread::scope(|scope| {
            let one = scope.spawn(|| retire_with(&made, "primary"));
            let two = retire_with(&other, "secondary");
            [one.join().expect("ends"), two]
        });
        let retired = outcomes.iter().filter(|outcome| matches!(outcome, Retirement::Retired(_))).count();
        assert_eq!(retired, 1, "{outcomes:?}");
    }
}

#[test]
fn a_store_is_not_retired_while_the_rest_of_the_placement_is_gone() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    fixity::run(&made, &all, &mut |_| ()).expect("checks");
    let place = made.path().join("stores/secondary");
    let elsewhere = made.path().join("elsewhere");
    std::fs::rename(&place, &elsewhere).expect("takes it away");
    let is_refused = || {
        let (outcome, told) = retire(&made, "primary", true);
        assert!(matches!(outcome, Retirement::Refused { objects: 0, .. }), "{outcome:?}");
        assert!(told.iter().all(|lack| lack.reason.contains("secondary cannot be used now")), "{told:?}");
    };
    is_refused();
    // What takes its place holds nothing yet, whatever the registry says of the one before it.
    let id = FolderStore::create("secondary", &place).expect("makes a store").id();
    is_refused();
    made.registry.write(move |tx| stores::begin_replacing(tx, "secondary", id)).expect("begins");
    is_refused();
}

#[test]
fn what_a_store_of_the_placement_lacks_is_told_after_a_rebuild_too() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    std::fs::remove_dir_all(made.file("secondary", INSTITUTION)).expect("removes");
    let fresh = fixture::home();
    crate::rebuild::copy_stores(&made, &fresh);
    let adopting = fresh.opened_to_adopt();
    rebuild::run(&adopting, "primary", &mut |_| ()).expect("rebuilds");
    let found = lacking(&adopting);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].store.as_str(), found[0].object.has_inventories), ("secondary", false));
}

#[test]
fn logs_of_a_holder_that_was_away_when_a_store_was_filled_are_copied_when_it_is_back() {
    let made = home_with_third();
    let folder = |store: &str| made.path().join("stores").join(store);
    let elsewhere = made.path().join("elsewhere");
    let logs = |store: &str| keys(&made, store).into_iter().filter(|key| key.contains("/logs/")).collect::<Vec<_>>();
    // A log that only the second store has: the first was away when it was written.
    std::fs::rename(folder("primary"), &elsewhere).expect("takes it away");
    let declaration = keys(&made, "secondary").into_iter().find(|key| key.ends_with("0=ocfl_object_1.1"));
    std::fs::remove_file(made.file("secondary", &declaration.expect("a declaration"))).expect("removes");
    let request = FixityRequest { all: true, store: Some("secondary".into()), ..FixityRequest::default() };
    fixity::run(&made, &request, &mut |_| ()).expect("checks");
    std::fs::rename(&elsewhere, folder("primary")).expect("brings it back");
    made.try_stores();
    let written = logs("secondary");
    assert!(!written.is_empty() && logs("primary").is_empty());
    // And one that nobody is known to miss.
    let unknown = written[0].replace(".json", "-of-before.json");
    std::fs::copy(made.file("secondary", &written[0]), made.file("secondary", &unknown)).expect("copies");

    std::fs::rename(folder("secondary"), &elsewhere).expect("takes it away");
    let summary = run(&made, THIRD);
    assert_eq!((summary.objects, summary.failed), (2, 0), "{summary:?}");
    assert_eq!(logs(THIRD), written, "the registry holds what the first misses");
    std::fs::rename(&elsewhere, folder("secondary")).expect("brings it back");
    made.try_stores();
    made.clock.advance(Duration::from_hours(1));
    background::run_due(&made, &Shutdown::new()).expect("runs");
    assert_eq!(logs(THIRD), logs("secondary"));
    assert!(logs(THIRD).contains(&unknown));
    assert_eq!(logs("primary"), written);
    assert!(made.registry.read(|tx| stores::unread_logs(tx, "secondary", None, 10)).expect("lists").is_empty());
}

#[test]
fn a_log_of_any_size_is_copied_and_a_rebuild_tells_of_one_that_it_does_not_read() {
    let made = home_with_third();
    let inventory = keys(&made, "primary").into_iter().find(|key| key.ends_with("/v1/inventory.json"));
    let root = inventory.expect("an object").replace("/v1/inventory.json", "");
    let log = format!("{root}/logs/large.json");
    let path = made.file("primary", &log);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes a folder");
    std::fs::write(&path, vec![b' '; (16 << 20) + 1]).expect("writes");
    assert_eq!(run(&made, THIRD).failed, 0);
    assert!(made.file(THIRD, &log).exists());
    let fresh = fixture::home();
    crate::rebuild::copy_store(&made, &fresh, "primary");
    let summary = crate::rebuild::rebuilt(&fresh, "primary");
    assert_eq!(summary.objects, 2, "{summary:?}");
    assert!(summary.problems.iter().any(|problem| problem.path == log), "{:?}", summary.problems);
}

fn is_log(call: Call<'_>, operation: Operation) -> bool {
    call.operation == operation && call.key.as_str().contains("/logs")
}

/// A home with a third store, and a log of one object in `primary` alone; its key.
fn home_with_a_log() -> (TestHome, String) {
    let made = home_with_third();
    let inventory = keys(&made, "primary").into_iter().find(|key| key.ends_with("/v2/inventory.json"));
    let log = inventory.expect("an object").replace("/v2/inventory.json", "/logs/act.json");
    let path = made.file("primary", &log);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes a folder");
    std::fs::write(path, b"{}").expect("writes");
    (made, log)
}

#[test]
fn a_log_that_came_while_it_was_copied_is_not_replaced() {
    let (made, log) = home_with_a_log();
    let there = made.file(THIRD, &log);
    let coming = Meanwhile::new(When::Before, |call| is_log(call, Operation::Put), {
        let there = there.clone();
        move |_| {
            std::fs::create_dir_all(there.parent().expect("a folder")).expect("makes a folder");
            std::fs::write(there, b"{ }").expect("writes");
        }
    });
    let summary = run(&layered(&made, THIRD, coming), THIRD);
    assert_eq!(summary.failed, 1, "{summary:?}");
    assert_eq!(std::fs::read(&there).expect("is there"), b"{ }");
    assert_eq!(run(&made, THIRD).failed, 0);
    assert_eq!(std::fs::read(&there).expect("is there"), b"{ }");
}

/// A store whose logs end before their end.
struct Short;

impl Says for Short {
    fn open(&self, key: &Key, body: Result<Body, StorageError>) -> Result<Body, StorageError> {
        let is_log = key.as_str().contains("/logs/");
        body.map(|body| if is_log { Box::new(body.take(1)) as Body } else { body })
    }
}

#[test]
fn a_log_of_which_a_part_was_read_is_not_taken_for_copied() {
    let (made, log) = home_with_a_log();
    run(&saying(&made, [("primary", Arc::new(Short))]), THIRD);
    assert!(!made.file(THIRD, &log).exists());
    made.clock.advance(Duration::from_hours(1));
    background::run_due(&made, &Shutdown::new()).expect("runs");
    assert_eq!(std::fs::read(made.file(THIRD, &log)).expect("is there"), b"{}");
}

#[test]
fn a_worker_that_lost_the_object_copies_none_of_its_logs() {
    let (made, log) = home_with_a_log();
    let lost = lose(&made, &made.object("letters"));
    let losing = layered(&made, "primary", Meanwhile::new(When::Before, |call| is_log(call, Operation::Open), lost));
    let summary = run(&losing, THIRD);
    assert_eq!(summary.failed, 1, "{summary:?}");
    assert!(!made.file(THIRD, &log).exists());
}

#[test]
fn a_worker_that_lost_the_object_puts_none_of_the_logs_that_other_stores_miss() {
    let made = home_with_third();
    let folder = |store: &str| made.path().join("stores").join(store);
    let elsewhere = made.path().join("elsewhere");
    std::fs::rename(folder("secondary"), &elsewhere).expect("takes it away");
    let inventory = keys(&made, "primary").into_iter().find(|key| key.ends_with("/v2/inventory.json"));
    let root = inventory.expect("an object").replace("/v2/inventory.json", "");
    std::fs::remove_file(made.file("primary", &format!("{root}/0=ocfl_object_1.1"))).expect("removes");
    let request = FixityRequest { all: true, store: Some("primary".into()), ..FixityRequest::default() };
    fixity::run(&made, &request, &mut |_| ()).expect("checks");
    std::fs::rename(&elsewhere, folder("secondary")).expect("brings it back");
    let logs = |store: &str| keys(&made, store).into_iter().filter(|key| key.contains("/logs/")).collect::<Vec<_>>();
    // The store that has them is away; they are known all the same.
    std::fs::rename(folder("primary"), &elsewhere).expect("takes it away");
    made.try_stores();
    let is_chosen = move |call: Call<'_>| is_log(call, Operation::List) && call.key.as_str().starts_with(&root);
    let lost = lose(&made, &made.object("letters"));
    let losing = layered(&made, "secondary", Meanwhile::new(When::Before, is_chosen, lost));
    let summary = run(&losing, THIRD);
    assert_eq!(summary.failed, 1, "{summary:?}");
    assert_eq!(logs(THIRD), Vec::<String>::new());
    made.clock.advance(Duration::from_hours(2));
    assert_eq!(run(&made, THIRD).failed, 0);
    assert_eq!(logs(THIRD).len(), 2, "the registry holds what the second misses");
}

/// The same home with the settings that name no third store.
fn without_third(made: &TestHome) -> Home {
    let text = std::fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let text = text.replace("[\"primary\", \"secondary\", \"third\"]", &format!("{KEPT_IN:?}"));
    let settings = Settings::from_toml(&text).expect("settings");
    Home::with_registry(made.path(), settings, made.registry.clone()).expect("opens")
}

/// What `status` counts for the third store: findings, and whether these are all.
fn counted(made: &TestHome, home: &Home, counting: Counting) -> (Option<u64>, bool) {
    let survey = Survey::of(made.path(), &home.settings, Some(&home.registry), counting).expect("looks");
    (survey.findings_in(THIRD), survey.is_counted_whole(None))
}

#[test]
fn status_counts_what_a_store_lacks_before_and_after_the_background_task_compared_it() {
    let mut made = home_with_third();
    let task = background::TASKS.iter().find(|task| task.name == "placements").expect("the task");
    let compare = |home: &Home| background::run_now(home, task, &Shutdown::new()).expect("runs");
    let all = |lacking| (Some(lacking), true);
    let now = |made: &TestHome| counted(made, made, Counting::Bounded);
    assert_eq!(now(&made), all(2));
    compare(&made);
    assert_eq!(now(&made), all(2));
    assert_eq!(counted(&made, &made, Counting::Whole), all(2));
    made.ingest("maps", &[("a.txt", b"north")]);
    assert_eq!(now(&made), all(2), "a new object goes to each store of its placement");
    assert_eq!(run(&made, THIRD).objects, 2);
    assert_eq!(now(&made), all(0), "at once");
    compare(&made);
    assert_eq!(now(&made), all(0));
    // Another process, whose settings do not name the store, takes a deposit in, and compares the placements as it knows them.
    let with_third = made.home.clone();
    made.home = Arc::new(without_third(&made));
    made.ingest("plans", &[("a.txt", b"a house")]);
    for comparing in [None, Some(&*made.home), Some(&*with_third)] {
        comparing.map(compare);
        assert_eq!(counted(&made, &with_third, Counting::Bounded), all(1));
    }
    assert_eq!(counted(&made, &with_third, Counting::Whole), all(1));
}
