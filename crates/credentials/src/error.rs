//! Why a credential is not accepted, or cannot be made or read.
//!
//! No text here contains a secret, nor a part of one: errors are logged and shown.

use crate::password::Password;
use crate::sealing::SealingKeyId;
use crate::token::TokenKind;

/// What is wrong with a credential, or what its making met with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The operating system gives no random bytes.
    #[error("a secret cannot be made: the operating system gives no random bytes")]
    Random {
        /// What it says.
        source: getrandom::Error,
    },
    /// Parameters for hashes that are outside of what is allowed.
    #[error("passwords cannot be hashed with {name} {given}: it has to be between {least} and {most}")]
    Parameters {
        /// Which one.
        name: &'static str,
        /// What was given.
        given: u32,
        /// The least that is allowed.
        least: u32,
        /// The most that is allowed.
        most: u32,
    },
    /// The hash of a password cannot be computed.
    #[error("a password cannot be hashed")]
    Hashing {
        /// What the function says.
        source: argon2::password_hash::Error,
    },
    /// What is stored as the hash of a password is none.
    #[error("the stored hash of a password cannot be read: {reason}; next: reset the password of the user")]
    StoredPassword {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The password is too short to be chosen.
    #[error("the password has {characters} characters, and at least {least} are required; next: choose a longer one")]
    TooShort {
        /// How many characters it has in its normalized form.
        characters: usize,
        /// How many are required.
        least: usize,
    },
    /// The password is longer than one may be.
    #[error("the password has more than {} characters; next: choose a shorter one", Password::LONGEST)]
    TooLong,
    /// The password has a character that cannot be part of one.
    #[error("character {position} of the password {reason}; next: choose a password without it")]
    Character {
        /// The position, from 1.
        position: usize,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// The password is one of those that are tried first.
    #[error(
        "the password is easily guessed: {reason}; next: choose a longer one, such as four or more unrelated words"
    )]
    Common {
        /// By what it is guessed.
        reason: &'static str,
    },
    /// The text is not a token of the kind, or a part of it is missing.
    #[error("the text is not {kind}: it has to begin with \"{}\" and have {} characters", kind.prefix(), kind.length())]
    NotAToken {
        /// What was expected.
        kind: TokenKind,
    },
    /// The text is a token of another kind.
    #[error("the text is {found}, and {expected} is needed here")]
    OtherKind {
        /// What was expected.
        expected: TokenKind,
        /// What it is.
        found: TokenKind,
    },
    /// The check characters of a token do not fit.
    #[error("{kind} has a wrong or missing character; next: copy it again as a whole")]
    Checksum {
        /// What the token is.
        kind: TokenKind,
    },
    /// What is stored as a digest or an identifier is none.
    #[error("the stored {what} cannot be read: it has {given} bytes, and {expected} are expected")]
    Stored {
        /// What should be there.
        what: &'static str,
        /// How many bytes there are.
        given: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The text is not the identifier of a token.
    #[error(
        "the text is not the identifier of a key or token: it has to be {characters} lower-case letters and digits"
    )]
    TokenId {
        /// How many characters an identifier has.
        characters: usize,
    },
    /// The text is not the secret of a second factor.
    #[error("the text is not the secret of a second factor: it has to be {characters} characters of base32")]
    TotpSecret {
        /// How many characters a secret has.
        characters: usize,
    },
    /// The text is not a code of a second factor.
    #[error("the text is not a code of a second factor: a code is {digits} digits")]
    TotpCode {
        /// How many digits a code has.
        digits: usize,
    },
    /// The text is not a backup code.
    #[error("the text is not a backup code: a backup code is {characters} letters and digits")]
    BackupCode {
        /// How many characters a code has, without what separates its groups.
        characters: usize,
    },
    /// The text is not a key that seals secrets.
    #[error("the text is not a key that seals secrets, or a part of it is missing")]
    SealingKey,
    /// A secret was sealed with another key.
    #[error("the secret of a second factor was sealed with the key {sealed}, and the key that is given is {given}")]
    OtherKey {
        /// The key that has sealed it.
        sealed: SealingKeyId,
        /// The key that was given.
        given: SealingKeyId,
    },
    /// What is stored as a sealed secret is none.
    #[error("the stored secret of a second factor cannot be read: {reason}; next: reset the second factor of the user")]
    Sealed {
        /// What is wrong with it.
        reason: &'static str,
    },
}
