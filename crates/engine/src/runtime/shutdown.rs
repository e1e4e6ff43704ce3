//! The wish to stop, as signals give it: once to drain, twice to stop at once.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// A listener that is called when the request changes.
pub(crate) type Listener = dyn Fn() + Send + Sync;

/// How much of a hurry there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// None: go on.
    None,
    /// Take nothing new, bring what runs to a checkpoint.
    Drain,
    /// Leave everything as it is.
    AtOnce,
}

#[derive(Default)]
struct State {
    requests: u32,
    listeners: Vec<Weak<Listener>>,
}

/// A flag shared by everything that has to stop. Clones are the same flag. It takes locks, so a signal handler proper may
/// not call it; a thread that receives signals may.
#[derive(Clone, Default)]
pub struct Shutdown(Arc<Mutex<State>>);

impl Shutdown {
    /// No stop is requested yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop, where that was not asked for: a second request would mean at once.
    pub fn request_once(&self) {
        if !self.is_requested() {
            self.request();
        }
    }

    /// Asks to stop once, when what it gives is dropped: also where the thread that holds it panics.
    pub fn request_on_drop(&self) -> RequestOnDrop<'_> {
        RequestOnDrop(self)
    }

    /// Asks to stop. The first time: take nothing new and let what runs reach a checkpoint. From the second time on: stop
    /// at once.
    pub fn request(&self) {
        let listeners: Vec<_> = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.requests = state.requests.saturating_add(1);
            state.listeners.iter().filter_map(Weak::upgrade).collect()
        };
        for listener in listeners {
            listener();
        }
    }

    /// Whether it was asked at all.
    pub fn is_requested(&self) -> bool {
        self.urgency() >= Urgency::Drain
    }

    /// Sleeps until it is asked, and at most for `at_most`; whether it was asked.
    pub fn wait(&self, at_most: Duration) -> bool {
        let asked = Arc::new((Mutex::new(self.is_requested()), Condvar::new()));
        let listener: Arc<Listener> = Arc::new({
            let asked = asked.clone();
            move || {
                *asked.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
                asked.1.notify_all();
            }
        });
        self.listen(&listener);
        // It may have been asked before anybody listened.
        if self.is_requested() {
            return true;
        }
        let guard = asked.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = asked.1.wait_timeout_while(guard, at_most, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Whether it was asked more than once: to stop at once.
    pub(crate) fn is_urgent(&self) -> bool {
        self.urgency() == Urgency::AtOnce
    }

    pub(super) fn urgency(&self) -> Urgency {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).requests {
            0 => Urgency::None,
            1 => Urgency::Drain,
            _ => Urgency::AtOnce,
        }
    }

    /// Calls `listener` at every request for as long as its owner keeps it.
    pub(crate) fn listen(&self, listener: &Arc<Listener>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.listeners.retain(|kept| kept.strong_count() > 0);
        state.listeners.push(Arc::downgrade(listener));
    }
}

/// Asks to stop when it is dropped; see [`Shutdown::request_on_drop`].
#[must_use]
pub struct RequestOnDrop<'s>(&'s Shutdown);

impl Drop for RequestOnDrop<'_> {
    fn drop(&mut self) {
        self.0.request_once();
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shutdown").field(&self.urgency()).finish()
    }
}
