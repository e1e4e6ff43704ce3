//! Where the bytes of a bag go: one file after the other, into a directory or an archive.

use std::io::{self, Write};
use std::time::SystemTime;

/// One file about to be written.
pub(super) struct FileHeader<'a> {
    /// Relative to the bag, with `/`, checked.
    pub(super) path: &'a str,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
}

/// A container being written. `write` gives exactly the announced number of bytes between `begin` and `end`.
pub(super) trait Sink: Send {
    fn begin(&mut self, entry: &FileHeader<'_>) -> io::Result<()>;
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
    /// Ends the container and puts it in its place.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A byte stream that has to be ended explicitly.
pub(super) trait Output: Write + Send {
    /// Completes the stream: flushes, and where it is a file, puts it in its place.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// The caller's own stream.
pub(super) struct Stream<W>(pub(super) W);

impl<W: Write> Write for Stream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write + Send> Output for Stream<W> {
    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

/// Gzip around another output. The header has no time and no name, so equal bytes compress to equal bytes.
pub(super) struct Gzip<'w>(flate2::write::GzEncoder<Box<dyn Output + 'w>>);

impl<'w> Gzip<'w> {
    pub(super) fn new(output: Box<dyn Output + 'w>) -> Self {
        Self(flate2::write::GzEncoder::new(output, flate2::Compression::default()))
    }
}

impl Write for Gzip<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Output for Gzip<'_> {
    fn close(self: Box<Self>) -> io::Result<()> {
        self.0.finish()?.close()
    }
}

/// Whole seconds since 1970, negative before.
pub(super) fn unix_seconds(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_secs()).unwrap_or(i64::MAX),
    }
}
