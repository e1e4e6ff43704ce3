//! How long a source is waited for that may be away, so that its activity keeps no worker from others: briefly at first, and longer in
//! later attempts, but never by more than half of the workers of the process. What does not answer in time is asked again by the next
//! attempt of the task, which other activities may come before.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use strongroom_download::{Patience, Policy, Retries};

/// The wait for a connection and for an answer in the first attempt.
const CONNECT: Duration = Duration::from_secs(5);
const RESPONSE: Duration = Duration::from_secs(15);
/// How long after the first request another one begins within an attempt: a short fault of the network spends none.
const WITHIN: Duration = Duration::from_secs(5);

/// The tasks of a process that wait longer than in a first attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct LongWaits(Arc<AtomicUsize>);

/// The right to wait for as long as an attempt may, until it is dropped.
#[derive(Debug)]
pub(super) struct LongWait<'w>(&'w AtomicUsize);

impl Drop for LongWait<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How often a task was tried, and how many the process has workers for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    /// From 1.
    pub(super) number: u32,
    pub(super) workers: usize,
}

impl LongWaits {
    /// The right of an attempt to wait for longer; none for the first attempt, and where half of the workers do so already.
    pub(super) fn enter(&self, attempt: Attempt) -> Option<LongWait<'_>> {
        if attempt.number <= 1 {
            return None;
        }
        let most = (attempt.workers / 2).max(1);
        let taken = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| (now < most).then_some(now + 1));
        taken.ok().map(|_| LongWait(&self.0))
    }
}

/// How long an attempt waits, within a policy.
pub(super) fn patience(policy: &Policy, attempt: Attempt, long: Option<&LongWait<'_>>) -> Patience {
    let doubled = match long {
        Some(_) => 2_u32.saturating_pow(attempt.number.saturating_sub(1)),
        None => 1,
    };
    Patience {
        connect: CONNECT.saturating_mul(doubled).min(policy.timeouts.connect),
        response: RESPONSE.saturating_mul(doubled).min(policy.timeouts.response),
        retries: Retries { within: WITHIN.min(policy.retries.within), ..policy.retries.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_attempts_wait_longer_and_at_most_half_of_the_workers_do() {
        let (waits, policy) = (LongWaits::default(), Policy::default());
        let of = |number| Attempt { number, workers: 4 };
        let seconds = |number, long: Option<&LongWait<'_>>| {
            let patience = patience(&policy, of(number), long);
            (patience.connect.as_secs(), patience.response.as_secs())
        };
        assert!(waits.enter(of(1)).is_none());
        let (one, two) = (waits.enter(of(2)), waits.enter(of(9)));
        assert_eq!(
            [seconds(1, None), seconds(2, one.as_ref()), seconds(9, two.as_ref())],
            [(5, 15), (10, 30), (30, 120)]
        );
        assert!(waits.enter(of(2)).is_none(), "half of the workers wait");
        assert_eq!(seconds(9, None), (5, 15));
        drop(one);
        assert!(waits.enter(of(2)).is_some());
        // One worker alone may wait as well.
        drop(two);
        assert!(waits.enter(Attempt { number: 2, workers: 1 }).is_some());
    }
}
