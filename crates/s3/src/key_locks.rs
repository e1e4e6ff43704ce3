//! Locks by key: a thread that reads an object and then changes it keeps other threads from doing the same in between.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More threads than this rarely want different keys at the same time.
const LOCKS: usize = 64;

/// A fixed number of locks; each key has one of them, which it shares with other keys.
#[derive(Debug)]
pub(crate) struct KeyLocks {
    hasher: RandomState,
    locks: Vec<Mutex<()>>,
}

impl Default for KeyLocks {
    fn default() -> Self {
        Self { hasher: RandomState::new(), locks: std::iter::repeat_with(Mutex::default).take(LOCKS).collect() }
    }
}

impl KeyLocks {
    /// Waits for the lock of a key. A thread holds at most one.
    pub(crate) fn lock(&self, key: &str) -> Option<MutexGuard<'_, ()>> {
        let number = usize::try_from(self.hasher.hash_one(key) % LOCKS as u64).unwrap_or_default();
        let lock = self.locks.get(number)?;
        Some(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
