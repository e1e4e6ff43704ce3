//! Secrets that have to be read again are sealed before they are stored: XChaCha20-Poly1305 with a key that is kept elsewhere. Who has the
//! database alone has none of them.
//!
//! A sealed secret is bound to its owner, so that it is of no use in another row, and names its key: a wrong key is told from a damaged row.

use std::fmt;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use data_encoding::{BASE32_NOPAD_NOCASE as BASE32, HEXLOWER};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::error::CredentialError;
use crate::random;
use crate::token::{append, checksum};
use crate::totp::TotpSecret;

/// Bytes of a key.
const KEY: usize = 32;
/// Bytes of the identifier of a key.
const ID: usize = 8;
/// Bytes of a nonce. At 192 bits random ones do not repeat (draft-irtf-cfrg-xchacha, section 3.1).
const NONCE: usize = 24;
/// Characters of base32 of a checksum.
const CHECK: usize = 7;
/// The beginning of each key as text, so that scanners for leaked secrets find it.
const PREFIX: &str = "strongroom_sealing_";
/// The form of what is sealed; another one has another number.
const FORM: u8 = 1;
/// What is hashed before a key, so that its identifier is the hash of nothing else.
const DOMAIN: &[u8] = b"strongroom sealing key\0";

/// The identifier of a key: no secret, stored beside what it has sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealingKeyId([u8; ID]);

impl fmt::Display for SealingKeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&HEXLOWER.encode(&self.0))
    }
}

/// A key that seals secrets. It is hidden in `Debug`.
pub struct SealingKey(Zeroizing<[u8; KEY]>);

impl SealingKey {
    /// Makes a new key.
    pub fn generate() -> Result<Self, CredentialError> {
        random::bytes().map(Self)
    }

    /// Reads a key as it is kept; white space around it does not matter.
    pub fn parse(text: &str) -> Result<Self, CredentialError> {
        let refused = || CredentialError::SealingKey;
        let text = text.trim();
        let (signed, check) = text.split_at_checked(text.len().saturating_sub(CHECK)).ok_or_else(refused)?;
        let characters = signed.strip_prefix(PREFIX).ok_or_else(refused)?;
        let mut expected = String::with_capacity(CHECK);
        append(&mut expected, &checksum(signed));
        if check != expected {
            return Err(refused());
        }
        let bytes = Zeroizing::new(BASE32.decode(characters.as_bytes()).map_err(|_| refused())?);
        Ok(Self(Zeroizing::new(bytes.as_slice().try_into().map_err(|_| refused())?)))
    }

    /// The key as it is kept: a prefix that names it, the key, and a checksum.
    pub fn reveal(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + KEY * 2 + CHECK));
        text.push_str(PREFIX);
        append(&mut text, self.0.as_slice());
        let checksum = checksum(&text);
        append(&mut text, &checksum);
        text
    }

    /// The identifier of the key.
    pub fn id(&self) -> SealingKeyId {
        let mut digest = Sha256::new();
        digest.update(DOMAIN);
        digest.update(self.0.as_slice());
        let mut id = [0; ID];
        for (byte, from) in id.iter_mut().zip(digest.finalize()) {
            *byte = from;
        }
        SealingKeyId(id)
    }

    /// Seals the secret of a second factor for its owner, whose identifier this is.
    pub fn seal(&self, secret: &TotpSecret, owner: &[u8]) -> Result<Vec<u8>, CredentialError> {
        let nonce = random::bytes::<NONCE>()?;
        let payload = Payload { msg: secret.bytes(), aad: owner };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| CredentialError::Sealed { reason: "it cannot be sealed" })?;
        Ok([&[FORM], self.id().0.as_slice(), nonce.as_slice(), sealed.as_slice()].concat())
    }

    /// Opens what was sealed for this owner.
    ///
    /// # Errors
    /// [`CredentialError::OtherKey`] where another key has sealed it, [`CredentialError::Sealed`] where it was changed or is of another owner.
    pub fn open(&self, stored: &[u8], owner: &[u8]) -> Result<TotpSecret, CredentialError> {
        let damaged = || CredentialError::Sealed { reason: "it was changed, or is of another user" };
        let rest = stored.strip_prefix(&[FORM]).ok_or_else(damaged)?;
        let (id, rest) = rest.split_first_chunk::<ID>().ok_or_else(damaged)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        if *id != self.id().0 {
            return Err(CredentialError::OtherKey { sealed: SealingKeyId(*id), given: self.id() });
        }
        let payload = Payload { msg: sealed, aad: owner };
        let opened = self.cipher().decrypt(&XNonce::from(*nonce), payload).map_err(|_| damaged())?;
        TotpSecret::from_bytes(&Zeroizing::new(opened)).ok_or_else(damaged)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&(*self.0).into())
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SealingKey").field("id", &self.id()).finish_non_exhaustive()
    }
}
