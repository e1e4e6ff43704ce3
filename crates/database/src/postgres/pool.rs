//! A bounded number of connections, made on demand and lent to one thread at a time. Who finds all of them in use waits,
//! and gets an error that says so when that takes too long. A few more are lent for leases alone: work that runs does
//! not lose its lease because other work has every connection.

use std::cell::RefCell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres_rustls::MakeRustlsConnect;

use crate::DatabaseError;

use super::address::Address;
use super::connection::Connection;

/// Connections besides that are lent for leases alone.
const FOR_LEASES: usize = 2;

/// What a connection is borrowed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Whatever it is.
    Any,
    /// Taking and extending leases.
    Leases,
}

thread_local! {
    /// The pools that this thread has borrowed from and not yet returned to.
    static BORROWED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The connections of one database handle.
pub(super) struct Pool {
    pub(super) address: Address,
    pub(super) connector: MakeRustlsConnect,
    limit: usize,
    wait: Duration,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    /// Connections that exist or are being made.
    made: usize,
    /// Those of them that are lent for [any use](Use::Any).
    lent_for_any: usize,
    /// Raised when the server was lost: connections made before are not kept.
    era: u64,
}

impl Pool {
    /// A pool of at most `limit` connections, and a few more for leases; a caller that finds them all in use waits for
    /// `wait`.
    pub(super) fn new(address: Address, connector: MakeRustlsConnect, limit: usize, wait: Duration) -> Self {
        let (state, freed) = (Mutex::default(), Condvar::new());
        Self { address, connector, limit: limit.max(1), wait, state, freed }
    }

    /// Borrows a connection.
    pub(super) fn borrow(&self, purpose: Use) -> Result<Borrowed<'_>, Refusal> {
        let lending = Lending::begin(self).map_err(Refusal::Final)?;
        let (kept, era) = self.wait_for_turn(purpose).map_err(Refusal::Final)?;
        let mut borrowed = Borrowed { pool: self, purpose, connection: kept, era, _lending: lending };
        if borrowed.connection.is_none() {
            // Where this fails, the place is returned when `borrowed` goes.
            let opened = Connection::open_for_work(&self.address, &self.connector)
                .map_err(|error| if error.is_transient() { Refusal::Lost(error) } else { Refusal::Final(error) });
            borrowed.connection = Some(opened?);
        }
        Ok(borrowed)
    }

    /// A connection that waits, or the right to make one.
    fn wait_for_turn(&self, purpose: Use) -> Result<(Option<Connection>, u64), DatabaseError> {
        let deadline = Instant::now() + self.wait;
        let mut state = self.lock();
        loop {
            let lent = state.made - state.idle.len();
            let is_free = match purpose {
                Use::Any => state.lent_for_any < self.limit,
                Use::Leases => true,
            };
            if is_free && lent < self.limit + FOR_LEASES {
                let kept = state.idle.pop();
                state.made += usize::from(kept.is_none());
                state.lent_for_any += usize::from(purpose == Use::Any);
                return Ok((kept, state.era));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DatabaseError::Unavailable {
                    act: "get a connection to the database".into(),
                    detail: format!(
                        "{}: all {} were in use for {} s; allow more of them, or run fewer workers in this process",
                        self.address.shown,
                        if purpose == Use::Any { self.limit } else { self.limit + FOR_LEASES },
                        self.wait.as_secs_f32()
                    ),
                });
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The server was lost: what was connected to it is of no use any more.
    pub(super) fn forget_all(&self) {
        let mut state = self.lock();
        state.era += 1;
        state.made -= state.idle.len();
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        self.freed.notify_all();
        // Saying goodbye to a server that does not answer may take a moment, and is done without the lock.
        drop(idle);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// Why no connection was lent.
pub(super) enum Refusal {
    /// The server does not answer, or not yet; it may in a moment.
    Lost(DatabaseError),
    /// Asking again would not help.
    Final(DatabaseError),
}

impl Refusal {
    /// The error to tell.
    pub(super) fn into_error(self) -> DatabaseError {
        match self {
            Self::Lost(error) | Self::Final(error) => error,
        }
    }
}

/// A borrowed connection. It goes back when dropped, unless it was [`discarded`](Self::discard).
pub(super) struct Borrowed<'p> {
    pool: &'p Pool,
    purpose: Use,
    connection: Option<Connection>,
    era: u64,
    _lending: Lending,
}

impl Borrowed<'_> {
    /// Closes the connection: what state it is in cannot be determined.
    pub(super) fn discard(mut self) {
        self.connection = None;
    }

    /// What it was borrowed for.
    pub(super) fn purpose(&self) -> Use {
        self.purpose
    }

    /// The connection; an error where it is not there, which cannot be.
    pub(super) fn get(&mut self) -> Result<&mut Connection, DatabaseError> {
        self.connection.as_mut().ok_or_else(|| DatabaseError::Unavailable {
            act: "use a connection".into(),
            detail: "it was closed".into(),
        })
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let connection = self.connection.take().filter(|connection| !connection.client.is_closed());
        let mut state = self.pool.lock();
        state.lent_for_any -= usize::from(self.purpose == Use::Any);
        match connection {
            Some(connection) if state.era == self.era => {
                state.idle.push(connection);
                drop(state);
            }
            closing => {
                state.made = state.made.saturating_sub(1);
                drop(state);
                drop(closing);
            }
        }
        // Not everybody who waits may have it.
        self.pool.freed.notify_all();
    }
}

/// That this thread has borrowed from a pool, for as long as it lives.
struct Lending(usize);

impl Lending {
    /// A caller that held a connection and asked for another one could wait for itself: a defect, which debug builds
    /// report.
    fn begin(pool: &Pool) -> Result<Self, DatabaseError> {
        let id = pool.id();
        let is_nested = BORROWED.with_borrow(|borrowed| borrowed.contains(&id));
        if is_nested && cfg!(debug_assertions) {
            return Err(DatabaseError::Aborted("a transaction was begun within another one".into()));
        }
        BORROWED.with_borrow_mut(|borrowed| borrowed.push(id));
        Ok(Self(id))
    }
}

impl Drop for Lending {
    fn drop(&mut self) {
        // A thread that ends may have dropped the list already.
        let _ = BORROWED.try_with(|borrowed| {
            if let Ok(mut borrowed) = borrowed.try_borrow_mut()
                && let Some(place) = borrowed.iter().rposition(|id| *id == self.0)
            {
                borrowed.swap_remove(place);
            }
        });
    }
}
