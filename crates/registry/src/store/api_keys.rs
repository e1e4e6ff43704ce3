//! Keys of programs that act for a user. What is stored is the digest of each; the rows stay when a key has ended.

use strongroom_credentials::{TokenDigest, TokenId, Validity};
use strongroom_database::{Row, Statement, Time, Transaction};

use super::named::{CANDIDATES, ends_of, listed};
use crate::journal::{self, Actor};
use crate::{InstitutionId, KeyScope, RegistryError, Scope, UserId};

/// The use of a key is noted no more often than this, in microseconds: each note is a write.
const NOTED_EVERY: i64 = 60_000_000;
/// Behind every character of an identifier, in the order of bytes.
const BEHIND: char = '~';

/// A key to be stored.
#[derive(Debug)]
pub struct NewKey<'a> {
    /// Its identifier.
    pub id: TokenId,
    /// Its digest.
    pub digest: TokenDigest,
    /// For whom it acts.
    pub user: UserId,
    /// Who has made it.
    pub actor: &'a Actor,
    /// What it may be used for.
    pub scopes: &'a [KeyScope],
    /// When it expires; none: never.
    pub expires_at: Option<Time>,
}

/// A key as it is stored.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// Its identifier, which is no secret.
    pub id: TokenId,
    /// Its digest.
    pub digest: TokenDigest,
    /// For whom it acts.
    pub user: UserId,
    /// The address of that user.
    pub account: String,
    /// The institution of that user.
    pub institution: Option<InstitutionId>,
    /// Its domain name.
    pub institution_identifier: Option<String>,
    /// Whether that user is active.
    pub is_user_active: bool,
    /// Who has made it.
    pub made_by: String,
    /// What it may be used for.
    pub scopes: Vec<KeyScope>,
    /// Until when it is valid.
    pub validity: Validity,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Time>,
}

/// Which keys are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyFilter {
    /// Only those of this user.
    pub user: Option<UserId>,
    /// Also those that were revoked.
    pub revoked_too: bool,
}

/// Stores a key.
pub fn add(tx: &mut dyn Transaction, new: &NewKey<'_>) -> Result<(), RegistryError> {
    journal::know(tx, new.actor)?;
    let now = tx.now()?;
    let scopes: Vec<&str> = new.scopes.iter().map(|scope| scope.as_str()).collect();
    let values = [
        new.id.as_str().into(),
        new.digest.as_bytes().as_slice().into(),
        new.user.into(),
        new.actor.id.into(),
        scopes.join(" ").into(),
        now.into(),
        new.expires_at.into(),
    ];
    tx.execute(Statement("api_keys.insert"), &values)?;
    Ok(())
}

/// The key of an identifier that a program presents, or that [`named`] has found; it takes no scope.
pub fn get(tx: &mut dyn Transaction, id: &TokenId) -> Result<Option<ApiKey>, RegistryError> {
    tx.query_one(Statement("api_keys.get"), &[id.as_str().into()])?.as_ref().map(key_row).transpose()
}

/// The one key within a scope that a text names: by its identifier, or by a beginning or both ends of it that no other has.
pub fn named(tx: &mut dyn Transaction, scope: Scope, text: &str) -> Result<ApiKey, RegistryError> {
    let missing = || RegistryError::NotFound { what: "key", id: text.to_owned() };
    let (beginning, end) = ends_of(text).unwrap_or((text, ""));
    let is_part = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if (beginning.is_empty() && end.is_empty()) || !is_part(beginning) || !is_part(end) {
        return Err(missing());
    }
    let (mut found, mut from, last) = (Vec::new(), beginning.to_owned(), format!("{beginning}{BEHIND}"));
    loop {
        let limit = 100_usize;
        let values = [from.clone().into(), last.clone().into(), scope.value(), limit.into()];
        let page = tx.query(Statement("api_keys.named"), &values)?;
        for row in &page {
            let id = row.text("id")?;
            from = format!("{id}0");
            if id.ends_with(end) {
                found.push(TokenId::parse(id)?);
            }
        }
        if page.len() < limit || found.len() > CANDIDATES {
            break;
        }
    }
    match found.as_slice() {
        [] => Err(missing()),
        [one] => get(tx, one)?.ok_or_else(missing),
        several => Err(RegistryError::Ambiguous {
            what: "key",
            id: text.to_owned(),
            candidates: listed(several.iter().map(TokenId::to_string).collect()),
        }),
    }
}

/// Keys in order of their identifiers, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: KeyFilter,
    after: &str,
    limit: usize,
) -> Result<Vec<ApiKey>, RegistryError> {
    let values = [after.into(), scope.value(), filter.user.into(), filter.revoked_too.into(), limit.into()];
    tx.query(Statement("api_keys.list"), &values)?.iter().map(key_row).collect()
}

/// Revokes a key. False where it was revoked before.
pub fn revoke(tx: &mut dyn Transaction, id: &TokenId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.query_one(Statement("api_keys.revoke"), &[id.as_str().into(), now.into()])?.is_some())
}

/// Revokes every key of a user.
pub fn revoke_of_user(tx: &mut dyn Transaction, user: UserId) -> Result<u64, RegistryError> {
    let now = tx.now()?;
    Ok(tx.execute(Statement("api_keys.revoke_of_user"), &[user.into(), now.into()])?)
}

/// Notes that a key is used now, unless that was noted within the last minute.
pub fn note_use(tx: &mut dyn Transaction, id: &TokenId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("api_keys.used"), &[id.as_str().into(), now.into(), now.plus(-NOTED_EVERY).into()])?;
    Ok(())
}

impl ApiKey {
    /// Whether a use of the key at this time is noted.
    pub fn is_use_noted(&self, now: Time) -> bool {
        self.last_used_at.is_some_and(|last| last >= now.plus(-NOTED_EVERY))
    }
}

fn key_row(row: &Row) -> Result<ApiKey, RegistryError> {
    Ok(ApiKey {
        id: TokenId::parse(row.text("id")?)?,
        digest: TokenDigest::try_from(row.bytes("digest")?)?,
        user: UserId(row.uuid("user_id")?),
        account: row.text("account")?.to_owned(),
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        institution_identifier: row.optional_text("institution_identifier")?.map(str::to_owned),
        is_user_active: row.text("user_state")? == "active",
        made_by: row.text("made_by")?.to_owned(),
        scopes: row.text("scopes")?.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>()?,
        validity: Validity {
            issued_at: row.time("issued_at")?.timestamp(),
            expires_at: row.optional_time("expires_at")?.map(Time::timestamp),
            ended_at: row.optional_time("ended_at")?.map(Time::timestamp),
        },
        last_used_at: row.optional_time("last_used_at")?,
    })
}
