//! The clock by which a worker judges its own leases: it never goes back and does not stand still while the machine sleeps.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A clock that only goes forward, in this process or with this machine.
pub trait MonotonicClock: Send + Sync {
    /// The time since some fixed point.
    fn now(&self) -> Duration;
}

/// The time since the machine was started, with the time it slept.
#[derive(Debug, Clone, Copy, Default)]
pub struct BootClock;

// Linux stops its monotonic clock during sleep and has another that goes on; others do not stop theirs.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

impl MonotonicClock for BootClock {
    fn now(&self) -> Duration {
        Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default()
    }
}
