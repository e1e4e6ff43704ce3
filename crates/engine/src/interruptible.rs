//! Bytes that stop flowing when the work that reads them has to stop.

use std::io::{self, Read};

use crate::runtime::Interrupted;

/// A reader that asks before each read whether to go on. What it was told is lost in the [`io::Error`]: who reads asks again
/// after an error.
pub(crate) struct Interruptible<R, F> {
    body: R,
    go_on: F,
}

impl<R, F: Fn() -> Result<(), Interrupted>> Interruptible<R, F> {
    /// Reads from `body` for as long as `go_on` allows it.
    pub(crate) fn new(body: R, go_on: F) -> Self {
        Self { body, go_on }
    }
}

impl<R: Read, F: Fn() -> Result<(), Interrupted>> Read for Interruptible<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (self.go_on)().map_err(io::Error::other)?;
        self.body.read(buffer)
    }
}
