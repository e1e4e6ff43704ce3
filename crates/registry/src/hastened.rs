//! Tells those who wait in this process for a background task to be due that one was made due earlier, as soon as the transaction that did so
//! has committed. Other processes look at the table of schedules every few seconds.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What is called.
pub type Listener = dyn Fn() + Send + Sync;

thread_local! {
    /// Whether the transaction that this thread runs has made a background task due earlier. A transaction runs in one thread.
    static IS_NOTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes it of the transaction that this thread runs.
pub(crate) fn note() {
    IS_NOTED.set(true);
}

/// Runs a transaction; whether it was noted of it.
pub(crate) fn noting<T>(transaction: impl FnOnce() -> T) -> (T, bool) {
    IS_NOTED.set(false);
    let result = transaction();
    (result, IS_NOTED.take())
}

/// Those who wait. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Listeners(Arc<Mutex<Vec<Weak<Listener>>>>);

impl Listeners {
    /// Calls `listener` for as long as its owner keeps it.
    pub(crate) fn add(&self, listener: &Arc<Listener>) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|kept| kept.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    pub(crate) fn call(&self) {
        let listeners: Vec<_> = {
            let listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            listeners.iter().filter_map(Weak::upgrade).collect()
        };
        for listener in listeners {
            listener();
        }
    }
}
