//! How many large content items are copied at once: fewer than there are workers, which are many because small ones wait for the disk. Each
//! large one needs memory where its destination is in object storage, and a part of what disks and network carry.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::runtime::{Interrupted, TaskContext};

/// A content item with more bytes is large.
const LARGE: u64 = 8 << 20;
/// One of so many workers may copy a large one, and at least [`LEAST`].
const WORKERS_FOR_ONE: usize = 4;
const LEAST: usize = 2;
/// How often one that waits asks whether it has to stop.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// The large content items that this process copies now.
#[derive(Debug, Default)]
pub(crate) struct LargeCopies {
    count: Mutex<usize>,
    ended: Condvar,
}

/// The permission to copy a large one, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'p>(&'p LargeCopies);

impl LargeCopies {
    /// Waits until a content item of this size may be copied by one of so many workers; none is needed for a small one.
    ///
    /// # Errors
    /// The task has to stop.
    pub(super) fn permit(
        &self,
        size: u64,
        workers: usize,
        context: &TaskContext,
    ) -> Result<Option<Permit<'_>>, Interrupted> {
        if size <= LARGE {
            return Ok(None);
        }
        let most = (workers / WORKERS_FOR_ONE).max(LEAST);
        let mut count = self.count();
        while *count >= most {
            context.check()?;
            let waited = self.ended.wait_timeout(count, ASK_EVERY);
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *count += 1;
        Ok(Some(Permit(self)))
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut count = self.0.count();
        *count = count.saturating_sub(1);
        self.0.ended.notify_one();
    }
}
