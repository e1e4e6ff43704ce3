//! Tokens: API keys, sessions, and links that are used once.
//!
//! A token is text in four parts, such as `strongroom_key_ID_SECRETCHECK`: a prefix that names the kind, so that scanners for leaked
//! secrets recognize it; an identifier that is no secret, by which its row is found and which people see in lists; 256 random
//! bits; and a checksum of all of it (CRC-32), so that a token that was cut off or mistyped is recognized without a look-up, and
//! a scanner does not take other text for one. All after the prefix is base32 (RFC 4648) in lower case: it is selected by
//! one double click, and has no characters that a URL or a shell changes.
//!
//! What is stored is the SHA-256 of a token. A slow hash with a salt protects what people choose, which is guessed from lists; 256
//! random bits are guessed by nothing, whatever the hash, and NIST SP 800-63B-4, section 3.1.2.2, asks for no more than an approved
//! one-way function from 112 bits on. Such a hash costs nothing at each request.

use std::fmt;

use data_encoding::BASE32_NOPAD_NOCASE as BASE32;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::error::CredentialError;
use crate::random;

/// Bytes of an identifier. Two of 10^9 tokens have the same one with a probability of 1 in 2,000,000.
const ID_BYTES: usize = 10;
/// Bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Characters of base32 of an identifier, a secret and a checksum.
const ID: usize = 16;
const SECRET: usize = 52;
const CHECK: usize = 7;

/// What a token is for. A token of one kind is never accepted as another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// The key of a program that calls the API.
    ApiKey,
    /// A session of a person who signed in.
    Session,
    /// Someone is invited to become a user.
    Invitation,
    /// A user may choose a new password.
    PasswordReset,
    /// A request to delete may be approved or denied.
    DeletionApproval,
    /// A person confirms what a spot test has restored.
    RestorationConfirmation,
}

impl TokenKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::ApiKey,
        Self::Session,
        Self::Invitation,
        Self::PasswordReset,
        Self::DeletionApproval,
        Self::RestorationConfirmation,
    ];

    /// The beginning of each token of the kind.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::ApiKey => "strongroom_key_",
            Self::Session => "strongroom_session_",
            Self::Invitation => "strongroom_invitation_",
            Self::PasswordReset => "strongroom_reset_",
            Self::DeletionApproval => "strongroom_deletion_",
            Self::RestorationConfirmation => "strongroom_confirmation_",
        }
    }

    /// How many characters a token of the kind has.
    pub const fn length(self) -> usize {
        self.prefix().len() + ID + 1 + SECRET + CHECK
    }
}

impl fmt::Display for TokenKind {
    /// The kind with its article, as it stands in a sentence.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ApiKey => "an API key",
            Self::Session => "a session",
            Self::Invitation => "an invitation",
            Self::PasswordReset => "a password reset",
            Self::DeletionApproval => "an approval of a deletion",
            Self::RestorationConfirmation => "a confirmation of a restoration",
        })
    }
}

/// The identifier of a token: no secret, the same for as long as the token is stored, and shown in lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(String);

impl TokenId {
    /// Reads an identifier, as it is stored or as someone names a token in a command.
    pub fn parse(text: &str) -> Result<Self, CredentialError> {
        if text.len() != ID || !is_base32(text) {
            return Err(CredentialError::TokenId { characters: ID });
        }
        Ok(Self(text.to_owned()))
    }

    /// The identifier as it is stored and shown: 16 characters of base32.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A token. Its text is a secret: it is shown once, and never stored.
pub struct Token {
    kind: TokenKind,
    text: Zeroizing<String>,
}

impl Token {
    /// Makes a new token.
    pub fn generate(kind: TokenKind) -> Result<Self, CredentialError> {
        let mut text = Zeroizing::new(String::with_capacity(kind.length()));
        text.push_str(kind.prefix());
        append(&mut text, random::bytes::<ID_BYTES>()?.as_slice());
        text.push('_');
        append(&mut text, random::bytes::<SECRET_BYTES>()?.as_slice());
        let checksum = checksum(&text);
        append(&mut text, &checksum);
        Ok(Self { kind, text })
    }

    /// Reads a token that someone presents. Whether it is one that was made, its stored digest says.
    pub fn parse(text: &str, expected: TokenKind) -> Result<Self, CredentialError> {
        let Some(rest) = text.strip_prefix(expected.prefix()) else {
            let found = TokenKind::ALL.into_iter().find(|kind| text.starts_with(kind.prefix()));
            return Err(match found {
                Some(found) => CredentialError::OtherKind { expected, found },
                None => CredentialError::NotAToken { kind: expected },
            });
        };
        if text.len() != expected.length() {
            return Err(CredentialError::NotAToken { kind: expected });
        }
        let wrong = || CredentialError::Checksum { kind: expected };
        let (id, secret) = rest.split_once('_').ok_or_else(wrong)?;
        if id.len() != ID || !is_base32(id) || !is_base32(secret) {
            return Err(wrong());
        }
        let (signed, check) = text.split_at_checked(text.len() - CHECK).ok_or_else(wrong)?;
        let mut expected_check = String::with_capacity(CHECK);
        append(&mut expected_check, &checksum(signed));
        if check != expected_check {
            return Err(wrong());
        }
        Ok(Self { kind: expected, text: Zeroizing::new(text.to_owned()) })
    }

    /// What the token is for.
    pub const fn kind(&self) -> TokenKind {
        self.kind
    }

    /// By what its row is found.
    pub fn id(&self) -> TokenId {
        TokenId(self.text.chars().skip(self.kind.prefix().len()).take(ID).collect())
    }

    /// What is stored in place of the token. It covers the kind and the identifier, so it fits no other row.
    pub fn digest(&self) -> TokenDigest {
        TokenDigest(Sha256::digest(self.text.as_bytes()).into())
    }

    /// The text: to show it to its owner, or to set it as a cookie.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Token").field("kind", &self.kind).field("id", &self.id().0).finish_non_exhaustive()
    }
}

/// The SHA-256 of a token. It is compared in constant time, and hidden in `Debug`.
#[derive(Clone)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// Whether this is the digest of the token. The time that it takes does not depend on where they differ.
    pub fn is_of(&self, token: &Token) -> bool {
        self.0.ct_eq(&token.digest().0).into()
    }

    /// The bytes, to be stored.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl TryFrom<&[u8]> for TokenDigest {
    type Error = CredentialError;

    fn try_from(stored: &[u8]) -> Result<Self, Self::Error> {
        let bytes = stored.try_into().map_err(|_| CredentialError::Stored {
            what: "digest of a token",
            given: stored.len(),
            expected: 32,
        })?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenDigest(hidden)")
    }
}

/// Whether a text has characters of base32 in lower case alone.
fn is_base32(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
}

/// Appends base32 in lower case. The text has room for it, so that it does not move and leave a copy behind.
pub(crate) fn append(text: &mut String, bytes: &[u8]) {
    let start = text.len();
    BASE32.encode_append(bytes, text);
    if let Some(appended) = text.get_mut(start..) {
        appended.make_ascii_lowercase();
    }
}

/// The checksum of a text (CRC-32).
pub(crate) fn checksum(text: &str) -> [u8; 4] {
    crc32fast::hash(text.as_bytes()).to_be_bytes()
}
