//! Takes the body of a put apart into buffers, hashing on the way, and holds it to what was declared.

use std::io::{self, ErrorKind, Read};

use strongroom_digest::{Algorithm, Digest, MultiHasher};
use strongroom_storage::{Key, PutOptions, StorageError};

use crate::buffers::Buffer;
use crate::store::Inner;

/// A body being read, part by part.
pub(crate) struct Source<'a> {
    inner: &'a Inner,
    key: &'a Key,
    body: &'a mut dyn Read,
    /// A byte read to see whether there is more.
    ahead: Option<u8>,
    is_over: bool,
    hasher: MultiHasher,
    declared: Option<(Algorithm, Digest)>,
    declared_size: Option<u64>,
}

/// Bytes of a body that go into one request.
pub(crate) struct Piece {
    pub(crate) buffer: Buffer,
    pub(crate) sha256: Digest,
}

/// What a body was as a whole.
pub(crate) struct Whole {
    pub(crate) size: u64,
}

impl<'a> Source<'a> {
    /// A body whose first piece has `first` bytes, unless it ends before.
    pub(crate) fn new(
        inner: &'a Inner,
        key: &'a Key,
        body: &'a mut dyn Read,
        options: &PutOptions,
        first: u64,
    ) -> Self {
        // Of what comes in one request the service compares a digest of its own. For what comes in parts it vouches for the
        // digest that is calculated here.
        let is_in_parts = options.size.is_none_or(|size| size > first);
        let algorithm = options.digest.map(|(algorithm, _)| algorithm).filter(|_| is_in_parts || !options.is_read_back);
        Self {
            inner,
            key,
            body,
            ahead: None,
            is_over: false,
            hasher: MultiHasher::new(algorithm.as_slice()),
            declared: options.digest,
            declared_size: options.size,
        }
    }

    /// Whether everything was read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The next bytes of the body, `most` of them unless it ends before. Refuses more than was declared.
    pub(crate) fn piece(&mut self, most: u64) -> Result<Piece, StorageError> {
        let read = self.hasher.length();
        // After a first piece the next is as long, or declared: room is made at once. A first one may be tiny.
        let expected = match self.declared_size {
            Some(declared) => declared.saturating_sub(read).min(most),
            None if read > 0 => most,
            None => 0,
        };
        let mut buffer = Buffer::new(&self.inner.gauge, usize::try_from(expected).unwrap_or_default());
        let ahead = self.ahead.take();
        let start = ahead.as_slice();
        let rest = Sane(&mut *self.body).take(most - start.len() as u64);
        buffer.fill(&mut start.chain(rest)).map_err(|source| self.failed(source))?;
        let bytes = buffer.as_slice();
        self.hasher.update(bytes);
        if (bytes.len() as u64) < most {
            self.is_over = true;
        } else {
            let mut next = [0];
            self.is_over = read_one(&mut *self.body, &mut next).map_err(|source| self.failed(source))?;
            self.ahead = (!self.is_over).then_some(next[0]);
        }
        let read = self.hasher.length() + self.ahead.iter().len() as u64;
        if let Some(declared) = self.declared_size.filter(|declared| read > *declared) {
            return Err(self.inner.mismatch(self.key, format!("{declared} bytes"), "more".to_owned()));
        }
        let sha256 = sha256(bytes).map_err(|source| self.failed(source))?;
        Ok(Piece { buffer, sha256 })
    }

    /// Proves that what was read is what was declared.
    pub(crate) fn finish(self) -> Result<Whole, StorageError> {
        let size = self.hasher.length();
        if let Some(declared) = self.declared_size.filter(|declared| *declared != size) {
            return Err(self.inner.mismatch(self.key, format!("{declared} bytes"), format!("{size} bytes")));
        }
        let digests = self.hasher.finish();
        if let Some((algorithm, declared)) = self.declared
            && let Some(found) = digests.get(algorithm)
            && found != declared
        {
            let (declared, found) = (format!("{algorithm} {declared}"), format!("{algorithm} {found}"));
            return Err(self.inner.mismatch(self.key, declared, found));
        }
        Ok(Whole { size })
    }

    fn failed(&self, source: io::Error) -> StorageError {
        StorageError::Source { store: self.inner.name.clone(), key: self.key.clone(), source }
    }
}

/// Whether the reader is at its end; else one byte is in `next`.
fn read_one(body: &mut dyn Read, next: &mut [u8; 1]) -> io::Result<bool> {
    loop {
        match body.read(next) {
            Ok(length) => return Ok(length == 0),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A reader that claims more bytes than it was asked for is an error, not a panic of who asked.
struct Sane<'a>(&'a mut dyn Read);

impl Read for Sane<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Ok(length) if length > buffer.len() => {
                Err(io::Error::other("the reader claims more bytes than it was asked for"))
            }
            outcome => outcome,
        }
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> io::Result<Digest> {
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(bytes);
    hasher.finish().get(Algorithm::Sha256).ok_or_else(|| io::Error::other("sha256 was not computed"))
}

pub(crate) fn md5(bytes: &[u8]) -> Option<Digest> {
    let mut hasher = MultiHasher::new(&[Algorithm::Md5]);
    hasher.update(bytes);
    hasher.finish().get(Algorithm::Md5)
}
