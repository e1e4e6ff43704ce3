//! A digest value: bytes that print as lower-case hexadecimal.

use std::fmt;
use std::str::FromStr;

/// A digest, at most 64 bytes, printed as lower-case hexadecimal and parsed in any letter case. It does not carry its
/// algorithm: that stands beside it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    length: u8,
    bytes: [u8; 64],
}

/// Why a text or name is no digest or algorithm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// No algorithm of this name.
    #[error("unknown digest algorithm {name:?}")]
    UnknownAlgorithm {
        /// The name given.
        name: String,
    },
    /// Not an even number of hexadecimal digits, or more than 128.
    #[error("not a hexadecimal digest: {text:?}")]
    NotHexadecimal {
        /// The text given.
        text: String,
    },
}

impl Digest {
    /// Takes raw bytes, at most 64.
    pub fn from_bytes(raw: &[u8]) -> Result<Self, DigestError> {
        if raw.is_empty() || raw.len() > 64 {
            return Err(DigestError::NotHexadecimal { text: format!("{} bytes", raw.len()) });
        }
        let mut bytes = [0; 64];
        bytes[..raw.len()].copy_from_slice(raw);
        Ok(Self { length: raw.len() as u8, bytes })
    }

    /// Takes what a hash function yields, which is never longer than 64 bytes.
    pub(crate) fn from_array(raw: &[u8]) -> Self {
        let length = raw.len().min(64);
        let mut bytes = [0; 64];
        bytes[..length].copy_from_slice(&raw[..length]);
        Self { length: length as u8, bytes }
    }

    /// The raw bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Lower-case hexadecimal.
    pub fn to_hex(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0_u8; 128];
        let raw = self.as_bytes();
        for (pair, byte) in text.chunks_exact_mut(2).zip(raw) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(str::from_utf8(&text[..raw.len() * 2]).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let fault = || DigestError::NotHexadecimal { text: text.to_owned() };
        let digits = text.as_bytes();
        if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > 128 {
            return Err(fault());
        }
        let mut bytes = [0_u8; 64];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16).ok_or_else(fault)?;
            let low = char::from(pair[1]).to_digit(16).ok_or_else(fault)?;
            *byte = (high * 16 + low) as u8;
        }
        Ok(Self { length: (digits.len() / 2) as u8, bytes })
    }
}
