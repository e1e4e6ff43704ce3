//! Stores that are away behind an item that has ended: what
//! needs them waits and spends no attempts, and what is gone for good blocks nothing.

use std::collections::BTreeSet;
use std::fs;

use strongroom_engine::backfill::{self, Retirement};
use strongroom_engine::{EngineError, runtime_over};
use strongroom_queue::TaskState;
use strongroom_registry::items::Request;
use strongroom_registry::work::SWEEP_TOPIC;
use strongroom_registry::{VersionId, discarding};

use super::identity::{ask, assembly, version, work_until};
use super::*;

fn take_away(home: &TestHome, store: &str) -> PathBuf {
    let away = home.path().join("away");
    fs::rename(home.path().join("stores").join(store), &away).expect("takes it away");
    home.try_stores();
    away
}

fn bring_back(home: &TestHome, store: &str, away: &Path) {
    fs::rename(away, home.path().join("stores").join(store)).expect("brings it back");
    home.try_stores();
}

/// An item that is cancelled at `record`, and its version.
fn cancelled(home: &TestHome) -> (ItemId, VersionId) {
    let id = hand_in(home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(home, id, Stage::Record);
    let begun = version(home, id);
    ask(home, id, Request::Cancel);
    (id, begun)
}

#[test]
fn a_sweep_is_finished_when_its_store_is_back() {
    let home = home();
    let (id, begun) = cancelled(&home);
    let away = take_away(&home, "secondary");
    let sweeps =
        || home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &id.to_string())?)).expect("reads");
    let attempts = std::sync::Mutex::new(BTreeSet::new());
    let workers = runtime_over(&home.home, Some(&[SWEEP_TOPIC.to_owned()])).expect("a runtime").build();
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
    let workers = runtime_over(&home.home, Some(&[SWEEP_TOPIC.to_owned()])).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        home.clock.advance(Duration::from_mins(10));
        sweeps().is_empty()
    });
    let unswept = home.registry.read(|tx| discarding::unswept_of_item(tx, id)).expect("reads").len();
    assert_eq!(unswept, 0);
    assert!(KEPT_IN.iter().all(|store| !assembly(&home, store, begun).exists()));
}

#[test]
fn a_retired_store_that_is_gone_does_not_block_a_deposit() {
    let home = home();
    let (_, begun) = cancelled(&home);
    let away = take_away(&home, "secondary");
    let retired = backfill::retire(&home, "secondary", true, &mut |_| Ok::<_, EngineError>(()));
    assert!(matches!(retired, Ok(Retirement::Retired(_))), "{retired:?}");
    let next = hand_in(&home, &home.bag("letters", &[("b.txt", b"two")]));
    let workers = runtime_over(&home.home, None).expect("a runtime").build();
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
