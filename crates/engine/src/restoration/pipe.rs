//! The way of a result from what writes it to a store that reads it, chunk by chunk, with its SHA-256 and size.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use strongroom_digest::{Algorithm, Digest, MultiHasher};

use crate::workflow::StageError;

/// Bytes handed over at once.
pub(super) const CHUNK: usize = 256 << 10;
/// Chunks that may wait for the store.
const CHUNKS_WAITING: usize = 4;

/// Both ends of a way into a store.
pub(super) fn pipe() -> (ToStore, FromWriter) {
    let (sender, receiver) = sync_channel(CHUNKS_WAITING);
    let writer = ToStore { sender, chunk: Vec::with_capacity(CHUNK) };
    (writer, FromWriter { receiver, chunk: Vec::new(), used: 0, ended: false })
}

enum Handed {
    Bytes(Vec<u8>),
    End,
}

/// The writer's end of the way into a store.
pub(super) struct ToStore {
    sender: SyncSender<Handed>,
    chunk: Vec<u8>,
}

impl ToStore {
    fn hand_over(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        self.sender.send(Handed::Bytes(chunk)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Says that all was written: without it the store keeps nothing.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.hand_over()?;
        self.sender.send(Handed::End).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for ToStore {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK - self.chunk.len().min(CHUNK);
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.chunk.extend_from_slice(taken);
        if self.chunk.len() >= CHUNK {
            self.hand_over()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The store's end: an end that was not announced is an error, so that nothing partial is ever kept.
pub(super) struct FromWriter {
    receiver: Receiver<Handed>,
    chunk: Vec<u8>,
    used: usize,
    ended: bool,
}

impl Read for FromWriter {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used >= self.chunk.len() {
            if self.ended {
                return Ok(0);
            }
            match self.receiver.recv() {
                Ok(Handed::Bytes(chunk)) => (self.chunk, self.used) = (chunk, 0),
                Ok(Handed::End) => self.ended = true,
                Err(_) => return Err(io::Error::other("the restoration stopped before its end")),
            }
        }
        let length = self.chunk.get(self.used..).unwrap_or_default().read(buffer)?;
        self.used += length;
        Ok(length)
    }
}

/// Hashes and counts what passes.
pub(super) struct Hashing<W> {
    inner: W,
    hasher: MultiHasher,
}

impl<W: Write> Hashing<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, hasher: MultiHasher::new(&[Algorithm::Sha256]) }
    }

    pub(super) fn finish(self) -> Result<(W, u64, Digest), StageError> {
        let size = self.hasher.length();
        let sha256 = self.hasher.finish().get(Algorithm::Sha256);
        let sha256 = sha256.ok_or_else(|| StageError::fatal("the sha256 of the result was not computed"))?;
        Ok((self.inner, size, sha256))
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..length).unwrap_or_default());
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_was_not_announced_is_an_error() {
        let (sender, receiver) = sync_channel(2);
        let mut reader = FromWriter { receiver, chunk: Vec::new(), used: 0, ended: false };
        let mut writer = ToStore { sender, chunk: Vec::new() };
        writer.write_all(b"half").unwrap();
        writer.hand_over().unwrap();
        drop(writer);
        assert!(reader.read_to_end(&mut Vec::new()).is_err());
    }
}
