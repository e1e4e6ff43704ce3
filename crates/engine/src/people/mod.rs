//! What functions about people share: how passwords are chosen, and the key that seals second factors.

pub(crate) mod admins;
mod factor_key;
mod passwords;
pub(crate) mod tokens;

pub(crate) use factor_key::{FILE as FACTOR_KEY_FILE, check as check_factor_key, key_or_new, open_factor, other_key};
pub(crate) use passwords::{Chosen, choose, hasher};

use strongroom_credentials::CredentialError;

use crate::EngineError;

/// What a person typed and cannot be used, with what to do next.
pub(crate) fn unusable(error: &CredentialError) -> EngineError {
    let text = error.to_string();
    match text.split_once("; next: ") {
        Some((what, next)) => EngineError::Usage(what.to_owned()).next(next),
        None => EngineError::Usage(text),
    }
}
