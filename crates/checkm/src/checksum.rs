//! The digests that manifests state.

use strongroom_digest::{Algorithm, Digest};

/// The algorithm of a name in a manifest, in any letter case, with or without hyphens (`SHA-256`): those of digests everywhere, and
/// three that Merritt knows besides.
pub(crate) fn algorithm_named(text: &str) -> Option<Algorithm> {
    let plain: String = text.chars().filter(|c| *c != '-').collect();
    let is_named = |algorithm: &Algorithm| algorithm.name().eq_ignore_ascii_case(&plain);
    plain.parse().ok().or_else(|| Algorithm::COMPARED_ONLY.into_iter().find(is_named))
}

/// A digest with its algorithm. The value is as long as the algorithm makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checksum {
    algorithm: Algorithm,
    value: Digest,
}

impl Checksum {
    /// A digest, unless its length is not that of the algorithm.
    pub fn new(algorithm: Algorithm, value: Digest) -> Option<Self> {
        (value.as_bytes().len() == algorithm.length()).then_some(Self { algorithm, value })
    }

    /// The algorithm.
    pub fn algorithm(self) -> Algorithm {
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
            ("SHA-256", Algorithm::Sha256),
            ("Md5", Algorithm::Md5),
            ("Adler-32", Algorithm::Adler32),
            ("CRC32", Algorithm::Crc32),
            ("md2", Algorithm::Md2),
            ("sha1", Algorithm::Sha1),
            ("sha384", Algorithm::Sha384),
            ("sha-512", Algorithm::Sha512),
        ] {
            assert_eq!(algorithm_named(name), Some(algorithm), "{name}");
            assert_eq!(algorithm_named(algorithm.name()), Some(algorithm));
        }
        for name in ["", "md5xxx", "sha", "sha 256"] {
            assert_eq!(algorithm_named(name), None, "{name}");
        }
    }

    #[test]
    fn a_digest_of_another_length_is_refused() {
        let value = Digest::from_bytes(&[0; 16]).unwrap();
        assert!(Checksum::new(Algorithm::Md2, value).is_some());
        assert!(Checksum::new(Algorithm::Crc32, value).is_none());
    }
}
