//! Users: who may do what, for an institution or for the whole installation.
//!
//! An institution admin manages the users of the institution and sets no password of them: who could sign in as another admin would
//! approve what both have to.

use std::time::Duration;

use strongroom_credentials::{AccountName, Password, Token, TokenKind};
use strongroom_registry::one_time_tokens::{self, NewToken};
use strongroom_registry::users::{self, User, UserFilter, belongs_to_institution};
use strongroom_registry::{
    JournalOutcome, OneTimeKind, RegistryError, Scope, Time, Transaction, UserId, UserRole, api_keys,
};

use super::authorization::{
    USERS_ADD, USERS_CHOOSE_PASSWORD, USERS_DEACTIVATE, USERS_INVITE, USERS_LIST, USERS_SET, USERS_SET_PASSWORD,
    USERS_SHOW,
};
use super::views::{TokenView, UserView};
use super::{Authorized, OpContext, PAGE, Page, find_institution, is_address};
use crate::EngineError;
use crate::journal::Target;
use crate::people::{Chosen, choose};

/// How long an invitation is valid.
const INVITED_FOR: Duration = Duration::from_hours(7 * 24);
/// How long a password may be chosen after a reset was asked for.
const RESET_FOR: Duration = Duration::from_hours(1);

/// Which users are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only those of this role.
    pub role: Option<UserRole>,
    /// Also those that were deactivated.
    pub deactivated_too: bool,
}

/// Users in order of their addresses, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<String>,
) -> Result<Page<UserView, String>, EngineError> {
    let authorized = context.authorize(&USERS_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let (after, wanted) =
        (after.unwrap_or_default(), UserFilter { role: filter.role, deactivated_too: filter.deactivated_too });
    let found = authorized.read(|tx| users::list(tx, scope, wanted, &after, PAGE))?;
    let next = found.last().map(|last| last.account.clone());
    Ok(Page { items: found.iter().map(UserView::from).collect(), next })
}

/// One of them, by the address.
pub fn show(context: &OpContext, email: &str) -> Result<UserView, EngineError> {
    let authorized = context.authorize(&USERS_SHOW)?;
    Ok(UserView::from(&find(&authorized, email)?))
}

/// A user to be added.
#[derive(Debug)]
pub struct NewUser {
    /// The address.
    pub email: String,
    /// What the user may do.
    pub role: UserRole,
    /// The domain name of the institution; none: the whole installation, or the institution of the actor.
    pub institution: Option<String>,
    /// The first password; none: the user cannot sign in before one is chosen.
    pub password: Option<Password>,
}

/// Adds a user.
///
/// # Errors
/// The text is no address, or there is such a user; the role does not go with the institution; the password may not be chosen.
pub fn add(context: &OpContext, new: NewUser) -> Result<UserView, EngineError> {
    let authorized = context.authorize(&USERS_ADD)?;
    if new.password.is_some() {
        context.authorize(&USERS_SET_PASSWORD)?;
    }
    let NewUser { email, role, institution, password } = new;
    if !is_address(&email) {
        return Err(
            EngineError::Usage(format!("{email:?} is no email address")).next("give one such as ann@example.edu")
        );
    }
    let scope = authorized.scope_of(institution.as_deref())?;
    check_role(&authorized, role, scope)?;
    let requires_factor = match &institution {
        Some(name) => authorized.read(|tx| find_institution(tx, scope, name))?.second_factor_required,
        None => false,
    };
    let chosen =
        password.map(|password| choose(password, (&email, institution.as_deref()), requires_factor)).transpose()?;
    let id = UserId::new();
    let record = users::NewUser { id, email, role, institution: institution_of(scope) };
    Ok(authorized.write(move |tx| {
        users::add(tx, &record)?;
        if let Some(Chosen { hash, needs_factor }) = &chosen {
            let user = known(tx, id)?;
            users::set_password(tx, &user, hash, *needs_factor)?;
        }
        let added = known(tx, id)?;
        Ok((target(&added), UserView::from(&added)))
    })?)
}

/// What is to be changed of a user; what is absent stays.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// What the user may do.
    pub role: Option<UserRole>,
    /// The domain name of the institution; empty: the whole installation.
    pub institution: Option<String>,
}

/// Changes what a user may do, and where. Sessions end; keys end where the institution changes.
pub fn set(context: &OpContext, email: &str, changes: &Changes) -> Result<UserView, EngineError> {
    let authorized = context.authorize(&USERS_SET)?;
    loop {
        let found = find(&authorized, email)?;
        let role = changes.role.unwrap_or(found.role);
        let scope = match changes.institution.as_deref() {
            None if role == UserRole::SystemAdmin => Scope::System,
            None => found.scope(),
            Some("") => Scope::System,
            Some(name) => Scope::Institution(authorized.read(|tx| find_institution(tx, authorized.scope(), name))?.id),
        };
        check_role(&authorized, role, scope)?;
        let (institution, entry) = (institution_of(scope), authorized.entry());
        let changed = authorized.home().registry.write(move |tx| {
            let before = known(tx, found.id)?;
            if (before.role, before.institution) != (found.role, found.institution) {
                // Changed by others meanwhile: decided anew by what it is now.
                return Ok(None);
            }
            users::set_role(tx, before.id, role, institution)?;
            if before.institution != institution {
                api_keys::revoke_of_user(tx, before.id)?;
            }
            let after = known(tx, before.id)?;
            let detail = format!("{} becomes {}", told(&before), told(&after));
            entry.append(tx, &target(&before), JournalOutcome::Done, Some(&detail))?;
            Ok::<_, RegistryError>(Some(UserView::from(&after)))
        })?;
        if let Some(view) = changed {
            return Ok(view);
        }
    }
}

/// Sets the password of a user. Sessions end.
pub fn set_password(context: &OpContext, email: &str, password: Password) -> Result<UserView, EngineError> {
    let authorized = context.authorize(&USERS_SET_PASSWORD)?;
    let found = find(&authorized, email)?;
    let Chosen { hash, needs_factor } = chosen_by(&found, password)?;
    Ok(authorized.write(move |tx| {
        let user = known(tx, found.id)?;
        users::set_password(tx, &user, &hash, needs_factor)?;
        let changed = known(tx, found.id)?;
        Ok((target(&changed), UserView::from(&changed)))
    })?)
}

/// Deactivates a user: sessions, tokens and keys end, and the user can do nothing more. What the user did keeps the name.
pub fn deactivate(context: &OpContext, email: &str) -> Result<UserView, EngineError> {
    let authorized = context.authorize(&USERS_DEACTIVATE)?;
    let (scope, account) = (authorized.scope(), AccountName::new(email));
    Ok(authorized.write(move |tx| {
        let found = users::find(tx, scope, &account)?;
        if !users::deactivate(tx, found.id)? {
            return Err(in_state(&found, "deactivated", "deactivate it"));
        }
        Ok((target(&found), UserView::from(&known(tx, found.id)?)))
    })?)
}

/// Activates a user again. Keys stay revoked.
pub fn activate(context: &OpContext, email: &str) -> Result<UserView, EngineError> {
    let authorized = context.authorize(&USERS_DEACTIVATE)?;
    let (scope, account, entry) = (authorized.scope(), AccountName::new(email), authorized.entry_named("activate"));
    Ok(authorized.home().registry.write(move |tx| {
        let found = users::find(tx, scope, &account)?;
        if !users::activate(tx, found.id)? {
            return Err(in_state(&found, "active", "activate it"));
        }
        entry.done(tx, &target(&found))?;
        Ok::<_, RegistryError>(UserView::from(&known(tx, found.id)?))
    })?)
}

/// Makes a token with which a user chooses a password: an invitation where there is none yet, else a reset. It is shown once, and those before
/// it end. It is for mails to the user: who has it can sign in as the user.
pub fn invite(context: &OpContext, email: &str) -> Result<TokenView, EngineError> {
    let authorized = context.authorize(&USERS_INVITE)?;
    let found = find(&authorized, email)?;
    let (kind, of, valid_for) = match found.password {
        None => (OneTimeKind::Invitation, TokenKind::Invitation, INVITED_FOR),
        Some(_) => (OneTimeKind::PasswordReset, TokenKind::PasswordReset, RESET_FOR),
    };
    let token = Token::generate(of)?;
    let (id, digest, actor) = (token.id(), token.digest(), authorized.actor().clone());
    let micros = i64::try_from(valid_for.as_micros()).unwrap_or(i64::MAX);
    let (user, expires_at): (String, Time) = authorized.write(move |tx| {
        let user = known(tx, found.id)?;
        if !user.is_active {
            return Err(in_state(&user, "deactivated", "invite it"));
        }
        let expires_at = tx.now()?.plus(micros);
        let (id, digest) = (id.clone(), digest.clone());
        one_time_tokens::make(tx, &NewToken { id, digest, kind, user: user.id, actor: &actor, expires_at })?;
        Ok((target(&user), (user.account, expires_at)))
    })?;
    Ok(TokenView { user, expires_at: expires_at.to_string(), token: token.into() })
}

/// Chooses the password of the user to whom a token was sent. False where the token is not valid: unknown, used, expired, or of a user who was
/// deactivated; the answer does not say which.
///
/// # Errors
/// The password may not be chosen; the token stays valid.
pub fn choose_password(context: &OpContext, token: &str, password: Password) -> Result<bool, EngineError> {
    let authorized = context.authorize(&USERS_CHOOSE_PASSWORD)?;
    let read = |kind| Token::parse(token, kind).ok();
    let Some(token) = read(TokenKind::Invitation).or_else(|| read(TokenKind::PasswordReset)) else { return Ok(false) };
    let found = authorized.read(|tx| {
        let Some(stored) = one_time_tokens::get(tx, &token.id())? else { return Ok(None) };
        let is_valid = stored.digest.is_of(&token) && stored.validity.check(tx.now()?.timestamp()).is_ok();
        if is_valid { users::get(tx, stored.user) } else { Ok(None) }
    })?;
    let Some(user) = found.filter(|user| user.is_active) else { return Ok(false) };
    let Chosen { hash, needs_factor } = chosen_by(&user, password)?;
    let (entry, id) = (authorized.entry_of(&user), token.id());
    Ok(authorized.home().registry.write(move |tx| {
        // It may have been used, and its user deactivated, while the hash was computed.
        if !one_time_tokens::end(tx, &id)? {
            return Ok(false);
        }
        users::set_password(tx, &user, &hash, needs_factor)?;
        entry.done(tx, &target(&user))?;
        Ok::<_, RegistryError>(true)
    })?)
}

/// A user within what the actor sees.
pub(super) fn find(authorized: &Authorized<'_>, email: &str) -> Result<User, EngineError> {
    let account = AccountName::new(email);
    Ok(authorized.read(|tx| users::find(tx, authorized.scope(), &account))?)
}

/// A user who is known to be there.
pub(super) fn known(tx: &mut dyn Transaction, id: UserId) -> Result<User, RegistryError> {
    users::get(tx, id)?.ok_or_else(|| RegistryError::NotFound { what: "user", id: id.to_string() })
}

/// A user as the journal names it.
pub(super) fn target(user: &User) -> Target {
    match user.institution {
        Some(institution) => Target::of(institution, &user.account),
        None => Target::of_system(&user.account),
    }
}

pub(super) fn in_state(user: &User, state: &str, act: &str) -> RegistryError {
    RegistryError::State { what: "user", id: user.account.clone(), state: state.to_owned(), act: act.to_owned() }
}

fn chosen_by(user: &User, password: Password) -> Result<Chosen, EngineError> {
    let beside_factor = user.has_factor() || user.institution_requires_factor;
    choose(password, (&user.email, user.institution_identifier.as_deref()), beside_factor)
}

fn institution_of(scope: Scope) -> Option<strongroom_registry::InstitutionId> {
    match scope {
        Scope::System => None,
        Scope::Institution(id) => Some(id),
    }
}

/// What a user may do, and where, in the journal.
fn told(user: &User) -> String {
    let of = user.institution_identifier.as_deref().unwrap_or("the installation");
    format!("{} of {of}", user.role)
}

/// Refuses a role that does not go with what it is given for, or that the actor may not give.
fn check_role(authorized: &Authorized<'_>, role: UserRole, scope: Scope) -> Result<(), EngineError> {
    let is_of_institution = scope != Scope::System;
    if authorized.scope() != Scope::System && (role == UserRole::SystemAdmin || !is_of_institution) {
        return Err(authorized.refused("it concerns the whole installation, and the actor acts for one institution"));
    }
    match belongs_to_institution(role) {
        Some(true) if !is_of_institution => Err(EngineError::Usage(format!("the role {role} is for one institution"))
            .next("give --institution DOMAIN; \"strongroom institution list\" shows those there are")),
        Some(false) if is_of_institution => {
            Err(EngineError::Usage(format!("the role {role} is for the whole installation"))
                .next("leave out --institution, or give another role"))
        }
        _ => Ok(()),
    }
}
