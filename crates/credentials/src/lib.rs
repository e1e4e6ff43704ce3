//! Passwords, second factors, tokens and keys of users.
//!
//! - [`Password`] is a password as it is compared; [`Password::accept`] says whether it may be chosen. [`PasswordHasher`] makes
//!   and verifies hashes (argon2id), with the same work for accounts that do not exist.
//!
//! The crate keeps nothing, and reads no clock: the caller gives the time, and stores what the crate returns. Of the
//! operating system it asks for random bytes only. Values that are secret are hidden in `Debug`, and are overwritten in memory
//! when they are dropped; [`zxcvbn`] and [`argon2`] make copies that are not.

#![forbid(unsafe_code)]

mod error;
mod hashing;
mod password;
mod random;
mod rules;

pub use error::CredentialError;
pub use hashing::{HashParameters, PasswordHasher, StoredPassword, Verification};
pub use password::Password;
pub use rules::{AcceptedPassword, PasswordContext, PasswordUse};
