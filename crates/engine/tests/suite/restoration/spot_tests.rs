//! Spot tests: an object of each institution is restored every so often, and people say what they think of the result.

use std::sync::Barrier;
use std::time::Duration;

use strongroom_engine::app::spot_tests::{self as app_tests, Filter};
use strongroom_engine::app::views::SpotTestView;
use strongroom_engine::app::{Caller, OpContext};
use strongroom_engine::background::{self, BackgroundTask};
use strongroom_registry::journal::{self, LineFilter};
use strongroom_registry::outbox;
use strongroom_registry::users::{self, NewUser};
use strongroom_registry::{InstitutionId, SpotTestId, SpotTestState, UserId, UserRole, spot_tests, tenants};

use super::*;
use crate::fixture::{Engine, on_both_databases};

const DAY: Duration = Duration::from_hours(24);
const SETTINGS: &str = "[mail]\nhost = \"localhost\"\nport = 1\nfrom = \"s@example.edu\"\ntls = \"none\"\n\
                        [restoration]\nspot_test_interval = \"10d\"\nspot_test_max_size = \"64 KiB\"\n";
const ANN: &str = "ann@test.edu";

on_both_databases! {
    a_test_restores_an_object_and_an_admin_confirms_it
    every_object_is_tested_before_one_is_again
    of_several_processes_one_begins_a_test
    a_test_that_failed_goes_on_when_its_item_succeeds_after_all
    a_test_is_dropped_with_its_work_item
    a_result_that_is_not_right_is_a_failure_until_a_person_closes_it
    an_institution_without_objects_or_admins_is_no_error
    a_clock_that_was_ahead_puts_no_test_off
    a_test_waits_for_a_store_that_is_away
}

fn task() -> &'static BackgroundTask {
    background::TASKS.iter().find(|task| task.name == "spot-tests").expect("the task")
}

/// One run, as a process makes it that has the lease.
fn run(home: &Home) -> String {
    (task().run)(home, &Shutdown::new()).expect("runs")
}

/// A home with an admin of the institution, and objects of these names.
fn home_with_objects(engine: Engine, names: &[&str]) -> Option<TestHome> {
    let home = fixture::home_on(engine, SETTINGS)?;
    add_user(&home, ANN, UserRole::InstitutionAdmin);
    for name in names {
        home.ingest(name, &[("a.txt", name.as_bytes())]);
    }
    assert_eq!(run(&home), "0 tests begun, 0 restored, 0 failed, 0 reminded of", "its turn comes an interval later");
    home.clock.advance(11 * DAY);
    Some(home)
}

fn own(home: &TestHome) -> InstitutionId {
    let found = home.registry.read(|tx| tenants::institution(tx, Scope::System, INSTITUTION));
    found.expect("reads").expect("the institution").id
}

fn add_user(home: &TestHome, email: &'static str, role: UserRole) {
    let institution = (role != UserRole::SystemAdmin).then(|| own(home));
    let new = NewUser { id: UserId::new(), email: email.to_owned(), role, institution };
    home.registry.write(move |tx| users::add(tx, &new)).expect("adds a user");
}

fn at_console(home: &TestHome) -> OpContext {
    crate::deletions::as_user(home, ANN)
}

fn tests(home: &TestHome) -> Vec<SpotTestView> {
    let call = OpContext::new(home.home.clone(), Caller::at_console("tester"));
    app_tests::list(&call, &Filter::default(), None).expect("lists").items
}

/// The only test.
fn only(home: &TestHome) -> SpotTestView {
    let mut tests = tests(home);
    assert_eq!(tests.len(), 1, "{tests:?}");
    tests.remove(0)
}

/// Subjects and recipients of the mails that wait, oldest first.
fn mails(home: &TestHome) -> Vec<(String, String)> {
    let messages = home.registry.read(|tx| outbox::attempted(tx, outbox::MAIL, 0, 100)).expect("messages");
    let mail = |message: outbox::Message| {
        let payload: serde_json::Value = serde_json::from_str(&message.payload).expect("JSON");
        (payload["subject"].as_str().expect("a subject").to_owned(), payload["to"].to_string())
    };
    messages.into_iter().map(mail).collect()
}

fn acts(home: &TestHome) -> Vec<String> {
    let read = home.registry.read(|tx| journal::list(tx, Scope::System, &LineFilter::default(), None, 1_000));
    read.expect("the journal").into_iter().map(|line| line.act).filter(|act| act.contains("spot_test")).collect()
}

fn a_test_restores_an_object_and_an_admin_confirms_it(engine: Engine) {
    let Some(home) = home_with_objects(engine, &["letters"]) else { return };
    assert_eq!(run(&home), "1 test begun, 0 restored, 0 failed, 0 reminded of");
    assert_eq!(run(&home), "0 tests begun, 0 restored, 0 failed, 0 reminded of", "it is at work");
    let begun = only(&home);
    assert_eq!((begun.object.as_str(), begun.version, begun.state), ("test.edu/letters", 1, SpotTestState::Restoring));
    assert_eq!(worked(&home, begun.item).status, ItemStatus::Succeeded);
    assert_eq!(run(&home), "0 tests begun, 1 restored, 0 failed, 0 reminded of");
    assert_eq!(run(&home), "0 tests begun, 0 restored, 0 failed, 0 reminded of");
    let test = only(&home);
    assert_eq!(test.state, SpotTestState::Restored);
    assert_eq!(home.keys("restoration"), ["test.edu/letters.tar"]);
    assert!(test.place.as_ref().is_some_and(|place| place.contains("letters.tar")), "{test:?}");
    assert_eq!((test.size.is_some(), test.sha256.as_ref().map(String::len)), (true, Some(64)));
    let object = home.object("letters");
    let passed =
        |outcome: &str| events_of(&home, &object, "validation").iter().filter(|event| event.outcome == outcome).count();
    let before = passed("success");

    let asks = ("Strongroom: test.edu: please look at a restored object".to_owned(), format!("[\"{ANN}\"]"));
    assert_eq!(mails(&home), std::slice::from_ref(&asks));
    home.clock.advance(9 * DAY);
    run(&home);
    assert_eq!(mails(&home).len(), 1);
    home.clock.advance(6 * DAY);
    // The next test of the institution begins meanwhile.
    assert_eq!(run(&home), "1 test begun, 0 restored, 0 failed, 1 reminded of");
    run(&home);
    let reminder = "Strongroom: test.edu: a restored object waits to be looked at".to_owned();
    assert_eq!(mails(&home), [asks, (reminder, format!("[\"{ANN}\"]"))]);

    let call = at_console(&home);
    let confirmed = app_tests::confirm(&call, test.test, Some(" opened it ")).expect("confirms");
    assert_eq!((confirmed.state, confirmed.decided_by.as_deref()), (SpotTestState::Confirmed, Some(ANN)));
    assert_eq!(confirmed.reason.as_deref(), Some("opened it"));
    for again in [
        app_tests::confirm(&call, test.test, None),
        app_tests::reject(&call, test.test, "no"),
        app_tests::close(&call, test.test, "no"),
    ] {
        assert!(again.expect_err("it is over").to_string().contains("is confirmed: cannot"));
    }
    assert_eq!(passed("success"), before + 1);
    assert_eq!(acts(&home), ["restorations.spot_test", "restorations.spot_test", "spot_tests.confirm"]);
}

fn every_object_is_tested_before_one_is_again(engine: Engine) {
    let names = ["a", "b", "c", "d", "e"];
    let Some(home) = home_with_objects(engine, &names) else { return };
    home.ingest("large", &[("a.bin", &vec![7; 100_000])]);
    let mut order = Vec::new();
    for _ in 0..12 {
        run(&home);
        let test = tests(&home).pop().expect("a test");
        worked(&home, test.item);
        run(&home);
        order.push(test.object);
        home.clock.advance(11 * DAY);
    }
    assert_eq!(order[..5], order[5..10], "the order stays");
    assert_eq!(order[..2], order[10..]);
    let mut all: Vec<String> = order[..5].to_vec();
    all.sort_unstable();
    assert_eq!(all, names.map(|name| format!("test.edu/{name}")), "the large one never");
}

fn of_several_processes_one_begins_a_test(engine: Engine) {
    let Some(home) = home_with_objects(engine, &["a", "b"]) else { return };
    let together = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                together.wait();
                run(&home);
            });
        }
    });
    let test = only(&home);
    worked(&home, test.item);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                together.wait();
                run(&home);
            });
        }
    });
    assert_eq!((only(&home).state, mails(&home).len()), (SpotTestState::Restored, 1));
    let object = home.object(test.object.split_once('/').expect("a name").1);
    let is_of_test = |event: &Event| event.detail.as_ref().is_some_and(|detail| detail.starts_with("spot test"));
    let tested = events_of(&home, &object, "validation").into_iter().filter(is_of_test);
    assert_eq!(tested.count(), 1);
    // Two people at once: one of them decides.
    let (id, call) = (test.test, at_console(&home));
    let together = Barrier::new(2);
    let decided = std::thread::scope(|scope| {
        let decide = |is_right: bool| {
            together.wait();
            if is_right { app_tests::confirm(&call, id, None) } else { app_tests::reject(&call, id, "not right") }
        };
        let both = [scope.spawn(move || decide(true)), scope.spawn(move || decide(false))];
        both.map(|one| one.join().expect("ends"))
    });
    assert_eq!(decided.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{decided:?}");
}

/// Damages the copies of the object's file in every store.
fn damage_everywhere(home: &TestHome, name: &str) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let object = home.object(name);
    let found = file(home, &object, "data/a.txt");
    let copies = home.registry.read(|tx| objects::copies(tx, found.content)).expect("copies");
    let mut before = Vec::new();
    for copy in copies {
        let path = home.file(&copy.store, &copy.key);
        before.push((path.clone(), std::fs::read(&path).expect("reads")));
        damage(home, &found, &copy.store);
    }
    before
}

fn a_test_that_failed_goes_on_when_its_item_succeeds_after_all(engine: Engine) {
    let Some(home) = home_with_objects(engine, &["letters"]) else { return };
    run(&home);
    let right = damage_everywhere(&home, "letters");
    let item = only(&home).item;
    assert_eq!(worked(&home, item).status, ItemStatus::Failed);
    assert_eq!(run(&home), "0 tests begun, 0 restored, 1 failed, 0 reminded of");
    run(&home);
    let failed = only(&home);
    assert_eq!((failed.state, failed.reason.is_some()), (SpotTestState::Failed, true), "{failed:?}");
    assert_eq!(home.registry.read(spot_tests::count_failed).expect("counts"), 1);
    assert_eq!(
        mails(&home).last().expect("a mail").0,
        "Strongroom: warning: test.edu: an object could not be restored"
    );

    for (path, bytes) in right {
        std::fs::remove_file(&path).expect("removes");
        std::fs::write(&path, bytes).expect("writes");
    }
    let workflows = home.registry.workflows();
    let by = items::Asker { who: "tester", reason: None };
    home.registry
        .write(move |tx| items::request(tx, workflows.as_ref(), Scope::System, item, items::Request::Requeue(None), by))
        .expect("requeues");
    run(&home);
    assert_eq!(only(&home).state, SpotTestState::Failed, "it is not known yet");
    assert_eq!(worked(&home, item).status, ItemStatus::Succeeded);
    assert_eq!(run(&home), "0 tests begun, 1 restored, 0 failed, 0 reminded of");
    assert_eq!((only(&home).state, only(&home).reason), (SpotTestState::Restored, None));
    assert_eq!(home.registry.read(spot_tests::count_failed).expect("counts"), 0);
}

fn a_test_is_dropped_with_its_work_item(engine: Engine) {
    let Some(home) = home_with_objects(engine, &["letters"]) else { return };
    run(&home);
    let (item, workflows) = (only(&home).item, home.registry.workflows());
    let by = items::Asker { who: "tester", reason: None };
    home.registry
        .write(move |tx| items::request(tx, workflows.as_ref(), Scope::System, item, items::Request::Cancel, by))
        .expect("cancels");
    run(&home);
    let dropped = only(&home);
    assert_eq!(dropped.state, SpotTestState::Dropped);
    assert!(dropped.reason.as_ref().is_some_and(|reason| reason.ends_with("was cancelled")), "{dropped:?}");
    assert!(mails(&home).is_empty());
    home.clock.advance(11 * DAY);
    assert_eq!(run(&home), "1 test begun, 0 restored, 0 failed, 0 reminded of", "the next one");
}

fn a_result_that_is_not_right_is_a_failure_until_a_person_closes_it(engine: Engine) {
    let Some(home) = home_with_objects(engine, &["letters"]) else { return };
    run(&home);
    let test = only(&home);
    worked(&home, test.item);
    run(&home);
    let call = at_console(&home);
    assert!(app_tests::reject(&call, test.test, "  ").is_err(), "without a reason");
    let rejected = app_tests::reject(&call, test.test, "the images do not open").expect("rejects");
    assert_eq!((rejected.state, rejected.reason.as_deref()), (SpotTestState::Failed, Some("the images do not open")));
    run(&home);
    assert_eq!(only(&home).state, SpotTestState::Failed, "that its work item succeeded changes nothing");
    let object = home.object("letters");
    assert!(events_of(&home, &object, "validation").iter().any(|event| event.outcome == "failure"));
    let closed = app_tests::close(&call, test.test, "another program is needed").expect("closes");
    assert_eq!((closed.state, closed.reason.as_deref()), (SpotTestState::Closed, Some("another program is needed")));
    assert_eq!(home.registry.read(spot_tests::count_failed).expect("counts"), 0);
    assert!(app_tests::named(&call, &SpotTestId::new().to_string()).is_err());
}

fn an_institution_without_objects_or_admins_is_no_error(engine: Engine) {
    let Some(home) = fixture::home_on(engine, SETTINGS) else { return };
    run(&home);
    home.clock.advance(11 * DAY);
    assert_eq!(run(&home), "0 tests begun, 0 restored, 0 failed, 0 reminded of");
    home.ingest("large", &[("a.bin", &vec![7; 100_000])]);
    run(&home);
    home.clock.advance(11 * DAY);
    let nothing = "0 tests begun, 0 restored, 0 failed, 0 reminded of";
    assert_eq!(run(&home), format!("{nothing}, 1 institution has no object that is small enough"));
    assert_eq!(run(&home), nothing, "it had its turn");
    home.ingest("small", &[("a.txt", b"one")]);
    home.clock.advance(11 * DAY);
    run(&home);
    let test = only(&home);
    worked(&home, test.item);
    run(&home);
    assert_eq!((only(&home).state, mails(&home).len()), (SpotTestState::Restored, 0), "no person can be told");
    add_user(&home, "root@example.net", UserRole::SystemAdmin);
    home.clock.advance(15 * DAY);
    run(&home);
    assert_eq!(mails(&home)[0].1, "[\"root@example.net\"]");
}

fn a_clock_that_was_ahead_puts_no_test_off(engine: Engine) {
    let Some(home) = home_with_objects(engine, &["letters"]) else { return };
    home.clock.advance(1_000 * DAY);
    run(&home);
    worked(&home, only(&home).item);
    run(&home);
    home.clock.set_back(1_000 * DAY);
    assert_eq!(run(&home), "1 test begun, 0 restored, 0 failed, 0 reminded of");
    assert_eq!(run(&home), "0 tests begun, 0 restored, 0 failed, 0 reminded of");
}

fn a_test_waits_for_a_store_that_is_away(engine: Engine) {
    let Some(home) = home_with_objects(engine, &["letters"]) else { return };
    let store = home.path().join("stores/restoration");
    std::fs::rename(&store, home.path().join("elsewhere")).expect("takes the store away");
    run(&home);
    let item = only(&home).item;
    run(&home);
    assert_eq!(only(&home).state, SpotTestState::Restoring);
    home.clock.advance(11 * DAY);
    assert_eq!(run(&home), "0 tests begun, 0 restored, 0 failed, 0 reminded of", "one at a time");
    std::fs::rename(home.path().join("elsewhere"), &store).expect("brings it back");
    assert_eq!(worked(&home, item).status, ItemStatus::Succeeded);
    run(&home);
    assert_eq!(tests(&home)[0].state, SpotTestState::Restored);
}

#[test]
fn without_an_interval_there_are_no_tests() {
    let home = fixture::home_with("[restoration]\nspot_test_interval = \"0s\"\n");
    home.ingest("letters", &[("a.txt", b"one")]);
    run(&home);
    home.clock.advance(1_000 * DAY);
    assert_eq!(run(&home), "0 tests begun, 0 restored, 0 failed, 0 reminded of");
}

#[test]
fn a_test_of_an_object_that_is_deleted_meanwhile_says_nothing() {
    let Some(home) = home_with_objects(Engine::Sqlite, &["letters"]) else { return };
    run(&home);
    let item = only(&home).item;
    damage_everywhere(&home, "letters");
    home.change_rows("-- name: change\nUPDATE objects SET state = 'deleted' WHERE identifier = 'test.edu/letters'\n");
    assert_eq!(worked(&home, item).status, ItemStatus::Failed);
    run(&home);
    let dropped = only(&home);
    assert_eq!((dropped.state, dropped.reason.as_deref()), (SpotTestState::Dropped, Some("its object was deleted")));
}

/// In the process that is killed.
#[cfg(feature = "failpoints")]
#[test]
#[ignore = "run by another test, in a process that is killed"]
fn runs_until_it_is_killed() {
    let Some(home) = crate::killing::home_of_this_process() else { return };
    run(&home);
}

#[cfg(feature = "failpoints")]
#[test]
fn a_process_that_is_killed_leaves_nothing_half_done() {
    const THIS: &str = "restoration::spot_tests::runs_until_it_is_killed";
    for point in ["spot_tests.found", "spot_tests.begun", "spot_tests.ended"] {
        let Some(home) = home_with_objects(Engine::Sqlite, &["letters"]) else { return };
        // The process has the clock of the machine.
        home.clock.set_back(11 * DAY);
        home.change_rows("-- name: change\nUPDATE spot_test_turns SET last_at = last_at - 950400000000\n");
        if point == "spot_tests.ended" {
            run(&home);
            worked(&home, only(&home).item);
        }
        crate::killing::kill_at(home.path(), THIS, point, &[]);
        run(&home);
        let test = only(&home);
        worked(&home, test.item);
        run(&home);
        run(&home);
        assert_eq!((only(&home).state, mails(&home).len()), (SpotTestState::Restored, 1), "{point}");
        assert_eq!(home.keys("restoration"), ["test.edu/letters.tar"]);
    }
}
