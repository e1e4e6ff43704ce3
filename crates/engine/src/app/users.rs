//! Users: who may do what, for an institution or for the whole installation.
//!
//! An institution admin manages the users of the institution and sets no password of them: who could sign in as another admin would
//! approve what both have to.

use strongroom_credentials::{AccountName, Password, Token, TokenKind};
use strongroom_registry::users::{self, User, UserFilter, belongs_to_institution};
use strongroom_registry::{
    GrantAct, JournalOutcome, RegistryError, Scope, Transaction, UserId, UserRole, api_keys, one_time_tokens,
    schedules, second_factors,
};

use super::authorization::{
    SECOND_FACTORS_RESET, USERS_ADD, USERS_CHOOSE_PASSWORD, USERS_DEACTIVATE, USERS_INVITE, USERS_LIST,
    USERS_MAKE_TOKEN, USERS_SET, USERS_SET_PASSWORD, USERS_SHOW,
};
use super::views::{InvitedView, TokenView, UserView};
use super::{Authorized, OpContext, PAGE, Page, find_institution, is_address};
use crate::journal::Target;
use crate::people::tokens::{self, MadeToken};
use crate::people::{Chosen, admins, choose};
use crate::{EngineError, background};

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
    let (id, email_given) = (UserId::new(), email.clone());
    let record = users::NewUser { id, email, role, institution: institution_of(scope) };
    let (mail, actor, by_user) = (authorized.home().settings.mail.clone(), authorized.actor().clone(), context.user());
    let entry = authorized.entry();
    let added = authorized.home().registry.write(move |tx| {
        users::add(tx, &record)?;
        if let Some(Chosen { hash, needs_factor }) = &chosen {
            let user = known(tx, id)?;
            users::set_password(tx, &user, hash, *needs_factor)?;
        }
        let added = known(tx, id)?;
        users::record_grant(tx, &added, GrantAct::Added, (&actor, by_user))?;
        admins::tell(tx, &mail, (None, &added), (GrantAct::Added, &actor))?;
        let with = if chosen.is_some() { "with a password" } else { "without a password" };
        let detail = format!("{}, {with}", told(&added));
        entry.append(tx, &target(&added), JournalOutcome::Done, Some(&detail))?;
        Ok(UserView::from(&added))
    });
    match added {
        Err(RegistryError::Exists { .. }) => Err(exists(&authorized, &email_given)?),
        other => Ok(other?),
    }
}

/// The refusal of a user that there is: one that was deactivated can be activated again.
fn exists(authorized: &Authorized<'_>, email: &str) -> Result<EngineError, EngineError> {
    let account = AccountName::new(email);
    let error = RegistryError::Exists { what: "a user", id: account.as_str().to_owned() };
    let found = authorized.read(|tx| users::by_account(tx, authorized.scope(), &account))?;
    Ok(match found {
        Some(user) if !user.is_active => EngineError::Exists(format!("there is a user {account}, who was deactivated"))
            .next(format!("\"strongroom user deactivate {account} --undo\" activates the user again")),
        _ => error.into(),
    })
}

/// What is to be changed of a user; what is absent stays.
#[derive(Debug, Default)]
pub struct Changes {
    /// What the user may do.
    pub role: Option<UserRole>,
    /// The domain name of the institution; empty: the whole installation.
    pub institution: Option<String>,
    /// Whether the second factor and its backup codes are removed.
    pub reset_second_factor: bool,
    /// A new password.
    pub password: Option<Password>,
}

/// Changes a user, in one transaction. Sessions end; keys end where the institution changes.
///
/// # Errors
/// Nothing is to be changed; the role does not go with the institution; the password may not be chosen; there is no second factor to be reset.
pub fn set(context: &OpContext, email: &str, changes: Changes) -> Result<UserView, EngineError> {
    let Changes { role: new_role, institution: new_institution, reset_second_factor, password } = changes;
    let has_place = new_role.is_some() || new_institution.is_some();
    let (mut entries, mut authorized) = (Vec::new(), None);
    for (is_wanted, permission) in [
        (has_place, &USERS_SET),
        (reset_second_factor, &SECOND_FACTORS_RESET),
        (password.is_some(), &USERS_SET_PASSWORD),
    ] {
        if is_wanted {
            let found = context.authorize(permission)?;
            entries.push((permission.name(), found.entry()));
            authorized = authorized.or(Some(found));
        }
    }
    let Some(authorized) = authorized else { return Err(EngineError::Usage("nothing to set".to_owned())) };
    let mut password = password;
    let has_password = password.is_some();
    loop {
        let found = find(&authorized, email)?;
        let role = new_role.unwrap_or(found.role);
        let (scope, requires_factor) = match new_institution.as_deref() {
            None if role == UserRole::SystemAdmin => (Scope::System, false),
            None => (found.scope(), found.institution_requires_factor),
            Some("") => (Scope::System, false),
            Some(name) => {
                let place = authorized.read(|tx| find_institution(tx, authorized.scope(), name))?;
                (Scope::Institution(place.id), place.second_factor_required)
            }
        };
        if has_place {
            check_role(&authorized, role, scope)?;
        }
        let institution = institution_of(scope);
        let beside_factor = requires_factor || (found.has_factor() && !reset_second_factor);
        let place = new_institution.as_deref().or(found.institution_identifier.as_deref());
        let chosen =
            password.take().map(|password| choose(password, (&found.email, place), beside_factor)).transpose()?;
        if has_password && chosen.is_none() {
            return Err(EngineError::Refused(format!("user {} was changed meanwhile", found.account))
                .next("repeat the command"));
        }
        let (mail, by, entries) =
            (authorized.home().settings.mail.clone(), (authorized.actor().clone(), context.user()), entries.clone());
        let changed = authorized.home().registry.write(move |tx| {
            let before = known(tx, found.id)?;
            if decided_by(&before) != decided_by(&found) {
                // Changed by others meanwhile: decided anew by what it is now.
                return Ok(None);
            }
            for (act, entry) in &entries {
                let detail = if *act == USERS_SET.name() {
                    users::set_role(tx, before.id, role, institution)?;
                    let mut detail = String::new();
                    if before.institution != institution {
                        let keys = api_keys::revoke_of_user(tx, before.id)?;
                        detail = format!("; {keys} keys revoked");
                    }
                    let after = known(tx, before.id)?;
                    if (before.role, before.institution) != (after.role, after.institution) {
                        users::record_grant(tx, &after, GrantAct::Changed, (&by.0, by.1))?;
                        admins::tell(tx, &mail, (Some(&before), &after), (GrantAct::Changed, &by.0))?;
                    }
                    format!("{} becomes {}; sessions ended{detail}", told(&before), told(&after))
                } else if *act == SECOND_FACTORS_RESET.name() {
                    if !second_factors::reset(tx, &before)? {
                        return Err(in_state(&before, "without a second factor", "reset it"));
                    }
                    "second factor and backup codes removed; sessions ended".to_owned()
                } else {
                    let user = known(tx, before.id)?;
                    if let Some(Chosen { hash, needs_factor }) = &chosen {
                        users::set_password(tx, &user, hash, *needs_factor)?;
                    }
                    "password set; sessions and tokens ended".to_owned()
                };
                entry.append(tx, &target(&before), JournalOutcome::Done, Some(&detail))?;
            }
            Ok::<_, RegistryError>(Some(UserView::from(&known(tx, before.id)?)))
        })?;
        if let Some(view) = changed {
            return Ok(view);
        }
    }
}

/// What it depends on how a user may be changed.
fn decided_by(user: &User) -> (UserRole, Option<strongroom_registry::InstitutionId>, bool, bool) {
    (user.role, user.institution, user.has_factor(), user.institution_requires_factor)
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
    let (scope, account, entry) = (authorized.scope(), AccountName::new(email), authorized.entry());
    Ok(authorized.home().registry.write(move |tx| {
        let found = users::find(tx, scope, &account)?;
        let Some(ended) = users::deactivate(tx, found.id)? else {
            return Err(in_state(&found, "deactivated", "deactivate it"));
        };
        let detail = format!("{}; sessions and tokens ended, {} keys revoked", told(&found), ended.keys);
        entry.append(tx, &target(&found), JournalOutcome::Done, Some(&detail))?;
        Ok::<_, RegistryError>(UserView::from(&known(tx, found.id)?))
    })?)
}

/// Activates a user again. Keys stay revoked.
pub fn activate(context: &OpContext, email: &str) -> Result<UserView, EngineError> {
    let authorized = context.authorize(&USERS_DEACTIVATE)?;
    let (scope, account, entry) = (authorized.scope(), AccountName::new(email), authorized.entry_named("activate"));
    let (mail, actor, by_user) = (authorized.home().settings.mail.clone(), authorized.actor().clone(), context.user());
    Ok(authorized.home().registry.write(move |tx| {
        let found = users::find(tx, scope, &account)?;
        if !users::activate(tx, found.id)? {
            return Err(in_state(&found, "active", "activate it"));
        }
        let active = known(tx, found.id)?;
        users::record_grant(tx, &active, GrantAct::Activated, (&actor, by_user))?;
        admins::tell(tx, &mail, (Some(&found), &active), (GrantAct::Activated, &actor))?;
        entry.append(
            tx,
            &target(&found),
            JournalOutcome::Done,
            Some(&format!("{}; keys stay revoked", told(&active))),
        )?;
        Ok::<_, RegistryError>(UserView::from(&active))
    })?)
}

/// Sends a mail with a token with which the user chooses a password: an invitation where there is none yet, else a reset. The token is made when
/// the mail is sent, and those before it end then.
///
/// # Errors
/// The settings have no mail server; the user is deactivated.
pub fn invite(context: &OpContext, email: &str) -> Result<InvitedView, EngineError> {
    let authorized = context.authorize(&USERS_INVITE)?;
    let (scope, account, entry) = (authorized.scope(), AccountName::new(email), authorized.entry());
    let (settings, actor) = (authorized.home().settings.mail.clone(), authorized.actor().clone());
    if settings.sender().is_none() {
        return Err(EngineError::Settings("mail.host is empty, so no mails are sent".to_owned()).next(
            "set host, from and what the mail server needs in [mail] of the settings; without mails, a system admin sets a password with \
             \"strongroom user set EMAIL --password-stdin\"",
        ));
    }
    Ok(authorized.home().registry.write(move |tx| {
        let user = users::find(tx, scope, &account)?;
        if !user.is_active {
            return Err(in_state(&user, "deactivated", "invite it"));
        }
        let about = admins::of_outbox(tx, user.institution)?;
        let (Some(mail), Some(about)) = (tokens::mail_for(&settings, &user, &actor), about) else {
            return Err(RegistryError::NotFound { what: "institution", id: "of the mail".to_owned() });
        };
        mail.insert(tx, about, None)?;
        schedules::hasten(tx, background::outbox::NAME)?;
        let kind = tokens::kind_for(&user);
        let detail = format!("a mail for the {} is sent to {}", kind.as_str().replace('_', " "), user.email);
        entry.append(tx, &target(&user), JournalOutcome::Done, Some(&detail))?;
        Ok::<_, RegistryError>(InvitedView { user: user.account, email: user.email, kind, key: mail.key().to_owned() })
    })?)
}

/// Makes a token as [`invite`] sends it, for a server that hands it over by itself. It is shown once, and those before it end.
pub fn make_token(context: &OpContext, email: &str) -> Result<TokenView, EngineError> {
    let authorized = context.authorize(&USERS_MAKE_TOKEN)?;
    let found = find(&authorized, email)?;
    let made = tokens::make(&authorized.home().registry, found.id, tokens::kind_for(&found), authorized.actor())?;
    let Some(MadeToken { token, user, expires_at }) = made else {
        return Err(in_state(&found, "deactivated", "make a token for it").into());
    };
    let entry = authorized.entry();
    authorized.home().registry.write({
        let target = target(&user);
        move |tx| entry.done(tx, &target)
    })?;
    Ok(TokenView { user: user.account, expires_at: expires_at.to_string(), token: token.into() })
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
        entry.append(tx, &target(&user), JournalOutcome::Done, Some("password chosen; sessions and tokens ended"))?;
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
