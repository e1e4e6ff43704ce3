//! The signatures that ship with the crate.

use crate::error::PronomError;
use crate::signatures::SignatureSet;

/// The newest pair of signature files known when this version of the crate was made.
pub fn signatures() -> Result<SignatureSet, PronomError> {
    todo!()
}
