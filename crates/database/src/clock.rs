//! Where an embedded database takes its time from. PostgreSQL has a clock of its own; SQLite is given one, so that tests
//! can move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

use crate::Time;

/// A source of the present time.
pub trait Clock: Send + Sync {
    /// The present time. It may go backwards; the database does not let it through.
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

/// A clock that never goes backwards within this process.
pub(crate) struct SteadyClock {
    source: Arc<dyn Clock>,
    latest: AtomicI64,
}

impl SteadyClock {
    pub(crate) fn new(source: Arc<dyn Clock>) -> Self {
        Self { source, latest: AtomicI64::new(i64::MIN) }
    }

    /// The later of the source's time and every time given before.
    pub(crate) fn now(&self) -> Time {
        let present = self.source.now().0;
        Time(self.latest.fetch_max(present, Ordering::SeqCst).max(present))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_while_its_source_goes_back() {
        let source = Arc::new(ManualClock::at(Time(100)));
        let steady = SteadyClock::new(source.clone());
        assert_eq!(steady.now(), Time(100));
        source.advance(-50);
        assert_eq!(steady.now(), Time(100));
        source.advance(60);
        assert_eq!(steady.now(), Time(110));
    }
}
