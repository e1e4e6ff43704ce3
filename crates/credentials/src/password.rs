//! A password in the form in which it is hashed and compared.
//!
//! NIST SP 800-63B-4, section 3.1.1.2: Unicode is accepted, each code point counts as one character, and the text is normalized
//! by NFKC for stabilized strings (UAX #15, section 12.1), because keyboards write the same character in different ways.
//! Nothing is cut off or trimmed.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_public_assigned;
use zeroize::Zeroizing;

use crate::error::CredentialError;

/// A password as someone wrote it, normalized. Whether it may be chosen is another question: [`Password::accept`].
///
/// It is hidden in `Debug`, has no `Display`, and is overwritten in memory when it is dropped.
pub struct Password(Zeroizing<String>);

impl Password {
    /// The most characters that a password has in its normalized form. It bounds the work that a stranger can cause.
    pub const LONGEST: usize = 1024;

    /// Reads a password.
    ///
    /// Refused are what is too long, control characters (no one can type them again), and code points without an assigned
    /// character: a later version of Unicode may normalize those in another way, and the password would no longer match.
    pub fn new(given: &str) -> Result<Self, CredentialError> {
        // A decomposed character has up to three code points more than its composed form; what is longer than this cannot
        // become short enough, and is not worth the normalization.
        if given.chars().nth(Self::LONGEST * 4).is_some() {
            return Err(CredentialError::TooLong);
        }
        for (index, character) in given.chars().enumerate() {
            let refused = |reason| Err(CredentialError::Character { position: index + 1, reason });
            if character.is_control() {
                return refused("is a control character");
            }
            if !is_public_assigned(character) {
                return refused("is not assigned in Unicode");
            }
        }
        // The length is computed first, so that the text does not move in memory and leave copies behind.
        let mut normalized = Zeroizing::new(String::with_capacity(given.nfkc().map(char::len_utf8).sum()));
        normalized.extend(given.nfkc());
        let password = Self(normalized);
        if password.characters() > Self::LONGEST {
            return Err(CredentialError::TooLong);
        }
        Ok(password)
    }

    /// How many code points the normalized form has.
    pub(crate) fn characters(&self) -> usize {
        self.0.chars().count()
    }

    /// The normalized form.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password(hidden)")
    }
}
