//! Bytes of bodies held in memory, counted from allocation to release, so that a bound on them can be proved.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// How many bytes of bodies are held, and were at most.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    held: AtomicU64,
    most: AtomicU64,
}

impl Gauge {
    /// Most bytes that were held at once.
    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

/// A buffer that is counted until the last part of a request that holds it is dropped.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    counted: u64,
    gauge: Arc<Gauge>,
}

impl Buffer {
    /// A buffer with room for `capacity` bytes; more is made as it is needed.
    pub(crate) fn new(gauge: &Arc<Gauge>, capacity: usize) -> Self {
        let mut buffer = Self { bytes: Vec::with_capacity(capacity), counted: 0, gauge: Arc::clone(gauge) };
        buffer.count();
        buffer
    }

    fn count(&mut self) {
        let now = self.bytes.capacity() as u64;
        let grown = now.saturating_sub(self.counted);
        let held = self.gauge.held.fetch_add(grown, Ordering::Relaxed) + grown;
        self.gauge.most.fetch_max(held, Ordering::Relaxed);
        self.counted = self.counted.max(now);
    }

    /// Reads to the end of `source`.
    pub(crate) fn fill(&mut self, source: &mut dyn Read) -> io::Result<usize> {
        let length = source.read_to_end(&mut self.bytes);
        self.count();
        length
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes as a request takes them, without a copy.
    pub(crate) fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.gauge.held.fetch_sub(self.counted, Ordering::Relaxed);
    }
}
