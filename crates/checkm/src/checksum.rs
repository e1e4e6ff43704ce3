//! The digests that manifests state.

use std::fmt;

use strongroom_digest::{Algorithm, Digest};

/// An algorithm that a manifest may name: those that this program computes, and three that Merritt knows besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChecksumAlgorithm {
    /// Adler-32, RFC 1950.
    Adler32,
    /// CRC-32, as in ZIP.
    Crc32,
    /// MD2, RFC 1319.
    Md2,
    /// One that [`strongroom_digest`] computes.
    Computed(Algorithm),
}

impl ChecksumAlgorithm {
    /// The algorithm of a name, in any letter case, with or without hyphens (`SHA-256`).
    pub fn named(text: &str) -> Option<Self> {
        let plain: String = text.chars().filter(|c| *c != '-').collect();
        let is = |name: &str| plain.eq_ignore_ascii_case(name);
        if is("adler32") {
            Some(Self::Adler32)
        } else if is("crc32") {
            Some(Self::Crc32)
        } else if is("md2") {
            Some(Self::Md2)
        } else {
            plain.parse().ok().map(Self::Computed)
        }
    }

    /// The name in manifests, such as `sha256`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adler32 => "adler32",
            Self::Crc32 => "crc32",
            Self::Md2 => "md2",
            Self::Computed(algorithm) => algorithm.name(),
        }
    }

    /// Length of a digest in bytes.
    pub fn length(self) -> usize {
        match self {
            Self::Adler32 | Self::Crc32 => 4,
            Self::Md2 => 16,
            Self::Computed(algorithm) => algorithm.length(),
        }
    }

    /// The algorithm to compute a digest of the fetched file with; nothing for those that only Merritt computes.
    pub fn computed(self) -> Option<Algorithm> {
        match self {
            Self::Computed(algorithm) => Some(algorithm),
            Self::Adler32 | Self::Crc32 | Self::Md2 => None,
        }
    }
}

impl fmt::Display for ChecksumAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A digest with its algorithm. The value is as long as the algorithm makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checksum {
    algorithm: ChecksumAlgorithm,
    value: Digest,
}

impl Checksum {
    /// A digest, unless its length is not that of the algorithm.
    pub fn new(algorithm: ChecksumAlgorithm, value: Digest) -> Option<Self> {
        (value.as_bytes().len() == algorithm.length()).then_some(Self { algorithm, value })
    }

    /// The algorithm.
    pub fn algorithm(self) -> ChecksumAlgorithm {
        self.algorithm
    }

    /// The digest.
    pub fn value(self) -> Digest {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_form() {
        for (name, algorithm) in [
            ("SHA-256", ChecksumAlgorithm::Computed(Algorithm::Sha256)),
            ("Md5", ChecksumAlgorithm::Computed(Algorithm::Md5)),
            ("Adler-32", ChecksumAlgorithm::Adler32),
            ("CRC32", ChecksumAlgorithm::Crc32),
            ("md2", ChecksumAlgorithm::Md2),
            ("sha1", ChecksumAlgorithm::Computed(Algorithm::Sha1)),
            ("sha384", ChecksumAlgorithm::Computed(Algorithm::Sha384)),
            ("sha-512", ChecksumAlgorithm::Computed(Algorithm::Sha512)),
        ] {
            assert_eq!(ChecksumAlgorithm::named(name), Some(algorithm), "{name}");
            assert_eq!(ChecksumAlgorithm::named(algorithm.name()), Some(algorithm));
        }
        for name in ["", "md5xxx", "sha", "sha 256"] {
            assert_eq!(ChecksumAlgorithm::named(name), None, "{name}");
        }
    }

    #[test]
    fn a_digest_of_another_length_is_refused() {
        let value = Digest::from_bytes(&[0; 16]).unwrap();
        assert!(Checksum::new(ChecksumAlgorithm::Md2, value).is_some());
        assert!(Checksum::new(ChecksumAlgorithm::Crc32, value).is_none());
    }
}
