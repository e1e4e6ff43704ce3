//! Stores that are away behind the point from which a version only goes forward, and behind an item that has ended: what
//! needs them waits and spends no attempts, and what is gone for good blocks nothing.

use std::collections::BTreeSet;
use std::fs;

use strongroom_engine::backfill::{self, Retirement};
use strongroom_engine::{EngineError, build_runtime};
use strongroom_queue::TaskState;
use strongroom_registry::items::Request;
use strongroom_registry::work::SWEEP_TOPIC;
use strongroom_registry::{VersionId, VersionState, copies, discarding, objects, versions};

use super::identity::{ask, assembly, finish, version, work_until};
use super::*;

pub(super) fn take_away(home: &TestHome, store: &str) -> PathBuf {
    let away = home.path().join("away");
    fs::rename(home.path().join("stores").join(store), &away).expect("takes it away");
    home.try_stores();
    away
}

pub(super) fn bring_back(home: &TestHome, store: &str, away: &Path) {
    fs::rename(away, home.path().join("stores").join(store)).expect("brings it back");
    home.try_stores();
}

/// An item that is cancelled at `record`, and its version.
fn cancelled(home: &TestHome) -> (ItemId, VersionId) {
    let id = hand_in(home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(home, id, Stage::named("record"));
    let begun = version(home, id);
    ask(home, id, Request::Cancel);
    (id, begun)
}

/// An item whose version is being committed, with something in the way of its object in the first store, and that.
fn committing(home: &TestHome) -> (ItemId, PathBuf) {
    let id = hand_in(home, &home.bag("letters", &[("a.txt", b"dear reader")]));
    work_until(home, id, Stage::named("record"));
    let begun = home.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let brought = home.registry.read(|tx| copies::brought(tx, &begun, None, 100)).expect("reads");
    let key = home.registry.read(|tx| objects::copies(tx, brought[0].content)).expect("copies")[0].key.clone();
    let parent: Vec<&str> = key.split('/').take(2).collect();
    let block = home.file("primary", &parent.join("/"));
    fs::write(&block, b"in the way").expect("blocks");
    let workers = build_runtime(&home.home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        let state = home.registry.read(|tx| versions::get(tx, begun.id)).expect("reads").expect("there").state;
        state == VersionState::Committing && find(home, id).status == ItemStatus::Pending
    });
    (id, block)
}

#[test]
fn a_sweep_is_finished_when_its_store_is_back() {
    let home = home();
    let (id, begun) = cancelled(&home);
    let away = take_away(&home, "secondary");
    let sweeps =
        || home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &id.to_string())?)).expect("reads");
    let attempts = std::sync::Mutex::new(BTreeSet::new());
    let workers = build_runtime(&home.home, Some(&[SWEEP_TOPIC.to_owned()])).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        home.clock.advance(Duration::from_mins(10));
        let mut attempts = attempts.lock().expect("locks");
        attempts.extend(sweeps().iter().map(|task| task.attempt));
        sweeps().iter().any(|task| task.state == TaskState::Dead) || attempts.len() > 12
    });
    let told: Vec<_> = sweeps().iter().map(|task| (task.state, task.reason.clone())).collect();
    assert!(
        sweeps().iter().all(|task| task.state != TaskState::Dead),
        "a store that is away spends no attempt: {told:?}"
    );
    assert!(home.keys("staging").is_empty(), "what is staged needs no preservation store");
    bring_back(&home, "secondary", &away);
    let workers = build_runtime(&home.home, Some(&[SWEEP_TOPIC.to_owned()])).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        home.clock.advance(Duration::from_mins(10));
        sweeps().is_empty()
    });
    let unswept = home.registry.read(|tx| discarding::unswept_of_item(tx, id)).expect("reads").len();
    assert_eq!(unswept, 0);
    assert!(KEPT_IN.iter().all(|store| !assembly(&home, store, begun).exists()));
}

#[test]
fn a_store_that_goes_away_behind_committing_is_waited_for() {
    let home = home();
    let (id, block) = committing(&home);
    fs::remove_file(block).expect("unblocks");
    let away = take_away(&home, "secondary");
    let spent = find(&home, id).retry_count;
    let workers = build_runtime(&home.home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        home.clock.advance(Duration::from_secs(20));
        let item = find(&home, id);
        let waits = item.note.as_deref().is_some_and(|note| note.starts_with("waits for store secondary"));
        item.status.is_ended() || waits || item.retry_count > spent
    });
    let waits = find(&home, id);
    assert_eq!((waits.status, waits.retry_count), (ItemStatus::Pending, spent), "{:?} at {}", waits.note, waits.stage);
    bring_back(&home, "secondary", &away);
    home.clock.advance(Duration::from_hours(1));
    finish(&home, id);
}

#[test]
fn a_retired_store_that_is_gone_does_not_block_a_deposit() {
    let home = home();
    let (_, begun) = cancelled(&home);
    let away = take_away(&home, "secondary");
    let retired =
        backfill::retire(&home, &crate::fixture::retire_request("secondary", true), &mut |_| Ok::<_, EngineError>(()));
    assert!(matches!(retired, Ok(Retirement::Retired(_))), "{retired:?}");
    let next = hand_in(&home, &home.bag("letters", &[("b.txt", b"two")]));
    let workers = build_runtime(&home.home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        let item = find(&home, next);
        item.status.is_ended() || item.note.as_deref().is_some_and(|note| note.starts_with("waits for store"))
    });
    let ended = find(&home, next);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?} at {}", ended.note, ended.stage);
    // Where it comes back all the same, what it holds of the version is removed.
    bring_back(&home, "secondary", &away);
    assert!(assembly(&home, "secondary", begun).exists());
    strongroom_engine::ingest::sweep_assemblies(&home, &Shutdown::new()).expect("sweeps");
    assert!(!assembly(&home, "secondary", begun).exists());
}
