//! A layer around the stores of one engine that counts every operation which changes something, and stops before a chosen
//! one, so that the others act meanwhile.

use std::io::ErrorKind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use strongroom_storage::{Call, Layer, Operation, StorageError};

/// Nothing here takes this long; what does is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Default)]
struct State {
    count: usize,
    chosen: Option<usize>,
    reached: Option<String>,
    is_asleep: bool,
    /// Removals in the store of this name fail.
    refuses_removals: Option<&'static str>,
    failures: usize,
}

/// The gate of one engine, shared by all its stores.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn at(operation: usize) -> Arc<Self> {
        let state = State { chosen: Some(operation), ..State::default() };
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new() })
    }

    pub(crate) fn refusing_removals(store: &'static str) -> Arc<Self> {
        let state = State { refuses_removals: Some(store), ..State::default() };
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operation at which it stopped, in words.
    pub(crate) fn reached(&self) -> Option<String> {
        self.lock().reached.clone()
    }

    /// How many removals it has refused.
    pub(crate) fn failures(&self) -> usize {
        self.lock().failures
    }

    /// Waits until the worker sleeps, or until `is_over`; whether it sleeps.
    pub(crate) fn wait(&self, is_over: impl Fn() -> bool) -> bool {
        let mut state = self.lock();
        while !state.is_asleep && !is_over() {
            state =
                self.changed.wait_timeout(state, Duration::from_millis(2)).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_asleep
    }

    /// Lets the worker go on.
    pub(crate) fn wake(&self) {
        self.lock().is_asleep = false;
        self.changed.notify_all();
    }

    fn pass(&self, call: Call<'_>) -> Result<(), StorageError> {
        let mut state = self.lock();
        if changes(call.operation) && !state.is_asleep {
            state.count += 1;
            if state.chosen == Some(state.count) {
                state.reached = Some(format!("{} of {:?} in {}", call.operation.name(), call.key.as_str(), call.store));
                state.is_asleep = true;
                self.changed.notify_all();
            }
        }
        while state.is_asleep {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let removes = matches!(call.operation, Operation::Delete | Operation::DeleteAll | Operation::Discard);
        if removes && state.refuses_removals == Some(call.store) {
            state.failures += 1;
            return Err(StorageError::Io {
                store: call.store.to_owned(),
                act: call.operation.name(),
                key: call.key.clone(),
                source: std::io::Error::new(ErrorKind::TimedOut, "a planned disturbance"),
            });
        }
        Ok(())
    }
}

fn changes(operation: Operation) -> bool {
    use Operation::{Commit, Delete, DeleteAll, Discard, Put, Sync};
    matches!(operation, Put | Sync | Delete | DeleteAll | Commit | Discard)
}

/// The gate as a layer.
pub(crate) struct Gated(pub(crate) Arc<Gate>);

impl Layer for Gated {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        self.0.pass(call)?;
        act()
    }
}
