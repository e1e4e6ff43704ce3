//! Hashes of passwords: argon2id (RFC 9106), stored as PHC strings, which name their parameters.

use std::fmt;

use argon2::password_hash::Error as HashError;
use argon2::{Algorithm, Argon2, Params, PasswordHash, PasswordHasher as _, PasswordVerifier as _, Version};

use crate::error::CredentialError;
use crate::password::Password;
use crate::random;
use crate::rules::AcceptedPassword;

/// Bytes of a salt (RFC 9106, section 4).
const SALT: usize = 16;

/// How much work a hash costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashParameters {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl Default for HashParameters {
    /// 19 MiB, two passes, one lane: the least that the OWASP Password Storage Cheat Sheet recommends for argon2id.
    fn default() -> Self {
        Self { memory_kib: 19 * 1024, passes: 2, lanes: 1 }
    }
}

impl HashParameters {
    /// The most memory, 1 GiB. It bounds what a stored hash that someone changed can cost.
    pub const MOST_MEMORY_KIB: u32 = 1024 * 1024;
    /// The most passes.
    pub const MOST_PASSES: u32 = 64;
    /// The most lanes.
    pub const MOST_LANES: u32 = 16;

    /// Parameters: memory in KiB (at least 8 for each lane), passes over it, and lanes.
    pub fn new(memory_kib: u32, passes: u32, lanes: u32) -> Result<Self, CredentialError> {
        let within = |name, given, least, most| {
            if (least..=most).contains(&given) {
                Ok(())
            } else {
                Err(CredentialError::Parameters { name, given, least, most })
            }
        };
        within("lanes", lanes, Params::MIN_P_COST, Self::MOST_LANES)?;
        within("passes", passes, Params::MIN_T_COST, Self::MOST_PASSES)?;
        within("memory in KiB", memory_kib, Params::MIN_M_COST * lanes, Self::MOST_MEMORY_KIB)?;
        Ok(Self { memory_kib, passes, lanes })
    }

    /// Memory in KiB.
    pub const fn memory_kib(&self) -> u32 {
        self.memory_kib
    }

    /// Passes over the memory.
    pub const fn passes(&self) -> u32 {
        self.passes
    }

    /// Lanes.
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }

    fn function(self) -> Result<Argon2<'static>, CredentialError> {
        let params = Params::new(self.memory_kib, self.passes, self.lanes, None)
            .map_err(|error| CredentialError::Hashing { source: error.into() })?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }
}

/// The hash of a password as it is stored: a PHC string. It is hidden in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredPassword {
    /// Boxed, because it has room for the longest of PHC strings.
    hash: Box<PasswordHash>,
    parameters: HashParameters,
}

impl StoredPassword {
    /// The most bytes of a PHC string that is read.
    const LONGEST: usize = 512;

    /// Reads a PHC string: argon2id of version 1.3, with a salt and a hash.
    pub fn parse(text: &str) -> Result<Self, CredentialError> {
        let unreadable = |reason| CredentialError::StoredPassword { reason };
        if text.len() > Self::LONGEST {
            return Err(unreadable("it is too long"));
        }
        let hash = PasswordHash::new(text).map_err(|_| unreadable("it is not a PHC string"))?;
        if hash.algorithm != argon2::ARGON2ID_IDENT || hash.version != Some(Version::V0x13.into()) {
            return Err(unreadable("it is not argon2id of version 1.3"));
        }
        if hash.salt.is_none() || hash.hash.is_none() {
            return Err(unreadable("it has no salt or no hash"));
        }
        let params = Params::try_from(&hash).map_err(|_| unreadable("its parameters are not those of argon2id"))?;
        let parameters = HashParameters::new(params.m_cost(), params.t_cost(), params.p_cost())
            .map_err(|_| unreadable("its parameters are outside of what is allowed"))?;
        Ok(Self { hash: Box::new(hash), parameters })
    }

    /// The PHC string, to be stored.
    pub fn reveal(&self) -> String {
        self.hash.to_string()
    }

    /// The parameters that the hash was made with.
    pub const fn parameters(&self) -> HashParameters {
        self.parameters
    }
}

impl fmt::Debug for StoredPassword {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoredPassword").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

/// Whether a password is that of a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// It is not, or there is no hash.
    Mismatch,
    /// It is.
    Match,
    /// It is, and the hash was made with other parameters than those that are used now. This one replaces it.
    Renewed(StoredPassword),
}

/// Makes and verifies hashes of passwords.
#[derive(Debug, Clone, Copy)]
pub struct PasswordHasher {
    parameters: HashParameters,
}

impl PasswordHasher {
    /// A hasher that makes hashes with these parameters.
    pub const fn new(parameters: HashParameters) -> Self {
        Self { parameters }
    }

    /// Makes the hash of a password that was chosen.
    pub fn hash(&self, password: &AcceptedPassword) -> Result<StoredPassword, CredentialError> {
        self.hash_any(password.password())
    }

    /// Says whether the password is that of the hash.
    ///
    /// For an account that does not exist, or has no password, `stored` is `None`. The answer then is no, after the work of a
    /// hash with the current parameters: the time that the answer takes does not show which accounts exist. A hash with
    /// other parameters takes another time until its user has signed in once, and it is renewed.
    pub fn verify(
        &self,
        stored: Option<&StoredPassword>,
        password: &Password,
    ) -> Result<Verification, CredentialError> {
        let bytes = password.text().as_bytes();
        let Some(stored) = stored else {
            self.parameters
                .function()?
                .hash_password_with_salt(bytes, &[0; SALT])
                .map_err(|source| CredentialError::Hashing { source })?;
            return Ok(Verification::Mismatch);
        };
        match stored.parameters.function()?.verify_password(bytes, &*stored.hash) {
            Ok(()) if stored.parameters == self.parameters => Ok(Verification::Match),
            // The password may be one that the rules of today refuse: it is still the user's, and gets a better hash.
            Ok(()) => self.hash_any(password).map(Verification::Renewed),
            Err(HashError::PasswordInvalid) => Ok(Verification::Mismatch),
            Err(source) => Err(CredentialError::Hashing { source }),
        }
    }

    fn hash_any(&self, password: &Password) -> Result<StoredPassword, CredentialError> {
        let salt = random::bytes::<SALT>()?;
        let hash = self
            .parameters
            .function()?
            .hash_password_with_salt(password.text().as_bytes(), salt.as_slice())
            .map_err(|source| CredentialError::Hashing { source })?;
        Ok(StoredPassword { hash: Box::new(hash), parameters: self.parameters })
    }
}
