//! Lists of objects: each row becomes one work item, whatever happens while the list is read.

use std::collections::BTreeSet;

use strongroom_engine::background::{self, TASKS};
use strongroom_engine::ingest::{DepositRequest, PackageSource};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::workflow::Workflows;
use strongroom_registry::batches::{BatchAct, Step};
use strongroom_registry::items::{self, Item, ItemFilter, Request};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{BatchId, CollectionId, ItemStatus, Scope, Transaction, batches, holds};
use strongroom_web_double::Behaviour;

use super::space::pause;
use super::world::{ONE_ATTEMPT, SINGLE_FILES, World, manifest};
use crate::fixture::{Engine, INSTITUTION};

/// More rows than one transaction makes items of.
const ROWS: usize = 1_100;

fn row(world: &World, number: usize) -> String {
    format!("{} | | | | | {number}.txt | | id {number} | | Title {number} |", world.web.url("/a.txt"))
}

fn list(world: &World, rows: std::ops::Range<usize>) -> String {
    world.web.put("/a.txt", "alpha");
    manifest(SINGLE_FILES, &rows.map(|number| row(world, number)).collect::<Vec<_>>())
}

/// The items of the rows, and that of the list, which is the first.
fn made(world: &World, batch: BatchId) -> (Item, Vec<Item>) {
    let items = world.items(batch);
    let (lists, rows): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.action.as_str() == "expand_batch");
    let [list] = lists.as_slice() else { panic!("one list: {lists:?}") };
    (list.clone(), rows)
}

/// Each row has one item.
fn check_rows(world: &World, batch: BatchId, count: usize) {
    let (_, rows) = made(world, batch);
    let objects: BTreeSet<&str> = rows.iter().map(|item| item.object_identifier.as_str()).collect();
    assert_eq!((rows.len(), objects.len()), (count, count));
}

/// Works until the item of the list has ended; those of the rows wait.
fn expand(world: &World, batch: BatchId) -> Item {
    pause(world, "ingest.receive", true);
    world.work_until(&|| world.items(batch).first().is_some_and(|list| list.status.is_ended()));
    made(world, batch).0
}

#[test]
fn every_row_of_a_long_list_has_one_item() {
    let world = World::new();
    let path = world.write("list.checkm", list(&world, 0..ROWS));
    let batch = world.submit(&world.request(path)).expect("is submitted").batch;
    let list = expand(&world, batch);
    assert_eq!(list.status, ItemStatus::Succeeded, "{:?}", list.note);
    assert!(list.note.as_deref().is_some_and(|note| note.contains(&format!("{ROWS} objects"))), "{:?}", list.note);
    check_rows(&world, batch, ROWS);
}

#[test]
fn rows_are_of_one_object_where_they_have_one_identifier_and_of_others_where_they_are_only_called_alike() {
    let world = World::new();
    world.web.put("/a.txt", "alpha");
    let row = |(name, id): (&str, &str)| format!("{} | | | | | {name} | | {id} | | |", world.web.url("/a.txt"));
    let first = world.write("first.checkm", manifest(SINGLE_FILES, &[("b.txt", ""), ("c.txt", "known")].map(row)));
    world.deposit(&world.request(first));
    let rows = [
        ("a.txt", ""),
        ("a.txt", ""),
        ("a.txt-2", ""),
        ("b.txt", ""),
        ("d.txt", "same"),
        ("e.txt", "same"),
        ("other", ""),
        ("f.txt", "other"),
        ("g.txt", "known"),
        ("h.txt", "one; two"),
        ("i.txt", "two; three"),
        ("j.txt", "new"),
    ];
    let list = world.write("list.checkm", manifest(SINGLE_FILES, &rows.map(row)));
    let batch = world.submit(&world.request(list)).expect("is submitted").batch;
    expand(&world, batch);
    let objects: Vec<String> = made(&world, batch).1.into_iter().map(|item| item.object_identifier).collect();
    let of: Vec<&str> =
        objects.iter().filter_map(|object| object.strip_prefix(INSTITUTION)?.strip_prefix("/")).collect();
    assert_eq!(
        [of[0], of[2], of[3], of[4], of[5], of[6], of[7], of[8], of[9], of[10], of[11]],
        ["a.txt", "a.txt-2", "b.txt-4", "same", "same", "other", "other-2", "known", "one", "one", "new"]
    );
    assert!(of[1].starts_with("a.txt-2-"), "{of:?}");
    pause(&world, "ingest.receive", false);
    let items = world.work(batch);
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
}

#[test]
fn a_row_that_failed_is_to_be_reviewed_also_where_another_deposit_made_an_object_of_its_name() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let Some(world) = World::in_database(engine, ONE_ATTEMPT) else { continue };
        let row = format!("{} | | | | | report.txt | | | | |", world.web.url("/report.txt"));
        let list = world.write("list.checkm", manifest(SINGLE_FILES, &[row]));
        let items = world.deposit(&world.request(list));
        let failed = items.last().expect("an item");
        assert_eq!(failed.status, ItemStatus::Failed, "{:?}", failed.note);
        let needs_review = || {
            let filter = ItemFilter { needs_review: Some(true), ..ItemFilter::default() };
            let found = world.home.registry.read(|tx| items::list(tx, Scope::System, &filter, None, 9));
            found.expect("items").into_iter().map(|item| item.id).collect::<Vec<_>>()
        };
        assert_eq!(needs_review(), [failed.id]);
        let other = world.write("report.txt", "another report");
        assert_eq!(world.ingest(&world.request(other)).identifier, failed.object_identifier);
        assert_eq!(needs_review(), [failed.id]);
        world.web.put("/report.txt", "the report of the row");
        world.ask(failed.id, Request::Requeue(None));
        world.work(failed.batch.expect("a batch"));
        assert_eq!(needs_review(), []);
        let own = world.object_of(&world.item(failed.id));
        assert_ne!(own.identifier, failed.object_identifier);
        assert_eq!((own.head, world.object("report.txt").head), (1, 1));
    }
}

#[cfg(feature = "failpoints")]
/// Whether something is left to sweep.
fn has_tasks(world: &World) -> bool {
    let counts = world
        .home
        .registry
        .read(|tx| Ok::<_, strongroom_registry::RegistryError>(strongroom_queue::tasks::counts(tx)?))
        .expect("counts");
    counts.iter().any(|topic| topic.topic == strongroom_registry::work::SWEEP_TOPIC && topic.ready > 0)
}

#[test]
fn the_rows_of_a_collection_on_hold_are_held() {
    let world = World::new();
    let id = CollectionId::new();
    let rules = CollectionRules { name: "photos".into(), ..CollectionRules::default() };
    world
        .home
        .registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
            tenants::add_collection(tx, id, institution, "photos", (&rules, "test"))
        })
        .expect("adds it");
    let path = world.write("list.checkm", list(&world, 0..3));
    let request = DepositRequest { collection: Some("photos".into()), ..world.request(path) };
    let batch = world.submit(&request).expect("is submitted").batch;
    // Held behind the submission and before the rows are made.
    pause(&world, "batch.expand", true);
    world
        .home
        .registry
        .write(move |tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
            holds::place(tx, holds::On::Collection(id), institution, "ann".into())
        })
        .expect("holds it");
    pause(&world, "batch.expand", false);
    world.work_until(&|| {
        let (list, rows) = made(&world, batch);
        list.status == ItemStatus::Held || rows.len() == 3
    });
    let (list, rows) = made(&world, batch);
    if list.status == ItemStatus::Held {
        assert_eq!(rows.len(), 0);
    } else {
        assert!(rows.iter().all(|item| item.status == ItemStatus::Held), "{rows:#?}");
    }
    assert_eq!(world.objects(), Vec::<String>::new());
}

#[test]
fn a_submission_is_accepted_while_topics_are_paused_and_worked_on_when_they_are_resumed() {
    let world = World::new();
    for topic in ["batch.expand", "ingest.receive"] {
        pause(&world, topic, true);
    }
    let path = world.write("list.checkm", list(&world, 0..3));
    let batch = world.submit(&world.request(path)).expect("is submitted").batch;
    let (list, rows) = made(&world, batch);
    assert_eq!((list.status, rows.len()), (ItemStatus::Pending, 0));
    for topic in ["batch.expand", "ingest.receive"] {
        pause(&world, topic, false);
    }
    let items = world.work(batch);
    assert_eq!(items.len(), 4);
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
}

#[test]
fn a_list_without_rows_makes_nothing_and_is_no_success() {
    let world = World::new();
    let items = world.deposit(&world.request(world.write("list.checkm", manifest(SINGLE_FILES, &[]))));
    let [item] = items.as_slice() else { panic!("one item: {items:?}") };
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    assert!(item.note.as_deref().is_some_and(|note| note.contains("no rows")), "{:?}", item.note);
    assert!(world.codes(item.id).contains(&"rows.none".to_owned()), "{:?}", world.problems(item.id));
}

#[test]
fn a_row_that_cannot_be_had_fails_its_own_item_only() {
    let world = World::new();
    world.web.put("/a.txt", "alpha");
    world.web.on("/gone.txt", Behaviour::NotFound);
    let rows = [
        row(&world, 1),
        "https://host.example/b.txt | | | | | b.txt | | | | |".to_owned(),
        format!("{} | | | | | gone.txt | | | | |", world.web.url("/gone.txt")),
        format!("{} | md5 | 00000000000000000000000000000000 | | | wrong.txt | | | | |", world.web.url("/a.txt")),
        row(&world, 2),
    ];
    let batch =
        world.submit(&world.request(world.write("list.checkm", manifest(SINGLE_FILES, &rows)))).expect("is submitted");
    world.work(batch.batch);
    let (list, rows) = made(&world, batch.batch);
    assert_eq!(list.status, ItemStatus::Succeeded, "{:?}", list.note);
    let ended: Vec<(&str, ItemStatus)> = rows.iter().map(|item| (item.name.as_str(), item.status)).collect();
    let (succeeded, failed) = (ItemStatus::Succeeded, ItemStatus::Failed);
    let expected =
        [("1.txt", succeeded), ("b.txt", failed), ("gone.txt", failed), ("wrong.txt", failed), ("2.txt", succeeded)];
    assert_eq!(ended, expected, "{rows:#?}");
    assert!(rows[1].note.as_deref().is_some_and(|note| note.contains("ingest.url_hosts")), "{:?}", rows[1].note);
    assert_eq!(world.objects().len(), 2);
}

#[test]
fn a_row_whose_identifiers_cannot_be_fails_its_own_item_only() {
    let world = World::new();
    world.web.put("/a.txt", "alpha");
    let rows = [format!("{} | | | | | 2.txt | | {} | | |", world.web.url("/a.txt"), "x".repeat(2_000)), row(&world, 3)];
    let batch =
        world.submit(&world.request(world.write("list.checkm", manifest(SINGLE_FILES, &rows)))).expect("is submitted");
    world.work(batch.batch);
    let (list, rows) = made(&world, batch.batch);
    assert_eq!(list.status, ItemStatus::Succeeded, "{:?} {:?}", list.note, world.problems(list.id));
    let ended: Vec<ItemStatus> = rows.iter().map(|item| item.status).collect();
    assert_eq!(ended, [ItemStatus::Failed, ItemStatus::Succeeded], "{rows:#?}");
    assert_eq!(world.objects().len(), 1, "nothing is kept under another identifier than it was sent with");
}

#[test]
fn what_a_request_says_holds_for_each_row_that_does_not_say_it() {
    let world = World::new();
    let path = world.write("list.checkm", list(&world, 0..2));
    let description = strongroom_engine::ingest::GivenDescription {
        creator: Some("Ada".into()),
        title: Some("not this".into()),
        ..Default::default()
    };
    let items = world.deposit(&DepositRequest { description, ..world.request(path) });
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
    for number in 0..2 {
        let said = world.object(&format!("id {number}")).description;
        assert_eq!((said.title, said.creator.as_deref()), (Some(format!("Title {number}")), Some("Ada")));
    }
}

#[test]
fn two_lists_in_one_submission_are_both_read() {
    let world = World::new();
    let paths = [world.write("1.checkm", list(&world, 0..2)), world.write("2.checkm", list(&world, 2..4))];
    let sources = paths.into_iter().map(PackageSource::LocalPath).collect();
    let items = world.deposit(&DepositRequest { sources, ..DepositRequest::of_system(INSTITUTION) });
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
    assert_eq!((items.len(), world.objects().len()), (6, 4));
}

#[cfg(feature = "failpoints")]
mod killed {
    //! The process that is killed is this test binary once more, running [`process`] on the home of the test.

    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::sync::Arc;
    use std::time::Duration;

    use strongroom_engine::settings::Settings;
    use strongroom_engine::{Home, build_runtime};

    use super::*;

    const HOME: &str = "STRONGROOM_CRASH_HOME";
    const SIGKILL: i32 = 9;

    #[test]
    #[ignore = "is run by the other test of this module, in a process of its own"]
    fn process() {
        let Ok(folder) = std::env::var(HOME) else { return };
        let folder = Path::new(&folder);
        let settings = std::fs::read_to_string(folder.join("strongroom.toml")).expect("reads");
        let home = Home::open(folder, Settings::from_toml(&settings).expect("settings")).expect("opens");
        strongroom_engine::arm_crash_points();
        let topics = ["batch.expand".to_owned()];
        let workers = build_runtime(&Arc::new(home), Some(&topics)).expect("a runtime").build();
        workers.run_until(&strongroom_engine::runtime::Shutdown::new(), &|| false);
    }

    /// The process is killed behind so many pages, and the next one goes on.
    fn killed_behind(pages: usize, change: impl FnOnce(&World)) -> (World, BatchId) {
        let world = World::with("");
        let path = world.write("list.checkm", list(&world, 0..ROWS));
        let batch = world.submit(&world.request(path)).expect("is submitted").batch;
        let skipped = pages - 1;
        let status = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "packages::batches::killed::process", "--ignored"])
            .env(HOME, world.home.path())
            .env("FAILPOINTS", format!("batch.expand.page={skipped}*off->1*return"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("runs");
        assert_eq!(status.signal(), Some(SIGKILL), "{status:?}");
        let expected = (500 * pages).min(ROWS);
        check_rows(&world, batch, expected);
        change(&world);
        // The lease of the one that was killed runs out.
        world.home.clock.advance(Duration::from_mins(2));
        (world, batch)
    }

    #[test]
    fn a_list_that_is_cut_short_behind_a_page_loses_no_row_and_doubles_none() {
        for pages in 1..=3 {
            let (world, batch) = killed_behind(pages, |_| {});
            let list = expand(&world, batch);
            assert_eq!(list.status, ItemStatus::Succeeded, "{:?}", list.note);
            check_rows(&world, batch, ROWS);
        }
    }

    #[test]
    fn a_list_that_was_cancelled_behind_a_page_makes_no_item_twice_when_it_is_requeued() {
        let (world, batch) = killed_behind(2, |_| {});
        let id = world.items(batch)[0].id;
        world.ask(id, Request::Cancel);
        assert_eq!(expand(&world, batch).status, ItemStatus::Cancelled);
        // What it knew of the list is swept.
        world.work_until(&|| !has_tasks(&world));
        world.ask(id, Request::Requeue(None));
        let list = expand(&world, batch);
        assert_eq!(list.status, ItemStatus::Succeeded, "{:?}", list.note);
        check_rows(&world, batch, ROWS);
    }

    #[test]
    fn a_list_that_changed_in_between_is_told_of_and_makes_no_item_twice_when_it_is_requeued() {
        let (world, batch) = killed_behind(1, |world| {
            world.write("list.checkm", list(world, 500..ROWS + 200));
        });
        let failed = expand(&world, batch);
        assert_eq!(failed.status, ItemStatus::Failed, "{:?}", failed.note);
        let note = failed.note.clone().unwrap_or_default();
        assert!(note.contains("changed after 500 rows") && note.contains("next:"), "{note}");
        // Also once what it knew of the list was swept.
        world.work_until(&|| !has_tasks(&world));
        world.ask(failed.id, Request::Requeue(None));
        let failed = expand(&world, batch);
        assert_eq!(failed.status, ItemStatus::Failed, "{:?}", failed.note);
        check_rows(&world, batch, 500);
    }
}

/// As where a process was killed behind the transaction that places or lifts the hold.
#[test]
fn what_a_kill_left_between_a_hold_and_its_items_is_settled_by_the_background_task() {
    let world = World::new();
    pause(&world, "ingest.receive", true);
    let batch = world.submit(&world.request(world.write("a.txt", "alpha"))).expect("is submitted").batch;
    let on = holds::On::Batch(batch);
    let institution = world.items(batch)[0].institution;
    let settle = || {
        let task = TASKS.iter().find(|task| task.name == "holds").expect("the task");
        background::run_now(&world.home, task, &Shutdown::new()).expect("runs");
        world.items(batch)[0].status
    };
    let registry = &world.home.registry;
    registry.write(move |tx| holds::place(tx, on, institution, "ann".into())).expect("is placed");
    assert_eq!(world.items(batch)[0].status, ItemStatus::Pending);
    assert_eq!(settle(), ItemStatus::Held);
    registry.write(move |tx| holds::lift(tx, on)).expect("is lifted");
    assert_eq!(settle(), ItemStatus::Pending);
    pause(&world, "ingest.receive", false);
    assert!(world.work(batch).iter().all(|item| item.status == ItemStatus::Succeeded));
}

#[test]
fn a_batch_that_is_cancelled_while_its_rows_are_made_has_no_open_row() {
    const MANY: usize = 8_000;
    let world = World::new();
    let path = world.write("list.checkm", list(&world, 0..MANY));
    let batch = world.submit(&world.request(path)).expect("is submitted").batch;
    pause(&world, "ingest.receive", true);
    let (registry, workflows) = (&world.home.registry, Workflows::standard());
    let cancel = || {
        let filter = ItemFilter { batch: Some(batch), ..ItemFilter::default() };
        let rows = || registry.read(|tx| items::list(tx, Scope::System, &filter, None, 2)).expect("items").len();
        while rows() < 2 {
            std::thread::yield_now();
        }
        let workflows = workflows.clone();
        let mut next = Some(Step::Begin);
        while let Some(step) = next {
            let workflows = workflows.clone();
            let asks = move |tx: &mut dyn Transaction| {
                let act = BatchAct { request: Request::Cancel, by: "a person".into(), step, takes_new_rules: false };
                batches::request(tx, &workflows, Scope::System, batch, act)
            };
            next = registry.write_by_rows(asks).expect("is cancelled").next;
        }
    };
    std::thread::scope(|scope| {
        let asking = scope.spawn(cancel);
        world.work_until(&|| made(&world, batch).0.status.is_ended());
        asking.join().expect("asks");
    });
    let (list, rows) = made(&world, batch);
    assert!(rows.iter().all(|row| row.status == ItemStatus::Cancelled), "{} of {} rows", rows.len(), MANY);
    // Unless it was read to its end before.
    assert_eq!(list.status == ItemStatus::Cancelled, rows.len() < MANY, "{:?}", list.note);
}
