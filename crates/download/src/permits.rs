//! Connections to each host at a time: a semaphore by host.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::DownloadError;
use crate::supervision::{SLICE, Supervision, is_set};

/// Who uses a connection: its number, and what says whether it is a download that waits for others to end.
type User = (u64, Option<Arc<AtomicBool>>);

/// The connections in use, by host and port.
#[derive(Debug)]
pub(crate) struct Permits {
    limit: usize,
    used: Mutex<Used>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Used {
    by_host: HashMap<String, Vec<User>>,
    /// The number of the last user.
    last: u64,
}

/// The right to have one connection to a host, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    permits: Arc<Permits>,
    host: String,
    number: u64,
}

impl Permits {
    /// At most so many connections to each host; at least one.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), used: Mutex::default(), released: Condvar::new() })
    }

    /// Waits until a connection to `host` is free. `url` is what errors name. Downloads that wait for others to end never have all of
    /// them: one that the others wait for would get none.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        host: String,
        url: &str,
        supervision: &Supervision<'_>,
    ) -> Result<Permit, DownloadError> {
        let mut used = self.lock();
        loop {
            let users = used.by_host.get(&host).map(Vec::as_slice).unwrap_or_default();
            let ahead = users.iter().filter(|(_, flag)| is_set(flag.as_ref())).count();
            if users.len() < self.limit && !(supervision.is_ahead() && ahead + 1 >= self.limit) {
                used.last += 1;
                let number = used.last;
                used.by_host.entry(host.clone()).or_default().push((number, supervision.ahead_flag()));
                return Ok(Permit { permits: self.clone(), host, number });
            }
            let waited = self.released.wait_timeout(used, SLICE).unwrap_or_else(PoisonError::into_inner);
            drop(waited);
            // The caller's code runs without the lock.
            supervision.check(url)?;
            used = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut used = self.permits.lock();
        if let Some(users) = used.by_host.get_mut(&self.host) {
            users.retain(|(number, _)| *number != self.number);
            if users.is_empty() {
                used.by_host.remove(&self.host);
            }
        }
        drop(used);
        self.permits.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::Ordering;

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
        assert_eq!(permits.lock().by_host.len(), 2);
    }

    #[test]
    fn downloads_that_wait_for_others_leave_a_connection_to_these() {
        let permits = Permits::new(3);
        let flag = Arc::new(AtomicBool::new(true));
        let stopping = || Supervision::new(|| Err::<(), _>(io::Error::other("stop")));
        let ahead = || permits.acquire("a".into(), "url", &stopping().ahead(flag.clone()));
        let taken = || permits.acquire("a".into(), "url", &stopping());
        let waiting = [ahead().unwrap(), ahead().unwrap()];
        assert!(ahead().is_err(), "the last connection is for one whose bytes are taken");
        let last = taken().unwrap();
        assert!(taken().is_err());
        drop(last);
        // What they wait for has ended: their bytes are taken.
        flag.store(false, Ordering::Release);
        let last = ahead().unwrap();
        drop((waiting, last));
        assert!(permits.lock().by_host.is_empty());
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
        assert!(permits.lock().by_host.is_empty());
    }
}
