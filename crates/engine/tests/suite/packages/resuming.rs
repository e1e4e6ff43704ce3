//! Large downloads of a process that is killed in their middle: the next process asks only for the rest, and never mixes two versions
//! of a file. The process that is killed is this test binary once more, running [`process`] on the home that the test made.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use strongroom_digest::Algorithm;
use strongroom_engine::ingest::DepositRequest;
use strongroom_engine::settings::Settings;
use strongroom_engine::{Home, build_runtime};
use strongroom_registry::items::{Item, Request};
use strongroom_registry::{BatchId, ItemStatus};
use strongroom_web_double::{Behaviour, WebDouble};

use super::world::{OBJECT, World, contents, digest, manifest, tar};
use crate::fixture;

const HOME: &str = "STRONGROOM_CRASH_HOME";
const SIGKILL: i32 = 9;
const SIZE: usize = 24 << 20;
/// Bytes that are recorded when the process is killed.
const RECORDED: u64 = 16 << 20;

#[test]
#[ignore = "is run by the other tests of this module, in a process of its own"]
fn process() {
    let Ok(folder) = std::env::var(HOME) else { return };
    let folder = Path::new(&folder);
    let settings = std::fs::read_to_string(folder.join("strongroom.toml")).expect("reads");
    let home = Home::open(folder, Settings::from_toml(&settings).expect("settings")).expect("opens");
    strongroom_engine::arm_crash_points();
    let workers = build_runtime(&Arc::new(home), None).expect("a runtime").build();
    workers.run_until(&strongroom_engine::runtime::Shutdown::new(), &|| false);
}

/// How the large file comes into an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    File,
    Tar,
    Manifest,
    FetchList,
}

const WAYS: [Way; 4] = [Way::File, Way::Tar, Way::Manifest, Way::FetchList];

fn large(seed: u8) -> Vec<u8> {
    (0..SIZE).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed).collect()
}

fn world() -> World {
    let web = WebDouble::start();
    let settings = format!(
        "[ingest]\nfetch_txt = true\nallow_private_addresses = true\nurl_hosts = [\"{}\"]\n[workers.default]\nmax_attempts = 5\n",
        web.authority()
    );
    World::of(fixture::home_with(&settings), web)
}

/// Puts the large file at the server, and says how it is deposited. Its digest is stated where `is_stated`.
fn request(world: &World, way: Way, bytes: &[u8], is_stated: bool) -> DepositRequest {
    let url = world.web.url("/large");
    let stated = if is_stated { format!("md5 | {}", digest(bytes, Algorithm::Md5)) } else { "|".to_owned() };
    world.web.put("/large", bytes);
    match way {
        Way::File => world.request("/large"),
        Way::Tar => {
            world.web.put("/large.tar", tar(&[("large", bytes)]));
            world.request("/large.tar")
        }
        Way::Manifest => {
            let rows = [format!("{url} | {stated} | | | large |")];
            world.request(world.write("large.checkm", manifest(OBJECT, &rows)))
        }
        Way::FetchList => {
            let digest = digest(bytes, Algorithm::Sha256);
            world.write("large/bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n");
            world.write("large/manifest-sha256.txt", format!("{digest}  data/large\n"));
            world.write("large/fetch.txt", format!("{url} - data/large\n"));
            world.request(world.path("large"))
        }
    }
}

fn path(way: Way) -> &'static str {
    if way == Way::Tar { "/large.tar" } else { "/large" }
}

/// The process is killed when it has got more than half of the file.
fn killed(world: &World, request: &DepositRequest) -> BatchId {
    let batch = world.submit(request).expect("is submitted").batch;
    let status = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "packages::resuming::process", "--ignored"])
        .env(HOME, world.home.path())
        .env("FAILPOINTS", "ingest.fetch.downloading=1*return")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("runs");
    assert_eq!(status.signal(), Some(SIGKILL), "{status:?}");
    // The lease of the one that was killed runs out.
    world.home.clock.advance(Duration::from_mins(2));
    batch
}

fn check_object(world: &World, way: Way, item: &Item, bytes: &[u8]) {
    assert_eq!(item.status, ItemStatus::Succeeded, "{way:?}: {:?} {:?}", item.note, world.problems(item.id));
    let path = if way == Way::FetchList { "data/large" } else { "large" };
    let kept = world.deposited(&world.object("large"), 1);
    assert!(kept == contents(&[(path, bytes)]), "{way:?}: other bytes");
    assert!(world.is_nothing_staged());
    let left = world.home.path().join("downloads");
    let is_empty = !left.exists() || std::fs::read_dir(left).expect("lists").next().is_none();
    assert!(is_empty, "{way:?}: a download is left");
}

/// The first byte of a range.
fn first_byte(range: &str) -> Option<u64> {
    range.strip_prefix("bytes=")?.split('-').next()?.parse().ok()
}

/// The ranges that were asked for; empty where all of the file was.
fn ranges(world: &World, way: Way) -> Vec<String> {
    let requests = world.web.requests_of(path(way)).into_iter().filter(|request| request.method == "GET");
    requests.map(|request| request.range().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_next_process_asks_only_for_the_rest_of_a_large_file() {
    for way in WAYS {
        for is_stated in [false, true] {
            if is_stated && way != Way::Manifest {
                continue;
            }
            let (world, bytes) = (world(), large(0));
            let batch = killed(&world, &request(&world, way, &bytes, is_stated));
            let before = ranges(&world, way).len();
            let item = world.work(batch).pop().expect("an item");
            check_object(&world, way, &item, &bytes);
            let asked = ranges(&world, way);
            assert!(!asked[before..].contains(&String::new()), "{way:?}: all of it was asked for: {asked:?}");
            let begins = asked[before..].iter().filter_map(|range| first_byte(range)).max();
            assert!(begins >= Some(RECORDED - 1), "{way:?}: {asked:?}");
        }
    }
}

#[test]
fn a_file_that_changed_meanwhile_starts_again_and_is_never_mixed() {
    for way in [Way::File, Way::Tar, Way::Manifest] {
        for behaviours in [&[][..], &[Behaviour::IgnoresIfRange]] {
            let (world, new) = (world(), large(7));
            let batch = killed(&world, &request(&world, way, &large(0), false));
            request(&world, way, &new, false);
            for behaviour in behaviours {
                world.web.on(path(way), behaviour.clone());
            }
            let item = world.work(batch).pop().expect("an item");
            check_object(&world, way, &item, &new);
        }
    }
}

#[test]
fn what_is_kept_of_an_item_that_is_cancelled_is_removed() {
    let world = world();
    let batch = killed(&world, &request(&world, Way::Manifest, &large(0), false));
    let left = world.home.path().join("downloads");
    assert_eq!(std::fs::read_dir(&left).expect("lists").count(), 1);
    let id = world.items(batch)[0].id;
    world.ask(id, Request::Cancel);
    world.work_until(&|| std::fs::read_dir(&left).expect("lists").count() == 0);
    assert_eq!(world.item(id).status, ItemStatus::Cancelled);
}
