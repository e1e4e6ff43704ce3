//! Problems as records: opened by what is found, resolved only by what is seen, and opened again where they return.

use std::fs;
use std::time::Duration;

use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::problems::{self, Assignee, Filter};
use strongroom_engine::app::views::{ProblemLineView, ProblemView, TaskView};
use strongroom_engine::app::{Caller, OpContext, queues};
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{EngineError, background};
use strongroom_queue::{LeaseRequest, NewTask, Outcome, Settlement, TaskId, WorkerId, tasks};
use strongroom_registry::journal::Actor;
use strongroom_registry::users::{self, NewUser};
use strongroom_registry::{ActorKind, ProblemState, RegistryError, Scope, UserId, UserRole, tenants};

use crate::fixture::{Engine, INSTITUTION, TestHome, home, home_on, on_both_databases};

on_both_databases! {
    a_damaged_copy_opens_a_problem_that_its_repair_resolves
    a_store_that_is_away_is_a_problem_until_it_is_seen_again
    a_problem_that_returns_is_the_same_and_opened_again
    what_is_waived_stays_waived_until_its_time_or_another_fault
    resolving_says_what_is_still_there
    problems_are_assigned_to_those_who_see_them
    a_background_task_that_fails_is_a_problem_until_it_runs_well
    findings_of_a_store_out_of_use_are_no_problems
    each_topic_with_dead_tasks_is_a_problem_until_it_has_none
}

fn at(engine: Engine, settings: &str) -> Option<TestHome> {
    home_on(engine, settings)
}

fn call(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), operator())
}

fn operator() -> Caller {
    Caller::with_role(Actor::new(ActorKind::User, "op@test.edu"), Scope::System, Role::SystemAdmin)
}

fn listed(home: &TestHome, filter: &Filter) -> Vec<ProblemView> {
    problems::compare(&call(home)).expect("compares");
    problems::list(&call(home), filter, None).expect("lists").items
}

fn open(home: &TestHome) -> Vec<ProblemView> {
    listed(home, &Filter::default())
}

fn all(home: &TestHome) -> Vec<ProblemView> {
    listed(home, &Filter { resolved_too: true, ..Filter::default() })
}

fn only(found: Vec<ProblemView>) -> ProblemView {
    let [one]: [ProblemView; 1] = found.try_into().expect("one problem");
    one
}

fn history(home: &TestHome, problem: &ProblemView) -> Vec<ProblemLineView> {
    problems::show(&call(home), problem.problem).expect("shows").1
}

fn states(home: &TestHome, problem: &ProblemView) -> Vec<ProblemState> {
    history(home, problem).into_iter().map(|line| line.state).collect()
}

fn damage(home: &TestHome, store: &str) {
    let key =
        home.keys(store).into_iter().find(|key| key.contains("/content/") && !key.contains("record")).expect("a copy");
    let file = home.file(store, &key);
    let bytes = fs::read(&file).expect("reads");
    fs::write(&file, bytes.iter().map(|byte| byte ^ 1).collect::<Vec<_>>()).expect("writes");
}

fn check(home: &TestHome) {
    fixity::run(home, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| {}).expect("runs");
}

fn move_store(home: &TestHome, from: &str, to: &str) {
    let stores = home.path().join("stores");
    fs::rename(stores.join(from), stores.join(to)).expect("moves the store");
}

fn a_damaged_copy_opens_a_problem_that_its_repair_resolves(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    assert_eq!(open(&home).len(), 0);
    damage(&home, "primary");
    check(&home);
    assert_eq!(open(&home).len(), 0, "it was repaired in the same check");
    let problem = only(all(&home));
    assert_eq!((problem.kind.as_str(), problem.state), ("copy.damaged", ProblemState::Resolved));
    assert_eq!(problem.store.as_deref(), Some("primary"));
    assert_eq!(problem.institution.as_deref(), Some(INSTITUTION));
    assert!(problem.resolved_at.is_some() && problem.reason.is_some(), "{problem:?}");
    assert_eq!((problem.resolver, &problem.next), (None, &None), "there is nothing left to do");
    assert_ne!(Some(&problem.detail), problem.reason.as_ref(), "the cause stays");
    assert_eq!(states(&home, &problem), [ProblemState::Open, ProblemState::Resolved]);
}

fn a_store_that_is_away_is_a_problem_until_it_is_seen_again(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    move_store(&home, "secondary", "gone");
    let problem = only(open(&home));
    assert_eq!((problem.kind.as_str(), problem.subject.as_str()), ("store.away", "secondary"));
    assert_eq!(problem.next.as_deref(), Some("strongroom store check secondary"));
    assert!(problem.resolver.is_some() && !problem.detail.is_empty());
    assert_eq!(only(open(&home)).times_opened, 1, "a second comparison does not open it again");
    move_store(&home, "gone", "secondary");
    assert_eq!(open(&home).len(), 0);
    assert_eq!(only(all(&home)).state, ProblemState::Resolved);
}

fn a_problem_that_returns_is_the_same_and_opened_again(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    for _ in 0..2 {
        damage(&home, "primary");
        check(&home);
        move_store(&home, "secondary", "gone");
        assert_eq!(open(&home).len(), 1);
        move_store(&home, "gone", "secondary");
        assert_eq!(open(&home).len(), 0);
    }
    let found = all(&home);
    assert_eq!(found.len(), 2, "{found:?}");
    for problem in found {
        assert_eq!((problem.times_opened, problem.state), (2, ProblemState::Resolved));
        assert_eq!(states(&home, &problem).len(), 4);
        assert!(problem.reopened_at > problem.opened_at);
    }
}

fn what_is_waived_stays_waived_until_its_time_or_another_fault(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    move_store(&home, "secondary", "gone");
    let id = only(open(&home)).problem;
    let refused = problems::waive(&call(&home), id, " ", None).expect_err("needs a reason");
    assert!(matches!(refused, EngineError::Usage(_) | EngineError::Advised { .. }), "{refused:?}");
    let now = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?)).expect("the time");
    let past = problems::waive(&call(&home), id, "new disks", Some(now.plus(-1)));
    past.expect_err("a time that has passed");
    let until = now.plus(i64::try_from(Duration::from_hours(24).as_micros()).expect("fits"));
    let waived = problems::waive(&call(&home), id, "new disks", Some(until)).expect("waives");
    assert_eq!((waived.state, waived.reason.as_deref()), (ProblemState::Waived, Some("new disks")));
    assert_eq!(only(open(&home)).state, ProblemState::Waived, "it is there still, and said to be");
    home.clock.advance(Duration::from_hours(25));
    let overdue = |one: &ProblemView| one.kind == "background.overdue";
    let (idle, away): (Vec<ProblemView>, Vec<ProblemView>) = open(&home).into_iter().partition(overdue);
    assert_eq!(idle.len(), 1, "one problem for all background tasks: {idle:?}");
    let again = only(away);
    assert_eq!((again.state, again.times_opened), (ProblemState::Open, 1));
    assert_eq!(states(&home, &again), [ProblemState::Open, ProblemState::Waived, ProblemState::Open]);

    problems::waive(&call(&home), id, "new disks", None).expect("waives");
    move_store(&home, "gone", "secondary");
    assert!(open(&home).iter().all(overdue), "what is not there any more is resolved, waived or not");
    move_store(&home, "secondary", "gone");
    let back = open(&home).into_iter().filter(|one| !overdue(one)).collect();
    assert_eq!(only(back).state, ProblemState::Open, "a waiver ends with what it was about");
}

fn resolving_says_what_is_still_there(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    move_store(&home, "secondary", "gone");
    let id = only(open(&home)).problem;
    let still = problems::resolve(&call(&home), id).expect("looks");
    assert_eq!(still.state, ProblemState::Open);
    move_store(&home, "gone", "secondary");
    let solved = problems::resolve(&call(&home), id).expect("looks");
    assert_eq!(solved.state, ProblemState::Resolved);
    let refused = problems::waive(&call(&home), id, "too late", None).expect_err("it is resolved");
    assert!(refused.to_string().contains("resolved"), "{refused}");
}

fn problems_are_assigned_to_those_who_see_them(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    let own =
        home.registry.read(|tx| tenants::institution(tx, Scope::System, INSTITUTION)).expect("reads").expect("own").id;
    home.registry
        .write(move |tx| {
            for (email, role, institution) in
                [("ann@test.edu", UserRole::InstitutionAdmin, Some(own)), ("op@test.edu", UserRole::SystemAdmin, None)]
            {
                users::add(tx, &NewUser { id: UserId::new(), email: email.to_owned(), role, institution })?;
            }
            Ok::<_, RegistryError>(())
        })
        .expect("adds users");
    move_store(&home, "secondary", "gone");
    let id = only(open(&home)).problem;
    let to = |email: &str| Assignee::User(email.to_owned());
    problems::assign(&call(&home), id, &to("unknown@test.edu"), None).expect_err("there is no such user");
    problems::assign(&call(&home), id, &to("ann@test.edu"), None).expect_err("she does not see the installation");
    let assigned = problems::assign(&call(&home), id, &to("OP@test.edu"), Some("by Friday")).expect("assigns");
    assert_eq!((assigned.state, assigned.assigned_to.as_deref()), (ProblemState::Assigned, Some("op@test.edu")));
    let external = problems::assign(&call(&home), id, &Assignee::Ticket("T-4711".to_owned()), None).expect("assigns");
    assert_eq!((external.state, external.ticket.as_deref()), (ProblemState::External, Some("T-4711")));
    assert_eq!(external.assigned_to.as_deref(), Some("op@test.edu"), "who follows it stays");
    let open_again = problems::assign(&call(&home), id, &Assignee::None, None).expect("assigns");
    assert_eq!((open_again.state, &open_again.assigned_to), (ProblemState::Open, &None));
    let notes: Vec<String> = history(&home, &open_again).into_iter().map(|line| line.note).collect();
    assert!(notes.contains(&"assigned to op@test.edu: by Friday".to_owned()), "{notes:?}");
}

fn a_background_task_that_fails_is_a_problem_until_it_runs_well(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    move_store(&home, "receiving", "gone");
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let failed: Vec<ProblemView> = listed(&home, &Filter { kind: Some("background".to_owned()), ..Filter::default() });
    assert!(failed.iter().any(|one| one.kind == "background.failed"), "{failed:?}");
    move_store(&home, "gone", "receiving");
    home.clock.advance(Duration::from_hours(25));
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let failed: Vec<ProblemView> = listed(&home, &Filter { kind: Some("background".to_owned()), ..Filter::default() });
    assert_eq!(failed.len(), 0, "{failed:?}");
}

/// Makes dead tasks of a topic.
fn bury(home: &TestHome, topic: &'static str, keys: &'static [&'static str]) {
    let request = LeaseRequest {
        topics: vec![topic.to_owned()],
        keys: None,
        limit: keys.len(),
        holder: WorkerId::this_process(),
        duration: Duration::from_mins(1),
    };
    home.registry
        .write(move |tx| {
            let new: Vec<NewTask> = keys.iter().map(|key| NewTask::new(topic, *key, "")).collect();
            tasks::enqueue(tx, &new)?;
            let dead = || Outcome::Dead { reason: "it cannot be read".to_owned() };
            let leased = tasks::lease(tx, &request)?;
            let ends: Vec<Settlement> =
                leased.iter().map(|one| Settlement { lease: one.lease, outcome: dead() }).collect();
            Ok::<_, RegistryError>(tasks::settle(tx, &ends).map(|_| ())?)
        })
        .expect("buries");
}

fn each_topic_with_dead_tasks_is_a_problem_until_it_has_none(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    // One of stages, one that no work item goes through, and one that this program does not know.
    bury(&home, "ingest.fetch", &["a"]);
    bury(&home, "fixity.check", &["a", "b"]);
    bury(&home, "other.program", &["a"]);
    let task = background::TASKS.iter().find(|task| task.name == "problems").expect("the task");
    let run = || background::run_now(&home, task, &Shutdown::new()).expect("runs");
    run();
    let dead = || {
        let filter = Filter { kind: Some("queue.dead".to_owned()), ..Filter::default() };
        let mut dead = problems::list(&call(&home), &filter, None).expect("lists").items;
        dead.sort_by(|one, other| one.subject.cmp(&other.subject));
        dead
    };
    let subjects = || dead().into_iter().map(|one| one.subject).collect::<Vec<_>>();
    assert_eq!(subjects(), ["fixity.check", "ingest.fetch", "other.program"]);
    let fixity = dead().swap_remove(0);
    assert_eq!(fixity.detail, "2 tasks were given up after the last attempt");
    assert!(fixity.next.as_deref().is_some_and(|next| next.contains("queue retry fixity.check")), "{fixity:?}");
    queues::retry(&call(&home), "fixity.check", None).expect("is put back");
    let other = queues::tasks(&call(&home), Some("other.program"), None, None).expect("lists").items;
    queues::delete(&call(&home), only_task(&other)).expect("deletes");
    run();
    assert_eq!(subjects(), ["ingest.fetch"]);
    bury(&home, "other.program", &["b"]);
    run();
    assert_eq!(subjects(), ["ingest.fetch", "other.program"]);
    assert_eq!(dead().last().map(|one| one.times_opened), Some(2));
}

fn only_task(tasks: &[TaskView]) -> TaskId {
    let [one] = tasks else { panic!("one task: {tasks:?}") };
    one.task
}

#[test]
fn a_waiver_of_one_error_is_none_of_another() {
    let home = home();
    move_store(&home, "receiving", "gone");
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let failed = || listed(&home, &Filter { kind: Some("background.failed".to_owned()), ..Filter::default() });
    for problem in failed() {
        problems::waive(&call(&home), problem.problem, "known", None).expect("waives");
    }
    let waived = failed();
    assert!(!waived.is_empty() && waived.iter().all(|one| one.state == ProblemState::Waived), "{waived:?}");
    home.change_rows("-- name: change\nUPDATE schedules SET error = 'another' WHERE error IS NOT NULL");
    let opened = failed();
    assert!(opened.iter().all(|one| one.state == ProblemState::Open && one.times_opened == 2), "{opened:?}");
}

#[test]
fn a_waiver_of_tasks_that_nobody_runs_is_none_of_others() {
    let home = home();
    background::run_due(&home, &Shutdown::new()).expect("runs");
    home.clock.advance(Duration::from_hours(25));
    for task in background::TASKS.iter().filter(|task| task.name != "catalogue") {
        background::run_now(&home, task, &Shutdown::new()).expect("runs");
    }
    let overdue = || only(listed(&home, &Filter { kind: Some("background.overdue".to_owned()), ..Filter::default() }));
    assert!(overdue().detail.ends_with(": catalogue"), "{:?}", overdue());
    problems::waive(&call(&home), overdue().problem, "not wanted here", None).expect("waives");
    assert_eq!(overdue().state, ProblemState::Waived);
    home.clock.advance(Duration::from_hours(25));
    assert_eq!((overdue().state, overdue().times_opened), (ProblemState::Open, 2));
}

fn findings_of_a_store_out_of_use_are_no_problems(engine: Engine) {
    let Some(home) = at(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    // Both copies are damaged: there is nothing to repair from.
    damage(&home, "primary");
    damage(&home, "secondary");
    check(&home);
    let found = open(&home);
    assert_eq!(found.iter().filter(|one| one.kind == "copy.damaged").count(), 2, "{found:?}");
    let next = found[0].next.as_deref().unwrap_or_default();
    let repairing = format!("strongroom deposit PACKAGE --institution {INSTITUTION} --primary-id letters --wait");
    assert_eq!(next, repairing, "no store has the bytes, and a package of another name would make another object");
    let first = found[0].problem;
    let still = problems::resolve(&call(&home), first).expect("tries");
    assert_ne!(still.state, ProblemState::Resolved, "{still:?}");
    home.registry
        .write(|tx| tenants::set_fact(tx, "store.retired/secondary", "2026-01-31T12:00:00Z"))
        .expect("takes the store out of use");
    let left = only(open(&home).into_iter().filter(|one| one.kind == "copy.damaged").collect());
    assert_eq!(left.store.as_deref(), Some("primary"));
}

#[test]
fn unsolved_findings_of_older_registries_get_their_problems() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    damage(&home, "primary");
    damage(&home, "secondary");
    check(&home);
    home.change_rows("-- name: change\nDELETE FROM problems");
    assert_eq!(open(&home).iter().filter(|one| one.kind == "copy.damaged").count(), 2);
    home.change_rows("-- name: change\nDELETE FROM findings");
    assert_eq!(open(&home).iter().filter(|one| one.kind == "copy.damaged").count(), 0, "there is no finding any more");
}
