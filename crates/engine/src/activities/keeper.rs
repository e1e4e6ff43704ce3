//! Keeps what a task holds of a list, the population or a chunk, by extending its lease while the agent works. The lease of the task
//! itself is extended by the runtime.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use strongroom_database::Isolation;
use strongroom_records::{ChunkLease, Population, RecordsError, lists};
use strongroom_registry::{Registry, RegistryError};

use super::error::Stop;
use crate::event::Event;

/// What is held of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    Population(Population),
    Chunk(ChunkLease),
}

#[derive(Debug, Default)]
struct State {
    held: Option<Held>,
    is_lost: bool,
    is_over: bool,
}

/// Extends one lease at a time.
#[derive(Debug)]
pub(super) struct Keeper {
    state: Mutex<State>,
    changed: Condvar,
    lease: Duration,
}

impl Keeper {
    /// Leases that last so long.
    pub(super) fn new(lease: Duration) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), lease }
    }

    /// How long a lease lasts.
    pub(super) fn lease(&self) -> Duration {
        self.lease
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Extends this from now on, or nothing.
    pub(super) fn hold(&self, held: Option<Held>) {
        let mut state = self.state();
        state.held = held;
        state.is_lost = false;
    }

    /// Whether what is held was lost.
    pub(super) fn check(&self) -> Result<(), Stop> {
        if self.state().is_lost { Err(Stop::Lost) } else { Ok(()) }
    }

    /// Ends [`Self::keep`].
    pub(super) fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Extends what is held, until the end. Where the registry does not answer, it is tried again; another worker has it when the lease
    /// has run out, and the end of a record is refused then.
    pub(super) fn keep(&self, registry: &Registry) {
        loop {
            let state = self.state();
            let pause = self.lease / 3;
            let (state, _) = self
                .changed
                .wait_timeout_while(state, pause, |state| !state.is_over)
                .unwrap_or_else(PoisonError::into_inner);
            if state.is_over {
                return;
            }
            let Some(held) = state.held.clone() else { continue };
            drop(state);
            match extend(registry, held.clone(), self.lease) {
                Ok(true) => {}
                Ok(false) => {
                    let mut state = self.state();
                    // It may have been released meanwhile.
                    if state.held.as_ref() == Some(&held) {
                        state.is_lost = true;
                    }
                }
                Err(error) => Event::RegistryUnavailable { act: "extend the lease of records", error: &error }.emit(),
            }
        }
    }
}

/// Extends a lease; whether it was still held.
fn extend(registry: &Registry, held: Held, lease: Duration) -> Result<bool, RegistryError> {
    registry.write_lease(Isolation::ReadCommitted, move |tx| match &held {
        Held::Chunk(chunk) => Ok(lists::extend(tx, &[*chunk], lease)?.first().copied().unwrap_or(false)),
        Held::Population(population) => match lists::extend_population(tx, population, lease) {
            Ok(_) => Ok(true),
            Err(RecordsError::PopulationLost(_)) => Ok(false),
            Err(error) => Err(error.into()),
        },
    })
}
