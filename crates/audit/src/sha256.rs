//! SHA-256 as arrays, and their text.

use std::fmt;

use strongroom_digest::{Algorithm, Digest, MultiHasher};

use crate::AuditError;

/// A SHA-256. Its text is 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// What the first entry of a chain names as the one before.
    pub const NOTHING: Self = Self([0; 32]);

    /// That of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = Sum::new();
        sum.update(bytes);
        sum.finish()
    }

    /// Reads its text.
    ///
    /// # Errors
    /// It is not 64 hexadecimal digits in lower case.
    pub fn read(text: &str) -> Result<Self, AuditError> {
        let wrong = || AuditError::Digest(text.to_owned());
        let digest: Digest = text.parse().map_err(|_| wrong())?;
        let bytes = digest.as_bytes().try_into().map_err(|_| wrong())?;
        if digest.to_hex() == text { Ok(Self(bytes)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A SHA-256 that is being computed.
pub(crate) struct Sum(MultiHasher);

impl Sum {
    pub(crate) fn new() -> Self {
        Self(MultiHasher::new(&[Algorithm::Sha256]))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn length(&self) -> u64 {
        self.0.length()
    }

    pub(crate) fn finish(self) -> Sha256 {
        let digests = self.0.finish();
        let bytes = digests.get(Algorithm::Sha256).and_then(|digest| digest.as_bytes().try_into().ok());
        Sha256(bytes.unwrap_or_default())
    }
}
