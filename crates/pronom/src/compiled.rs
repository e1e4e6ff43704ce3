//! The compact form of a pair of signature files.

use crate::error::PronomError;
use crate::signatures::SignatureSet;

/// Writes a set of signatures in the compact form.
pub fn encode(_set: &SignatureSet) -> Result<Vec<u8>, PronomError> {
    todo!()
}

/// Reads the compact form.
pub fn decode(_bytes: &[u8]) -> Result<SignatureSet, PronomError> {
    todo!()
}
