//! Deposits that found no room for more while they were read, and what of a deposit lies in staging beside what the ledger says.

use std::time::Duration;

use strongroom_download::Policy;
use strongroom_engine::findings::Counting;
use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_engine::status;
use strongroom_engine::survey::Survey;
use strongroom_registry::items::{Item, Request};
use strongroom_registry::{ItemId, ItemStatus, Stage, interim};
use strongroom_storage::{Key, PutOptions};
use strongroom_web_double::Behaviour;

use super::ledger::staged;
use super::space::{CAPACITY, KB, comes_to, has_begun, pause, reserved, set_quota, settle, submit, succeeds, waits};
use super::world::{OBJECT, ONE_ATTEMPT, World, gzip, manifest, tar};
use crate::fixture::{Engine, on_both_databases};

on_both_databases! {
    a_manifest_without_room_for_its_own_bytes_waits
    a_deposit_that_found_no_room_begins_when_all_that_can_become_free_is
    a_deposit_from_a_server_that_found_no_room_reserves_what_had_come
    a_download_that_has_no_room_beside_what_is_staged_is_not_kept
    what_an_attempt_that_was_killed_has_staged_is_removed_by_the_next_one
    a_file_whose_size_the_server_said_before_needs_its_size_once
    a_deposit_that_waits_for_long_is_named_by_status
}

/// Works until one that waits was looked at again, or has ended.
fn looked_at_again(world: &World, id: ItemId) -> Item {
    let before = world.notes(id).len();
    world.home.clock.advance(Duration::from_mins(2));
    world.work_until(&|| {
        let item = world.item(id);
        item.status.is_ended() || world.notes(id).len() > before && waits(&item)
    });
    world.item(id)
}

fn a_manifest_without_room_for_its_own_bytes_waits(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{CAPACITY}{ONE_ATTEMPT}")) else { return };
    pause(&world, "ingest.fetch", true);
    let has = comes_to(&world, "has.bin", 998 * KB);
    assert!(has_begun(&has), "{has:?}");
    world.ask(has.id, Request::Hold);
    let names: Vec<String> = (0..60).map(|number| format!("f{number}.txt")).collect();
    for name in &names {
        world.web.put(&format!("/{name}"), [7; 10]);
    }
    let rows: Vec<String> =
        names.iter().map(|name| format!("{} | | | 10 | | {name} |", world.web.url(&format!("/{name}")))).collect();
    let list = world.submit(&world.request(world.write("list.checkm", manifest(OBJECT, &rows)))).expect("submits");
    let list = list.items[0];
    pause(&world, "ingest.fetch", false);
    world.work_until(&|| waits(&world.item(list)) || world.item(list).status.is_ended());
    let item = world.item(list);
    assert!(waits(&item), "{:?}", item.note);
    world.ask(has.id, Request::Release);
    succeeds(&world, &[has.id, list]);
}

fn a_deposit_that_found_no_room_begins_when_all_that_can_become_free_is(engine: Engine) {
    for has_quota in [false, true] {
        let capacity = if has_quota { "[staging]\ncapacity = \"10 MB\"\n" } else { CAPACITY };
        let Some(world) = World::in_database(engine, &format!("{capacity}{ONE_ATTEMPT}")) else { return };
        if has_quota {
            set_quota(&world, 1_000 * KB);
        }
        // Nobody knows how large it is unpacked.
        pause(&world, "ingest.fetch", true);
        let zeros = vec![0; 100 * KB];
        let members: Vec<(String, &[u8])> = (0..6).map(|number| (format!("{number}.bin"), zeros.as_slice())).collect();
        let members: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        let unpacked = world.request(world.write("unpacked.tar.gz", gzip(&tar(&members))));
        let unpacked = world.submit(&unpacked).expect("is submitted").items[0];
        settle(&world, &[unpacked]);
        let other = comes_to(&world, "other.bin", 450 * KB);
        world.ask(other.id, Request::Hold);
        pause(&world, "ingest.fetch", false);
        world.work_until(&|| waits(&world.item(unpacked)) || world.item(unpacked).status.is_ended());
        assert!(waits(&world.item(unpacked)), "{:?}", world.item(unpacked).note);
        // Another one fails, and keeps some of what it has.
        world.web.put("/there.bin", vec![7; KB]);
        world.web.put("/away.bin", vec![7; KB]);
        world.web.on("/away.bin", Behaviour::Status(503));
        let row = |name: &str| format!("{} | | | {KB} | | {name} |", world.web.url(&format!("/{name}")));
        let list = manifest(OBJECT, &[row("there.bin"), row("away.bin")]);
        let failed = world.deposit(&world.request(world.write("list.checkm", list))).remove(0);
        assert_eq!(failed.status, ItemStatus::Failed, "{:?}", failed.note);
        assert!(reserved(&world, failed.id) >= KB as u64);
        world.ask(other.id, Request::Release);
        succeeds(&world, &[other.id]);
        let item = looked_at_again(&world, unpacked);
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    }
}

fn a_deposit_from_a_server_that_found_no_room_reserves_what_had_come(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    pause(&world, "ingest.validate", true);
    let has = submit(&world, "has.bin", 400 * KB);
    world.work_until(&|| world.item(has).stage == Stage::named("validate"));
    world.web.put("/large.bin", vec![7; 900 * KB]);
    let request = DepositRequest { kind: DepositKind::File, ..world.request("/large.bin") };
    let large = world.submit(&request).expect("is submitted").items[0];
    world.work_until(&|| waits(&world.item(large)) || world.item(large).status.is_ended());
    assert!(waits(&world.item(large)), "{:?}", world.item(large).note);
    pause(&world, "ingest.fetch", true);
    pause(&world, "ingest.validate", false);
    succeeds(&world, &[has]);
    settle(&world, &[large]);
    world.work_until(&|| has_begun(&world.item(large)));
    // Somewhat more had come than there was room for, and there is a part ahead.
    let has = reserved(&world, large);
    assert!((600_000..880_000).contains(&has), "{has} bytes are reserved");
    let small = comes_to(&world, "small.bin", 120 * KB);
    assert!(has_begun(&small), "{:?}", small.note);
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[large, small.id]);
}

fn a_download_that_has_no_room_beside_what_is_staged_is_not_kept(engine: Engine) {
    let settings = format!("[staging]\ncapacity = \"40 MB\"\n{ONE_ATTEMPT}");
    let Some(mut world) = World::in_database(engine, &settings) else { return };
    let policy = Policy { max_bytes: 64 << 20, ..world.policy() };
    world.download_within(policy);
    world.web.put("/large.bin", vec![7; 30 << 20]);
    world.web.on("/large.bin", Behaviour::Cuts([vec![28 << 20], vec![0; 100]].concat()));
    let request = DepositRequest { kind: DepositKind::File, ..world.request("/large.bin") };
    let failed = world.deposit(&request).remove(0);
    assert_eq!((failed.status, failed.stage), (ItemStatus::Failed, Stage::named("fetch")), "{:?}", failed.note);
    let downloads = world.home.path().join("downloads").join(failed.id.to_string());
    let kept = std::fs::read_dir(&downloads).map_or(0, Iterator::count);
    assert_eq!(kept, 0, "both copies together have more than all of staging");
}

fn what_an_attempt_that_was_killed_has_staged_is_removed_by_the_next_one(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{CAPACITY}{ONE_ATTEMPT}")) else { return };
    world.web.put("/first.bin", vec![7; 300 * KB]);
    world.web.put("/away.bin", "back");
    world.web.on("/away.bin", Behaviour::Status(503));
    let row = |name: &str| format!("{} | | | | | {name} |", world.web.url(&format!("/{name}")));
    let list = manifest(OBJECT, &[row("first.bin"), row("away.bin")]);
    let failed = world.deposit(&world.request(world.write("list.checkm", list))).remove(0);
    assert_eq!((failed.status, failed.stage), (ItemStatus::Failed, Stage::named("fetch")), "{:?}", failed.note);
    let place = world.home.registry.read(|tx| interim::staging_place(tx, failed.id)).expect("reads").expect("a place");
    let key = format!("{}/{}/file-row-99", failed.id, place.id.expect("its identifier"));
    let key = Key::new(key).expect("a key");
    let bytes = vec![7; 400 * KB];
    world.home.roles.staging.put(&key, &mut bytes.as_slice(), &PutOptions::default()).expect("puts");
    world.ask(failed.id, Request::Requeue(None));
    let ends = world.notes(failed.id).len();
    world.work_until(&|| world.notes(failed.id).len() > ends && world.item(failed.id).status.is_ended());
    let (has, lies) = (reserved(&world, failed.id), staged(&world));
    assert!((300_000..310_000).contains(&lies) && has >= lies, "{lies} bytes lie in staging, {has} are reserved");
    world.web.mend("/away.bin");
    world.ask(failed.id, Request::Requeue(None));
    succeeds(&world, &[failed.id]);
    // What was recorded is not downloaded again.
    assert_eq!(world.web.requests_of("/first.bin").iter().filter(|request| request.method == "GET").count(), 1);
}

fn a_file_whose_size_the_server_said_before_needs_its_size_once(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{CAPACITY}{ONE_ATTEMPT}")) else { return };
    world.web.put("/large.bin", vec![7; 600 * KB]);
    world.web.on("/large.bin", Behaviour::NoLength);
    let request = DepositRequest { kind: DepositKind::File, ..world.request("/large.bin") };
    let item = world.deposit(&request).remove(0);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    // Where it says none at all, the error says why twice as much is needed.
    world.web.put("/unsaid.bin", vec![7; 600 * KB]);
    for behaviour in [Behaviour::NoLength, Behaviour::NoRanges] {
        world.web.on("/unsaid.bin", behaviour);
    }
    let request = DepositRequest { kind: DepositKind::File, ..world.request("/unsaid.bin") };
    let item = world.deposit(&request).remove(0);
    let note = item.note.clone().unwrap_or_default();
    assert_eq!(item.status, ItemStatus::Failed, "{note}");
    assert!(note.contains("a temporary file because") && note.contains("its server says no size"), "{note}");
}

fn a_deposit_that_waits_for_long_is_named_by_status(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    pause(&world, "ingest.fetch", true);
    let has = comes_to(&world, "has.bin", 600 * KB);
    assert!(has_begun(&has), "{has:?}");
    let large = comes_to(&world, "large.bin", 800 * KB);
    assert!(waits(&large), "{large:?}");
    let review = || {
        let (settings, registry) = (&world.home.settings, &world.home.registry);
        let survey = Survey::of(world.home.path(), settings, Some(registry), Counting::Bounded).expect("looks");
        status::collect(world.home.path(), settings, registry, &survey).expect("collects").review
    };
    assert_eq!(review().waiting_for_space, 0);
    world.home.clock.advance(Duration::from_hours(1));
    let review = review();
    assert_eq!((review.waiting_for_space, review.first_waiting_for_space[0].item), (1, large.id));
    let entry = review.entries.iter().find(|entry| entry.of == "waiting_for_space").expect("is said");
    assert!(entry.text.contains("longer than staging.first_after"), "{}", entry.text);
    assert_eq!(entry.next, format!("strongroom items show {}", large.id));
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[has.id, large.id]);
}
