//! Tokens that are used once: invitations and password resets. What is stored is the digest of each.

use strongroom_credentials::{TokenDigest, TokenId, Validity};
use strongroom_database::{Row, Statement, Time, Transaction};

use crate::journal::{self, Actor};
use crate::{OneTimeKind, RegistryError, UserId};

/// A token to be stored.
#[derive(Debug)]
pub struct NewToken<'a> {
    /// Its identifier.
    pub id: TokenId,
    /// Its digest.
    pub digest: TokenDigest,
    /// What it is for.
    pub kind: OneTimeKind,
    /// Whose it is.
    pub user: UserId,
    /// Who has made it.
    pub actor: &'a Actor,
    /// When it expires.
    pub expires_at: Time,
}

/// A token as it is stored.
#[derive(Debug, Clone)]
pub struct OneTimeToken {
    /// What it is for.
    pub kind: OneTimeKind,
    /// Its digest.
    pub digest: TokenDigest,
    /// Whose it is.
    pub user: UserId,
    /// Until when it is valid.
    pub validity: Validity,
}

/// Stores a token. Those of the user before it end: only the newest is valid.
pub fn make(tx: &mut dyn Transaction, new: &NewToken<'_>) -> Result<(), RegistryError> {
    journal::know(tx, new.actor)?;
    end_of_user(tx, new.user)?;
    let now = tx.now()?;
    let values = [
        new.id.as_str().into(),
        new.digest.as_bytes().as_slice().into(),
        new.kind.as_str().into(),
        new.user.into(),
        new.actor.id.into(),
        now.into(),
        new.expires_at.into(),
    ];
    tx.execute(Statement("one_time_tokens.insert"), &values)?;
    Ok(())
}

/// The token of an identifier.
pub fn get(tx: &mut dyn Transaction, id: &TokenId) -> Result<Option<OneTimeToken>, RegistryError> {
    let Some(row) = tx.query_one(Statement("one_time_tokens.get"), &[id.as_str().into()])? else { return Ok(None) };
    Ok(Some(OneTimeToken {
        kind: row.text("kind")?.parse()?,
        digest: TokenDigest::try_from(row.bytes("digest")?)?,
        user: UserId(row.uuid("user_id")?),
        validity: validity(&row)?,
    }))
}

/// From when to when the token of a row is valid.
pub(super) fn validity(row: &Row) -> Result<Validity, RegistryError> {
    Ok(Validity {
        issued_at: row.time("issued_at")?.timestamp(),
        expires_at: Some(row.time("expires_at")?.timestamp()),
        ended_at: row.optional_time("ended_at")?.map(Time::timestamp),
    })
}

/// Uses a token. False where it was used or ended in the meantime.
pub fn end(tx: &mut dyn Transaction, id: &TokenId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.query_one(Statement("one_time_tokens.end"), &[id.as_str().into(), now.into()])?.is_some())
}

/// Ends every token of a user.
pub fn end_of_user(tx: &mut dyn Transaction, user: UserId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("one_time_tokens.end_of_user"), &[user.into(), now.into()])?;
    Ok(())
}

/// Removes tokens that expired before `before`, so many at most. How many.
pub fn drop_expired(tx: &mut dyn Transaction, before: Time, limit: usize) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("one_time_tokens.drop"), &[before.into(), limit.into()])?)
}
