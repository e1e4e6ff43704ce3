//! Reports of batches of deposits, and what is told of them: by mail, by callbacks, and in files.

mod confirming;
#[cfg(feature = "failpoints")]
mod crash;

use serde_json::{Value, json};
use strongroom_engine::app::reports::{self as app, ReportForm, RowFilter};
use strongroom_engine::app::views::MessageState;
use strongroom_engine::app::views::ReportRowView;
use strongroom_engine::app::{self as application, Caller, OpContext, background, batches, collections};
use strongroom_engine::ingest::DepositRequest;
use strongroom_engine::outbox::deliver;
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::workflow::Workflows;
use strongroom_queue::{LeaseRequest, Outcome, Settlement, WorkerId, tasks};
use strongroom_registry::batches::{BatchAct, NewBatch, Step};
use strongroom_registry::items::{self, Item, NewItem, Request};
use strongroom_registry::outbox::{self, Message};
use strongroom_registry::{
    Action, BatchId, InstitutionId, ItemStatus, MailKind, RegistryError, ReportKind, Scope, reports, tenants,
};
use strongroom_web_double::WebDouble;

use super::world::{ONE_ATTEMPT, SINGLE_FILES, World, manifest};
use crate::fixture::{self, Engine, INSTITUTION, on_both_databases};
use crate::notifications::mail_server::MailServer;

const COLLECTION: &str = "maps";
/// More rows than two pages have.
const ROWS: usize = 2_100;
const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// Mails that no server takes: they stay in the outbox.
const MAIL: &str = "[mail]\nhost = \"localhost\"\nport = 1\nfrom = \"s@example.edu\"\ntls = \"none\"\nadmins = [\"admin@example.edu\"]\n";
/// Names as no depositor should choose them.
const NAMES: [&str; 4] = ["=cmd,1.txt", "say \"hello\".txt", "invoice\u{202e}fdp.txt", "<b>bold & new</b>.txt"];

fn callbacks(authority: &str) -> String {
    format!(
        "[callbacks]\nhosts = [\"{authority}\"]\nsecret = \"{SECRET}\"\nschemes = [\"http\"]\nallow_private_addresses = true\n"
    )
}

fn console(world: &World) -> OpContext {
    OpContext::new(world.home.home.clone(), Caller::at_console("tester"))
}

/// A collection whose batches are told by mail and to a URL.
fn add_collection(world: &World, url: Option<&str>) {
    let rules = collections::Rules {
        notify_to: Some(vec!["Ann <ann@example.edu>".into()]),
        callback_url: url.map(str::to_owned),
        ..collections::Rules::default()
    };
    collections::add(&console(world), INSTITUTION, COLLECTION, rules).expect("is added");
}

fn row(world: &World, name: &str) -> String {
    let name_in_manifest = name.replace('%', "%25").replace('|', "%7C");
    let path = format!("/{}.txt", name.len());
    format!("{} | | | | | {name_in_manifest} | | id {} | | |", world.web.url(&path), name.len())
}

/// Submits a manifest of files of these names, of which the server has those that it was given.
fn submit(world: &World, names: &[&str]) -> BatchId {
    let rows: Vec<String> = names.iter().map(|name| row(world, name)).collect();
    let path = world.write("list.checkm", manifest(SINGLE_FILES, &rows));
    let request = DepositRequest { collection: Some(COLLECTION.into()), ..world.request(path) };
    world.submit(&request).expect("is submitted").batch
}

fn serve(world: &World, name: &str) {
    world.web.put(&format!("/{}.txt", name.len()), name.as_bytes());
}

fn serve_each(world: &World, names: &[&str]) {
    for name in names {
        serve(world, name);
    }
}

fn all(world: &World, batch: BatchId) -> Vec<reports::Report> {
    world.home.registry.read(|tx| reports::list(tx, Scope::System, batch, 0, 99)).expect("reports")
}

/// Works until a batch has so many reports whose messages are in the outbox, and no task of reports waits.
fn work_until_told(world: &World, batch: BatchId, count: usize) {
    world.work_until(&|| {
        let reports = all(world, batch);
        let counts = world.home.registry.read(|tx| Ok::<_, RegistryError>(tasks::counts(tx)?)).expect("counts");
        reports.len() >= count
            && reports.iter().all(|report| report.completed_at.is_some())
            && counts.iter().all(|topic| topic.topic != reports::TOPIC || topic.ready + topic.leased == 0)
    });
}

fn institution(world: &World) -> InstitutionId {
    let found = world.home.registry.read(|tx| tenants::institution(tx, Scope::System, INSTITUTION));
    found.expect("reads").expect("the institution").id
}

/// The messages of a kind that wait, in order.
fn messages(world: &World, kind: &str) -> Vec<Message> {
    let institution = institution(world);
    world.home.registry.read(|tx| outbox::undelivered(tx, kind, institution, 0, 99)).expect("messages")
}

fn keys(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.key.as_str()).collect()
}

fn payload(message: &Message) -> Value {
    serde_json::from_str(&message.payload).expect("JSON")
}

/// A batch of so many items that were cancelled, with a report that no worker has written.
fn ended(world: &World) -> BatchId {
    let batch = open(world);
    cancel(world, batch);
    batch
}

fn cancel(world: &World, batch: BatchId) {
    let workflows = Workflows::standard();
    let cancelled = world.home.registry.write(move |tx| {
        let mut next = Some(Step::Begin);
        while let Some(step) = next {
            let act = BatchAct { request: Request::Cancel, by: "a person".into(), step, takes_new_rules: false };
            next = strongroom_registry::batches::request(tx, &workflows, Scope::System, batch, act)?.next;
        }
        Ok::<_, RegistryError>(())
    });
    cancelled.expect("is cancelled");
}

/// A batch of so many items, none of which has begun.
fn open(world: &World) -> BatchId {
    let (batch, institution) = (BatchId::new(), institution(world));
    let new: Vec<NewItem> = (0..ROWS)
        .map(|number| NewItem {
            batch: Some(batch),
            name: format!("{number}.txt"),
            note: "submitted".into(),
            ..NewItem::new(Action::named("ingest"), institution, format!("{INSTITUTION}/{number}"))
        })
        .collect();
    let workflows = Workflows::standard();
    add_collection(world, None);
    world
        .home
        .registry
        .write(move |tx| {
            let collection =
                tenants::collection(tx, Scope::System, institution, COLLECTION)?.expect("the collection").id;
            let row_count = Some(new.len() as u64);
            let (collection, kind, submitted_by) = (Some(collection), "file", "someone");
            let new_batch = NewBatch {
                id: batch,
                institution,
                collection,
                kind,
                submitted_by,
                note: None,
                row_count,
                notify_to: &[],
            };
            strongroom_registry::batches::create(tx, &new_batch)?;
            items::create_all(tx, &workflows, &mut new.iter().cloned())?;
            Ok::<_, RegistryError>(())
        })
        .expect("is made");
    batch
}

/// The tasks of reports that there are come to no good end, so often that they are given up.
fn give_tasks_up(world: &World) {
    let holder = WorkerId::new("test.invalid", 1, "0-0-1");
    let duration = std::time::Duration::from_mins(1);
    let request = LeaseRequest { topics: vec![reports::TOPIC.into()], keys: None, limit: 99, holder, duration };
    let given_up = world.home.registry.write(move |tx| {
        let leased = tasks::lease(tx, &request)?;
        let dead = |lease| Settlement { lease, outcome: Outcome::Dead { reason: "out of order".into() } };
        let all: Vec<Settlement> = leased.iter().map(|task| dead(task.lease)).collect();
        Ok::<_, RegistryError>(tasks::settle(tx, &all)?.len())
    });
    assert_ne!(given_up.expect("is written"), 0);
}

fn rows_of(world: &World, report: &reports::Report) -> Vec<reports::ReportRow> {
    let rows = world.home.registry.read(|tx| reports::rows(tx, report.id, RowFilter::default(), None, 9_999));
    rows.expect("rows")
}

/// The item of the row that failed.
fn failed(world: &World, batch: BatchId) -> Item {
    world.items(batch).into_iter().find(|item| item.status == ItemStatus::Failed).expect("a failed item")
}

on_both_databases! {
    every_end_of_a_batch_is_told_once
    what_a_collection_suppresses_is_not_sent
    a_deposit_of_one_package_has_a_report_and_tells_nobody_unless_it_is_asked_to
    a_manifest_that_cannot_be_read_is_reported
    those_who_run_the_installation_hear_of_a_failed_deposit_that_nobody_else_hears_of
    a_submission_may_name_addresses_of_its_own
    a_batch_is_told_by_the_rules_that_it_began_with_until_it_takes_new_ones
    a_batch_that_has_ended_is_not_told_to_be_queued
    depositors_read_what_they_can_do_and_those_who_run_the_installation_the_commands
    corrected_addresses_get_what_was_refused_or_is_not_delivered
    what_was_told_of_a_batch_and_what_waits_is_shown_with_it
    a_long_report_whose_task_was_given_up_is_written_and_told
    what_dead_tasks_were_to_tell_is_told_and_one_that_says_nothing_stays_to_be_seen
    a_long_report_that_a_person_asks_for_is_whole_and_takes_the_place_of_the_one_before
    a_person_changes_items_behind_a_long_report
    a_deleted_item_that_succeeded_keeps_its_version_where_it_is_told
    a_removed_collection_stays_removed_when_it_is_set
}

fn to(world: &World, key: &str) -> Value {
    let found = world.home.registry.read(|tx| outbox::by_key(tx, key)).expect("reads").expect("a message");
    payload(&found)["to"].clone()
}

fn a_submission_may_name_addresses_of_its_own(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    add_collection(&world, None);
    let suppress = collections::Rules { suppress: Some(vec![MailKind::Queued]), ..Default::default() };
    collections::set(&console(&world), INSTITUTION, COLLECTION, suppress).expect("is set");
    let path = world.write("a.txt", "alpha");
    for collection in [Some(COLLECTION), None] {
        let request = DepositRequest {
            collection: collection.map(str::to_owned),
            notify_to: vec!["Ben <ben@example.edu>".into(), "cara@example.edu".into()],
            ..world.request(path.clone())
        };
        let batch = world.submit(&request).expect("is submitted").batch;
        work_until_told(&world, batch, 1);
        let key = |rest: &str| format!("batch {batch} {rest}");
        assert_eq!(to(&world, &key("report 1 done")), json!(["Ben <ben@example.edu>", "cara@example.edu"]));
        // What the collection suppresses stays so.
        let queued = world.home.registry.read(|tx| outbox::by_key(tx, &key("queued"))).expect("reads");
        assert_eq!(queued.is_some(), collection.is_none());
    }
}

fn a_batch_is_told_by_the_rules_that_it_began_with_until_it_takes_new_ones(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    add_collection(&world, None);
    let batch = submit(&world, &NAMES[..1]);
    let corrected = collections::Rules { notify_to: Some(vec!["ben@example.edu".into()]), ..Default::default() };
    let shown = collections::set(&console(&world), INSTITUTION, COLLECTION, corrected).expect("is set");
    assert_eq!(shown.rules_version, 2);
    let versions = collections::rules(&console(&world), (INSTITUTION, COLLECTION), None).expect("versions").items;
    let told: Vec<&[String]> = versions.iter().map(|version| version.notify_to.as_slice()).collect();
    assert_eq!(told, [["Ann <ann@example.edu>".to_owned()], ["ben@example.edu".to_owned()]]);
    work_until_told(&world, batch, 1);
    let key = |rest: &str| format!("batch {batch} {rest}");
    assert_eq!(to(&world, &key("report 1 failed")), json!(["Ann <ann@example.edu>"]));
    serve(&world, NAMES[0]);
    batches::requeue_with_new_rules(&console(&world), batch, None).expect("is requeued");
    assert_eq!(batches::told(&console(&world), batch).expect("is shown").notify_to, ["ben@example.edu"]);
    work_until_told(&world, batch, 2);
    assert_eq!(to(&world, &key("report 2 update")), json!(["ben@example.edu"]));
    // Also a batch of which nothing failed takes them, once.
    let again = collections::Rules { notify_to: Some(vec!["cara@example.edu".into()]), ..Default::default() };
    collections::set(&console(&world), INSTITUTION, COLLECTION, again).expect("is set");
    batches::requeue_with_new_rules(&console(&world), batch, None).expect("takes the rules");
    assert_eq!(batches::told(&console(&world), batch).expect("is shown").notify_to, ["cara@example.edu"]);
    let refused = batches::requeue_with_new_rules(&console(&world), batch, None).expect_err("it has them");
    assert!(refused.to_string().contains("no item of it has failed"), "{refused}");
}

fn depositors_read_what_they_can_do_and_those_who_run_the_installation_the_commands(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    add_collection(&world, None);
    serve(&world, NAMES[1]);
    let batch = submit(&world, &NAMES[..2]);
    work_until_told(&world, batch, 1);
    let failed = world.items(batch).into_iter().find(|item| item.status == ItemStatus::Failed).expect("one");
    let text_of = |rest: &str| {
        let key = format!("batch {batch} report 1 {rest}");
        let found = world.home.registry.read(|tx| outbox::by_key(tx, &key)).expect("reads").expect("a message");
        found.payload
    };
    let (depositors, admins) = (text_of("failed"), text_of("admins"));
    assert!(failed.note.is_some_and(|note| note.contains("404")), "by its URL");
    assert!(depositors.contains("What to do: where the cause is on your side, remove it"), "{depositors}");
    assert!(depositors.contains("404") && depositors.contains("The attached table lists every item"), "{depositors}");
    assert!(!depositors.contains("strongroom batches") && !depositors.contains("next:"), "{depositors}");
    assert!(admins.contains(&format!("strongroom batches report {batch} --number 1")), "{admins}");
    assert!(!admins.contains("What to do:"), "{admins}");
}

fn corrected_addresses_get_what_was_refused_or_is_not_delivered(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    add_collection(&world, None);
    let batch = submit(&world, &NAMES[..1]);
    work_until_told(&world, batch, 1);
    let key = format!("batch {batch} report 1 failed");
    let find = || world.home.registry.read(|tx| outbox::by_key(tx, &key)).expect("reads").expect("a message");
    let first = find();
    let refuse = |accepted: Value, recipient: &str| {
        let (id, progress) =
            (first.id, json!({ "accepted": accepted, "refused": [{ "recipient": recipient, "answer": "550" }] }));
        let text = progress.to_string();
        world.home.registry.write(move |tx| outbox::set_progress(tx, id, &text)).expect("is noted");
    };
    let set = |addresses: &[&str]| {
        let addresses: Vec<String> = addresses.iter().map(|&address| address.to_owned()).collect();
        batches::set_addresses(&console(&world), batch, &addresses).expect("is set");
    };
    // Every recipient was refused: the mail needs review.
    refuse(json!([]), "Ann <ann@example.edu>");
    let id = first.id;
    world.home.registry.write(move |tx| outbox::set_undeliverable(tx, id, "refused")).expect("needs review");
    set(&["ben@example.edu", "cara@example.edu"]);
    assert_eq!(to(&world, &key), json!(["ben@example.edu", "cara@example.edu"]));
    assert_eq!((find().undeliverable_at, find().attempts), (None, 0));
    assert_eq!(
        batches::told(&console(&world), batch).expect("is shown").notify_to,
        ["ben@example.edu", "cara@example.edu"]
    );
    assert_eq!(to(&world, &format!("batch {batch} report 1 admins")), json!(["admin@example.edu"]));
    // It was delivered, and one of two was refused: the other one does not get it again.
    refuse(json!(["ben@example.edu"]), "cara@example.edu");
    world.home.registry.write(move |tx| outbox::set_delivered(tx, id)).expect("is delivered");
    for _ in 0..2 {
        set(&["ben@example.edu", "dora@example.edu"]);
        let mails = messages(&world, outbox::MAIL);
        let further: Vec<&Message> = mails.iter().filter(|mail| mail.key.starts_with(&format!("{key} to "))).collect();
        assert_eq!(further.len(), 1, "{:?}", keys(&mails));
        assert_eq!(payload(further[0])["to"], json!(["dora@example.edu"]));
        assert_eq!(payload(further[0])["subject"], payload(&first)["subject"]);
    }
    set(&[""]);
    assert_eq!(batches::told(&console(&world), batch).expect("is shown").notify_to, ["Ann <ann@example.edu>"]);
    let wrong = batches::set_addresses(&console(&world), batch, &["ann".to_owned()]).expect_err("no address");
    assert!(wrong.to_string().contains("ann"), "{wrong}");
}

fn a_batch_that_has_ended_is_not_told_to_be_queued(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    add_collection(&world, None);
    let path = world.write("a.txt", "alpha");
    let request = DepositRequest { collection: Some(COLLECTION.into()), ..world.request(path) };
    let made = world.submit(&request).expect("is submitted");
    // Nothing but the item is worked on: the server of reports starts later.
    strongroom_engine::work_on(&world.home.home, &made.items, &Shutdown::new()).expect("works");
    assert_eq!(messages(&world, outbox::MAIL), []);
    work_until_told(&world, made.batch, 1);
    assert_eq!(keys(&messages(&world, outbox::MAIL)), [format!("batch {} report 1 done", made.batch)]);
}

fn what_was_told_of_a_batch_and_what_waits_is_shown_with_it(engine: Engine) {
    let hook = WebDouble::start();
    let settings = format!("{ONE_ATTEMPT}{MAIL}{}", callbacks(&hook.authority()));
    let Some(world) = World::in_database(engine, &settings) else { return };
    add_collection(&world, Some(&hook.url("/hook")));
    hook.put("/hook", b"thanks");
    serve_each(&world, &NAMES[..2]);
    let batch = submit(&world, &NAMES[..2]);
    world.work(batch);
    let call = console(&world);
    work_until_told(&world, batch, 1);
    let told = || batches::told(&call, batch).expect("is shown");
    let counts = || -> Vec<(String, u64, u64, u64)> {
        let counts = told().counts.into_iter();
        counts.map(|one| (one.kind, one.delivered, one.waiting, one.needs_review)).collect()
    };
    let mails = || messages(&world, outbox::MAIL).len() as u64;
    let before = mails();
    assert_eq!(counts(), [("callback".into(), 0, 3, 0), ("mail".into(), 0, before, 0)]);
    deliver(&world.home, &Shutdown::new()).expect("runs");
    assert_eq!(counts(), [("callback".into(), 3, 0, 0), ("mail".into(), 0, before, 0)]);
    // Of what was delivered about single items the numbers are enough; why the mails wait is said.
    let shown = told();
    assert_eq!((shown.rules_version, shown.reports_not_told), (Some(1), vec![]));
    let waiting: Vec<_> = shown.messages.iter().filter(|one| one.state == MessageState::Waiting).collect();
    assert_eq!((shown.messages.len() as u64, waiting.len() as u64), (before + 1, before));
    assert_eq!(waiting[0].to, ["Ann <ann@example.edu>"]);
    assert!(waiting[0].subject.as_deref().is_some_and(|subject| subject.contains("is done")), "{waiting:?}");
    let reason = waiting.iter().find_map(|one| one.reason.clone()).expect("why it waits");
    assert!(reason.contains("the mail server"), "{reason}");
    assert!(waiting.iter().all(|one| one.reason.is_some()), "also why those behind it wait: {waiting:?}");
    let listed = strongroom_engine::app::outbox::waiting(&call, None).expect("lists").items;
    assert_eq!(listed.iter().map(|one| one.batch).collect::<Vec<_>>(), vec![Some(batch); listed.len()]);
    assert_eq!(listed.len() as u64, before);
}

fn a_long_report_whose_task_was_given_up_is_written_and_told(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    let batch = ended(&world);
    let run = || background::run(&console(&world), "outbox", &Shutdown::new()).expect("runs");
    let report = || all(&world, batch).pop().expect("a report");
    run();
    assert!(!report().is_filled, "a task is to write it");
    give_tasks_up(&world);
    for _ in 0..2 {
        run();
        let report = report();
        assert!(report.is_filled && report.completed_at.is_some());
        assert_eq!(rows_of(&world, &report).len(), ROWS);
        assert_eq!(keys(&messages(&world, outbox::MAIL)), [format!("batch {batch} report 1 failed")]);
    }
}

fn a_long_report_that_a_person_asks_for_is_whole_and_takes_the_place_of_the_one_before(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    let batch = open(&world);
    let call = console(&world);
    for number in [1, 2] {
        let made = app::make(&call, batch).expect("is made");
        assert_eq!((made.number, made.kind, made.complete), (number, ReportKind::Provisional, true));
        assert_eq!((made.items, made.open), (ROWS as u64, ROWS as u64));
        let [report] = all(&world, batch).try_into().expect("one report");
        assert_eq!(rows_of(&world, &report).len(), ROWS);
    }
    cancel(&world, batch);
    let ended = app::make(&call, batch).expect_err("nothing has changed since its end");
    assert!(ended.to_string().contains("nothing of it has changed"), "{ended}");
    let id = world.items(batch)[ROWS - 1].id;
    application::items::steer(&call, &[id], application::items::Ask::Delete { is_confirmed: true }, None)
        .expect("is put away");
    let made = app::make(&call, batch).expect("is made");
    assert_eq!((made.number, made.kind, made.complete), (4, ReportKind::Update, true));
    assert_eq!((made.changed, made.deleted, made.unresolved), (1, 1, ROWS as u64 - 1));
    work_until_told(&world, batch, 3);
    assert!(keys(&messages(&world, outbox::MAIL)).contains(&format!("batch {batch} report 4 update").as_str()));
}

fn what_dead_tasks_were_to_tell_is_told_and_one_that_says_nothing_stays_to_be_seen(engine: Engine) {
    let hook = WebDouble::start();
    hook.put("/hook", b"thanks");
    let settings = format!("{ONE_ATTEMPT}{MAIL}{}", callbacks(&hook.authority()));
    let Some(world) = World::in_database(engine, &settings) else { return };
    add_collection(&world, Some(&hook.url("/hook")));
    let run = || background::run(&console(&world), "outbox", &Shutdown::new()).expect("runs");
    let dead = || {
        let page = world.home.registry.read(|tx| {
            let page = tasks::list(tx, reports::TOPIC, strongroom_queue::TaskState::Dead, None, 99)?;
            Ok::<_, RegistryError>(page.tasks)
        });
        page.expect("tasks")
    };
    serve(&world, NAMES[0]);
    let batch = submit(&world, &NAMES[..1]);
    give_tasks_up(&world);
    assert_eq!((dead().len(), messages(&world, outbox::MAIL)), (1, vec![]));
    run();
    assert_eq!(dead(), []);
    assert_eq!(keys(&messages(&world, outbox::MAIL)), [format!("batch {batch} queued")]);
    // The ends of the items, that of the manifest with them, and a report.
    let stages: Vec<String> = Workflows::standard().topics().into_iter().collect();
    let workers = strongroom_engine::build_runtime(&world.home, Some(&stages)).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| !all(&world, batch).is_empty());
    give_tasks_up(&world);
    assert_eq!(dead().len(), 3);
    world
        .home
        .registry
        .write(|tx| {
            let id = strongroom_registry::ItemId::new();
            let key = reports::Subject::Item(id, strongroom_registry::Time(1)).to_string();
            tasks::enqueue(tx, &[strongroom_queue::NewTask::new(reports::TOPIC, key, "not how it ended")])?;
            Ok::<_, RegistryError>(())
        })
        .expect("is enqueued");
    give_tasks_up(&world);
    for _ in 0..2 {
        run();
        assert_eq!(dead().len(), 1, "what it was to tell is not known");
        let mut events: Vec<String> = hook
            .requests()
            .iter()
            .filter_map(|request| request.header("strongroom-event").map(str::to_owned))
            .collect();
        events.sort();
        assert_eq!(events, ["batch.completed", "item.succeeded"]);
        assert_eq!(keys(&messages(&world, outbox::MAIL))[1..], [format!("batch {batch} report 1 done")]);
    }
}

/// A request writes no more than a page of a report in its own transaction.
fn a_person_changes_items_behind_a_long_report(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    let batch = ended(&world);
    let id = world.items(batch)[7].id;
    let ask = move |tx: &mut dyn strongroom_registry::Transaction| {
        items::request(tx, &Workflows::standard(), Scope::System, id, Request::Requeue(None), "a person")
    };
    let refused = world.home.registry.write(ask).expect_err("two pages are missing");
    assert!(matches!(refused, RegistryError::ReportUnwritten { .. }), "{refused}");
    let console = console(&world);
    let again = application::items::Ask::Requeue(None);
    let requeued = application::items::steer(&console, &[id], again, None).expect("is requeued");
    assert_eq!(requeued[0].status, ItemStatus::Pending);
    let report = all(&world, batch).pop().expect("a report");
    let rows = rows_of(&world, &report);
    assert!(report.is_filled && rows.len() == ROWS && rows.iter().all(|row| row.state == ItemStatus::Cancelled));
}

fn every_end_of_a_batch_is_told_once(engine: Engine) {
    let hook = WebDouble::start();
    let settings = format!("{ONE_ATTEMPT}{MAIL}{}", callbacks(&hook.authority()));
    let Some(world) = World::in_database(engine, &settings) else { return };
    add_collection(&world, Some(&hook.url("/hook")));
    serve_each(&world, &NAMES[..3]);
    let batch = submit(&world, &NAMES);
    work_until_told(&world, batch, 1);
    let report = all(&world, batch).pop().expect("a report");
    assert_eq!((report.kind, report.items, report.succeeded, report.failed), (ReportKind::Final, 4, 3, 1));
    let mails = messages(&world, outbox::MAIL);
    let key = |rest: &str| format!("batch {batch} {rest}");
    assert_eq!(keys(&mails), [key("queued"), key("report 1 failed"), key("report 1 admins")]);
    assert_eq!(payload(&mails[0])["to"], json!(["Ann <ann@example.edu>"]));
    assert_eq!(payload(&mails[2])["to"], json!(["admin@example.edu"]));
    let mail = payload(&mails[1]);
    let subject = format!("Strongroom: {INSTITUTION}/{COLLECTION}: batch {batch} ended with 1 item unresolved");
    assert_eq!(mail["subject"], json!(subject));
    let text = mail["text"].as_str().expect("a text");
    assert!(
        text.contains("4: 3 succeeded, 1 failed") && text.contains("row 4, <b>bold & new</b>.txt: failed"),
        "{text}"
    );
    assert!(text.contains("The attached table lists every item of this report."), "{text}");
    let html = mail["html"].as_str().expect("a text");
    assert!(html.contains("&lt;b&gt;bold &amp; new&lt;/b&gt;") && !html.contains("<b>"), "{html}");
    let table = mail["attachment"]["text"].as_str().expect("a table");
    assert_eq!(table.matches("\r\n").count(), 5, "{table}");
    assert!(table.contains("\"'=cmd,1.txt\"") && table.contains("\"say \"\"hello\"\".txt\""), "{table}");
    let callbacks = messages(&world, outbox::CALLBACK);
    let events: Vec<Value> = callbacks.iter().map(|message| payload(message)["event"].clone()).collect();
    let count = |event: &str| events.iter().filter(|one| *one == event).count();
    assert_eq!((count("item.succeeded"), count("item.failed"), count("batch.failed")), (3, 1, 1), "{events:?}");
    // Requeued and cured: an update, in which what succeeded before is not repeated.
    serve(&world, NAMES[3]);
    world.ask(failed(&world, batch).id, Request::Requeue(None));
    work_until_told(&world, batch, 2);
    let mails = messages(&world, outbox::MAIL);
    assert_eq!(keys(&mails)[3..], [key("report 2 update")]);
    let mail = payload(&mails[3]);
    assert!(mail["subject"].as_str().expect("a text").ends_with("changed: 1 item, 0 unresolved"), "{mail}");
    assert_eq!(mail["attachment"]["text"].as_str().expect("a table").matches("\r\n").count(), 2, "{mail}");
    let callbacks = messages(&world, outbox::CALLBACK);
    assert_eq!(callbacks.len(), 7);
    let update = callbacks.iter().find(|message| message.key == key("report 2 callback")).expect("an event");
    let body: Value = serde_json::from_str(payload(update)["body"].as_str().expect("a body")).expect("JSON");
    assert_eq!((&body["event"], &body["number"], &body["succeeded"]), (&json!("batch.updated"), &json!(2), &json!(4)));
    let ids: std::collections::BTreeSet<String> =
        callbacks.iter().map(|message| payload(message)["idempotency_key"].to_string()).collect();
    assert_eq!(ids.len(), 7);
}

fn what_a_collection_suppresses_is_not_sent(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    add_collection(&world, None);
    let suppress = collections::Rules { suppress: Some(vec![MailKind::Queued, MailKind::Done]), ..Default::default() };
    let shown = collections::set(&console(&world), INSTITUTION, COLLECTION, suppress).expect("is set");
    assert_eq!((shown.suppress.len(), shown.notify_to.len()), (2, 1), "what is not named stays");
    serve(&world, NAMES[0]);
    let done = submit(&world, &NAMES[..1]);
    work_until_told(&world, done, 1);
    assert_eq!(keys(&messages(&world, outbox::MAIL)), [""; 0]);
    let failed = submit(&world, &NAMES[1..2]);
    work_until_told(&world, failed, 1);
    let mails = messages(&world, outbox::MAIL);
    assert_eq!(keys(&mails), [format!("batch {failed} report 1 failed"), format!("batch {failed} report 1 admins")]);
}

fn a_deposit_of_one_package_has_a_report_and_tells_nobody_unless_it_is_asked_to(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    let path = world.write("a.txt", "alpha");
    let request = DepositRequest { local_ids: vec!["id 1".into(), "id 2".into()], ..world.request(path) };
    let items = world.deposit(&request);
    let batch = items[0].batch.expect("a batch");
    let report = all(&world, batch).pop().expect("a report");
    assert!(report.completed_at.is_some() && report.made_by.is_none());
    let rows =
        world.home.registry.read(|tx| reports::rows(tx, report.id, RowFilter::default(), None, 9)).expect("rows");
    let [row] = rows.as_slice() else { panic!("one row: {rows:?}") };
    assert_eq!((row.row, row.state, row.version), (Some(1), ItemStatus::Succeeded, Some(1)));
    assert_eq!(row.local_ids, ["id 1", "id 2"]);
    assert_eq!(messages(&world, outbox::MAIL), []);
}

fn a_manifest_that_cannot_be_read_is_reported(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    add_collection(&world, None);
    let path = world.write("list.checkm", manifest(SINGLE_FILES, &["no url | | | | | a.txt | | | | |".into()]));
    let request = DepositRequest { collection: Some(COLLECTION.into()), ..world.request(path) };
    let batch = world.submit(&request).expect("is submitted").batch;
    work_until_told(&world, batch, 1);
    let report = all(&world, batch).pop().expect("a report");
    assert_eq!((report.items, report.failed), (1, 1));
    let rows =
        world.home.registry.read(|tx| reports::rows(tx, report.id, RowFilter::default(), None, 9)).expect("rows");
    assert_eq!((rows[0].row, rows[0].name.as_str()), (None, "list.checkm"), "it is no row of itself");
    assert!(rows[0].code.is_some(), "{rows:?}");
}

fn those_who_run_the_installation_hear_of_a_failed_deposit_that_nobody_else_hears_of(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{ONE_ATTEMPT}{MAIL}")) else { return };
    let path = world.write("a.txt", "alpha");
    let request = DepositRequest { update: true, ..world.request(path) };
    let batch = world.deposit(&request)[0].batch.expect("a batch");
    assert_eq!(all(&world, batch).pop().expect("a report").completed_at, None);
    let waiting = world.home.registry.read(|tx| Ok::<_, RegistryError>(tasks::counts(tx)?)).expect("counts");
    assert!(waiting.iter().all(|topic| topic.topic != reports::TOPIC), "{waiting:?}");
    for _ in 0..2 {
        background::run(&console(&world), "outbox", &Shutdown::new()).expect("runs");
        assert_eq!(keys(&messages(&world, outbox::MAIL)), [format!("batch {batch} report 1 admins")]);
    }
    assert!(all(&world, batch).pop().expect("a report").completed_at.is_some());
}

#[test]
fn mails_and_callbacks_reach_their_receivers() {
    let Some(mut server) = MailServer::start(&json!({})) else { return };
    let hook = WebDouble::start();
    hook.put("/hook", b"thanks");
    let world = World::with(&format!("{ONE_ATTEMPT}{}{}", server.settings(""), callbacks(&hook.authority())));
    add_collection(&world, Some(&hook.url("/hook")));
    serve_each(&world, &NAMES);
    let batch = submit(&world, &NAMES);
    work_until_told(&world, batch, 1);
    let delivered = deliver(&world.home, &Shutdown::new()).expect("runs");
    assert_eq!((delivered.delivered, delivered.failed, delivered.undeliverable), (7, 0, 0));
    let subject = |taken: &Value| {
        let data = taken["data"].as_str().expect("a text").replace("\r\n ", " ");
        data.lines().find(|line| line.starts_with("Subject: ")).expect("a subject").to_owned()
    };
    let (queued, done) = (server.next(), server.next());
    assert!(subject(&queued).ends_with(&format!("batch {batch} is queued")), "{queued}");
    assert!(subject(&done).ends_with(&format!("batch {batch} is done")), "{done}");
    assert!(done["data"].as_str().expect("a text").contains(&format!("batch-{batch}-report-1.csv")), "{done}");
    let events: Vec<String> = hook
        .requests()
        .iter()
        .map(|request| request.header("strongroom-event").expect("an event").to_owned())
        .collect();
    assert_eq!(events.len(), 5, "{events:?}");
    assert_eq!(events.iter().filter(|event| *event == "batch.completed").count(), 1, "{events:?}");
    assert!(server.rest().is_empty());
}

#[test]
fn a_table_that_is_too_large_for_a_mail_is_named_instead() {
    let world = World::with(&format!("{ONE_ATTEMPT}{MAIL}max_attachment = \"300 B\"\n"));
    add_collection(&world, None);
    serve_each(&world, &NAMES);
    let batch = submit(&world, &NAMES);
    work_until_told(&world, batch, 1);
    let mail = payload(messages(&world, outbox::MAIL).last().expect("a mail"));
    assert_eq!(mail["attachment"], Value::Null);
    let text = mail["text"].as_str().expect("a text");
    assert!(text.contains(&format!("Ask the archive for report 1 of batch {batch}.")), "{text}");
}

#[test]
fn a_message_that_cannot_be_delivered_is_told_to_those_who_run_the_installation() {
    let hook = WebDouble::start();
    let world = World::with(&format!("{ONE_ATTEMPT}{MAIL}{}", callbacks(&hook.authority())));
    add_collection(&world, Some(&hook.url("/gone")));
    serve_each(&world, &NAMES);
    let batch = submit(&world, &NAMES);
    work_until_told(&world, batch, 1);
    let undeliverable = deliver(&world.home, &Shutdown::new()).expect("runs").undeliverable;
    assert_eq!(undeliverable, 5, "the receiver does not know the path");
    let mails = messages(&world, outbox::MAIL);
    let warnings: Vec<&Message> =
        mails.iter().filter(|mail| mail.key.starts_with("undeliverable callbacks ")).collect();
    let [warning] = warnings.as_slice() else { panic!("one mail about all of them: {:?}", keys(&mails)) };
    let mail = payload(warning);
    assert_eq!(mail["to"], json!(["admin@example.edu"]));
    assert!(mail["text"].as_str().expect("a text").contains("404"), "{mail}");
}

#[test]
fn a_report_is_written_in_every_form_whatever_names_it_has() {
    let world = World::with(ONE_ATTEMPT);
    add_collection(&world, None);
    serve_each(&world, &NAMES[..2]);
    let batch = submit(&world, &NAMES);
    world.work(batch);
    let call = console(&world);
    let written = |form| {
        let mut out = Vec::new();
        app::write(&call, (batch, 1), form, &mut out).expect("is written");
        String::from_utf8(out).expect("UTF-8")
    };
    // The report may be written by a task, whose topic no one worked on.
    work_until_told(&world, batch, 1);
    let json = written(ReportForm::Json);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), &lines[0]["kind"], &lines[0]["unresolved"]), (5, &json!("final"), &json!(2)));
    let names: Vec<&str> = lines[1..].iter().map(|line| line["name"].as_str().expect("a name")).collect();
    assert_eq!(names, NAMES);
    assert_eq!(
        (&lines[1]["row"], &lines[1]["state"], &lines[1]["version"]),
        (&json!(1), &json!("succeeded"), &json!(1))
    );
    let csv = written(ReportForm::Csv);
    assert!(
        csv.starts_with("row,name,state,object,version,ark,local_ids,stage,code,message,changed,unresolved,item\r\n")
    );
    let html = written(ReportForm::Html);
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"), "{html}");
    assert!(!html.contains("<b>") && !html.contains('\u{202e}') && !html.contains("http-equiv=\"refresh\""), "{html}");
    assert_eq!(html.matches("<h2>").count(), 2, "what is unresolved, then everything");
    assert_eq!(html.matches("<tr class=").count(), 2 + 4);
    // An update that a person asks for says what that person did.
    let cancelled = failed(&world, batch);
    world.ask(cancelled.id, Request::Delete);
    let update = app::make(&call, batch).expect("is made");
    assert_eq!((update.number, update.kind, update.changed, update.unresolved), (2, ReportKind::Update, 1, 1));
    let rows: Vec<ReportRowView> =
        app::rows(&call, (batch, 2), RowFilter { changed: true, unresolved: false }, None).expect("rows").items;
    assert_eq!(rows.iter().map(|row| (row.item, row.state)).collect::<Vec<_>>(), [(cancelled.id, ItemStatus::Deleted)]);
    let refused = app::make(&call, batch).expect_err("nothing changed").to_string();
    assert!(refused.contains("nothing of it has changed"), "{refused}");
}

fn a_deleted_item_that_succeeded_keeps_its_version_where_it_is_told(engine: Engine) {
    let Some(world) = World::in_database(engine, ONE_ATTEMPT) else { return };
    add_collection(&world, None);
    serve_each(&world, &NAMES[..2]);
    let batch = submit(&world, &NAMES);
    world.work(batch);
    work_until_told(&world, batch, 1);
    let done = world.items(batch).into_iter().find(|item| item.version.is_some()).expect("one that succeeded");
    let lost = failed(&world, batch);
    world.ask(done.id, Request::Delete);
    world.ask(lost.id, Request::Delete);
    let call = console(&world);
    app::make(&call, batch).expect("is made");
    let rows = app::rows(&call, (batch, 2), RowFilter { changed: true, unresolved: false }, None).expect("rows").items;
    let row = |item: &Item| rows.iter().find(|row| row.item == item.id).expect("a row");
    assert_eq!((row(&done).state, row(&done).version), (ItemStatus::Deleted, Some(1)));
    let message = row(&done).message.clone().unwrap_or_default();
    assert!(message.contains("the object is kept, with version 1"), "{message}");
    assert_eq!((row(&lost).state, row(&lost).version), (ItemStatus::Deleted, None));
    assert_eq!(row(&lost).message.as_deref(), Some("deleted by a person"));
    assert_eq!(world.item(done.id).version_made(), Some(1));
}

fn a_removed_collection_stays_removed_when_it_is_set(engine: Engine) {
    let Some(world) = World::in_database(engine, ONE_ATTEMPT) else { return };
    add_collection(&world, None);
    let call = console(&world);
    collections::remove(&call, INSTITUTION, COLLECTION, false).expect("is removed");
    let rules = collections::Rules { name: Some("Maps".into()), ..Default::default() };
    let shown = collections::set(&call, INSTITUTION, COLLECTION, rules.clone()).expect("is set");
    assert_eq!((shown.active, shown.name.as_str()), (false, "Maps"));
    let refused = collections::add(&call, INSTITUTION, COLLECTION, rules).expect_err("exists");
    assert!(refused.to_string().contains("was removed"), "{refused}");
    assert!(collections::use_again(&call, INSTITUTION, COLLECTION).expect("is used again").active);
}

#[test]
fn addresses_and_urls_that_cannot_be_used_are_refused() {
    let world = World::of(fixture::home_with(MAIL), WebDouble::start());
    let call = console(&world);
    let refused =
        |rules: collections::Rules| collections::add(&call, INSTITUTION, COLLECTION, rules).expect_err("is refused");
    let address = refused(collections::Rules { notify_to: Some(vec!["no address".into()]), ..Default::default() });
    assert!(address.to_string().contains("no address"), "{address}");
    let url = "https://elsewhere.example.org/".to_owned();
    let url = refused(collections::Rules { callback_url: Some(url), ..Default::default() });
    assert!(url.to_string().contains("elsewhere.example.org"), "{url}");
}
