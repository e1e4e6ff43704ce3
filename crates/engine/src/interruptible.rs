//! Bytes that stop flowing when the work that reads them has to stop, and are counted for the caller that waits for it.

use std::io::{self, Read};

use strongroom_digest::Progress;

use crate::runtime::{Interrupted, Shutdown, TaskContext};

/// What work that reads bytes asks between two reads, and says.
pub(crate) trait Supervisor {
    /// Whether to go on.
    fn check(&self) -> Result<(), Interrupted>;

    /// So many bytes were read.
    fn count(&self, _bytes: u64) {}
}

/// Asks, and counts nothing: for bytes that are read besides those of the work.
impl<F: Fn() -> Result<(), Interrupted>> Supervisor for F {
    fn check(&self) -> Result<(), Interrupted> {
        self()
    }
}

impl Supervisor for TaskContext {
    fn check(&self) -> Result<(), Interrupted> {
        TaskContext::check(self)
    }

    fn count(&self, bytes: u64) {
        self.counts().add_bytes(bytes);
    }
}

/// Supervises work that a person waits for: it goes on until the person asks to stop.
pub(crate) struct Attended<'a> {
    pub(crate) stop: &'a Shutdown,
    pub(crate) progress: &'a Progress,
}

impl Supervisor for Attended<'_> {
    fn check(&self) -> Result<(), Interrupted> {
        if self.stop.is_requested() { Err(Interrupted::Draining) } else { Ok(()) }
    }

    fn count(&self, bytes: u64) {
        self.progress.add_bytes(bytes);
    }
}

/// A reader that asks before each read whether to go on. The reason is lost in the [`io::Error`]: who reads
/// asks again after an error.
pub(crate) struct Interruptible<'s, R, S: ?Sized> {
    body: R,
    supervisor: &'s S,
}

impl<'s, R, S: Supervisor + ?Sized> Interruptible<'s, R, S> {
    /// Reads from `body` for as long as `supervisor` allows it.
    pub(crate) fn new(body: R, supervisor: &'s S) -> Self {
        Self { body, supervisor }
    }
}

impl<R: Read, S: Supervisor + ?Sized> Read for Interruptible<'_, R, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.supervisor.check().map_err(io::Error::other)?;
        let length = self.body.read(buffer)?;
        self.supervisor.count(length as u64);
        Ok(length)
    }
}
