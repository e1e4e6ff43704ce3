//! Backup codes: what replaces a second factor that is lost. Ten are made at a time, shown once, and each is usable once.
//!
//! They are look-up secrets of NIST SP 800-63B-4, section 3.1.2. With 120 random bits they are beyond the 112 from which the
//! standard asks for no salt and no slow hash: what is stored is the SHA-256 of each.

use std::fmt;

use data_encoding::BASE32_NOPAD_NOCASE as BASE32;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::error::CredentialError;
use crate::random;

/// Random bytes of a code.
const BYTES: usize = 15;
/// Characters of base32 of a code.
const CHARACTERS: usize = 24;
/// Characters of a group, as a code is shown.
const GROUP: usize = 6;
/// Of what is written with separators, no more is read.
const LONGEST: usize = 64;
/// What is hashed before a code, so that its digest is that of nothing else.
const DOMAIN: &[u8] = b"strongroom backup code\0";

/// A backup code. It is hidden in `Debug`.
pub struct BackupCode(Zeroizing<[u8; BYTES]>);

impl BackupCode {
    /// How many codes a user gets.
    pub const COUNT: usize = 10;

    /// Makes a new set of codes. The codes of the user before them are to be removed.
    pub fn generate() -> Result<[Self; Self::COUNT], CredentialError> {
        let mut codes = std::array::from_fn(|_| Self(Zeroizing::new([0; BYTES])));
        for code in &mut codes {
            code.0 = random::bytes()?;
        }
        Ok(codes)
    }

    /// Reads a code that someone typed: capital letters, spaces and hyphens do not matter, and digits that are not part of base32 are
    /// taken for the letters that look like them.
    pub fn parse(text: &str) -> Result<Self, CredentialError> {
        let refused = || CredentialError::BackupCode { characters: CHARACTERS };
        if text.len() > LONGEST {
            return Err(refused());
        }
        let mut code = Zeroizing::new(String::with_capacity(LONGEST));
        code.extend(text.chars().filter(|character| !character.is_whitespace() && *character != '-').map(
            |character| match character {
                '0' => 'o',
                '1' => 'l',
                '8' => 'b',
                other => other,
            },
        ));
        if code.len() != CHARACTERS {
            return Err(refused());
        }
        let bytes = Zeroizing::new(BASE32.decode(code.as_bytes()).map_err(|_| refused())?);
        Ok(Self(Zeroizing::new(bytes.as_slice().try_into().map_err(|_| refused())?)))
    }

    /// The code as it is shown: four groups of six letters and digits.
    pub fn reveal(&self) -> Zeroizing<String> {
        let mut characters = Zeroizing::new(String::with_capacity(CHARACTERS));
        BASE32.encode_append(self.0.as_slice(), &mut characters);
        characters.make_ascii_lowercase();
        let mut shown = Zeroizing::new(String::with_capacity(CHARACTERS + CHARACTERS / GROUP));
        for (at, character) in characters.chars().enumerate() {
            if at > 0 && at % GROUP == 0 {
                shown.push('-');
            }
            shown.push(character);
        }
        shown
    }

    /// What is stored in place of the code.
    pub fn digest(&self) -> BackupCodeDigest {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(self.0.as_slice());
        BackupCodeDigest(hash.finalize().into())
    }

    /// Finds the code among those of a user, and says which of them becomes used: its position in the list.
    ///
    /// The time depends on the length of the list alone. What is stored must not have been used by anyone else in the meantime: the
    /// statement that notes the use is conditional on that.
    pub fn redeem(&self, stored: &[StoredBackupCode]) -> Result<usize, BackupCodeRefusal> {
        let digest = self.digest();
        let mut found = None;
        for (position, code) in stored.iter().enumerate() {
            if bool::from(code.digest.0.ct_eq(&digest.0)) {
                found = Some((position, code));
            }
        }
        match found {
            None => Err(BackupCodeRefusal::Unknown),
            Some((_, code)) if code.used_at.is_some() => Err(BackupCodeRefusal::Used),
            Some((position, _)) => Ok(position),
        }
    }
}

impl fmt::Debug for BackupCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BackupCode(hidden)")
    }
}

/// The SHA-256 of a backup code. It is hidden in `Debug`.
#[derive(Clone)]
pub struct BackupCodeDigest([u8; 32]);

impl BackupCodeDigest {
    /// The bytes, to be stored.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl TryFrom<&[u8]> for BackupCodeDigest {
    type Error = CredentialError;

    fn try_from(stored: &[u8]) -> Result<Self, Self::Error> {
        let bytes = stored.try_into().map_err(|_| CredentialError::Stored {
            what: "digest of a backup code",
            given: stored.len(),
            expected: 32,
        })?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for BackupCodeDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BackupCodeDigest(hidden)")
    }
}

/// A backup code as it is stored.
#[derive(Debug, Clone)]
pub struct StoredBackupCode {
    /// Its digest.
    pub digest: BackupCodeDigest,
    /// When it was used, if it was.
    pub used_at: Option<Timestamp>,
}

/// Why a backup code is refused. The person who tries it gets the same answer for both; the log does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BackupCodeRefusal {
    /// It is not among those of the user.
    #[error("the backup code is not one of the user")]
    Unknown,
    /// It was used before.
    #[error("the backup code was used before")]
    Used,
}
