//! Workers that are asked to stop, and workers that are killed, in the middle of a large deposit.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use strongroom_engine::Home;
use strongroom_registry::interim::{self, InterimFile};
use strongroom_registry::{ItemId, ItemStatus, RegistryError, Stage, copies, versions};

use crate::fixtures::{Made, make_bag};
use crate::homes::{EndState, Running, all_items, end_state, open, until, work_to_the_end};
use crate::program::Place;

const NAME: &str = "letters";
const OBJECT: &str = "example.edu/letters";
/// Small files for a few rounds of records, then large ones that take their time.
const MADE: Made = Made { small: 3_000, large: (2, 20 << 20), says: "once" };
const TO_FETCH: &str = "ingest.receive,ingest.estimate,ingest.provision,ingest.fetch";
const TO_WRITE: &str = "ingest.validate,ingest.resolve,ingest.compare,ingest.gather,ingest.characterize,ingest.write";
/// Each kill costs an attempt, as it should; here there may be many in one stage.
const MANY_ATTEMPTS: &[(&str, &str)] = &[("STRONGROOM_WORKERS__DEFAULT__MAX_ATTEMPTS", "100")];

/// A home with the large bag handed in, and the item that waits for workers.
fn handed_in() -> (Place, Home, ItemId) {
    let place = Place::with_home();
    make_bag(&place.path(""), NAME, MADE);
    let item = place.run(["deposit", "letters.tar", "--json"]).succeeds().object();
    let home = open(&place);
    (place, home, item["item"].as_str().unwrap().parse().unwrap())
}

/// The end state of the same deposit when nobody disturbs it.
fn undisturbed() -> &'static EndState {
    static STATE: OnceLock<EndState> = OnceLock::new();
    STATE.get_or_init(|| {
        let place = Place::with_home();
        make_bag(&place.path(""), NAME, MADE);
        place.run(["deposit", "letters.tar", "--wait"]).succeeds();
        end_state(&place, OBJECT)
    })
}

fn interim_files(home: &Home, item: ItemId) -> BTreeMap<String, InterimFile> {
    let rows = home.registry.read(|tx| interim::files_after(tx, item, "", 1_000_000)).unwrap();
    rows.into_iter().map(|row| (row.path.clone(), row)).collect()
}

/// Inode, size and time of change of the staged bytes under each key.
fn staged(place: &Place, rows: &BTreeMap<String, InterimFile>) -> BTreeMap<String, (u64, u64, i64, i64)> {
    let staging = place.path("home/stores/staging");
    let look = |key: &String| {
        let metadata = fs::metadata(staging.join(Path::new(key))).unwrap();
        (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
    };
    rows.values().map(|row| (row.staging_key.clone(), look(&row.staging_key))).collect()
}

/// What a worker that was asked to stop leaves: the item free for anybody, and no attempt spent.
#[track_caller]
fn given_back_at(place: &Place) -> String {
    let item = place.run(["items", "list", "--json"]).succeeds().object();
    assert_eq!(item["status"], "pending", "{item}");
    assert_eq!(item["attempts"], 0, "{item}");
    assert_eq!(item["retry_count"], 0, "{item}");
    assert!(item["holder"].is_null() && item["lease_until"].is_null(), "{item}");
    item["stage"].as_str().unwrap().to_owned()
}

/// A worker asked to stop while it fetched.
fn stopped_within_fetch() -> (Place, Home, ItemId) {
    // Where the machine is busy, a fetch can be over before it is seen to have begun.
    for _ in 0..5 {
        let (place, home, item) = handed_in();
        let mut worker = Running::start(&place, &["-q", "work", "--topics", TO_FETCH]);
        until("a part of the bag is staged", || {
            assert!(!worker.has_ended());
            let totals = home.registry.read(|tx| interim::totals(tx, item)).unwrap();
            (totals.files >= 1_000).then_some(())
        });
        assert_eq!(worker.terminate().code(), Some(0));
        if given_back_at(&place) == "fetch" {
            return (place, home, item);
        }
    }
    panic!("no worker could be stopped while it fetched");
}

#[test]
fn a_worker_asked_to_stop_within_a_large_bag_ends_well_and_another_goes_on_where_it_stopped() {
    let (place, home, item) = stopped_within_fetch();
    let before = interim_files(&home, item);
    let bytes_before = staged(&place, &before);
    let all = MADE.small + MADE.large.0;
    assert!(before.len() >= 1_000 && before.len() < all, "{} files staged", before.len());

    // Another process fetches the rest, and only the rest.
    let mut second = Running::start(&place, &["-q", "work", "--topics", "ingest.fetch"]);
    until("the bag is fetched", || {
        assert!(!second.has_ended());
        (all_items(&home)[0].stage == Stage::named("validate")).then_some(())
    });
    assert_eq!(second.terminate().code(), Some(0));
    let after = interim_files(&home, item);
    assert!(after.len() > all, "{} files, tag files among them", after.len());
    for (path, row) in &before {
        let now = after.get(path).map(|row| format!("{row:?}"));
        assert_eq!(now, Some(format!("{row:?}")), "{path} was fetched again");
    }
    let bytes_after = staged(&place, &after);
    for (key, look) in &bytes_before {
        assert_eq!(bytes_after.get(key), Some(look), "{key} was written again");
    }

    // A third is stopped while it writes.
    let mut third = Running::start(&place, &["-q", "work", "--topics", TO_WRITE]);
    until("a part of the contents is in a store", || {
        assert!(!third.has_ended());
        (copies_of(&home, item) > 0).then_some(())
    });
    assert_eq!(third.terminate().code(), Some(0));
    let stage = given_back_at(&place);
    assert!(["write", "verify"].contains(&stage.as_str()), "{stage}");

    work_to_the_end(&place, &[]);
    assert_eq!(all_items(&home)[0].status, ItemStatus::Succeeded);
    assert_eq!(&end_state(&place, OBJECT), undisturbed());
}

/// Copies that are recorded of the version the item makes.
fn copies_of(home: &Home, item: ItemId) -> u64 {
    home.registry
        .read(|tx| {
            let Some(version) = versions::of_item(tx, item)? else { return Ok(0) };
            let mut copies = 0;
            for store in crate::homes::PRESERVATION {
                copies += copies::unverified(tx, &version, store, None, 100_000)?.len() as u64;
            }
            Ok::<_, RegistryError>(copies)
        })
        .unwrap()
}

#[test]
fn an_ingest_ends_as_undisturbed_when_killed_at_moments_nobody_chose() {
    const KILLS: usize = 8;
    let (place, home, item) = handed_in();
    let mut delays = Vec::new();
    for _ in 0..KILLS {
        let mut workers = Running::of(place.command().args(["-q", "work"]).envs(MANY_ATTEMPTS.iter().copied()));
        until("the worker holds the item", || {
            assert!(!workers.has_ended(), "after {delays:?}");
            let found = &all_items(&home)[0];
            (found.holder.is_some() || found.status.is_ended()).then_some(())
        });
        // Not a wait for anything: the moment is the point.
        let delay = RandomState::new().hash_one(item) % 600;
        delays.push(delay);
        std::thread::sleep(Duration::from_millis(delay));
        workers.kill();
    }
    work_to_the_end(&place, MANY_ATTEMPTS);
    let ended = &all_items(&home)[0];
    assert_eq!(ended.status, ItemStatus::Succeeded, "after {delays:?}: {ended:?}");
    assert_eq!(&end_state(&place, OBJECT), undisturbed(), "after {delays:?}");
}
