//! Space in staging: who waits for some, who passes, and what is refused.

use std::time::{Duration, Instant};

use strongroom_download::{Policy, Timeouts};
use strongroom_engine::background;
use strongroom_engine::build_runtime;
use strongroom_engine::findings::Counting;
use strongroom_engine::ingest::{self, DepositKind, DepositRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::status;
use strongroom_engine::survey::Survey;
use strongroom_queue::tasks;
use strongroom_registry::items::{Item, Request};
use strongroom_registry::{
    InstitutionId, ItemId, ItemStatus, RegistryError, Scope, Stage, WaitReason, interim, tenants,
};
use strongroom_storage::Key;
use strongroom_web_double::Behaviour;

use super::world::{OBJECT, ONE_ATTEMPT, World, manifest};
use crate::fixture::{self, Engine, INSTITUTION, on_both_databases};

on_both_databases! {
    a_large_deposit_is_passed_by_small_ones_until_it_has_waited_for_long
    a_deposit_that_waits_for_its_own_institution_keeps_no_other_waiting
    a_deposit_that_is_stopped_keeps_none_waiting
    a_deposit_that_is_larger_than_staging_or_the_quota_is_refused_and_keeps_none_waiting
    a_deposit_that_failed_has_no_more_of_staging_than_it_uses
    a_deposit_of_unknown_size_waits_while_too_little_is_free
    a_deposit_that_grows_to_the_quota_waits_for_the_others_of_its_institution
    sizes_that_servers_and_manifests_state_keep_none_waiting
    what_servers_state_and_do_not_send_has_nothing_of_staging
    what_servers_state_passes_none_that_has_waited_for_long
    a_deposit_that_waits_says_how_much_is_free_and_which_item_has_most
    what_a_deposit_that_failed_long_ago_keeps_is_removed
    a_deposit_that_is_stopped_while_it_is_read_has_only_what_came
    a_process_that_stops_while_it_reads_a_deposit_leaves_only_what_came
    a_deposit_of_unknown_size_begins_beside_others_of_a_small_quota
    what_a_killed_process_left_in_staging_is_told_and_removed
}

pub(super) const CAPACITY: &str = "[staging]\ncapacity = \"1000 kB\"\n";
pub(super) const KB: usize = 1_000;

/// Pauses or resumes a topic, and that of what reads from servers at the same stage.
pub(super) fn pause(world: &World, topic: &str, is_paused: bool) {
    let topic = topic.to_owned();
    let set = move |tx: &mut dyn strongroom_registry::Transaction| {
        tasks::set_paused(tx, &format!("{topic}.remote"), is_paused)?;
        Ok::<_, RegistryError>(tasks::set_paused(tx, &topic, is_paused)?)
    };
    world.home.registry.write(set).expect("pauses or resumes");
}

/// The server says no size of a file.
fn has_no_size(world: &World, path: &str) {
    for behaviour in [Behaviour::NoLength, Behaviour::NoRanges] {
        world.web.on(path, behaviour);
    }
}

/// Submits a file of so many bytes.
pub(super) fn submit(world: &World, name: &str, bytes: usize) -> ItemId {
    let path = world.write(name, vec![7; bytes]);
    let request = DepositRequest { kind: DepositKind::File, ..world.request(path) };
    world.submit(&request).expect("is submitted").items[0]
}

pub(super) fn waits(item: &Item) -> bool {
    item.status == ItemStatus::Pending && item.wait_reason == Some(WaitReason::StagingSpace)
}

/// Works until the items have come to `fetch`, wait for space, or have ended.
pub(super) fn settle(world: &World, ids: &[ItemId]) {
    let fetch = Stage::named("fetch");
    world.work_until(&|| {
        ids.iter().map(|id| world.item(*id)).all(|item| {
            waits(&item) || item.status.is_ended() || item.stage == fetch && item.status == ItemStatus::Pending
        })
    });
}

/// Works until an item that was submitted now has come to `fetch`, or waits for space.
pub(super) fn comes_to(world: &World, name: &str, bytes: usize) -> Item {
    let id = submit(world, name, bytes);
    settle(world, &[id]);
    world.item(id)
}

pub(super) fn has_begun(item: &Item) -> bool {
    fixture::has_reached(item, Stage::named("fetch"))
}

pub(super) fn set_quota(world: &World, bytes: usize) {
    let set = move |tx: &mut dyn strongroom_registry::Transaction| {
        let known = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution");
        tenants::set_institution(tx, known.id, &known.name, (true, Some(bytes as u64), None))
    };
    world.home.registry.write(set).expect("sets the quota");
}

pub(super) fn succeeds(world: &World, ids: &[ItemId]) {
    world.work_until(&|| ids.iter().all(|id| world.item(*id).status.is_ended()));
    for id in ids {
        let item = world.item(*id);
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
    }
}

/// One that has 600 of 1,000 kB, and one that waits for 800.
fn one_has_and_one_waits(world: &World) -> (ItemId, ItemId) {
    pause(world, "ingest.fetch", true);
    let has = comes_to(world, "has.bin", 600 * KB);
    assert!(has_begun(&has), "{has:?}");
    let large = comes_to(world, "large.bin", 800 * KB);
    assert!(waits(&large), "{large:?}");
    let has_space = |id| world.home.registry.read(|tx| interim::has_reservation(tx, id)).expect("reads");
    assert_eq!((large.holder.as_ref(), has_space(large.id), has_space(has.id)), (None, false, true));
    (has.id, large.id)
}

fn a_large_deposit_is_passed_by_small_ones_until_it_has_waited_for_long(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let (has, large) = one_has_and_one_waits(&world);
    let early = comes_to(&world, "early.bin", 100 * KB);
    assert!(has_begun(&early), "{early:?}");
    world.home.clock.advance(Duration::from_hours(1));
    // There is room for it now, and never beside the large one.
    let late = comes_to(&world, "late.bin", 300 * KB);
    let note = late.note.clone().unwrap_or_default();
    assert!(waits(&late) && note.contains(&format!("behind work item {large}")), "{note}");
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[has, early.id, large, late.id]);
    let begun = |id| {
        let history = world.home.registry.read(|tx| strongroom_registry::items::history(tx, Scope::System, id));
        let fetched = history.expect("a history").into_iter().find(|line| line.stage == Stage::named("fetch"));
        fetched.expect("it was fetched").time
    };
    assert!(begun(large) <= begun(late.id));
}

fn a_deposit_that_waits_for_its_own_institution_keeps_no_other_waiting(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let (has, large) = one_has_and_one_waits(&world);
    let other = InstitutionId::new();
    let add = move |tx: &mut dyn strongroom_registry::Transaction| {
        tenants::add_institution(tx, other, "other.example.edu", "Another one")
    };
    world.home.registry.write(add).expect("adds an institution");
    world.home.clock.advance(Duration::from_hours(1));
    let path = world.write("other.bin", vec![7; 300 * KB]);
    let request = world.request(path);
    let request = DepositRequest { kind: DepositKind::File, institution: "other.example.edu".to_owned(), ..request };
    let passes = world.submit(&request).expect("is submitted").items[0];
    settle(&world, &[passes]);
    assert!(has_begun(&world.item(passes)), "{:?}", world.item(passes).note);
    let late = comes_to(&world, "late.bin", 50 * KB);
    assert!(waits(&late), "{late:?}");
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[has, passes, large, late.id]);
}

fn a_deposit_that_is_stopped_keeps_none_waiting(engine: Engine) {
    for request in [Request::Hold, Request::Cancel] {
        let Some(world) = World::in_database(engine, CAPACITY) else { return };
        let (has, large) = one_has_and_one_waits(&world);
        world.home.clock.advance(Duration::from_hours(1));
        let late = comes_to(&world, "late.bin", 100 * KB);
        assert!(waits(&late), "{late:?}");
        world.ask(large, request);
        // It is woken, and not found again by a later attempt.
        world.work_until(&|| has_begun(&world.item(late.id)));
        pause(&world, "ingest.fetch", false);
        succeeds(&world, &[has, late.id]);
        if request == Request::Hold {
            world.ask(large, Request::Release);
            succeeds(&world, &[large]);
        }
    }
}

fn a_deposit_that_is_larger_than_staging_or_the_quota_is_refused_and_keeps_none_waiting(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let fails = |name: &str, bytes: usize, words: [&str; 2]| {
        let id = submit(&world, name, bytes);
        world.work_until(&|| world.item(id).status.is_ended());
        let item = world.item(id);
        let note = item.note.clone().unwrap_or_default();
        assert_eq!((item.status, item.stage), (ItemStatus::Failed, Stage::named("provision")), "{note}");
        assert!(words.iter().all(|word| note.contains(word)), "{note}");
    };
    fails("larger.bin", 1_001 * KB, ["more than all of staging", "staging.capacity"]);
    set_quota(&world, 500 * KB);
    fails("beyond.bin", 501 * KB, ["may have in staging", "--staging-quota"]);
    world.home.clock.advance(Duration::from_hours(1));
    let small = submit(&world, "small.bin", 400 * KB);
    succeeds(&world, &[small]);
}

fn a_deposit_of_unknown_size_waits_while_too_little_is_free(engine: Engine) {
    let settings = format!("{CAPACITY}free_for_unknown = 50\n");
    let Some(world) = World::in_database(engine, &settings) else { return };
    pause(&world, "ingest.fetch", true);
    let has = comes_to(&world, "has.bin", 501 * KB);
    world.web.put("/unknown.bin", vec![7; KB]);
    has_no_size(&world, "/unknown.bin");
    let unknown = world.submit(&world.request("/unknown.bin")).expect("is submitted").items[0];
    settle(&world, &[unknown]);
    let item = world.item(unknown);
    let note = item.note.clone().unwrap_or_default();
    assert!(waits(&item) && note.contains("until 500000 bytes of staging are free"), "{note}");
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[has.id, unknown]);
    // With less than that it begins at once.
    pause(&world, "ingest.fetch", true);
    let has = comes_to(&world, "has less.bin", 500 * KB);
    let unknown = world.submit(&world.request("/unknown.bin")).expect("is submitted").items[0];
    settle(&world, &[unknown]);
    assert!(has_begun(&world.item(unknown)));
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[has.id, unknown]);
}

fn a_deposit_that_grows_to_the_quota_waits_for_the_others_of_its_institution(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    // The file is put into a temporary file, which counts until it has been read.
    set_quota(&world, 950 * KB);
    let file = |name: &str| {
        world.web.put(&format!("/{name}"), vec![7; 450 * KB]);
        has_no_size(&world, &format!("/{name}"));
        world.submit(&world.request(format!("/{name}").as_str())).expect("is submitted").items[0]
    };
    // Alone it may have all that it needs.
    succeeds(&world, &[file("alone.bin")]);
    // The one that has some waits behind its fetch.
    pause(&world, "ingest.validate", true);
    let has = submit(&world, "has.bin", 100 * KB);
    world.work_until(&|| {
        let item = world.item(has);
        item.stage == Stage::named("validate") && item.status == ItemStatus::Pending
    });
    let grows = file("grows.bin");
    world.work_until(&|| waits(&world.item(grows)) || world.item(grows).status.is_ended());
    let item = world.item(grows);
    assert!(waits(&item), "{:?}", item.note);
    pause(&world, "ingest.validate", false);
    succeeds(&world, &[has, grows]);
}

fn a_deposit_that_failed_has_no_more_of_staging_than_it_uses(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{CAPACITY}{ONE_ATTEMPT}")) else { return };
    world.web.put("/large.bin", vec![7; 900 * KB]);
    let cut = Behaviour::CutAfter { bytes: 1_000, times: 1_000 };
    for behaviour in [cut, Behaviour::NoRanges] {
        world.web.on("/large.bin", behaviour);
    }
    let request = DepositRequest { kind: DepositKind::File, ..world.request("/large.bin") };
    let failed = world.deposit(&request).pop().expect("an item");
    assert_eq!((failed.status, failed.stage), (ItemStatus::Failed, Stage::named("fetch")), "{:?}", failed.note);
    pause(&world, "ingest.validate", true);
    let other = submit(&world, "other.bin", 800 * KB);
    let has_come = |item: &Item| item.stage == Stage::named("validate") || waits(item) || item.status.is_ended();
    world.work_until(&|| has_come(&world.item(other)));
    let item = world.item(other);
    assert!(!waits(&item), "nothing is staged of the deposit that failed: {:?}", item.note);
    // Requeued, it asks for space again as its bytes come.
    world.web.mend("/large.bin");
    world.ask(failed.id, Request::Requeue(None));
    world.work_until(&|| waits(&world.item(failed.id)) || world.item(failed.id).status.is_ended());
    assert!(waits(&world.item(failed.id)), "{:?}", world.item(failed.id).note);
    pause(&world, "ingest.validate", false);
    world.work_until(&|| [other, failed.id].iter().all(|id| world.item(*id).status.is_ended()));
    assert!([other, failed.id].iter().all(|id| world.item(*id).status == ItemStatus::Succeeded));
}

pub(super) fn reserved(world: &World, id: ItemId) -> u64 {
    world.home.registry.read(|tx| interim::reserved(tx, id)).expect("reads")
}

fn sizes_that_servers_and_manifests_state_keep_none_waiting(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    pause(&world, "ingest.fetch", true);
    let stated = |name: &str| {
        world.web.put(&format!("/{name}"), vec![7; 900 * KB]);
        let request = DepositRequest { kind: DepositKind::File, ..world.request(format!("/{name}").as_str()) };
        world.submit(&request).expect("is submitted").items[0]
    };
    let mut ids = vec![stated("one.bin"), stated("two.bin"), stated("three.bin")];
    let row = |name: &str| format!("{} | | | {} | | {name} |", world.web.url(&format!("/{name}")), 900 * KB);
    let list = world.write("list.checkm", manifest(OBJECT, &[row("one.bin")]));
    ids.push(world.submit(&world.request(list)).expect("is submitted").items[0]);
    ids.push(submit(&world, "local.bin", 300 * KB));
    settle(&world, &ids);
    for id in &ids {
        assert!(has_begun(&world.item(*id)), "{:?}", world.item(*id).note);
    }
    let sizes: Vec<u64> = ids.iter().map(|id| reserved(&world, *id)).collect();
    assert_eq!(sizes, [0, 0, 0, 0, 300_000]);
    // No two of them have room together: they give back what they have, and come one after the other.
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &ids);
    world.clear_up();
    assert!(ids.iter().all(|id| reserved(&world, *id) == 0));
}

fn what_servers_state_passes_none_that_has_waited_for_long(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    // What has space has it until its fetch is over.
    pause(&world, "ingest.validate", true);
    let has = submit(&world, "has.bin", 600 * KB);
    world.work_until(&|| world.item(has).stage == Stage::named("validate"));
    let large = submit(&world, "large.bin", 800 * KB);
    world.work_until(&|| waits(&world.item(large)));
    pause(&world, "ingest.fetch", true);
    let from_the_web = |name: &str| {
        world.web.put(&format!("/{name}"), vec![7; 300 * KB]);
        let request = DepositRequest { kind: DepositKind::File, ..world.request(format!("/{name}").as_str()) };
        world.submit(&request).expect("is submitted").items[0]
    };
    has_no_size(&world, "/unknown.bin");
    let ids = [from_the_web("stated.bin"), from_the_web("unknown.bin")];
    settle(&world, &ids);
    assert!(ids.iter().all(|id| has_begun(&world.item(*id))));
    world.home.clock.advance(Duration::from_hours(1));
    pause(&world, "ingest.fetch", false);
    world.work_until(&|| ids.iter().all(|id| waits(&world.item(*id)) || world.item(*id).status.is_ended()));
    for id in ids {
        let note = world.item(id).note.unwrap_or_default();
        assert!(note.contains(&format!("behind work item {large}")), "{note}");
    }
    pause(&world, "ingest.validate", false);
    succeeds(&world, &[has, large, ids[0], ids[1]]);
}

fn what_servers_state_and_do_not_send_has_nothing_of_staging(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let busy = |number: usize| {
        let name = format!("busy-{number}.bin");
        world.web.put(&format!("/{name}"), vec![7; 500 * KB]);
        world.web.on(&format!("/{name}"), Behaviour::FailTimes { times: 1_000, status: 503 });
        let row = format!("{} | | | {} | | {name} |", world.web.url(&format!("/{name}")), 500 * KB);
        let list = world.write(&format!("{name}.checkm"), manifest(OBJECT, &[row]));
        world.submit(&world.request(list)).expect("is submitted").items[0]
    };
    let ids: Vec<ItemId> = (0..30).map(busy).collect();
    let is_tried_again = |id: &ItemId| {
        let item = world.item(*id);
        item.stage == Stage::named("fetch") && item.retry_count > 0
    };
    world.work_until(&|| ids.iter().any(is_tried_again));
    let local = submit(&world, "local.bin", 950 * KB);
    succeeds(&world, &[local]);
    // One that is being read has a part; otherwise there is the manifest.
    let has_none = |id: &ItemId| world.item(*id).status == ItemStatus::Started || reserved(&world, *id) < 1_000;
    world.work_until(&|| ids.iter().all(|id| is_tried_again(id) && has_none(id)));
}

#[test]
fn a_manifest_that_states_more_than_the_disk_has_fails_at_once() {
    let world = World::new();
    world.serve(&[("small.bin", b"small")]);
    let row = format!("{} | | | 9000000000000000000 | | small.bin |", world.web.url("/small.bin"));
    let item = world.deposit(&world.request(world.write("huge.checkm", manifest(OBJECT, &[row])))).remove(0);
    let note = item.note.clone().unwrap_or_default();
    assert_eq!((item.status, item.stage), (ItemStatus::Failed, Stage::named("provision")), "{note}");
    assert!(note.contains("more than all of staging") && note.contains("next: raise staging.capacity"), "{note}");
}

fn a_deposit_that_waits_says_how_much_is_free_and_which_item_has_most(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let (has, large) = one_has_and_one_waits(&world);
    world.ask(has, Request::Hold);
    world.home.clock.advance(Duration::from_mins(2));
    settle(&world, &[large]);
    world.work_until(&|| world.item(large).note.is_some_and(|note| note.contains("held")));
    let note = world.item(large).note.unwrap_or_default();
    let says = format!(
        "waits for 800000 bytes of space in staging, 400000 bytes free; work item {has} (held at fetch) has most: 600000 bytes"
    );
    assert_eq!(note, says);
    // What is held may never become free: none waits behind the one that needs it.
    world.home.clock.advance(Duration::from_hours(1));
    let late = comes_to(&world, "late.bin", 300 * KB);
    assert!(has_begun(&late), "{:?}", late.note);
    world.ask(has, Request::Release);
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[has, late.id, large]);
}

fn what_a_deposit_that_failed_long_ago_keeps_is_removed(engine: Engine) {
    const LARGE: usize = 24 << 20;
    let Some(mut world) = World::in_database(engine, ONE_ATTEMPT) else { return };
    let policy = Policy { max_bytes: 64 << 20, ..world.policy() };
    world.download_within(policy);
    world.web.put("/small.bin", vec![7; 400 * KB]);
    world.web.put("/large.bin", vec![7; LARGE]);
    world.web.on("/large.bin", Behaviour::Cuts([vec![18 << 20], vec![0; 100]].concat()));
    let row = |name: &str| format!("{} | | | | | {name} |", world.web.url(&format!("/{name}")));
    let list = manifest(OBJECT, &[row("small.bin"), row("large.bin")]);
    let failed = world.deposit(&world.request(world.write("list.checkm", list))).remove(0);
    assert_eq!((failed.status, failed.stage), (ItemStatus::Failed, Stage::named("fetch")), "{:?}", failed.note);
    let downloads = world.home.path().join("downloads");
    let is_kept = || std::fs::read_dir(&downloads).is_ok_and(|mut entries| entries.next().is_some());
    assert!(is_kept());
    // What is staged of it and what is kept of the download count.
    let has = reserved(&world, failed.id);
    assert!(has >= (16 << 20) + 400 * KB as u64, "{has}");
    let survey = Survey::of(world.home.path(), &world.home.settings, Some(&world.home.registry), Counting::Bounded)
        .expect("looks");
    let status = status::collect(world.home.path(), &world.home.settings, &world.home.registry, &survey);
    let status = status.expect("collects");
    assert!(status.staging.kept_bytes >= 16 << 20, "{:?}", status.staging);
    assert_eq!((status.staging.kept_items, status.staging.bytes.get("failed")), (1, Some(&has)));

    let reclaim = || ingest::reclaim_failed(&world.home, &Shutdown::new()).expect("reclaims");
    ingest::sweep_downloads(&world.home).expect("sweeps");
    world.home.clock.advance(Duration::from_hours(29 * 24));
    assert_eq!((reclaim(), is_kept()), (0, true));
    world.home.clock.advance(Duration::from_hours(25));
    assert_eq!((reclaim(), reclaim()), (1, 0));
    world.work_until(&|| world.is_nothing_staged() && !is_kept() && reserved(&world, failed.id) == 0);
    assert!(world.notes(failed.id).iter().any(|note| note.contains("staging.failed_retention")));
    let item = world.item(failed.id);
    assert_eq!((item.status, item.note), (ItemStatus::Failed, failed.note.clone()), "why it failed is still said");
    // It can be requeued, from the beginning.
    world.web.mend("/large.bin");
    world.ask(failed.id, Request::Requeue(None));
    assert_eq!(world.item(failed.id).stage, Stage::named("provision"));
    succeeds(&world, &[failed.id]);
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(2), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A home of 1,000 kB that waits for servers as long as they take.
fn patient(engine: Engine) -> Option<World> {
    let mut world = World::in_database(engine, CAPACITY)?;
    let timeouts = Timeouts { stall_window: Duration::from_hours(1), ..Timeouts::default() };
    let policy = Policy { timeouts, ..world.policy() };
    world.download_within(policy);
    Some(world)
}

/// A manifest of two files of 900 kB together: the server sends the first, and of the second nothing yet.
fn half_sent(world: &World) -> ItemId {
    world.web.put("/first.bin", vec![7; 300 * KB]);
    world.web.put("/second.bin", vec![8; 600 * KB]);
    world.web.on("/second.bin", Behaviour::Slow);
    let row = |name: &str, bytes: usize| format!("{} | | | {bytes} | | {name} |", world.web.url(&format!("/{name}")));
    let list = manifest(OBJECT, &[row("first.bin", 300 * KB), row("second.bin", 600 * KB)]);
    world.submit(&world.request(world.write("half.checkm", list))).expect("is submitted").items[0]
}

fn is_something_staged(world: &World) -> bool {
    world.home.roles.staging.list(&Key::ROOT).expect("lists").next().is_some()
}

/// Works until the test asks to stop, while the test acts.
fn while_working(world: &World, act: impl FnOnce()) {
    /// Also where the test fails.
    struct Stops<'s>(&'s Shutdown);
    impl Drop for Stops<'_> {
        fn drop(&mut self) {
            self.0.request_once();
        }
    }
    let stop = Shutdown::new();
    let runtime = build_runtime(&world.home, None).expect("a runtime").beat_every(Duration::from_millis(2)).build();
    std::thread::scope(|scope| {
        scope.spawn(|| runtime.run_until(&stop, &|| false));
        let _stops = Stops(&stop);
        act();
    });
}

/// What is staged of an item, and what is kept of its downloads.
fn staged_and_kept(world: &World, id: ItemId) -> u64 {
    let has = |tx: &mut dyn strongroom_registry::Transaction| {
        Ok::<_, RegistryError>(interim::totals(tx, id)?.bytes + interim::kept(tx, id)?)
    };
    world.home.registry.read(has).expect("reads")
}

fn a_deposit_that_is_stopped_while_it_is_read_has_only_what_came(engine: Engine) {
    for request in [Request::Hold, Request::Cancel] {
        let Some(world) = patient(engine) else { return };
        let id = half_sent(&world);
        while_working(&world, || {
            wait_until("the first file is staged", || is_something_staged(&world));
            // Something is reserved ahead of the bytes of the second one, and one byte of it is what another one lacks.
            let had = usize::try_from(reserved(&world, id)).expect("is small");
            let other = submit(&world, "other.bin", 1_000 * KB - had + 1);
            wait_until("there is no room for another one", || waits(&world.item(other)));
            world.ask(id, request);
            wait_until("it is stopped", || world.item(id).status != ItemStatus::Started);
            // It is woken, and not found again by a later attempt.
            wait_until("the other one has room", || world.item(other).status.is_ended());
            assert_eq!(world.item(other).status, ItemStatus::Succeeded, "{:?}", world.item(other).note);
        });
        let item = world.item(id);
        if request == Request::Cancel {
            assert_eq!(item.status, ItemStatus::Cancelled, "{:?}", item.note);
            world.clear_up();
            assert_eq!(reserved(&world, id), 0);
            continue;
        }
        assert_eq!(item.status, ItemStatus::Held, "{:?}", item.note);
        let (has, came) = (reserved(&world, id), staged_and_kept(&world, id));
        assert!(has == came && came >= 300_000, "{has} bytes are reserved, {came} came");
        world.web.mend("/second.bin");
        world.ask(id, Request::Release);
        succeeds(&world, &[id]);
        // What had come was not asked for again.
        assert_eq!(world.web.requests_of("/first.bin").iter().filter(|request| request.method == "GET").count(), 1);
    }
}

fn a_process_that_stops_while_it_reads_a_deposit_leaves_only_what_came(engine: Engine) {
    let Some(world) = patient(engine) else { return };
    let id = half_sent(&world);
    // It is asked to stop then.
    while_working(&world, || wait_until("the first file is staged", || is_something_staged(&world)));
    assert_eq!(world.item(id).status, ItemStatus::Pending);
    let (has, came) = (reserved(&world, id), staged_and_kept(&world, id));
    assert!(has == came && came >= 300_000, "{has} bytes are reserved, {came} came");
    world.web.mend("/second.bin");
    succeeds(&world, &[id]);
}

fn a_deposit_of_unknown_size_begins_beside_others_of_a_small_quota(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    set_quota(&world, 950 * KB);
    pause(&world, "ingest.validate", true);
    let has = submit(&world, "has.bin", 500 * KB);
    world.work_until(&|| world.item(has).stage == Stage::named("validate"));
    world.web.put("/unknown.bin", vec![7; 100 * KB]);
    has_no_size(&world, "/unknown.bin");
    let request = DepositRequest { kind: DepositKind::File, ..world.request("/unknown.bin") };
    let unknown = world.submit(&request).expect("is submitted").items[0];
    let is_decided = || {
        let item = world.item(unknown);
        waits(&item) || item.status.is_ended() || item.stage == Stage::named("validate")
    };
    world.work_until(&is_decided);
    let item = world.item(unknown);
    assert_eq!(item.stage, Stage::named("validate"), "{:?}", item.note);
    pause(&world, "ingest.validate", false);
    succeeds(&world, &[has, unknown]);
}

fn what_a_killed_process_left_in_staging_is_told_and_removed(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let staging = world.home.settings.stores[&world.home.settings.roles.staging].folder(world.home.path());
    let tmp = staging.expect("a folder").join(".strongroom/tmp");
    let tree = tmp.join("tree-0123");
    std::fs::create_dir_all(&tree).expect("makes a folder");
    std::fs::write(tree.join("pack-1"), vec![7; 70 * KB]).expect("writes");
    let told = || {
        let (settings, registry) = (&world.home.settings, &world.home.registry);
        let survey = Survey::of(world.home.path(), settings, Some(registry), Counting::Bounded).expect("looks");
        let status = status::collect(world.home.path(), settings, registry, &survey).expect("collects");
        (status.staging.unfinished_entries, status.staging.unfinished_bytes)
    };
    assert_eq!(told(), (1, 70_000));
    let task = background::TASKS.iter().find(|task| task.name == "staging").expect("the task");
    background::run_now(&world.home, task, &Shutdown::new()).expect("runs");
    assert_eq!((tree.exists(), told()), (false, (0, 0)));
}
