//! What a depositor declared of a package as a file, compared with its bytes while they pass by.

use std::fmt;
use std::io::{self, Read};

use strongroom_digest::{Algorithm, Digest, MultiHasher};

use super::super::deposit::DepositOptions;

/// What was declared.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    /// Bytes.
    pub(crate) size: Option<u64>,
    /// The digest.
    pub(crate) digest: Option<(Algorithm, Digest)>,
}

impl Declared {
    /// What was declared for the package of a work item, where anything was.
    pub(super) fn of(options: &DepositOptions) -> Option<Self> {
        let digest = options.digest.as_ref().and_then(|(algorithm, hex)| Some((*algorithm, hex.parse().ok()?)));
        let declared = Self { size: options.size, digest };
        (declared.size.is_some() || declared.digest.is_some()).then_some(declared)
    }

    /// A reader whose end is an error where the bytes are not what was declared; see [`Mismatch::of`].
    pub(crate) fn reader<R: Read>(self, body: R) -> DeclaredReader<R> {
        let hasher = self.digest.map(|(algorithm, _)| MultiHasher::new(&[algorithm]));
        DeclaredReader { body, declared: self, hasher, length: 0, has_ended: false }
    }
}

/// A package has other bytes than were declared.
#[derive(Debug, Clone)]
pub(crate) struct Mismatch(String);

impl Mismatch {
    /// The mismatch that an error of reading stands for, where it does.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

/// See [`Declared::reader`].
pub(crate) struct DeclaredReader<R> {
    body: R,
    declared: Declared,
    hasher: Option<MultiHasher>,
    length: u64,
    has_ended: bool,
}

impl<R> DeclaredReader<R> {
    fn mismatch(&self) -> Option<Mismatch> {
        let found = self.length;
        if let Some(size) = self.declared.size.filter(|size| *size != found) {
            return Some(Mismatch(format!("it has {found} bytes, and {size} were declared")));
        }
        let (algorithm, declared) = self.declared.digest?;
        let found = self.hasher.clone()?.finish().get(algorithm)?;
        (found != declared).then(|| Mismatch(format!("it has {algorithm}:{found}, and {algorithm}:{declared} was declared")))
    }
}

impl<R: Read> Read for DeclaredReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(buffer)?;
        self.length += length as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(buffer.get(..length).unwrap_or_default());
        }
        let is_too_long = self.declared.size.is_some_and(|size| self.length > size);
        let is_at_end = length == 0 && !buffer.is_empty() && !std::mem::replace(&mut self.has_ended, true);
        match self.mismatch().filter(|_| is_too_long || is_at_end) {
            Some(mismatch) => Err(io::Error::new(io::ErrorKind::InvalidData, mismatch)),
            None => Ok(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_declared_is_compared_at_the_end_and_a_longer_body_before_it() {
        let sha256 = Some((Algorithm::Sha256, strongroom_digest::hash_reader(&b"abc"[..], &[Algorithm::Sha256]).expect("read").1.get(Algorithm::Sha256).expect("a digest")));
        let read = |size, digest, body: &'static [u8]| {
            let mut read = Vec::new();
            let outcome = Declared { size, digest }.reader(body).read_to_end(&mut read);
            outcome.map_err(|error| Mismatch::of(&error).expect("a mismatch").to_string())
        };
        assert_eq!(read(Some(3), sha256, b"abc"), Ok(3));
        assert!(read(Some(3), None, b"ab").expect_err("short").contains("2 bytes, and 3"));
        assert!(read(Some(3), None, b"abcd").expect_err("long").contains("4 bytes, and 3"));
        assert!(read(None, sha256, b"abd").expect_err("another").contains("was declared"));
        let endless = Declared { size: Some(10), digest: None }.reader(io::repeat(b'x'));
        assert!(io::copy(&mut endless.take(1 << 20), &mut io::sink()).is_err());
    }
}
