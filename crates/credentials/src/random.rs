//! Random bytes of the operating system: the one source of every secret of this crate.

use zeroize::Zeroizing;

use crate::error::CredentialError;

/// So many random bytes.
pub(crate) fn bytes<const LENGTH: usize>() -> Result<Zeroizing<[u8; LENGTH]>, CredentialError> {
    let mut bytes = Zeroizing::new([0; LENGTH]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|source| CredentialError::Random { source })?;
    Ok(bytes)
}
