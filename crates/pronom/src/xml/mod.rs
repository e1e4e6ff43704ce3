//! DROID's signature files.

use crate::error::PronomError;
use crate::signatures::SignatureSet;

/// Reads a binary signature file and, where given, a container signature file.
pub fn read(_binary: &[u8], _container: Option<&[u8]>) -> Result<SignatureSet, PronomError> {
    todo!()
}
