use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePublicKey};
use ed25519_dalek::{Signature, Signer};

use crate::{AuditError, Sha256};

/// How long a signature is: RFC 8032, section 5.1.6.
const LENGTH: usize = 64;

/// The key that signs heads: Ed25519 (RFC 8032). Its file is that of `openssl genpkey -algorithm ed25519`.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Reads a private key in PKCS #8, as PEM (RFC 8410).
    ///
    /// # Errors
    /// It is no Ed25519 private key.
    pub fn from_pem(text: &str) -> Result<Self, AuditError> {
        let key =
            ed25519_dalek::SigningKey::from_pkcs8_pem(text).map_err(|error| AuditError::Key(error.to_string()))?;
        Ok(Self(key))
    }

    /// What others verify with.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The signature of some bytes, as `openssl pkeyutl -verify -rawin` reads it.
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).to_bytes().to_vec()
    }
}

/// The public key of who signs heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl PublicKey {
    /// Reads a public key as PEM (RFC 8410).
    ///
    /// # Errors
    /// It is no Ed25519 public key.
    pub fn from_pem(text: &str) -> Result<Self, AuditError> {
        let key = ed25519_dalek::VerifyingKey::from_public_key_pem(text);
        Ok(Self(key.map_err(|error| AuditError::Key(error.to_string()))?))
    }

    /// Its text as PEM.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn to_pem(&self) -> Result<String, AuditError> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|error| AuditError::Key(error.to_string()))
    }

    /// The SHA-256 of the key in DER: what `openssl pkey -pubin -outform DER | sha256sum` says.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn fingerprint(&self) -> Result<String, AuditError> {
        let der = self.0.to_public_key_der().map_err(|error| AuditError::Key(error.to_string()))?;
        Ok(Sha256::of(der.as_bytes()).to_string())
    }

    /// Whether a signature is this key's of these bytes.
    pub fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        let Ok(signature) = <[u8; LENGTH]>::try_from(signature) else { return false };
        self.0.verify_strict(bytes, &Signature::from_bytes(&signature)).is_ok()
    }
}
