//! Where an embedded database takes its time from. PostgreSQL has a clock of its own; SQLite is given one, so that tests
//! can move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

use crate::Time;

/// A source of the present time.
pub trait Clock: Send + Sync {
    /// The present time. It may go backwards; the database lets that through only where it is more than [`CLOCK_TOLERANCE`].
    fn now(&self) -> Time;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        Timestamp::now().into()
    }
}

/// A clock that stands still until it is moved, for tests.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `time`.
    pub fn at(time: Time) -> Self {
        Self(AtomicI64::new(time.0))
    }

    /// Moves the clock by `microseconds`; a negative number moves it back.
    pub fn advance(&self, microseconds: i64) {
        self.0.fetch_add(microseconds, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
}

/// By how many microseconds a clock may be behind the latest time that it gave before it counts as set back. A time that lies
/// further ahead than this was written by a clock that was ahead.
pub const CLOCK_TOLERANCE: i64 = 5_000_000;

/// Times that do not go back by small differences within this process, such as those of a clock that is slewed or of two
/// connections. Where the source goes back by more than [`CLOCK_TOLERANCE`], it was ahead and was set right: its times are given
/// as they are, since a process that went on with the latest would do nothing that is due until the source is there again.
#[derive(Debug)]
pub(crate) struct SteadyTime(AtomicI64);

impl SteadyTime {
    pub(crate) fn new() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }

    /// The time to go by where the source says `present`.
    pub(crate) fn at(&self, present: Time) -> Time {
        let mut latest = self.0.load(Ordering::SeqCst);
        loop {
            if present.0 < latest && latest.saturating_sub(present.0) <= CLOCK_TOLERANCE {
                return Time(latest);
            }
            match self.0.compare_exchange(latest, present.0, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return present,
                Err(changed) => latest = changed,
            }
        }
    }
}

/// A clock whose times are [`SteadyTime`].
pub(crate) struct SteadyClock {
    source: Arc<dyn Clock>,
    steady: SteadyTime,
}

impl SteadyClock {
    pub(crate) fn new(source: Arc<dyn Clock>) -> Self {
        Self { source, steady: SteadyTime::new() }
    }

    pub(crate) fn now(&self) -> Time {
        self.steady.at(self.source.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_a_source_that_was_far_ahead() {
        let source = Arc::new(ManualClock::at(Time(100)));
        let steady = SteadyClock::new(source.clone());
        source.advance(10 * CLOCK_TOLERANCE);
        let ahead = steady.now();
        source.advance(-CLOCK_TOLERANCE);
        assert_eq!(steady.now(), ahead, "a small difference");
        source.advance(-9 * CLOCK_TOLERANCE);
        assert_eq!(steady.now(), Time(100));
        source.advance(1);
        assert_eq!(steady.now(), Time(101));
    }

    #[test]
    fn time_stands_still_while_its_source_goes_back_a_little() {
        let source = Arc::new(ManualClock::at(Time(100)));
        let steady = SteadyClock::new(source.clone());
        assert_eq!(steady.now(), Time(100));
        source.advance(-50);
        assert_eq!(steady.now(), Time(100));
        source.advance(60);
        assert_eq!(steady.now(), Time(110));
    }
}
