//! Connections to each host at a time: a semaphore by host.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::DownloadError;
use crate::supervision::{SLICE, Supervision};

/// The connections in use, by host and port.
#[derive(Debug)]
pub(crate) struct Permits {
    limit: usize,
    used: Mutex<HashMap<String, usize>>,
    released: Condvar,
}

/// The right to have one connection to a host, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    permits: Arc<Permits>,
    host: String,
}

impl Permits {
    /// At most so many connections to each host; at least one.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), used: Mutex::default(), released: Condvar::new() })
    }

    /// Waits until a connection to `host` is free. `url` is what errors name.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        host: String,
        url: &str,
        supervision: &Supervision<'_>,
    ) -> Result<Permit, DownloadError> {
        let mut used = self.lock();
        loop {
            let count = used.entry(host.clone()).or_default();
            if *count < self.limit {
                *count += 1;
                return Ok(Permit { permits: self.clone(), host });
            }
            let waited = self.released.wait_timeout(used, SLICE).unwrap_or_else(PoisonError::into_inner);
            drop(waited);
            // The caller's code runs without the lock.
            supervision.check(url)?;
            used = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut used = self.permits.lock();
        if let Some(count) = used.get_mut(&self.host) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                used.remove(&self.host);
            }
        }
        drop(used);
        self.permits.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn connections_are_limited_for_each_host_and_freed_when_dropped() {
        let permits = Permits::new(2);
        let stopping = Supervision::new(|| Err::<(), _>(io::Error::other("stop")));
        let take = |host: &str| permits.acquire(host.to_owned(), "url", &stopping);
        let first = take("a").unwrap();
        let _second = take("a").unwrap();
        let _other_host = take("b").unwrap();
        assert!(matches!(take("a"), Err(DownloadError::Interrupted { .. })));
        drop(first);
        let third = take("a").unwrap();
        drop(third);
        assert_eq!(permits.lock().len(), 2);
    }

    #[test]
    fn a_waiting_thread_gets_what_another_one_frees() {
        let permits = Permits::new(1);
        let held = permits.acquire("a".into(), "url", &Supervision::default()).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| permits.acquire("a".into(), "url", &Supervision::default()).map(drop));
            drop(held);
            waiting.join().unwrap().unwrap();
        });
        assert!(permits.lock().is_empty());
    }
}
