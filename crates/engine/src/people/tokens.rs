//! Tokens with which a user chooses a password, and the mails that have them. A token is made when its mail is sent, at each attempt a new one: it is
//! in no row of the outbox, no log and no copy of the registry, which has its digest alone (decision 61).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strongroom_credentials::{Token, TokenKind};
use strongroom_registry::journal::Actor;
use strongroom_registry::one_time_tokens::{self, NewToken};
use strongroom_registry::users::{self, User};
use strongroom_registry::{
    DeletionRequestId, DeletionRequestState, OneTimeKind, Registry, RegistryError, Scope, Time, UserId,
    approval_tokens, deletion_requests,
};
use uuid::Uuid;

use super::paragraphs;
use crate::EngineError;
use crate::notifications::{Mail, Prepared};
use crate::settings::MailSettings;

/// How long an invitation is valid.
const INVITED_FOR: Duration = Duration::from_hours(7 * 24);
/// How long a password may be chosen after a reset was asked for.
const RESET_FOR: Duration = Duration::from_hours(1);

/// What stands for the token in the text of a mail that was not sent yet.
pub(crate) const TOKEN: &str = "{token}";
/// What stands for the time at which it expires.
pub(crate) const EXPIRES: &str = "{expires}";

/// For whom a token is made when a mail is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenOf {
    user: Uuid,
    kind: String,
    actor: Actor,
    /// The request for deletion that it approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deletion: Option<Uuid>,
}

impl TokenOf {
    /// What approves a request for deletion, for the user who may.
    pub(crate) fn approval(user: UserId, request: DeletionRequestId, requester: &Actor) -> Self {
        Self { user: user.0, kind: APPROVAL.to_owned(), actor: requester.clone(), deletion: Some(request.0) }
    }
}

/// The kind of a token that approves a request for deletion.
const APPROVAL: &str = "deletion_approval";

/// A token that was made.
pub(crate) struct MadeToken {
    /// The token, a secret.
    pub(crate) token: Token,
    /// Whose it is.
    pub(crate) user: User,
    /// When it expires.
    pub(crate) expires_at: Time,
}

/// What a token of a user is for: an invitation where there is no password yet, else a reset.
pub(crate) fn kind_for(user: &User) -> OneTimeKind {
    if user.password.is_none() { OneTimeKind::Invitation } else { OneTimeKind::PasswordReset }
}

/// Makes a token, in the place of those that the user had before. None where the user is not active, or has chosen a password since it was
/// invited.
pub(crate) fn make(
    registry: &Registry,
    user: UserId,
    kind: OneTimeKind,
    actor: &Actor,
) -> Result<Option<MadeToken>, EngineError> {
    let (of, valid_for) = match kind {
        OneTimeKind::Invitation => (TokenKind::Invitation, INVITED_FOR),
        OneTimeKind::PasswordReset => (TokenKind::PasswordReset, RESET_FOR),
    };
    let token = Token::generate(of)?;
    let (id, digest, actor) = (token.id(), token.digest(), actor.clone());
    let micros = i64::try_from(valid_for.as_micros()).unwrap_or(i64::MAX);
    let made = registry.write(move |tx| {
        let found = users::get(tx, user)?.filter(|user| user.is_active);
        let Some(found) = found.filter(|user| kind == OneTimeKind::PasswordReset || user.password.is_none()) else {
            return Ok(None);
        };
        let expires_at = tx.now()?.plus(micros);
        let (id, digest) = (id.clone(), digest.clone());
        one_time_tokens::make(tx, &NewToken { id, digest, kind, user, actor: &actor, expires_at })?;
        Ok::<_, RegistryError>(Some((found, expires_at)))
    })?;
    Ok(made.map(|(user, expires_at)| MadeToken { token, user, expires_at }))
}

/// The mail with which a user chooses a password. None where no mails are sent.
pub(crate) fn mail_for(settings: &MailSettings, user: &User, actor: &Actor) -> Option<Prepared> {
    let kind = kind_for(user);
    let (subject, why) = match kind {
        OneTimeKind::Invitation => ("you are invited to choose a password", "added you as a user"),
        OneTimeKind::PasswordReset => ("choose a new password", "asked for a new password for you"),
    };
    let place = user.institution_identifier.as_deref().unwrap_or("the whole installation");
    let name = &actor.name;
    let text = format!(
        "{name} has {why}: {email}, {role} of {place}.\n\n\
         The token with which you choose a password, until {EXPIRES}, once:\n\n{TOKEN}\n\n\
         At the console of the installation: strongroom user choose-password, with the token and the password on standard input, one line each.\n\n\
         A token of an earlier mail is not valid any more. If you did not expect this mail, tell those who run the installation, and give the token to no other person.\n",
        email = user.email,
        role = user.role,
    );
    let html = paragraphs(&text);
    let mail =
        Mail { to: vec![user.email.clone()], subject: format!("Strongroom: {subject}"), text, html, ..Mail::default() };
    let of = TokenOf { user: user.id.0, kind: kind.as_str().to_owned(), actor: actor.clone(), deletion: None };
    mail.prepare_with_token(settings, format!("user {} {}", user.id, Uuid::now_v7()), of)
}

/// Makes the token of a mail that is about to be sent, and writes it into its texts. None where it is of no use any more.
pub(crate) fn fill(registry: &Registry, of: &TokenOf, mail: &Mail) -> Result<Option<Mail>, EngineError> {
    let (token, expires_at) = if let Some(request) = of.deletion {
        let Some(made) = approve_with(registry, UserId(of.user), DeletionRequestId(request))? else { return Ok(None) };
        made
    } else {
        let kind = of.kind.parse().map_err(EngineError::from)?;
        let Some(made) = make(registry, UserId(of.user), kind, &of.actor)? else { return Ok(None) };
        (made.token, made.expires_at)
    };
    let (token, expires) = (token.reveal(), expires_at.to_string());
    let filled = |text: &str| text.replace(TOKEN, token).replace(EXPIRES, &expires);
    Ok(Some(Mail { text: filled(&mail.text), html: filled(&mail.html), ..mail.clone() }))
}

/// Makes a token that approves a request for deletion, in the place of those that the user had for it. None where the request does not wait for
/// approval any more, or the user is not active.
fn approve_with(
    registry: &Registry,
    user: UserId,
    request: DeletionRequestId,
) -> Result<Option<(Token, Time)>, EngineError> {
    let token = Token::generate(TokenKind::DeletionApproval)?;
    let (id, digest) = (token.id(), token.digest());
    let expires_at = registry.write(move |tx| {
        let now = tx.now()?;
        let is_active = users::get(tx, user)?.is_some_and(|user| user.is_active);
        let found = deletion_requests::get(tx, Scope::System, request)?;
        let Some(found) = found.filter(|found| is_active && found.state_at(now) == DeletionRequestState::Requested)
        else {
            return Ok(None);
        };
        let (id, digest, expires_at) = (id.clone(), digest.clone(), found.expires_at);
        let new = approval_tokens::NewToken { id, digest, request, user, expires_at };
        approval_tokens::put(tx, &new)?;
        Ok::<_, RegistryError>(Some(expires_at))
    })?;
    Ok(expires_at.map(|expires_at| (token, expires_at)))
}
