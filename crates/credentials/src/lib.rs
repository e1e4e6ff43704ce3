//! Passwords, second factors, tokens and keys of users, and how often they may be tried.
//!
//! - [`Password`] is a password as it is compared; [`Password::accept`] says whether it may be chosen. [`PasswordHasher`] makes
//!   and verifies hashes (argon2id), with the same work for accounts that do not exist.
//! - [`TotpSecret`] is a second factor by time (RFC 6238), each step usable once; [`BackupCode`] replaces it when it is lost.
//! - [`Token`] is what proves who asks without a password: API keys, sessions, and links that are used once. [`Validity`] and
//!   [`SessionTimes`] say until when.
//! - [`Throttle`] limits how often any of these is tried; [`AccountName`] is by what an account is known.
//! - [`SealingKey`] encrypts secrets of second factors, which have to be read again.
//!
//! The crate keeps nothing, and reads no clock: the caller gives the time, and stores what the crate returns. Of the
//! operating system it asks for random bytes only. Values that are secret are hidden in `Debug`, and are overwritten in memory
//! when they are dropped; [`zxcvbn`] and [`argon2`] make copies that are not.
//!
//! ```
//! use strongroom_credentials::{
//!     HashParameters, Password, PasswordContext, PasswordHasher, PasswordUse, Token, TokenDigest, TokenKind, Verification,
//! };
//!
//! # fn main() -> Result<(), strongroom_credentials::CredentialError> {
//! let context = PasswordContext::new(["ada@example.org", "Example Library"]);
//! let new = Password::new("seven teapots beside the harbour")?.accept(PasswordUse::Alone, &context)?;
//! let hasher = PasswordHasher::new(HashParameters::default());
//! let stored = hasher.hash(&new)?;
//!
//! let tried = Password::new("seven teapots beside the harbour")?;
//! assert_eq!(hasher.verify(Some(&stored), &tried)?, Verification::Match);
//! assert_eq!(hasher.verify(None, &tried)?, Verification::Mismatch);
//!
//! let key = Token::generate(TokenKind::ApiKey)?;
//! let (id, digest) = (key.id(), key.digest()); // these are stored
//! let presented = Token::parse(key.reveal(), TokenKind::ApiKey)?;
//! assert!(presented.id() == id && digest.is_of(&presented));
//! assert!(TokenDigest::try_from(digest.as_bytes().as_slice())?.is_of(&presented));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod account;
mod backup_codes;
mod error;
mod hashing;
mod password;
mod random;
mod rules;
mod sealing;
mod session;
mod throttle;
mod throttle_key;
mod token;
mod totp;
mod validity;

pub use account::AccountName;
pub use backup_codes::{BackupCode, BackupCodeDigest, BackupCodeRefusal, StoredBackupCode};
pub use error::CredentialError;
pub use hashing::{HashParameters, PasswordHasher, StoredPassword, Verification};
pub use password::Password;
pub use rules::{AcceptedPassword, PasswordContext, PasswordUse};
pub use sealing::{SealingKey, SealingKeyId};
pub use session::{SessionEnd, SessionLimits, SessionNext, SessionTimes};
pub use throttle::{Attempt, Throttle, ThrottlePolicy};
pub use throttle_key::ThrottleKey;
pub use token::{Token, TokenDigest, TokenId, TokenKind};
pub use totp::{TotpCode, TotpRefusal, TotpSecret, TotpStep};
pub use validity::{CLOCK_TOLERANCE, Refusal, Validity};
