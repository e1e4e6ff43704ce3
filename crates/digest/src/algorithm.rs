//! The digest algorithms we know, and their names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::DigestError;

/// A digest algorithm. The name is the lower-case alphanumeric form that `BagIt` manifests use (RFC 8493 section 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Algorithm {
    /// MD5, RFC 1321.
    Md5,
    /// SHA-1, FIPS 180-4.
    Sha1,
    /// SHA-224, FIPS 180-4.
    Sha224,
    /// SHA-256, FIPS 180-4.
    Sha256,
    /// SHA-384, FIPS 180-4.
    Sha384,
    /// SHA-512, FIPS 180-4.
    Sha512,
    /// SHA3-224, FIPS 202.
    Sha3_224,
    /// SHA3-256, FIPS 202.
    Sha3_256,
    /// SHA3-384, FIPS 202.
    Sha3_384,
    /// SHA3-512, FIPS 202.
    Sha3_512,
    /// MD2, RFC 1319.
    Md2,
    /// CRC-32, as in ZIP (APPNOTE 4.4.7).
    Crc32,
    /// Adler-32, RFC 1950.
    Adler32,
}

impl Algorithm {
    /// Every algorithm that digests are made and named with.
    pub const ALL: [Self; 10] = [
        Self::Md5,
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
        Self::Sha3_224,
        Self::Sha3_256,
        Self::Sha3_384,
        Self::Sha3_512,
    ];

    /// Those that are computed only to compare with what a Checkm manifest states. They are too weak, or too old, for new digests, and
    /// are not read from a name by [`str::parse`].
    pub const COMPARED_ONLY: [Self; 3] = [Self::Md2, Self::Crc32, Self::Adler32];

    /// The four that are recorded for every content that is kept.
    pub const RECORDED: [Self; 4] = [Self::Md5, Self::Sha1, Self::Sha256, Self::Sha512];

    /// The name in file names and records, such as `sha256` or `sha3256`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Sha3_224 => "sha3224",
            Self::Sha3_256 => "sha3256",
            Self::Sha3_384 => "sha3384",
            Self::Sha3_512 => "sha3512",
            Self::Md2 => "md2",
            Self::Crc32 => "crc32",
            Self::Adler32 => "adler32",
        }
    }

    /// Length of a digest in bytes.
    pub fn length(self) -> usize {
        match self {
            Self::Crc32 | Self::Adler32 => 4,
            Self::Md5 | Self::Md2 => 16,
            Self::Sha1 => 20,
            Self::Sha224 | Self::Sha3_224 => 28,
            Self::Sha256 | Self::Sha3_256 => 32,
            Self::Sha384 | Self::Sha3_384 => 48,
            Self::Sha512 | Self::Sha3_512 => 64,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = DigestError;

    /// Takes the name of one of [`Algorithm::ALL`] in any letter case, with or without hyphens (`SHA-256`).
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let plain: String = text.chars().filter(|c| *c != '-').collect::<String>().to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == plain)
            .ok_or_else(|| DigestError::UnknownAlgorithm { name: text.to_owned() })
    }
}
