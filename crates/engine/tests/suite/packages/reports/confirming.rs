//! Collections whose deposits succeed only when a program has confirmed them: the object is kept whatever that program answers, nothing says
//! that the item succeeded before, and what heals the delivery heals the item.

use std::time::Duration;

use strongroom_engine::EngineError;
use strongroom_engine::app::outbox as messages_app;
use strongroom_registry::{BatchState, ItemId, WaitReason, batches as batch_rows, work};
use strongroom_web_double::Behaviour;

use super::*;

/// A collection whose program has to confirm each deposit.
fn confirmed_by(world: &World, url: &str) {
    let rules = collections::Rules {
        callback_url: Some(url.to_owned()),
        callback_required: Some(true),
        ..collections::Rules::default()
    };
    collections::add(&console(world), INSTITUTION, COLLECTION, rules).expect("is added");
}

/// A world with a program at `/hook`, which answers only where it is put there.
fn world(engine: Engine, hook: &WebDouble) -> Option<World> {
    let world = World::in_database(engine, &format!("{ONE_ATTEMPT}{}", callbacks(&hook.authority())))?;
    confirmed_by(&world, &hook.url("/hook"));
    Some(world)
}

/// Submits a file, and works until its item waits for the confirmation.
fn submitted(world: &World, bytes: &str) -> (BatchId, ItemId) {
    let request = DepositRequest { collection: Some(COLLECTION.into()), ..world.request(world.write("a.txt", bytes)) };
    let made = world.submit(&request).expect("is submitted");
    work_until_it_waits(world, made.items[0]);
    (made.batch, made.items[0])
}

fn work_until_it_waits(world: &World, item: ItemId) {
    world.work_until(&|| world.item(item).wait_reason == Some(WaitReason::Confirmation));
}

fn work_until(world: &World, item: ItemId, status: ItemStatus) -> Item {
    world.work_until(&|| world.item(item).status == status);
    world.item(item)
}

fn state(world: &World, batch: BatchId) -> BatchState {
    world.home.registry.read(|tx| batch_rows::get(tx, Scope::System, batch)).expect("reads").expect("a batch").state
}

fn run(world: &World) -> strongroom_engine::outbox::Delivered {
    world.home.clock.advance(Duration::from_hours(1));
    deliver(&world.home, &Shutdown::new()).expect("runs")
}

fn message(world: &World, item: ItemId) -> Message {
    let key = format!("item {item} ingested callback");
    world.home.registry.read(|tx| outbox::by_key(tx, &key)).expect("reads").expect("a message")
}

/// Delivers until the event of an item was answered.
fn run_until_confirmed(world: &World, item: ItemId) {
    while message(world, item).delivered_at.is_none() {
        run(world);
    }
}

/// Whether an item at `confirm` is to be looked at now.
fn is_looked_at(world: &World) -> bool {
    let counts = world.home.registry.read(|tx| Ok::<_, RegistryError>(tasks::counts(tx)?)).expect("counts");
    counts.iter().any(|topic| topic.topic == "ingest.confirm" && topic.ready > 0)
}

on_both_databases! {
    an_item_succeeds_when_the_program_has_confirmed_it
    a_program_that_is_slow_to_answer_delays_its_items_and_nothing_else
    an_item_that_no_program_confirms_fails_with_its_object_kept_and_is_healed_by_the_delivery
    an_item_goes_on_by_the_new_rules_of_its_collection
    an_item_that_is_requeued_is_asked_about_again_under_the_same_key
    an_item_whose_confirmation_is_given_up_succeeds_and_says_by_whom_and_why
    an_item_whose_worker_stopped_at_its_last_stages_says_what_it_made
}

fn an_item_succeeds_when_the_program_has_confirmed_it(engine: Engine) {
    let hook = WebDouble::start();
    hook.put("/hook", b"thanks");
    let Some(world) = world(engine, &hook) else { return };
    let (batch, id) = submitted(&world, "alpha");
    let item = world.item(id);
    assert_eq!((item.status, item.stage.as_str(), item.version), (ItemStatus::Pending, "confirm", Some(1)));
    assert_eq!((state(&world, batch), all(&world, batch)), (BatchState::Processing, vec![]));
    assert!(world.is_nothing_staged(), "what waits for a program keeps nothing in staging");
    assert_eq!(run(&world).delivered, 1);
    let item = work_until(&world, id, ItemStatus::Succeeded);
    assert_eq!(item.note.as_deref(), Some("version 1 is published"));
    assert_eq!(state(&world, batch), BatchState::Completed);
    let [request] = hook.requests().try_into().expect("one request");
    assert_eq!(request.header("strongroom-event"), Some("item.ingested"));
    // Unchanged, it is confirmed as well.
    let (_, again) = submitted(&world, "alpha");
    assert_eq!(world.item(again).version, None);
    run(&world);
    work_until(&world, again, ItemStatus::Succeeded);
}

fn a_program_that_is_slow_to_answer_delays_its_items_and_nothing_else(engine: Engine) {
    let hook = WebDouble::start();
    let Some(world) = world(engine, &hook) else { return };
    hook.put("/hook", b"thanks");
    hook.on("/hook", Behaviour::FailTimes { times: 1, status: 503 });
    let (batch, first) = submitted(&world, "alpha");
    assert_eq!(run(&world).failed, 1);
    // A later deposit of the same object, which has another content, does not wait for the program.
    let (_, second) = submitted(&world, "beta");
    assert_eq!((world.item(first).version, world.item(second).version), (Some(1), Some(2)));
    assert_eq!(state(&world, batch), BatchState::Processing);
    let mut delivered = 0;
    while delivered < 2 {
        delivered += run(&world).delivered;
    }
    work_until(&world, first, ItemStatus::Succeeded);
    work_until(&world, second, ItemStatus::Succeeded);
}

fn an_item_that_no_program_confirms_fails_with_its_object_kept_and_is_healed_by_the_delivery(engine: Engine) {
    let hook = WebDouble::start();
    let Some(world) = world(engine, &hook) else { return };
    let (batch, id) = submitted(&world, "alpha");
    assert_eq!(run(&world).undeliverable, 1, "the receiver does not know the path");
    let item = work_until(&world, id, ItemStatus::Failed);
    let note = item.note.clone().unwrap_or_default();
    assert!(note.starts_with("version 1 is published, and") && note.contains("404"), "{note}");
    assert_eq!((world.codes(id), item.needs_review), (vec!["callback.not_confirmed".to_owned()], true));
    assert_eq!(state(&world, batch), BatchState::Failed);
    let object = world.object_of(&item);
    assert_eq!(world.deposited(&object, 1).len(), 1, "it is kept");
    let before = message(&world, id);
    // Refused again, it fails again.
    messages_app::send(&console(&world), before.id).expect("is sent again");
    assert_eq!(state(&world, batch), BatchState::Processing);
    work_until_it_waits(&world, id);
    run(&world);
    assert!(message(&world, id).undeliverable_at.is_some());
    work_until(&world, id, ItemStatus::Failed);
    hook.put("/hook", b"thanks");
    messages_app::send(&console(&world), before.id).expect("is sent again");
    work_until_it_waits(&world, id);
    run_until_confirmed(&world, id);
    let item = work_until(&world, id, ItemStatus::Succeeded);
    assert_eq!((item.note.as_deref(), item.requeues), (Some("version 1 is published"), 2));
    assert_eq!(state(&world, batch), BatchState::Completed);
    work_until_told(&world, batch, 3);
    let kinds: Vec<(ReportKind, u64)> = all(&world, batch).iter().map(|one| (one.kind, one.succeeded)).collect();
    assert_eq!(kinds, [(ReportKind::Final, 0), (ReportKind::Update, 0), (ReportKind::Update, 1)]);
    assert_eq!(world.object("a.txt").head, 1);
    // Every attempt was one and the same event.
    assert_eq!(message(&world, id).id, before.id);
    let keys: std::collections::BTreeSet<String> = hook
        .requests()
        .iter()
        .filter(|request| request.header("strongroom-event") == Some("item.ingested"))
        .map(|request| request.header("idempotency-key").expect("a key").to_owned())
        .collect();
    assert_eq!(keys.len(), 1);
}

fn an_item_goes_on_by_the_new_rules_of_its_collection(engine: Engine) {
    let hook = WebDouble::start();
    let Some(world) = world(engine, &hook) else { return };
    let call = console(&world);
    let (moved, id) = submitted(&world, "alpha");
    assert_eq!(run(&world).undeliverable, 1);
    work_until(&world, id, ItemStatus::Failed);
    hook.put("/other", b"thanks");
    let rules = collections::Rules { callback_url: Some(hook.url("/other")), ..Default::default() };
    collections::set(&call, INSTITUTION, COLLECTION, rules).expect("is set");
    batches::requeue_with_new_rules(&call, moved, None).expect("is requeued");
    work_until_it_waits(&world, id);
    run_until_confirmed(&world, id);
    work_until(&world, id, ItemStatus::Succeeded);
    // One that waits is told to the other program at once.
    hook.on("/other", Behaviour::FailTimes { times: 1_000, status: 500 });
    let now = || deliver(&world.home, &Shutdown::new()).expect("runs");
    let (freed, id) = submitted(&world, "beta");
    assert_eq!((now().failed, is_looked_at(&world)), (1, false));
    hook.on("/third", Behaviour::FailTimes { times: 1_000, status: 500 });
    let rules = collections::Rules { callback_url: Some(hook.url("/third")), ..Default::default() };
    collections::set(&call, INSTITUTION, COLLECTION, rules).expect("is set");
    batches::requeue_with_new_rules(&call, freed, None).expect("takes the rules");
    assert!(is_looked_at(&world), "it does not sleep through it");
    world.work_until(&|| message(&world, id).payload.contains("/third"));
    work_until_it_waits(&world, id);
    now();
    assert!(hook.requests().iter().any(|request| request.path == "/third"));
    // Where nothing has to be confirmed any more, it has succeeded.
    assert!(!is_looked_at(&world));
    let rules = collections::Rules { callback_required: Some(false), ..Default::default() };
    collections::set(&call, INSTITUTION, COLLECTION, rules).expect("is set");
    batches::requeue_with_new_rules(&call, freed, None).expect("takes the rules");
    assert!(is_looked_at(&world), "it does not sleep through it");
    work_until(&world, id, ItemStatus::Succeeded);
    assert_eq!(state(&world, freed), BatchState::Completed);
}

fn an_item_that_is_requeued_is_asked_about_again_under_the_same_key(engine: Engine) {
    let hook = WebDouble::start();
    let Some(world) = world(engine, &hook) else { return };
    let (_, first) = submitted(&world, "alpha");
    run(&world);
    work_until(&world, first, ItemStatus::Failed);
    // Removed by a person: the item is asked about anew when it is requeued, from whatever stage.
    let note = world.item(first).note.unwrap_or_default();
    assert!(note.ends_with(&format!("items requeue {first}")), "{note}");
    let id = message(&world, first).id;
    let removed = messages_app::remove(&console(&world), id, None).expect("is removed");
    assert!(removed.delivered_at.is_none() && removed.removed_at.is_some(), "{removed:?}");
    let EngineError::Advised(refused) = messages_app::send(&console(&world), id).expect_err("was removed") else {
        panic!("no advice")
    };
    assert!(refused.next.contains(&format!("items requeue {first}")), "{}", refused.next);
    hook.put("/hook", b"thanks");
    world.ask(first, Request::Requeue(Some("receive".parse().expect("a stage"))));
    assert_eq!(world.item(first).stage.as_str(), "notify");
    work_until_it_waits(&world, first);
    run_until_confirmed(&world, first);
    let item = work_until(&world, first, ItemStatus::Succeeded);
    assert_eq!(item.note.as_deref(), Some("version 1 is published"));
}

fn an_item_whose_confirmation_is_given_up_succeeds_and_says_by_whom_and_why(engine: Engine) {
    let hook = WebDouble::start();
    hook.put("/hook", b"thanks");
    hook.on("/hook", Behaviour::FailTimes { times: 1_000, status: 503 });
    let Some(world) = world(engine, &hook) else { return };
    let call = console(&world);
    let (batch, id) = submitted(&world, "alpha");
    assert_eq!(run(&world).failed, 1);
    let awaited = message(&world, id).id;
    let refused = messages_app::remove(&call, awaited, None).expect_err("an item waits for it").to_string();
    assert!(refused.contains(&format!("work item {id} waits")), "{refused}");
    assert!(message(&world, id).delivered_at.is_none());
    let removed = messages_app::remove(&call, awaited, Some("the program is shut down")).expect("is removed");
    assert!(removed.removed_at.is_some(), "{removed:?}");
    let item = work_until(&world, id, ItemStatus::Succeeded);
    let note = "version 1 is published; that a program confirms it was given up by tester: the program is shut down";
    assert_eq!(item.note.as_deref(), Some(note));
    assert_eq!(state(&world, batch), BatchState::Completed);
    work_until_told(&world, batch, 1);
    run(&world);
    let event = |request: &strongroom_web_double::Request| request.header("strongroom-event").map(str::to_owned);
    let asked = hook.requests().iter().filter(|request| event(request).as_deref() == Some("item.ingested")).count();
    assert_eq!(asked, 1, "it is not posted any more");
    // One that failed without it succeeds as well, and only where an item is concerned a reason is taken.
    hook.mend("/hook");
    hook.on("/hook", Behaviour::Status(404));
    let (_, id) = submitted(&world, "beta");
    run(&world);
    work_until(&world, id, ItemStatus::Failed);
    let other = messages(&world, "callback").into_iter().find(|message| message.item != Some(id));
    if let Some(other) = other {
        messages_app::remove(&call, other.id, Some("why")).expect_err("no item waits for it");
    }
    messages_app::remove(&call, message(&world, id).id, Some("no longer needed")).expect("is removed");
    let item = work_until(&world, id, ItemStatus::Succeeded);
    assert!(item.note.unwrap_or_default().ends_with("given up by tester: no longer needed"));
}

/// The worker is one that leased the item and did nothing.
fn an_item_whose_worker_stopped_at_its_last_stages_says_what_it_made(engine: Engine) {
    let hook = WebDouble::start();
    hook.put("/hook", b"thanks");
    // A worker that stops spends an attempt.
    let Some(world) = World::in_database(engine, &callbacks(&hook.authority())) else { return };
    confirmed_by(&world, &hook.url("/hook"));
    for (number, stage) in ["notify", "cleanup", "confirm"].into_iter().enumerate() {
        let bytes = format!("alpha {number}");
        let request =
            DepositRequest { collection: Some(COLLECTION.into()), ..world.request(world.write("a.txt", bytes)) };
        let id = world.submit(&request).expect("is submitted").items[0];
        let stage = stage.parse().expect("a stage");
        let topics = fixture::topics_before(stage);
        let workers = strongroom_engine::build_runtime(&world.home, Some(&topics)).expect("a runtime").build();
        workers.run_until(&Shutdown::new(), &|| fixture::has_reached(&world.item(id), stage));
        stop_without_a_word(&world, &format!("ingest.{stage}"));
        assert_eq!(world.item(id).note.as_deref(), Some("its worker stopped without reporting an end"));
        work_until_it_waits(&world, id);
        run_until_confirmed(&world, id);
        let item = work_until(&world, id, ItemStatus::Succeeded);
        assert_eq!(item.note, Some(format!("version {} is published", number + 1)), "{stage}");
    }
}

/// A worker of another machine leases what waits in a topic, and is never heard of again.
fn stop_without_a_word(world: &World, topic: &str) {
    let holder = WorkerId::new("another.example", 1, "0-0-1");
    let request = LeaseRequest {
        topics: vec![topic.to_owned()],
        keys: None,
        limit: 1,
        holder,
        duration: Duration::from_secs(30),
    };
    let workflows = Workflows::standard();
    let leased = world.home.registry.write(move |tx| work::lease(tx, &workflows, &request, &|_| 9)).expect("leases");
    assert_eq!(leased.assignments.len(), 1);
    world.home.clock.advance(Duration::from_mins(5));
    world.home.registry.write(|tx| work::reclaim(tx, 9)).expect("is taken over");
}

#[test]
fn a_callback_is_required_only_of_a_program_that_has_a_url() {
    let world = World::with(ONE_ATTEMPT);
    let rules = collections::Rules { callback_required: Some(true), ..Default::default() };
    let refused = collections::add(&console(&world), INSTITUTION, COLLECTION, rules).expect_err("is refused");
    assert!(refused.to_string().contains("there is no URL"), "{refused}");
}
