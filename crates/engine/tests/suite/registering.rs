//! A workflow and a kind of task that the engine does not bring, registered from outside: run, paused, requeued, killed, resumed.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strongroom_database::DatabaseError;
use strongroom_engine::app::{self, Caller, OpContext};
use strongroom_engine::runtime::{Builder, Handler, Runtime, Shutdown, TaskContext, TaskEnd};
use strongroom_engine::settings::Settings;
use strongroom_engine::workflow::{Outcome, Passes, Stage, StageContext, StageError, WaitsFor, Workflow, Workflows};
use strongroom_engine::{Home, handlers};
use strongroom_queue::{NewTask, tasks};
use strongroom_registry::items::{self, Item, NewItem, Request};
use strongroom_registry::work::{Assignment, Claim};
use strongroom_registry::{
    Action, ItemId, ItemStatus, RegistryError, Scope, Stage as Name, interim, retention, tenants,
};

use crate::fixture::{self, INSTITUTION, TestHome};

const INSPECT: Action = Action::named("inspect");
const LOOK: Name = Name::named("look");
const WEIGH: Name = Name::named("weigh");
const TELL: Name = Name::named("tell");

const INSPECTION: Workflow = Workflow {
    action: INSPECT,
    group: "inspection",
    stages: &[
        Stage { name: LOOK, run: look, waits_for: WaitsFor::Time, inline: true, passes: Passes::None, is_remote: None },
        Stage {
            name: WEIGH,
            run: weigh,
            waits_for: WaitsFor::Time,
            inline: true,
            passes: Passes::None,
            is_remote: None,
        },
        Stage {
            name: TELL,
            run: tell,
            waits_for: WaitsFor::Time,
            inline: false,
            passes: Passes::None,
            is_remote: None,
        },
    ],
    restart: None,
    restage: None,
};

fn look(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    context.task.check()?;
    context.with_end(|tx, claim| interim::set_fact(tx, claim, "looked", "once").map(|()| Vec::new()));
    Ok(Outcome::done("looked at"))
}

/// Fails where the item's options say so, whatever it was about to write; stays while a file tells it to.
fn weigh(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let name = format!("weighed {}", context.item.id);
    context.with_end(move |tx, _| tenants::set_fact(tx, &name, "once").map(|()| Vec::new()));
    if context.item.options.contains("too heavy") {
        return Err(StageError::fatal("too heavy"));
    }
    while context.home.directory.join("hang").exists() {
        std::fs::write(context.home.directory.join("hangs"), b"").expect("tells");
        context.task.check()?;
        std::thread::park_timeout(Duration::from_millis(5));
    }
    Ok(Outcome::done("weighed"))
}

fn tell(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    context.task.check()?;
    Ok(Outcome::done("told"))
}

/// A home of this folder in which inspections are known.
fn open(folder: &Path) -> Arc<Home> {
    let text = std::fs::read_to_string(folder.join("strongroom.toml")).expect("settings");
    let mut home = Home::open(folder, Settings::from_toml(&text).expect("settings")).expect("opens the home");
    home.register(INSPECTION);
    Arc::new(home)
}

fn inspect(home: &Home, options: &str) -> ItemId {
    let id = ItemId::new();
    let (options, workflows) = (options.to_owned(), home.registry.workflows());
    home.registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
            let new = NewItem {
                id,
                name: "letters".into(),
                options: options.clone(),
                note: "asked for".into(),
                ..NewItem::new(INSPECT, institution, format!("{INSTITUTION}/letters"))
            };
            items::create(tx, workflows.as_ref(), &new)
        })
        .expect("makes the item");
    id
}

fn find(home: &Home, id: ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

fn has_come_to(home: &Home, id: ItemId, stage: Name, status: ItemStatus) -> bool {
    let item = find(home, id);
    (item.stage, item.status) == (stage, status)
}

fn ask(home: &Home, id: ItemId, request: Request) -> Result<(), RegistryError> {
    let workflows = home.registry.workflows();
    home.registry
        .write_and_wake(move |tx| items::request(tx, workflows.as_ref(), Scope::System, id, request, "a person"))
}

fn workers(home: &Arc<Home>) -> Builder {
    let own: Vec<Arc<dyn Handler>> = vec![Arc::new(Counting)];
    let all = handlers(home).into_iter().chain(own).collect();
    Runtime::builder(home.registry.clone(), all)
        .poll_every(Duration::from_millis(5))
        .sweep_every(Duration::from_millis(20))
}

/// Works until something holds.
fn work_until(home: &Arc<Home>, done: impl Fn() -> bool) {
    let begun = Instant::now();
    let is_over = || done() || begun.elapsed() > Duration::from_mins(1);
    workers(home).build().run_until(&Shutdown::new(), &is_over);
    assert!(done(), "it is not so after a minute");
}

/// The stages of an item in the order of its history, each status by itself.
fn way(home: &Home, id: ItemId) -> Vec<String> {
    let lines = home.registry.read(|tx| items::history(tx, Scope::System, id)).expect("a history");
    lines.into_iter().map(|line| format!("{} {}", line.stage, line.status)).collect()
}

fn weighed(home: &Home, id: ItemId) -> Option<String> {
    home.registry.read(|tx| tenants::fact(tx, &format!("weighed {id}"))).expect("reads")
}

fn opened() -> (TestHome, Arc<Home>) {
    let made = fixture::home();
    let home = open(made.path());
    (made, home)
}

#[test]
fn an_item_goes_through_the_stages_of_its_workflow() {
    let (_made, home) = opened();
    let id = inspect(&home, "{}");
    work_until(&home, || find(&home, id).status.is_ended());
    assert_eq!(
        way(&home, id),
        [
            "look pending",
            "look started",
            "weigh pending",
            "weigh started",
            "tell pending",
            "tell started",
            "tell succeeded"
        ]
    );
    assert_eq!(find(&home, id).note.as_deref(), Some("told"));
    assert_eq!(weighed(&home, id).as_deref(), Some("once"), "written with the end of its stage");
}

fn looked(home: &Home, id: ItemId) -> Option<String> {
    home.registry.read(|tx| interim::fact(tx, id, "looked")).expect("reads")
}

#[test]
fn what_its_stages_noted_goes_when_it_has_succeeded_and_then_retention_removes_it() {
    let (_made, home) = opened();
    let id = inspect(&home, "{}");
    work_until(&home, || find(&home, id).status.is_ended());
    assert_eq!(looked(&home, id), None);
    let drop = |tx: &mut dyn strongroom_registry::Transaction| {
        let soon = tx.now()?.plus(1_000_000);
        retention::drop_items(tx, soon, None)
    };
    assert_eq!(home.registry.write(drop).expect("removes").0, 1);
}

#[test]
fn what_its_stages_noted_stays_while_it_may_be_requeued_where_it_stopped() {
    let (_made, home) = opened();
    let id = inspect(&home, "{}");
    pause(&home, true);
    work_until(&home, || has_come_to(&home, id, WEIGH, ItemStatus::Pending));
    assert_eq!(looked(&home, id).as_deref(), Some("once"));
    ask(&home, id, Request::Hold).expect("is held");
    assert_eq!(looked(&home, id).as_deref(), Some("once"));
    ask(&home, id, Request::Release).expect("goes on");
    pause(&home, false);
    work_until(&home, || has_come_to(&home, id, TELL, ItemStatus::Succeeded));
    assert_eq!(looked(&home, id), None);
}

fn pause(home: &Home, paused: bool) {
    let set =
        move |tx: &mut dyn strongroom_registry::Transaction| Ok(tasks::set_paused(tx, "inspection.weigh", paused)?);
    home.registry.write::<_, RegistryError, _>(set).expect("pauses or resumes");
}

#[test]
fn each_of_its_stages_is_paused_by_its_topic() {
    let (_made, home) = opened();
    let id = inspect(&home, "{}");
    pause(&home, true);
    work_until(&home, || has_come_to(&home, id, WEIGH, ItemStatus::Pending));
    assert_eq!(weighed(&home, id), None);
    pause(&home, false);
    work_until(&home, || has_come_to(&home, id, TELL, ItemStatus::Succeeded));
}

#[test]
fn the_book_lists_the_stages_of_a_deposit_in_their_order() {
    let book = include_str!("../../../../docs/queue.md");
    let listed: Vec<&str> = book.split("```").nth(1).expect("a list").split_whitespace().collect();
    let topics = Workflows::standard().topics();
    let (remote, local): (Vec<&str>, Vec<&str>) =
        topics.iter().map(String::as_str).partition(|topic| topic.ends_with(".remote"));
    let stages: Vec<&str> = local.iter().filter_map(|topic| topic.strip_prefix("ingest.")).collect();
    assert_eq!(listed, stages);
    for topic in remote {
        assert!(book.contains(&format!("`{topic}`")), "the book does not name {topic}");
    }
}

#[test]
fn its_topics_are_known_to_the_commands_of_the_queue() {
    let (_made, home) = opened();
    let call = OpContext::new(home, Caller::at_console("root"));
    let listed = app::queues::list(&call).expect("lists");
    for topic in ["inspection.tell", "ingest.fetch.remote", "fixity.check", "ingest.sweep"] {
        let one = listed.iter().find(|one| one.topic == topic).expect("every topic is listed, also one without tasks");
        assert_eq!((one.ready, one.delayed, one.leased, one.dead, one.oldest_ready_seconds), (0, 0, 0, 0, None));
        assert!(!one.paused);
    }
    assert!(listed.is_sorted_by_key(|one| &one.topic));
    let paused = app::queues::pause(&call, "inspection.weigh").expect("pauses a topic without tasks");
    assert!(paused.paused);
    let all = app::queues::pause_all(&call).expect("pauses");
    assert!(all.iter().all(|topic| topic.paused), "also those without tasks");
    let all = app::queues::resume_all(&call).expect("resumes");
    assert!(all.iter().any(|topic| topic.topic == "inspection.tell"));
}

#[test]
fn workers_of_a_kind_work_on_its_topics_and_those_that_are_named_besides() {
    let (made, home) = opened();
    // A task whose key cannot be read is dead as soon as it is begun.
    let topics = ["fixity.check", "store.backfill", "signatures.reidentify"];
    let new: Vec<NewTask> = topics.iter().map(|topic| NewTask::new(*topic, "?", "")).collect();
    home.registry.write(move |tx| Ok::<_, RegistryError>(tasks::enqueue(tx, &new).map(|_| ())?)).expect("enqueues");
    let counts = || home.registry.read(|tx| Ok::<_, RegistryError>(tasks::counts(tx)?)).expect("counts");
    let is_dead = |topic: &str| counts().iter().any(|one| one.topic == topic && one.dead == 1);
    let request = app::workers::Request {
        topics: Some(vec!["store.backfill".to_owned()]),
        kinds: vec!["fixity".to_owned(), "inspection".to_owned()],
        workers: None,
        settings_file: made.path().join("strongroom.toml"),
    };
    let (call, shutdown) = (OpContext::new(home.clone(), Caller::at_console("root")), Shutdown::new());
    let id = inspect(&home, "{}");
    std::thread::scope(|scope| {
        let run = scope.spawn(|| app::workers::run(&call, &request, &shutdown));
        let begun = Instant::now();
        let is_done = || is_dead("fixity.check") && is_dead("store.backfill") && find(&home, id).status.is_ended();
        while !is_done() && begun.elapsed() < Duration::from_mins(1) {
            std::thread::park_timeout(Duration::from_millis(5));
        }
        shutdown.request();
        run.join().expect("ends").expect("works");
        assert!(is_done());
    });
    let others = counts();
    assert!(others.iter().any(|one| one.topic == "signatures.reidentify" && one.ready == 1), "{others:?}");
    let unknown = app::workers::Request { kinds: vec!["inspektion".to_owned()], ..request };
    let error = app::workers::run(&call, &unknown, &shutdown).expect_err("there is no such kind").to_string();
    assert!(error.contains("did you mean inspection?"), "{error}");
}

#[test]
fn a_failed_one_is_requeued_from_any_stage_up_to_where_it_stopped() {
    let (_made, home) = opened();
    let id = inspect(&home, r#"{"it is": "too heavy"}"#);
    work_until(&home, || has_come_to(&home, id, WEIGH, ItemStatus::Failed));
    assert!(find(&home, id).needs_review);
    for refused in [TELL, Name::named("receive")] {
        let refused = ask(&home, id, Request::Requeue(Some(refused))).expect_err("no such stage, or a later one");
        assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
    }
    ask(&home, id, Request::Requeue(Some(LOOK))).expect("begins again");
    assert!(has_come_to(&home, id, LOOK, ItemStatus::Pending));
    home.registry
        .write(move |tx| Ok::<_, RegistryError>(tasks::delete_key(tx, &id.to_string())?))
        .expect("its task is lost");
    work_until(&home, || has_come_to(&home, id, WEIGH, ItemStatus::Failed));
    assert_eq!(weighed(&home, id), None, "nothing is written with the end of a stage that goes wrong");
}

/// What the killed process does: works until it is killed.
#[test]
#[ignore = "is run by another test of this module, in a process of its own that is killed"]
fn works_until_it_is_killed() {
    let Some(folder) = std::env::var_os("STRONGROOM_TEST_REGISTERING") else { return };
    workers(&open(Path::new(&folder))).build().run(&Shutdown::new());
}

#[test]
fn one_whose_worker_is_killed_goes_on_where_it_was() {
    let (made, home) = opened();
    let id = inspect(&home, "{}");
    let (hang, hangs) = (made.path().join("hang"), made.path().join("hangs"));
    std::fs::write(&hang, b"").expect("is to hang");
    let mut worker = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "registering::works_until_it_is_killed", "--ignored"])
        .env("STRONGROOM_TEST_REGISTERING", made.path())
        .spawn()
        .expect("a worker");
    let begun = Instant::now();
    while !hangs.exists() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    worker.kill().expect("is killed");
    worker.wait().expect("ends");
    assert!(has_come_to(&home, id, WEIGH, ItemStatus::Started));
    std::fs::remove_file(&hang).expect("hangs no more");
    work_until(&home, || has_come_to(&home, id, TELL, ItemStatus::Succeeded));
    assert!(way(&home, id).contains(&"weigh pending".to_owned()));
    assert_eq!(weighed(&home, id).as_deref(), Some("once"));
}

/// A kind of task without an item: counts how often it was done.
struct Counting;

static REFUSES: AtomicBool = AtomicBool::new(true);

impl Handler for Counting {
    fn topic(&self) -> &'static str {
        "counting"
    }

    fn run(&self, assignment: &Assignment, _: &TaskContext) -> TaskEnd {
        assert!(assignment.claimed.is_none(), "it is no stage, whatever its key looks like");
        let name = format!("counted {}", assignment.task.key);
        let counted = Box::new(move |tx: &mut dyn strongroom_registry::Transaction, _: Option<&Claim>| {
            let count = tenants::fact(tx, &name)?.map_or(0, |count| count.parse::<u32>().unwrap_or_default()) + 1;
            tenants::set_fact(tx, &name, &count.to_string())?;
            // The first transaction does not come about: it is run again.
            if REFUSES.swap(false, Ordering::SeqCst) {
                return Err(DatabaseError::Unavailable { act: "write".into(), detail: "only this time".into() }.into());
            }
            Ok(Vec::new())
        });
        TaskEnd::from(strongroom_queue::Outcome::Done).with(counted)
    }
}

#[test]
fn a_task_without_an_item_is_done_and_what_it_writes_comes_with_its_end() {
    let (_made, home) = opened();
    let key = inspect(&home, "{}").to_string();
    let task = NewTask::new("counting", key.clone(), "");
    home.registry
        .write_and_wake(move |tx| {
            tasks::enqueue(tx, std::slice::from_ref(&task))?;
            Ok::<_, RegistryError>(vec!["counting".to_owned()])
        })
        .expect("is enqueued");
    let left = || {
        let live = home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &key)?)).expect("reads");
        live.iter().filter(|task| task.topic == "counting").count()
    };
    work_until(&home, || left() == 0);
    let counted = home.registry.read(|tx| tenants::fact(tx, &format!("counted {key}"))).expect("reads");
    assert_eq!(counted.as_deref(), Some("1"));
}
