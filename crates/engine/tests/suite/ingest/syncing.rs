//! What the registry is told of a store is durable there before: contents before they are proved, and their removal before
//! the number of a discarded version is free.

use std::sync::{Arc, Mutex};

use strongroom_engine::EngineError;
use strongroom_engine::Home;
use strongroom_engine::backfill::{self, Retirement};
use strongroom_registry::discarding;
use strongroom_registry::items::Request;
use strongroom_storage::{Body, Durability, Head, Key, PutOptions, StorageError, Store};
use strongroom_storage_test::{Call, Layer, Layered, Operation};

use super::committing::committing_without_assembly;
use super::identity::{ask, assembly, version, work_until};
use super::*;
use crate::older::MARK;
use crate::saying::{Says, saying};

/// Writes down in which order contents are put and read, and everything is made durable or discarded.
#[derive(Default)]
struct Recording(Mutex<Vec<Operation>>);

impl Recording {
    fn note(&self, call: Call<'_>) {
        let is_whole = matches!(call.operation, Operation::Sync | Operation::Discard);
        if is_whole || call.key.as_str().contains("content/") {
            self.0.lock().expect("locks").push(call.operation);
        }
    }

    /// What happened first behind the last of these.
    fn behind_last(&self, last: Operation, wanted: &[Operation]) -> Option<Operation> {
        let lines = self.0.lock().expect("locks");
        let at = lines.iter().rposition(|operation| *operation == last).expect("it happened");
        lines.iter().skip(at).find(|operation| wanted.contains(operation)).copied()
    }
}

impl Layer for Recording {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let outcome = act();
        self.note(call);
        outcome
    }

    fn put(
        &self,
        call: Call<'_>,
        body: &mut dyn std::io::Read,
        act: &mut dyn FnMut(&mut dyn std::io::Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        let outcome = act(body);
        self.note(call);
        outcome
    }

    fn open(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<Body, StorageError>) -> Result<Body, StorageError> {
        let outcome = act();
        self.note(call);
        outcome
    }
}

/// The home with such a layer around the second store.
fn recorded(made: &TestHome) -> (Arc<Home>, Arc<Recording>) {
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let layered = Layered::new(home.stores["secondary"].clone(), Recording::default());
    let recording = layered.layer().clone();
    let store: Arc<dyn Store> = Arc::new(layered);
    home.stores.insert("secondary".into(), store);
    (Arc::new(home), recording)
}

#[test]
fn contents_are_durable_before_they_are_proved() {
    let made = home();
    let (home, recording) = recorded(&made);
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one")]));
    work_on(&home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(find(&made, id).status, ItemStatus::Succeeded);
    let next = recording.behind_last(Operation::Put, &[Operation::Sync, Operation::Open]);
    assert_eq!(next, Some(Operation::Sync));
}

#[test]
fn contents_that_are_made_again_behind_committing_are_durable_before_they_are_proved() {
    let made = home();
    let (id, _) = committing_without_assembly(&made);
    let (home, recording) = recorded(&made);
    work_on(&home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(find(&made, id).status, ItemStatus::Succeeded);
    let next = recording.behind_last(Operation::Put, &[Operation::Sync, Operation::Open]);
    assert_eq!(next, Some(Operation::Sync));
}

#[test]
fn what_a_sweep_removes_is_durably_gone_before_the_number_is_free() {
    let made = home();
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one")]));
    work_until(&made, id, Stage::named("record"));
    ask(&made, id, Request::Cancel);
    let (home, recording) = recorded(&made);
    work_on(&home, &[id], &Shutdown::new()).expect("sweeps");
    assert_eq!(recording.behind_last(Operation::Discard, &[Operation::Sync]), Some(Operation::Sync));
}

#[test]
fn a_retired_store_that_the_settings_no_longer_name_keeps_no_number_occupied() {
    let made = home();
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one")]));
    work_until(&made, id, Stage::named("record"));
    let begun = version(&made, id);
    ask(&made, id, Request::Cancel);
    let retired =
        backfill::retire(&made, &crate::fixture::retire_request("secondary", true), &mut |_| Ok::<_, EngineError>(()));
    assert!(matches!(retired, Ok(Retirement::Retired(_))), "{retired:?}");
    let left = Arc::new(made.opened_with(&["primary"], &["secondary"]));
    let object = find(&made, id).object.expect("an object");
    let unswept = || left.registry.read(|tx| discarding::unswept_of_object(tx, object)).expect("reads").len();
    let workers = strongroom_engine::build_runtime(&left, None).expect("a runtime").build();
    let begun_at = Instant::now();
    workers.run_until(&Shutdown::new(), &|| {
        assert!(begun_at.elapsed() < Duration::from_mins(1), "it is not swept");
        unswept() == 0
    });
    assert!(!assembly(&made, "primary", begun).exists());
}

/// How durable each mark is to be.
#[derive(Default)]
struct Marked(Mutex<Vec<Durability>>);

impl Says for Marked {
    fn is_put(&self, key: &Key, options: &PutOptions) {
        if key.as_str() == MARK {
            self.0.lock().expect("locks").push(options.durability);
        }
    }
}

/// A power cut may leave a mark half written that was not synced; it cannot be parsed then.
#[test]
fn marks_are_durable_when_they_are_written() {
    let made = home();
    let marked = Arc::new(Marked::default());
    let home = Arc::new(saying(&made, [("secondary", marked.clone())]));
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one")]));
    work_on(&home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(find(&made, id).status, ItemStatus::Succeeded);
    let asked = marked.0.lock().expect("locks").clone();
    assert_eq!(asked, [Durability::OnReturn; 2], "before the act, and behind it");
}
