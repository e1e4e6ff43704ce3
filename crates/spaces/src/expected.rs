//! The body of a put, held to the length and digests that were declared for it.

use std::io::{self, ErrorKind, Read};

use strongroom_digest::{Algorithm, Digest, MultiHasher};
use strongroom_storage::{Key, StorageError};

use crate::ItemPut;

/// A body that fails where it is not what was declared: at its end, and before its end is seen.
pub struct Expected<'a> {
    body: &'a mut dyn Read,
    hasher: Option<MultiHasher>,
    length: u64,
    size: Option<u64>,
    digests: &'a [(Algorithm, Digest)],
    fault: Option<Fault>,
}

/// How a body differs.
struct Fault {
    declared: String,
    found: String,
}

impl<'a> Expected<'a> {
    /// A body, and what its put declares of it.
    pub fn new(body: &'a mut dyn Read, how: &'a ItemPut) -> Self {
        let algorithms: Vec<Algorithm> = how.digests.iter().map(|(algorithm, _)| *algorithm).collect();
        let hasher = Some(MultiHasher::new(&algorithms));
        Self { body, hasher, length: 0, size: how.size, digests: &how.digests, fault: None }
    }

    /// The error of a put that failed: that the body is not as declared, where it is not.
    pub fn error(self, store: &str, key: &Key, error: StorageError) -> StorageError {
        match self.fault {
            Some(Fault { declared, found }) => {
                StorageError::Mismatch { store: store.to_owned(), key: key.clone(), declared, found }
            }
            None => error,
        }
    }

    fn refuse(&mut self, declared: String, found: String) -> io::Error {
        self.fault = Some(Fault { declared, found });
        io::Error::new(ErrorKind::InvalidData, "the bytes are not those that were declared")
    }

    fn finish(&mut self) -> io::Result<()> {
        let length = self.length;
        if let Some(size) = self.size.filter(|size| *size != length) {
            return Err(self.refuse(format!("{size} bytes"), format!("{length} bytes")));
        }
        let Some(hasher) = self.hasher.take() else { return Ok(()) };
        let found = hasher.finish();
        for (algorithm, declared) in self.digests {
            if let Some(found) = found.get(*algorithm).filter(|found| found != declared) {
                return Err(self.refuse(format!("{algorithm} {declared}"), format!("{algorithm} {found}")));
            }
        }
        Ok(())
    }
}

impl Read for Expected<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let length = self.body.read(buffer)?;
        let Some(bytes) = buffer.get(..length) else {
            return Err(io::Error::other("the reader claims more bytes than it was asked for"));
        };
        if length == 0 {
            return self.finish().map(|()| 0);
        }
        self.length += length as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        match self.size {
            Some(size) if self.length > size => Err(self.refuse(format!("{size} bytes"), "more".to_owned())),
            _ => Ok(length),
        }
    }
}
