//! Faults on purpose, at the call they were planned for: what proves that everything above a store bears them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use strongroom_storage::{Body, Head, Key, StorageError};

use crate::layer::{Call, Layer, Operation};

/// One thing that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails and does nothing.
    Fail(ErrorKind),
    /// The call does what it should and reports failure all the same.
    FailAfter(ErrorKind),
    /// A put fails for want of space after this many bytes.
    DiskFull {
        /// Bytes that still fitted.
        after: u64,
    },
    /// The body of a put ends early, as if it were complete.
    TornBody {
        /// Bytes that remain.
        after: u64,
    },
    /// What is read of an opened body ends early, as if it were complete.
    ShortRead {
        /// Bytes that remain.
        after: u64,
    },
    /// One byte of what is put or read comes out with its lowest bit turned.
    CorruptByte {
        /// Which, counted from 0.
        at: u64,
    },
}

/// Makes planned faults happen; without a plan, nothing does.
#[derive(Debug, Default)]
pub struct Faults {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: BTreeMap<Operation, u64>,
    plans: BTreeMap<(Operation, u64), Fault>,
    unreadable: BTreeSet<Key>,
    happened: u64,
}

impl Faults {
    /// No faults yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Plans a fault for the `nth` call of an operation from now on; 1 is the next.
    pub fn plan(&self, operation: Operation, nth: u64, fault: Fault) {
        let mut state = self.lock();
        let call = state.calls.get(&operation).copied().unwrap_or_default() + nth;
        state.plans.insert((operation, call), fault);
    }

    /// Makes the bytes under a key unreadable (`EIO`), as a bad sector does, until something is put there anew.
    pub fn make_unreadable(&self, key: &Key) {
        self.lock().unreadable.insert(key.clone());
    }

    /// How many planned faults have happened.
    pub fn happened(&self) -> u64 {
        self.lock().happened
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and gives what was planned for it.
    fn due(&self, operation: Operation) -> Option<Fault> {
        let mut state = self.lock();
        let calls = state.calls.entry(operation).or_default();
        *calls += 1;
        let call = *calls;
        let fault = state.plans.remove(&(operation, call));
        state.happened += u64::from(fault.is_some());
        fault
    }
}

fn failure(call: Call<'_>, kind: ErrorKind) -> StorageError {
    StorageError::Io {
        store: call.store.to_owned(),
        act: call.operation.name(),
        key: call.key.clone(),
        source: io::Error::new(kind, "a planned fault"),
    }
}

impl Layer for Faults {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        match self.due(call.operation) {
            Some(Fault::Fail(kind)) => Err(failure(call, kind)),
            Some(Fault::FailAfter(kind)) => act().and(Err(failure(call, kind))),
            Some(Fault::DiskFull { .. }) => Err(failure(call, ErrorKind::StorageFull)),
            // The others are faults of bytes: a call without bytes cannot have them.
            Some(_) | None => act(),
        }
    }

    fn put(
        &self,
        call: Call<'_>,
        body: &mut dyn Read,
        act: &mut dyn FnMut(&mut dyn Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        let fault = self.due(call.operation);
        let outcome = match fault {
            None | Some(Fault::ShortRead { .. }) => act(body),
            Some(Fault::Fail(kind)) => Err(failure(call, kind)),
            Some(Fault::FailAfter(kind)) => act(body).and(Err(failure(call, kind))),
            Some(Fault::TornBody { after }) => act(&mut body.take(after)),
            Some(Fault::CorruptByte { at }) => act(&mut Corrupt { body, position: 0, at }),
            Some(Fault::DiskFull { after }) => {
                let mut full = body.take(after).chain(NoSpace);
                match act(&mut full) {
                    // The store sees its source fail; to the caller it is the store that does.
                    Err(StorageError::Source { .. }) => Err(failure(call, ErrorKind::StorageFull)),
                    outcome => outcome,
                }
            }
        };
        if outcome.is_ok() {
            self.lock().unreadable.remove(call.key);
        }
        outcome
    }

    fn open(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<Body, StorageError>) -> Result<Body, StorageError> {
        let fault = self.due(call.operation);
        if self.lock().unreadable.contains(call.key) {
            return act().map(|_| Box::new(BadSector) as Body);
        }
        Ok(match fault {
            Some(Fault::Fail(kind) | Fault::FailAfter(kind)) => return Err(failure(call, kind)),
            Some(Fault::ShortRead { after }) => Box::new(act()?.take(after)),
            Some(Fault::CorruptByte { at }) => Box::new(Corrupt { body: act()?, position: 0, at }),
            Some(Fault::DiskFull { .. } | Fault::TornBody { .. }) | None => act()?,
        })
    }
}

struct BadSector;

impl Read for BadSector {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(rustix::io::Errno::IO.into())
    }
}

struct NoSpace;

impl Read for NoSpace {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(ErrorKind::StorageFull, "a planned fault"))
    }
}

struct Corrupt<R> {
    body: R,
    position: u64,
    at: u64,
}

impl<R: Read> Read for Corrupt<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(buffer)?;
        let place = self.at.checked_sub(self.position).and_then(|place| usize::try_from(place).ok());
        if let Some(byte) = place.and_then(|place| buffer.get_mut(..length)?.get_mut(place)) {
            *byte ^= 1;
        }
        self.position += length as u64;
        Ok(length)
    }
}
