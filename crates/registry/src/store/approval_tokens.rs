//! The tokens by which users approve requests for deletion: each is for one user and one request, is used once, and ends with the request.

use strongroom_credentials::{TokenDigest, TokenId, Validity};
use strongroom_database::{Statement, Time, Transaction};

use crate::store::one_time_tokens;
use crate::{DeletionRequestId, RegistryError, UserId};

/// A token to be stored.
#[derive(Debug)]
pub struct NewToken {
    /// Its identifier.
    pub id: TokenId,
    /// Its digest.
    pub digest: TokenDigest,
    /// What it approves.
    pub request: DeletionRequestId,
    /// Who may use it.
    pub user: UserId,
    /// When it expires.
    pub expires_at: Time,
}

/// A token as it is stored.
#[derive(Debug, Clone)]
pub struct ApprovalToken {
    /// Its digest.
    pub digest: TokenDigest,
    /// What it approves.
    pub request: DeletionRequestId,
    /// Who may use it.
    pub user: UserId,
    /// Until when it is valid.
    pub validity: Validity,
}

/// Stores a token. Those that the user had for the request before end: only the newest is valid.
pub fn put(tx: &mut dyn Transaction, new: &NewToken) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("deletion_tokens.end_of_user"), &[new.request.into(), new.user.into(), now.into()])?;
    let values = [
        new.id.as_str().into(),
        new.digest.as_bytes().as_slice().into(),
        new.request.into(),
        new.user.into(),
        now.into(),
        new.expires_at.into(),
    ];
    tx.execute(Statement("deletion_tokens.insert"), &values)?;
    Ok(())
}

/// The token of an identifier.
pub fn get(tx: &mut dyn Transaction, id: &TokenId) -> Result<Option<ApprovalToken>, RegistryError> {
    let Some(row) = tx.query_one(Statement("deletion_tokens.get"), &[id.as_str().into()])? else { return Ok(None) };
    Ok(Some(ApprovalToken {
        digest: TokenDigest::try_from(row.bytes("digest")?)?,
        request: DeletionRequestId(row.uuid("request_id")?),
        user: UserId(row.uuid("user_id")?),
        validity: one_time_tokens::validity(&row)?,
    }))
}

/// Uses a token. False where it was used or ended in the meantime.
pub fn end(tx: &mut dyn Transaction, id: &TokenId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.query_one(Statement("deletion_tokens.end"), &[id.as_str().into(), now.into()])?.is_some())
}

pub(super) fn end_all(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("deletion_tokens.end_of_request"), &[id.into(), now.into()])?;
    Ok(())
}
