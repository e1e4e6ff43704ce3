//! Measures how fast bytes come, below TLS, and ends connections that stall.
//!
//! The rate is measured at the socket, because a record of TLS that comes byte by byte would show nothing above it. Only the time
//! in which the client waits counts: a caller that reads slowly is not the server's fault. It works on bodies only; the time until
//! the end of the headers is bounded by other timeouts.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use ureq::unversioned::transport::time::Duration as MaybeDuration;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

use crate::policy::Timeouts;
use crate::supervision::SLICE;

/// Puts a meter around each connection.
#[derive(Debug)]
pub(crate) struct Metered {
    timeouts: Timeouts,
}

impl Metered {
    pub(crate) fn new(timeouts: &Timeouts) -> Self {
        Self { timeouts: timeouts.clone() }
    }
}

impl<In: Transport> Connector<In> for Metered {
    type Out = MeteredTransport<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        Ok(chained.map(|inner| MeteredTransport { inner, rate: Rate::new(&self.timeouts) }))
    }
}

/// A connection with a meter.
#[derive(Debug)]
pub(crate) struct MeteredTransport<T> {
    inner: T,
    rate: Rate,
}

impl<T: Transport> Transport for MeteredTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        // A request begins: what was measured belongs to the body before it.
        self.rate.restart();
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        // Every phase but that of the body has a time limit.
        if !timeout.after.is_not_happening() {
            return self.inner.await_input(timeout);
        }
        let slice = NextTimeout { after: MaybeDuration::Exact(self.rate.left().min(SLICE)), ..timeout };
        let before = self.inner.buffers().input().len();
        let begun = Instant::now();
        let outcome = self.inner.await_input(slice);
        let received = self.inner.buffers().input().len().saturating_sub(before);
        self.rate.add(begun.elapsed(), received as u64).map_err(|stall| failure(io::ErrorKind::TimedOut, stall))?;
        match outcome {
            Err(ureq::Error::Timeout(_)) => Err(failure(io::ErrorKind::TimedOut, Quiet)),
            // Passed on as it is, a reset connection would count as the end of a body without a length.
            Err(ureq::Error::Io(error)) if is_reset(&error) => Err(failure(io::ErrorKind::BrokenPipe, error)),
            other => other,
        }
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

fn failure(kind: io::ErrorKind, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ureq::Error {
    ureq::Error::Io(io::Error::new(kind, error))
}

fn is_reset(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted)
}

/// No byte came for a short while. The connection can be read again.
#[derive(Debug)]
pub(crate) struct Quiet;

impl fmt::Display for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no byte came")
    }
}

impl std::error::Error for Quiet {}

/// Fewer bytes came than there have to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stall {
    pub(crate) received: u64,
    pub(crate) window: Duration,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes came within {} s", self.received, self.window.as_secs_f32())
    }
}

impl std::error::Error for Stall {}

/// Bytes and the time that was waited for them, within a window.
#[derive(Debug)]
struct Rate {
    window: Duration,
    least: u64,
    waited: Duration,
    received: u64,
}

impl Rate {
    fn new(timeouts: &Timeouts) -> Self {
        Self { window: timeouts.stall_window, least: timeouts.stall_bytes, waited: Duration::ZERO, received: 0 }
    }

    fn restart(&mut self) {
        (self.waited, self.received) = (Duration::ZERO, 0);
    }

    /// How long the window still lasts; never zero, which would mean no timeout.
    fn left(&self) -> Duration {
        self.window.saturating_sub(self.waited).max(Duration::from_millis(1))
    }

    /// Adds a wait and what came in it.
    fn add(&mut self, waited: Duration, received: u64) -> Result<(), Stall> {
        self.waited += waited;
        self.received = self.received.saturating_add(received);
        if self.waited < self.window {
            return Ok(());
        }
        let stall = Stall { received: self.received, window: self.waited };
        self.restart();
        if stall.received < self.least { Err(stall) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rate() -> Rate {
        Rate::new(&Timeouts { stall_window: SECOND * 60, stall_bytes: 6000, ..Timeouts::default() })
    }

    #[test]
    fn one_byte_a_second_is_a_stall_at_the_end_of_the_window() {
        let mut rate = rate();
        let stalled = (1..).find_map(|second| rate.add(SECOND, 1).err().map(|stall| (second, stall)));
        assert_eq!(stalled, Some((60, Stall { received: 60, window: SECOND * 60 })));
    }

    #[test]
    fn a_hundred_bytes_a_second_are_enough_and_one_less_is_not() {
        let mut slow = rate();
        assert!((0..1000).all(|_| slow.add(SECOND, 100).is_ok()));
        let mut slower = rate();
        assert!((0..1000).any(|_| slower.add(SECOND, 99).is_err()));
    }

    #[test]
    fn a_burst_does_not_excuse_the_window_after_it() {
        let mut rate = rate();
        assert!(rate.add(SECOND * 60, 1 << 30).is_ok());
        assert!(rate.add(SECOND * 60, 0).is_err());
    }

    #[test]
    fn time_without_waiting_does_not_count() {
        let mut rate = rate();
        assert!((0..100_000).all(|_| rate.add(Duration::ZERO, 1).is_ok()));
        assert_eq!(rate.left(), SECOND * 60);
    }
}
