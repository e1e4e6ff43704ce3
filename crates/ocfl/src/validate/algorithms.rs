//! The digest algorithms an inventory's fixity block may name, and computing several of them in one pass (OCFL 1.1
//! section 3.4, extensions 0001 and 0009).

use std::io::{self, Read};

use blake2::digest::consts::{U20, U32, U48};
use blake2::{Blake2b, Blake2b512, Digest as _};
use sha2::Sha512_256;
use strongroom_digest::{Algorithm, Digest, MultiHasher};

/// An algorithm of a fixity block that we compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum FixityAlgorithm {
    Known(Algorithm),
    Blake2b160,
    Blake2b256,
    Blake2b384,
    Blake2b512,
    Sha512_256,
}

impl FixityAlgorithm {
    /// The algorithm of a name; `None` for one that is ignored here, as the specification wants (E028).
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "md5" => Self::Known(Algorithm::Md5),
            "sha1" => Self::Known(Algorithm::Sha1),
            "sha256" => Self::Known(Algorithm::Sha256),
            "sha512" => Self::Known(Algorithm::Sha512),
            "blake2b-160" => Self::Blake2b160,
            "blake2b-256" => Self::Blake2b256,
            "blake2b-384" => Self::Blake2b384,
            "blake2b-512" => Self::Blake2b512,
            "sha512/256" => Self::Sha512_256,
            _ => return None,
        })
    }

    /// Length of a digest in bytes.
    pub(super) fn length(self) -> usize {
        match self {
            Self::Known(algorithm) => algorithm.length(),
            Self::Blake2b160 => 20,
            Self::Blake2b256 | Self::Sha512_256 => 32,
            Self::Blake2b384 => 48,
            Self::Blake2b512 => 64,
        }
    }

    /// The code for a digest that is not hexadecimal or not of the algorithm's length.
    pub(super) fn encoding_code(self) -> &'static str {
        match self {
            Self::Known(Algorithm::Sha1) => "E029",
            Self::Known(Algorithm::Sha256) => "E030",
            Self::Known(Algorithm::Sha512) => "E031",
            Self::Blake2b512 => "E032",
            _ => "E057",
        }
    }
}

enum Other {
    Blake2b160(Blake2b<U20>),
    Blake2b256(Blake2b<U32>),
    Blake2b384(Blake2b<U48>),
    Blake2b512(Blake2b512),
    Sha512_256(Sha512_256),
}

/// Reads to the end and computes every algorithm asked for, in their order.
pub(super) fn digest_all(
    mut reader: impl Read,
    algorithms: &[FixityAlgorithm],
) -> io::Result<(u64, Vec<(FixityAlgorithm, Digest)>)> {
    let mut known: Vec<Algorithm> = Vec::new();
    let mut others: Vec<(FixityAlgorithm, Other)> = Vec::new();
    for algorithm in algorithms {
        match algorithm {
            FixityAlgorithm::Known(algorithm) => known.push(*algorithm),
            FixityAlgorithm::Blake2b160 => others.push((*algorithm, Other::Blake2b160(Blake2b::new()))),
            FixityAlgorithm::Blake2b256 => others.push((*algorithm, Other::Blake2b256(Blake2b::new()))),
            FixityAlgorithm::Blake2b384 => others.push((*algorithm, Other::Blake2b384(Blake2b::new()))),
            FixityAlgorithm::Blake2b512 => others.push((*algorithm, Other::Blake2b512(Blake2b512::new()))),
            FixityAlgorithm::Sha512_256 => others.push((*algorithm, Other::Sha512_256(Sha512_256::new()))),
        }
    }
    let mut size = 0;
    let mut digests: Vec<(FixityAlgorithm, Digest)> = Vec::with_capacity(algorithms.len());
    if others.is_empty() {
        let (length, set) = strongroom_digest::hash_reader(reader, &known)?;
        digests.extend(set.iter().map(|(algorithm, digest)| (FixityAlgorithm::Known(algorithm), digest)));
        return Ok((length, digests));
    }
    let mut hasher = MultiHasher::new(&known);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = buffer.get(..length).unwrap_or_default();
        size += length as u64;
        hasher.update(bytes);
        for (_, other) in &mut others {
            match other {
                Other::Blake2b160(state) => state.update(bytes),
                Other::Blake2b256(state) => state.update(bytes),
                Other::Blake2b384(state) => state.update(bytes),
                Other::Blake2b512(state) => state.update(bytes),
                Other::Sha512_256(state) => state.update(bytes),
            }
        }
    }
    digests.extend(hasher.finish().iter().map(|(algorithm, digest)| (FixityAlgorithm::Known(algorithm), digest)));
    for (algorithm, other) in others {
        let raw = match other {
            Other::Blake2b160(state) => state.finalize().to_vec(),
            Other::Blake2b256(state) => state.finalize().to_vec(),
            Other::Blake2b384(state) => state.finalize().to_vec(),
            Other::Blake2b512(state) => state.finalize().to_vec(),
            Other::Sha512_256(state) => state.finalize().to_vec(),
        };
        digests.extend(Digest::from_bytes(&raw).map(|digest| (algorithm, digest)));
    }
    Ok((size, digests))
}
