//! Deposits that read from servers, which may be slow or silent: others do not wait for them.

use std::cell::Cell;
use std::time::Duration;

use strongroom_download::{Policy, Timeouts};
use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_registry::items::Item;
use strongroom_registry::{InstitutionId, ItemId, ItemStatus, tenants};
use strongroom_web_double::Behaviour;

use super::world::{OBJECT, SINGLE_FILES, Source, World, manifest};
use crate::fixture::{Engine, on_both_databases};

on_both_databases! {
    a_local_file_does_not_wait_for_slow_downloads
    a_deposit_does_not_wait_for_silent_servers
    a_local_file_does_not_wait_for_a_silent_server_where_each_topic_has_one_worker
    files_of_silent_servers_in_manifests_keep_no_other_waiting
    a_list_of_a_silent_server_keeps_no_other_waiting
    a_bag_whose_fetch_txt_names_a_silent_server_keeps_no_other_waiting
}

const OTHER: &str = "other.example.edu";

/// With the settings that an installation begins with, but that a run ends soon, and a second institution. A server may take as long as it wants.
fn world(engine: Engine, settings: &str) -> Option<World> {
    let settings = format!("[workers.default]\nshutdown_timeout = \"1s\"\n{settings}");
    let mut world = World::in_database(engine, &settings)?;
    let long = Duration::from_hours(1);
    let policy = world.policy();
    let timeouts = Timeouts { response: long, stall_window: long, ..policy.timeouts };
    world.download_within(Policy { timeouts, ..policy });
    let add = |tx: &mut dyn strongroom_registry::Transaction| {
        tenants::add_institution(tx, InstitutionId::new(), OTHER, "Another one")
    };
    world.home.registry.write(add).expect("adds an institution");
    Some(world)
}

fn submit(world: &World, request: &DepositRequest) -> ItemId {
    world.submit(request).expect("is submitted").items[0]
}

fn of_other(world: &World, source: impl Source) -> DepositRequest {
    DepositRequest { kind: DepositKind::File, institution: OTHER.to_owned(), ..world.request(source) }
}

/// A server that does not answer for a path.
fn silent(world: &World, path: &str) {
    world.web.put(path, b"never");
    world.web.on(path, Behaviour::Silent);
}

/// Works until `count` requests for paths that begin with `/s` are open, submits others then, and works until these have ended: the items.
fn submit_behind(world: &World, count: usize, others: &[DepositRequest]) -> Vec<Item> {
    let submitted = Cell::new(Vec::new());
    world.work_until(&|| {
        let mut ids = submitted.take();
        let open = world.web.requests().iter().filter(|request| request.path.starts_with("/s")).count();
        if ids.is_empty() && open >= count {
            ids = others.iter().map(|request| submit(world, request)).collect();
        }
        let have_ended = !ids.is_empty() && ids.iter().all(|id| world.item(*id).status.is_ended());
        submitted.set(ids);
        have_ended
    });
    submitted.take().into_iter().map(|id| world.item(id)).collect()
}

fn succeeded(items: &[Item]) {
    for item in items {
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
    }
}

/// A local file and one at a server, of another institution.
fn others(world: &World) -> [DepositRequest; 2] {
    world.web.put("/quick.txt", b"quick");
    [of_other(world, world.write("local.txt", b"ten bytes\n")), of_other(world, "/quick.txt")]
}

fn a_local_file_does_not_wait_for_slow_downloads(engine: Engine) {
    let Some(world) = world(engine, "") else { return };
    for number in 0..12 {
        let path = format!("/slow{number}.bin");
        world.web.put(&path, [7; 4_000]);
        world.web.on(&path, Behaviour::Slow);
        submit(&world, &DepositRequest { kind: DepositKind::File, ..world.request(path.as_str()) });
    }
    // Each is asked for its size when it is received; those that are downloaded are asked once more.
    let local = of_other(&world, world.write("local.txt", b"ten bytes\n"));
    succeeded(&submit_behind(&world, 12 + 2 * 2, &[local]));
    let downloads = world.web.requests().iter().filter(|request| request.method == "GET").count();
    assert_eq!(downloads, 2, "an institution has half of four workers");
    world.web.put("/quick.txt", b"quick");
    succeeded(&submit_behind(&world, 1, &[of_other(&world, "/quick.txt")]));
}

fn a_deposit_does_not_wait_for_silent_servers(engine: Engine) {
    let Some(world) = world(engine, "") else { return };
    let mut ids = Vec::new();
    for number in 0..12 {
        let path = format!("/silent{number}.bin");
        silent(&world, &path);
        ids.push(submit(&world, &DepositRequest { kind: DepositKind::File, ..world.request(path.as_str()) }));
    }
    let others = others(&world);
    succeeded(&submit_behind(&world, 2, &others));
    for id in ids {
        let item = world.item(id);
        assert!(!item.status.is_ended() && item.retry_count == 0, "{item:?}");
        assert_eq!(item.topic, "ingest.receive.remote");
        let lines = world
            .home
            .registry
            .read(|tx| strongroom_registry::items::history(tx, strongroom_registry::Scope::System, id));
        assert!(lines.expect("a history").len() <= 3, "waiting adds no lines");
    }
}

fn a_local_file_does_not_wait_for_a_silent_server_where_each_topic_has_one_worker(engine: Engine) {
    for settings in ["workers = 1\n", "workers = 1\n[workers.\"ingest.receive\"]\nworkers = 1\n"] {
        let Some(world) = world(engine, settings) else { return };
        for number in 0..4 {
            let path = format!("/silent{number}.bin");
            silent(&world, &path);
            submit(&world, &DepositRequest { kind: DepositKind::File, ..world.request(path.as_str()) });
        }
        let [local, quick] = others(&world);
        succeeded(&submit_behind(&world, 1, &[local]));
        if !settings.contains("ingest.receive") {
            // With twice as many workers as for other topics.
            succeeded(&submit_behind(&world, 1, &[quick]));
        }
    }
}

fn files_of_silent_servers_in_manifests_keep_no_other_waiting(engine: Engine) {
    let Some(world) = world(engine, "") else { return };
    for number in 0..6 {
        let path = format!("/silent{number}.bin");
        silent(&world, &path);
        let rows = [format!("{} | | | 5 | | a.bin |", world.web.url(&path))];
        submit(&world, &world.request(world.write(&format!("{number}.checkm"), manifest(OBJECT, &rows))));
    }
    let local = of_other(&world, world.write("local.txt", b"ten bytes\n"));
    world.web.put("/quick.txt", b"quick");
    let rows = [format!("{} | | | | | quick.txt |", world.web.url("/quick.txt"))];
    let quick = world.request(world.write("quick.checkm", manifest(OBJECT, &rows)));
    let quick = DepositRequest { institution: OTHER.to_owned(), ..quick };
    succeeded(&submit_behind(&world, 2, &[local, quick]));
}

fn a_list_of_a_silent_server_keeps_no_other_waiting(engine: Engine) {
    let Some(world) = world(engine, "") else { return };
    for number in 0..6 {
        let path = format!("/silent{number}.checkm");
        silent(&world, &path);
        let kind = DepositKind::SingleFileBatchManifest;
        submit(&world, &DepositRequest { kind, ..world.request(path.as_str()) });
    }
    world.web.put("/quick.txt", b"quick");
    let rows = [format!("{} | | | | | quick.txt | | | | |", world.web.url("/quick.txt"))];
    let list = world.request(world.write("list.checkm", manifest(SINGLE_FILES, &rows)));
    let list = DepositRequest { kind: DepositKind::SingleFileBatchManifest, institution: OTHER.to_owned(), ..list };
    succeeded(&submit_behind(&world, 2, &[list]));
}

fn a_bag_whose_fetch_txt_names_a_silent_server_keeps_no_other_waiting(engine: Engine) {
    let Some(world) = world(engine, "[ingest]\nfetch_txt = true\n") else { return };
    let bags: Vec<ItemId> = (0..6)
        .map(|number| {
            let path = format!("/silent{number}.bin");
            silent(&world, &path);
            submit(&world, &super::fetching::bag_of(&world, &format!("bag{number}"), &path, b"never"))
        })
        .collect();
    let local = of_other(&world, world.write("local.txt", b"ten bytes\n"));
    succeeded(&submit_behind(&world, 2, &[local]));
    for id in bags {
        assert_eq!(world.item(id).topic, "ingest.fetch.remote");
    }
}
