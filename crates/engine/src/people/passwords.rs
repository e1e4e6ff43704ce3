//! Which passwords users may choose, and how they are hashed.

use strongroom_credentials::{HashParameters, Password, PasswordContext, PasswordHasher, PasswordUse, StoredPassword};

use super::unusable;
use crate::EngineError;

/// A password that was chosen, as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    /// Its hash.
    pub(crate) hash: StoredPassword,
    /// Whether it is too short to be used without a second factor.
    pub(crate) needs_factor: bool,
}

/// What makes and verifies hashes.
pub(crate) fn hasher() -> PasswordHasher {
    PasswordHasher::new(HashParameters::default())
}

/// Checks a password for a user of this address and institution, and hashes it. It may be shorter beside a second factor.
pub(crate) fn choose(
    password: Password,
    (email, institution): (&str, Option<&str>),
    beside_factor: bool,
) -> Result<Chosen, EngineError> {
    let usage = if beside_factor { PasswordUse::WithSecondFactor } else { PasswordUse::Alone };
    let context = PasswordContext::new(std::iter::once(email).chain(institution));
    let accepted = password.accept(usage, &context).map_err(|error| unusable(&error))?;
    Ok(Chosen { hash: hasher().hash(&accepted)?, needs_factor: accepted.needs_second_factor() })
}
