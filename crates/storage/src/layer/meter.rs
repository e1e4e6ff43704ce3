//! Counts of what a store was asked for and what passed through.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::{Call, Layer, Operation};
use crate::{Body, Head, StorageError};

/// Counts calls, failures, bytes and time per operation.
#[derive(Debug, Default)]
pub struct Meter {
    tallies: [Arc<Tally>; Operation::ALL.len()],
}

#[derive(Debug, Default)]
struct Tally {
    calls: AtomicU64,
    failures: AtomicU64,
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

/// What was counted for one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls that ended.
    pub calls: u64,
    /// Those of them that ended with an error.
    pub failures: u64,
    /// Bytes read from the bodies of puts, or by readers of what was opened.
    pub bytes: u64,
    /// Time spent in the calls; for what was opened, without the reading.
    pub nanoseconds: u64,
}

impl Meter {
    /// Everything at nought.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was counted for an operation so far.
    pub fn counts(&self, operation: Operation) -> Counts {
        let tally = self.tally(operation);
        Counts {
            calls: tally.calls.load(Ordering::Relaxed),
            failures: tally.failures.load(Ordering::Relaxed),
            bytes: tally.bytes.load(Ordering::Relaxed),
            nanoseconds: tally.nanoseconds.load(Ordering::Relaxed),
        }
    }

    fn tally(&self, operation: Operation) -> &Arc<Tally> {
        &self.tallies[operation as usize]
    }
}

impl Layer for Meter {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let begun = Instant::now();
        let outcome = act();
        let tally = self.tally(call.operation);
        tally.calls.fetch_add(1, Ordering::Relaxed);
        tally.failures.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
        let spent = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        tally.nanoseconds.fetch_add(spent, Ordering::Relaxed);
        outcome
    }

    fn put(
        &self,
        call: Call<'_>,
        body: &mut dyn Read,
        act: &mut dyn FnMut(&mut dyn Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        let mut counted = Counted { body, tally: Arc::clone(self.tally(call.operation)) };
        self.call(call, &mut || act(&mut counted))
    }

    fn open(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<Body, StorageError>) -> Result<Body, StorageError> {
        let body = self.call(call, act)?;
        Ok(Box::new(Counted { body, tally: Arc::clone(self.tally(call.operation)) }))
    }
}

struct Counted<R> {
    body: R,
    tally: Arc<Tally>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(buffer)?;
        self.tally.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
