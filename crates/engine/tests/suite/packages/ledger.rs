//! What the ledger of staging says, against what lies there and against what others need.

use std::time::Duration;

use strongroom_engine::ingest::{DepositRequest, NewDescription, describe};
use strongroom_engine::journal::JournalEntry;
use strongroom_registry::items::Request;
use strongroom_registry::{InstitutionId, ItemId, ItemStatus, Scope, Stage, WaitReason, tenants};
use strongroom_web_double::Behaviour;

use super::space::{CAPACITY, KB, comes_to, has_begun, pause, reserved, settle, submit, succeeds, waits};
use super::world::{OBJECT, ONE_ATTEMPT, World, manifest};
use crate::fixture::{Engine, on_both_databases};

on_both_databases! {
    a_deposit_that_waits_for_an_older_one_of_its_object_has_no_space
    what_a_failed_deposit_has_in_staging_is_in_the_ledger
    a_deposit_that_is_read_reserves_what_it_has_staged
    an_object_is_described_while_staging_is_full
    a_manifest_that_stated_too_much_is_looked_at_again_when_it_is_requeued
    a_manifest_that_changed_has_the_size_of_its_files
    a_deposit_that_waits_says_nothing_of_the_deposits_of_other_institutions
}

/// Bytes that lie in staging.
pub(super) fn staged(world: &World) -> u64 {
    let keys = world.home.keys("staging").into_iter();
    keys.map(|key| std::fs::metadata(world.home.file("staging", &key)).expect("a file").len()).sum()
}

/// A row of a manifest for a file that the server has.
fn row(world: &World, name: &str, size: Option<usize>) -> String {
    let size = size.map(|size| size.to_string()).unwrap_or_default();
    format!("{} | | | {size} | | {name} |", world.web.url(&format!("/{name}")))
}

fn is_at(world: &World, id: ItemId, stage: &'static str) -> bool {
    let item = world.item(id);
    item.stage == Stage::named(stage) && item.status == ItemStatus::Pending
}

fn a_deposit_that_waits_for_an_older_one_of_its_object_has_no_space(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let of_box = |request| DepositRequest { local_ids: vec!["box-7".to_owned()], ..request };
    world.ingest(&of_box(world.request(world.write("first.txt", "first"))));
    pause(&world, "ingest.fetch", true);
    let has = comes_to(&world, "has.bin", 300 * KB);
    assert!(has_begun(&has), "{has:?}");
    let older =
        world.submit(&of_box(world.request(world.write("older.bin", vec![7; 800 * KB])))).expect("submits").items[0];
    settle(&world, &[older]);
    assert!(waits(&world.item(older)));
    // Its identifier is known when it is read.
    let erc = b"erc:\nwho: Ada\nwhat: A box\nwhen: 1843\nwhere: box-7\n";
    let folder = world.folder("younger", &[("mrt-erc.txt", erc), ("younger.bin", &vec![8; 600 * KB])]);
    let younger = world.submit(&world.request(folder)).expect("is submitted").items[0];
    settle(&world, &[younger]);
    assert!(has_begun(&world.item(younger)), "{:?}", world.item(younger).note);
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[has.id]);
    world.work_until(&|| {
        let item = world.item(younger);
        item.status.is_ended() || item.wait_reason == Some(WaitReason::OlderDeposit)
    });
    assert_eq!(reserved(&world, younger), 0, "the older one waits for it: {:?}", world.item(older).note);
    succeeds(&world, &[older, younger]);
    assert_eq!(world.object("box-7").head, 3);
}

fn what_a_failed_deposit_has_in_staging_is_in_the_ledger(engine: Engine) {
    let Some(world) = World::in_database(engine, &format!("{CAPACITY}{ONE_ATTEMPT}")) else { return };
    world.web.put("/large.bin", vec![7; 700 * KB]);
    world.web.on("/away.bin", Behaviour::Status(503));
    let list = manifest(OBJECT, &[row(&world, "large.bin", None), row(&world, "away.bin", None)]);
    let failed = world.deposit(&world.request(world.write("list.checkm", list))).remove(0);
    assert_eq!((failed.status, failed.stage), (ItemStatus::Failed, Stage::named("fetch")), "{:?}", failed.note);
    let (has, lies) = (reserved(&world, failed.id), staged(&world));
    assert!(has >= lies, "{lies} bytes lie in staging, {has} are reserved");
    // What came is not downloaded again.
    world.web.mend("/away.bin");
    world.web.put("/away.bin", "back");
    let asked = || world.web.requests_of("/large.bin").iter().filter(|request| request.method != "HEAD").count();
    let before = asked();
    world.ask(failed.id, Request::Requeue(None));
    succeeds(&world, &[failed.id]);
    assert_eq!(asked(), before);
}

fn a_deposit_that_is_read_reserves_what_it_has_staged(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    world.web.put("/large.bin", vec![7; 400 * KB]);
    let list = world.write("list.checkm", manifest(OBJECT, &[row(&world, "large.bin", Some(400 * KB))]));
    pause(&world, "ingest.validate", true);
    let id = world.submit(&world.request(list)).expect("is submitted").items[0];
    world.work_until(&|| is_at(&world, id, "validate") || world.item(id).status.is_ended());
    assert_eq!(reserved(&world, id), staged(&world));
    // Others have the rest.
    let other = submit(&world, "other.bin", 599 * KB);
    world.work_until(&|| is_at(&world, other, "validate") || waits(&world.item(other)));
    assert!(!waits(&world.item(other)), "{:?}", world.item(other).note);
    pause(&world, "ingest.validate", false);
    succeeds(&world, &[id, other]);
}

fn an_object_is_described_while_staging_is_full(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let object = world.ingest(&world.request(world.write("photo.tif", "a photo")));
    pause(&world, "ingest.fetch", true);
    let has = comes_to(&world, "has.bin", 1_000 * KB);
    assert!(has_begun(&has), "{has:?}");
    let empty = submit(&world, "empty.bin", 0);
    let described =
        NewDescription { object: object.identifier.clone(), metadata: serde_json::json!({ "title": "A photo" }) };
    let by = JournalEntry::of_system("objects.describe");
    let made = describe(&world.home, Scope::System, &[described], &by).expect("is submitted").items[0];
    settle(&world, &[made, empty]);
    for id in [made, empty] {
        assert!(has_begun(&world.item(id)), "{:?}", world.item(id).note);
    }
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[made, empty, has.id]);
}

fn a_manifest_that_stated_too_much_is_looked_at_again_when_it_is_requeued(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    world.web.put("/small.bin", "small");
    let list = |size| world.write("list.checkm", manifest(OBJECT, &[row(&world, "small.bin", Some(size))]));
    let failed = world.deposit(&world.request(list(5_000_000))).remove(0);
    assert_eq!((failed.status, failed.stage), (ItemStatus::Failed, Stage::named("provision")), "{:?}", failed.note);
    list(5);
    world.ask(failed.id, Request::Requeue(None));
    succeeds(&world, &[failed.id]);
}

fn a_manifest_that_changed_has_the_size_of_its_files(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    world.web.put("/a.bin", vec![7; KB]);
    world.web.put("/b.bin", vec![8; 2 * KB]);
    pause(&world, "ingest.fetch", true);
    let path = world.write("list.checkm", manifest(OBJECT, &[row(&world, "a.bin", Some(KB))]));
    let id = world.submit(&world.request(path)).expect("is submitted").items[0];
    settle(&world, &[id]);
    assert_eq!(world.item(id).size, Some(KB as u64));
    world.write("list.checkm", manifest(OBJECT, &[row(&world, "a.bin", Some(KB)), row(&world, "b.bin", Some(2 * KB))]));
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[id]);
    assert_eq!(world.item(id).size, Some(3 * KB as u64));
}

fn a_deposit_that_waits_says_nothing_of_the_deposits_of_other_institutions(engine: Engine) {
    let Some(world) = World::in_database(engine, CAPACITY) else { return };
    let add = |tx: &mut dyn strongroom_registry::Transaction| {
        tenants::add_institution(tx, InstitutionId::new(), "other.edu", "Another University")
    };
    world.home.registry.write(add).expect("adds it");
    pause(&world, "ingest.fetch", true);
    let has = comes_to(&world, "has.bin", 600 * KB);
    let theirs = world.request(world.write("theirs.bin", vec![7; 800 * KB]));
    let theirs = DepositRequest { institution: "other.edu".to_owned(), ..theirs };
    let first = world.submit(&theirs).expect("is submitted").items[0];
    settle(&world, &[first]);
    world.home.clock.advance(Duration::from_hours(1));
    let late = comes_to(&world, "late.bin", 300 * KB);
    let note = late.note.clone().unwrap_or_default();
    assert!(note.contains("behind a work item of another institution, which"), "{note}");
    pause(&world, "ingest.fetch", false);
    succeeds(&world, &[has.id, first, late.id]);
}
