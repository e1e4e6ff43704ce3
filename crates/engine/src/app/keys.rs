//! Keys of programs that act for a user: shown once, for what their scopes say at most, until they expire or are revoked.
//!
//! A key acts with the rights that its user has when it is used. Only those who run the installation make keys for others: who had the key of
//! another admin would approve what both have to.

use strongroom_credentials::{AccountName, Token, TokenKind};
use strongroom_registry::api_keys::{self, ApiKey, KeyFilter, NewKey};
use strongroom_registry::users::{self, User};
use strongroom_registry::{ActorKind, JournalOutcome, KeyScope, RegistryError, Scope, Time};

use super::authorization::{KEYS_ADD, KEYS_LIST, KEYS_REVOKE, KEYS_USE, Role};
use super::users::{find, in_state, known};
use super::views::{AddedKeyView, KeyView};
use super::{Authorized, Caller, OpContext, PAGE, Page};
use crate::EngineError;
use crate::journal::Target;

/// Which keys are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this user.
    pub user: Option<String>,
    /// Only those of users of this institution.
    pub institution: Option<String>,
    /// Also those that were revoked.
    pub revoked_too: bool,
}

/// Keys in order of their identifiers, after `after`. An institution user sees the own ones.
pub fn list(context: &OpContext, filter: &Filter, after: Option<String>) -> Result<Page<KeyView, String>, EngineError> {
    let authorized = context.authorize(&KEYS_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let sees_others = authorized.has_role(&[Role::SystemAdmin, Role::InstitutionAdmin, Role::Auditor]);
    let own = (!sees_others).then(|| authorized.actor().name.clone());
    let named = filter.user.as_deref().map(AccountName::new);
    let own = own.as_deref().map(AccountName::new);
    let after = after.unwrap_or_default();
    let (found, now) = authorized.read(|tx| {
        let mut wanted = KeyFilter { user: None, revoked_too: filter.revoked_too };
        for account in [&named, &own].into_iter().flatten() {
            let user = users::find(tx, scope, account)?.id;
            if wanted.user.is_some_and(|other| other != user) {
                return Ok((Vec::new(), tx.now()?));
            }
            wanted.user = Some(user);
        }
        Ok((api_keys::list(tx, scope, wanted, &after, PAGE)?, tx.now()?))
    })?;
    let next = found.last().map(|last| last.id.to_string());
    Ok(Page { items: found.iter().map(|key| KeyView::new(key, now)).collect(), next })
}

/// One of them, by its identifier or a part of it. An institution user sees the own ones.
pub fn show(context: &OpContext, key: &str) -> Result<KeyView, EngineError> {
    let authorized = context.authorize(&KEYS_LIST)?;
    let id = Token::parse(key, TokenKind::ApiKey).map(|token| token.id());
    let named = id.as_ref().map_or(key, |id| id.as_str());
    let (found, now) = authorized.read(|tx| Ok((api_keys::named(tx, authorized.scope(), named)?, tx.now()?)))?;
    let sees_others = authorized.has_role(&[Role::SystemAdmin, Role::InstitutionAdmin, Role::Auditor]);
    if !sees_others && !is_own(&authorized, &found.account) {
        return Err(RegistryError::NotFound { what: "key", id: named.to_owned() }.into());
    }
    Ok(KeyView::new(&found, now))
}

/// A key to be made.
#[derive(Debug, Clone)]
pub struct Request {
    /// The address of the user for whom it acts.
    pub user: String,
    /// What it may be used for.
    pub scopes: Vec<KeyScope>,
    /// When it expires; none: never.
    pub expires_at: Option<Time>,
}

/// Makes a key. The answer has its text, which is shown this once.
///
/// # Errors
/// No scope is given, or it would be expired already; the user is deactivated, or another one than the actor.
pub fn add(context: &OpContext, request: Request) -> Result<AddedKeyView, EngineError> {
    let authorized = context.authorize(&KEYS_ADD)?;
    let Request { user, mut scopes, expires_at } = request;
    scopes.sort_unstable();
    scopes.dedup();
    if scopes.is_empty() {
        let words: Vec<&str> = KeyScope::ALL.iter().map(|scope| scope.as_str()).collect();
        return Err(EngineError::Usage("a key needs a scope".to_owned())
            .next(format!("give --scope with one or more of {}", words.join(", "))));
    }
    let user = find(&authorized, &user)?;
    let is_for_others = authorized.scope() == Scope::System && authorized.has_role(&[Role::SystemAdmin]);
    if !is_for_others && !is_own(&authorized, &user.account) {
        return Err(authorized.refused("the key would act for another user"));
    }
    if let Some(expires_at) = expires_at {
        let now = authorized.read(|tx| Ok(tx.now()?))?;
        if expires_at <= now {
            return Err(EngineError::Usage(format!("the key would be expired since {expires_at}"))
                .next("give --expires with a time that lies ahead"));
        }
    }
    let key = Token::generate(TokenKind::ApiKey)?;
    let (id, digest, actor) = (key.id(), key.digest(), authorized.actor().clone());
    let entry = authorized.entry();
    let made = authorized.home().registry.write(move |tx| {
        let user = known(tx, user.id)?;
        if !user.is_active {
            return Err(in_state(&user, "deactivated", "make a key for it"));
        }
        let (id, digest) = (id.clone(), digest.clone());
        let new = NewKey { id, digest, user: user.id, actor: &actor, scopes: &scopes, expires_at };
        api_keys::add(tx, &new)?;
        let made = stored(api_keys::get(tx, &new.id)?, new.id.as_str())?;
        let words: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        let expiry = expires_at.map_or_else(|| "never expires".to_owned(), |time| format!("expires at {time}"));
        let detail = format!("scopes {}; {expiry}", words.join(", "));
        entry.append(tx, &target(&made), JournalOutcome::Done, Some(&detail))?;
        Ok::<_, RegistryError>(KeyView::new(&made, tx.now()?))
    })?;
    Ok(AddedKeyView { key: made, token: key.into() })
}

/// Revokes a key, which is named by its identifier or a part of it, or by the whole token.
pub fn revoke(context: &OpContext, key: &str) -> Result<KeyView, EngineError> {
    let authorized = context.authorize(&KEYS_REVOKE)?;
    // A key that was found is given whole: its secret is not for an error.
    let id = Token::parse(key, TokenKind::ApiKey).map(|token| token.id());
    let named = id.as_ref().map_or(key, |id| id.as_str());
    let found = authorized.read(|tx| api_keys::named(tx, authorized.scope(), named))?;
    let may_others = authorized.has_role(&[Role::SystemAdmin, Role::InstitutionAdmin]);
    if !may_others && !is_own(&authorized, &found.account) {
        return Err(authorized.refused("the key acts for another user"));
    }
    Ok(authorized.write(move |tx| {
        if !api_keys::revoke(tx, &found.id)? {
            let (id, state, act) = (found.id.to_string(), "revoked".to_owned(), "revoke it".to_owned());
            return Err(RegistryError::State { what: "key", id, state, act });
        }
        let revoked = stored(api_keys::get(tx, &found.id)?, found.id.as_str())?;
        Ok((target(&revoked), KeyView::new(&revoked, tx.now()?)))
    })?)
}

/// The caller for whom a key acts, with the rights that its user has now. None where the key is not valid: unknown, expired, revoked, or of a
/// user who was deactivated; the answer does not say which.
pub fn authenticate(context: &OpContext, key: &str) -> Result<Option<Caller>, EngineError> {
    let authorized = context.authorize(&KEYS_USE)?;
    let Ok(token) = Token::parse(key, TokenKind::ApiKey) else { return Ok(None) };
    let found = authorized.read(|tx| {
        let Some(key) = api_keys::get(tx, &token.id())? else { return Ok(None) };
        let now = tx.now()?;
        let is_valid = key.digest.is_of(&token) && key.validity.check(now.timestamp()).is_ok();
        let user: Option<User> = if is_valid { users::get(tx, key.user)? } else { None };
        Ok(user.filter(|user| user.is_active).map(|user| (user, key, now)))
    })?;
    let Some((user, key, now)) = found else { return Ok(None) };
    if !key.is_use_noted(now) {
        let id = key.id.clone();
        authorized.home().registry.write(move |tx| api_keys::note_use(tx, &id))?;
    }
    let caller = Caller::of_user(&user);
    let actor = caller.actor.with_key(key.id.as_str());
    Ok(Some(Caller { actor, key_scopes: Some(key.scopes), ..caller }))
}

fn is_own(authorized: &Authorized<'_>, account: &str) -> bool {
    authorized.actor().kind == ActorKind::User && authorized.actor().name == account
}

/// A key that is known to be there.
fn stored(found: Option<ApiKey>, id: &str) -> Result<ApiKey, RegistryError> {
    found.ok_or_else(|| RegistryError::NotFound { what: "key", id: id.to_owned() })
}

/// A key as the journal names it: whose it is, and its identifier.
fn target(key: &ApiKey) -> Target {
    let name = format!("{} of {}", key.id, key.account);
    key.institution.map_or_else(|| Target::of_system(&name), |institution| Target::of(institution, &name))
}
