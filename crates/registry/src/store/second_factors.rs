//! Second factors of users, and the backup codes that replace them. Each use is a conditional update: of two at once one succeeds.

use std::fmt;

use strongroom_credentials::{BackupCodeDigest, SealingKeyId, StoredBackupCode, ThrottleKey, TotpStep};
use strongroom_database::{Statement, Transaction, Value};

use crate::users::User;
use crate::{RegistryError, UserId, sessions, throttles};

/// The secret of a second factor as it is stored: encrypted with a key that is not in the registry. It is hidden in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedFactor(Vec<u8>);

impl SealedFactor {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for SealedFactor {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&SealedFactor> for Value {
    fn from(sealed: &SealedFactor) -> Self {
        Self::from(sealed.as_bytes())
    }
}

impl fmt::Debug for SealedFactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealedFactor(hidden)")
    }
}

/// What came of the begin of a second factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It is stored, and waits for a first code.
    Stored,
    /// The user has one already.
    HasFactor,
    /// Factors of other users are sealed with another key, of this identifier.
    OtherKey(String),
}

/// The identifier of a key with which factors are sealed, after `after`: every key, one after the other. There is one at most, unless rows were
/// written by hand.
pub fn key_after(tx: &mut dyn Transaction, after: &str) -> Result<Option<String>, RegistryError> {
    let row = tx.query_one(Statement("factors.key"), &[after.into()])?;
    Ok(row.map(|row| row.text("factor_key").map(str::to_owned)).transpose()?)
}

/// Stores the secret of a second factor, in the place of one that was not confirmed. All factors have one key, also where two processes begin
/// the first ones at the same time.
pub fn begin(
    tx: &mut dyn Transaction,
    user: UserId,
    sealed: &SealedFactor,
    key: SealingKeyId,
) -> Result<Begun, RegistryError> {
    let key = key.to_string();
    let mut known = key_after(tx, "")?;
    if known.as_deref() == Some(key.as_str()) {
        known = key_after(tx, &key)?;
    }
    if let Some(other) = known {
        return Ok(Begun::OtherKey(other));
    }
    let now = tx.now()?;
    let begun = tx.query_one(Statement("factors.begin"), &[user.into(), sealed.into(), key.into(), now.into()])?;
    Ok(if begun.is_some() { Begun::Stored } else { Begun::HasFactor })
}

/// Confirms a second factor by its first code, whose step becomes used. False where it was confirmed, replaced or reset in the meantime.
pub fn confirm(
    tx: &mut dyn Transaction,
    user: UserId,
    sealed: &SealedFactor,
    step: TotpStep,
) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let values = [user.into(), sealed.into(), step.number().into(), now.into()];
    Ok(tx.query_one(Statement("factors.confirm"), &values)?.is_some())
}

/// Uses the code of a step. False where this step or a later one was used, or the factor was replaced or reset in the meantime.
pub fn use_step(
    tx: &mut dyn Transaction,
    user: UserId,
    sealed: &SealedFactor,
    step: TotpStep,
) -> Result<bool, RegistryError> {
    let values = [user.into(), sealed.into(), step.number().into()];
    Ok(tx.query_one(Statement("factors.use_step"), &values)?.is_some())
}

/// Removes the second factor of a user with its backup codes. Sessions end, and a factor that was disabled by too many attempts is not any more.
/// Whether there was one.
pub fn reset(tx: &mut dyn Transaction, user: &User) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    if tx.query_one(Statement("factors.reset"), &[user.id.into(), now.into()])?.is_none() {
        return Ok(false);
    }
    tx.execute(Statement("backup_codes.clear"), &[user.id.into()])?;
    sessions::end_of_user(tx, user.id)?;
    throttles::clear(tx, &ThrottleKey::second_factor(&user.account))?;
    Ok(true)
}

/// Gives a user these backup codes in the place of those before them.
pub fn put_backup_codes(
    tx: &mut dyn Transaction,
    user: UserId,
    codes: &[BackupCodeDigest],
) -> Result<(), RegistryError> {
    tx.execute(Statement("backup_codes.clear"), &[user.into()])?;
    for code in codes {
        tx.execute(Statement("backup_codes.insert"), &[user.into(), code.as_bytes().as_slice().into()])?;
    }
    Ok(())
}

/// The backup codes of a user.
pub fn backup_codes(tx: &mut dyn Transaction, user: UserId) -> Result<Vec<StoredBackupCode>, RegistryError> {
    let rows = tx.query(Statement("backup_codes.list"), &[user.into()])?;
    let code = |row: &strongroom_database::Row| {
        Ok(StoredBackupCode {
            digest: BackupCodeDigest::try_from(row.bytes("digest")?)?,
            used_at: row.optional_time("used_at")?.map(strongroom_database::Time::timestamp),
        })
    };
    rows.iter().map(code).collect()
}

/// Uses a backup code. False where it was used, or replaced, in the meantime.
pub fn use_backup_code(tx: &mut dyn Transaction, user: UserId, code: &BackupCodeDigest) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let values = [user.into(), code.as_bytes().as_slice().into(), now.into()];
    Ok(tx.query_one(Statement("backup_codes.use"), &values)?.is_some())
}
