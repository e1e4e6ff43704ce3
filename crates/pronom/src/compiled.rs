//! The compact form of a pair of signature files: a header, and the set as postcard in zlib (RFC 1950). It is read many
//! times faster than XML, and what is read is checked as if a stranger had written it.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha2::{Digest as _, Sha256};

use crate::error::PronomError;
use crate::signatures::SignatureSet;

/// What the form begins with. The last byte is its version, raised with every change of what lies within.
const MAGIC: [u8; 8] = *b"PRONOMC\x01";
/// Length of the SHA-256 of the body, which follows.
const DIGEST: usize = 32;
/// The body holds at most so many bytes when inflated.
const MAX_BODY: u64 = 16 << 20;

/// Writes a set of signatures in the compact form. Equal sets give equal bytes.
pub fn encode(set: &SignatureSet) -> Result<Vec<u8>, PronomError> {
    set.validate()?;
    let plain = postcard::to_stdvec(set).map_err(|error| compiled(format!("could not be written: {error}")))?;
    if plain.len() as u64 > MAX_BODY {
        return Err(compiled(format!("they come to {} bytes, more than {MAX_BODY}", plain.len())));
    }
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::best());
    let body = deflate.write_all(&plain).and_then(|()| deflate.finish());
    let body = body.map_err(|error| compiled(format!("could not be written: {error}")))?;
    Ok([MAGIC.as_slice(), Sha256::digest(&body).as_slice(), &body].concat())
}

/// Reads the compact form.
pub fn decode(bytes: &[u8]) -> Result<SignatureSet, PronomError> {
    let (magic, rest) = bytes.split_first_chunk::<{ MAGIC.len() }>().ok_or_else(|| compiled("too short"))?;
    if magic != &MAGIC {
        let is_other_version = magic.split_last().map(|(_, name)| name) == MAGIC.split_last().map(|(_, name)| name);
        return Err(compiled(if is_other_version {
            "another version of this program wrote them; make them anew"
        } else {
            "these are none"
        }));
    }
    let (digest, body) = rest.split_first_chunk::<DIGEST>().ok_or_else(|| compiled("too short"))?;
    if Sha256::digest(body).as_slice() != digest {
        return Err(compiled("the digest does not match; they are damaged"));
    }
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(body).take(MAX_BODY + 1).read_to_end(&mut plain);
    read.map_err(|error| compiled(format!("not readable: {error}")))?;
    if plain.len() as u64 > MAX_BODY {
        return Err(compiled(format!("they come to more than {MAX_BODY} bytes")));
    }
    let (set, rest) = postcard::take_from_bytes::<SignatureSet>(&plain)
        .map_err(|error| compiled(format!("not readable: {error}")))?;
    if !rest.is_empty() {
        return Err(compiled("something follows the last part"));
    }
    set.validate().map_err(|error| compiled(error.to_string()))?;
    Ok(set)
}

fn compiled(reason: impl Into<String>) -> PronomError {
    PronomError::Compiled { reason: reason.into() }
}
