//! The signatures that ship with the crate. `data/README.md` says where they come from.

use crate::compiled;
use crate::error::PronomError;
use crate::signatures::SignatureSet;

/// The newest pair of signature files known when this version of the crate was made.
pub fn signatures() -> Result<SignatureSet, PronomError> {
    compiled::decode(include_bytes!("../data/signatures.bin"))
}
