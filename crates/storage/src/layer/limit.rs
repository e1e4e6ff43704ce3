//! At most so many calls of a store at once; more wait for their turn.

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::{Call, Layer};
use crate::StorageError;

/// Limits how many calls are under way at once. A body that was opened is not counted while it is read: whoever reads
/// one to put it elsewhere in the same store would wait for himself.
#[derive(Debug)]
pub struct Limit {
    most: usize,
    under_way: Mutex<usize>,
    one_ended: Condvar,
}

impl Limit {
    /// At most `most` calls at once.
    pub fn new(most: NonZeroUsize) -> Self {
        Self { most: most.get(), under_way: Mutex::new(0), one_ended: Condvar::new() }
    }

    /// How many calls are under way.
    pub fn under_way(&self) -> usize {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn permit(&self) -> Permit<'_> {
        let mut under_way = self.lock();
        while *under_way >= self.most {
            under_way = self.one_ended.wait(under_way).unwrap_or_else(PoisonError::into_inner);
        }
        *under_way += 1;
        Permit(self)
    }
}

/// Given back when dropped, also by a panic.
struct Permit<'a>(&'a Limit);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.one_ended.notify_one();
    }
}

impl Layer for Limit {
    fn call<T>(&self, _call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let _permit = self.permit();
        act()
    }
}
