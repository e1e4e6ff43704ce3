//! Second factors: a user sets one up in a session of the own; an admin resets one that is lost.

use std::net::IpAddr;

use strongroom_credentials::{AccountName, Attempt, BackupCode, ThrottleKey, Token, TokenKind, TotpCode, TotpSecret};
use strongroom_registry::second_factors::{self, Begun, SealedFactor};
use strongroom_registry::throttles::{self, Tried};
use strongroom_registry::{JournalOutcome, RegistryError, sessions, users};

use super::OpContext;
use super::authorization::{SECOND_FACTORS_RESET, SECOND_FACTORS_SET};
use super::sessions::{Open, Proved, now, open, signed_out, try_code};
use super::users::{in_state, known, target};
use super::views::UserView;
use crate::EngineError;
use crate::people::{key_or_new, open_factor, other_key};

/// What the app of a user is set up with. It is shown once, and hidden in `Debug`.
#[derive(Debug)]
pub struct NewFactor {
    /// The secret.
    pub secret: TotpSecret,
    /// The address, as the app shows it.
    pub account: String,
}

/// The name of this program, as apps show it.
pub const ISSUER: &str = "Strongroom";

/// Begins a second factor for the user of a session. It is not asked for before it is confirmed.
///
/// # Errors
/// The session has ended; the user has a second factor; the key of the second factors is missing, or another one.
pub fn begin(context: &OpContext, token: &str) -> Result<NewFactor, EngineError> {
    let authorized = context.authorize(&SECOND_FACTORS_SET)?;
    let Some(Open { user, .. }) = open(&authorized, token)? else { return Err(signed_out()) };
    let (secret, key) = (TotpSecret::generate()?, key_or_new(authorized.home())?);
    let sealed = SealedFactor::from(key.seal(&secret, user.id.0.as_bytes())?.as_slice());
    let (id, key) = (user.id, key.id());
    match authorized.home().registry.write(move |tx| second_factors::begin(tx, id, &sealed, key))? {
        Begun::Stored => Ok(NewFactor { secret, account: user.account }),
        Begun::OtherKey(sealed) => Err(other_key(&sealed)),
        Begun::HasFactor => Err(EngineError::Refused(format!("user {} has a second factor", user.account))
            .next("an admin resets it, and another one is set up then")),
    }
}

/// A second factor that was confirmed.
#[derive(Debug)]
pub struct Confirmed {
    /// Ten codes that replace it when it is lost, each usable once. They are shown once.
    pub backup_codes: [BackupCode; BackupCode::COUNT],
    /// The token that takes the place of the one that was presented.
    pub token: Token,
}

/// Confirms the second factor that was begun, by a first code of it. It is asked for from now on, and the session is complete.
///
/// # Errors
/// The session has ended; no second factor was begun; the key of the second factors is missing.
pub fn confirm(
    context: &OpContext,
    token: &str,
    code: &str,
    address: Option<IpAddr>,
) -> Result<Proved<Confirmed>, EngineError> {
    let authorized = context.authorize(&SECOND_FACTORS_SET)?;
    let open = open(&authorized, token)?.filter(|open| !open.session.is_previous_token);
    let Some(Open { user, session, .. }) = open.filter(|open| !open.user.has_factor()) else {
        return Err(signed_out());
    };
    let Some(sealed) = user.factor.clone() else {
        return Err(EngineError::Refused("no second factor was begun".to_owned()).next("begin one first"));
    };
    let (by, from) = (ThrottleKey::second_factor(&user.account), address.map(ThrottleKey::address));
    match try_code(&authorized, &user, (&by, from.as_ref()))? {
        Attempt::Admitted => {}
        Attempt::Wait(wait) => return Ok(Proved::Wait(wait)),
        Attempt::Disabled => return Ok(Proved::Wrong),
    }
    let Ok(code) = TotpCode::parse(code) else { return Ok(Proved::Wrong) };
    let secret = open_factor(authorized.home(), user.id, &sealed)?;
    let Ok(step) = secret.verify(code, now(&authorized)?.timestamp(), None) else { return Ok(Proved::Wrong) };
    let (backup_codes, token) = (BackupCode::generate()?, Token::generate(TokenKind::Session)?);
    let digests = backup_codes.each_ref().map(BackupCode::digest);
    let (entry, id, digest) = (authorized.entry_of(&user), token.id(), token.digest());
    let is_done = authorized.home().registry.write(move |tx| {
        if !sessions::complete(tx, &session, (&id, &digest))? {
            return Ok(false);
        }
        // Without it the session must not be complete: the transaction is undone.
        if !second_factors::confirm(tx, user.id, &sealed, step)? {
            return Err(in_state(&user, "changed by another session", "confirm the second factor"));
        }
        second_factors::put_backup_codes(tx, user.id, &digests)?;
        throttles::succeed(tx, Tried { authenticator: &by, user: Some(user.id), address: from.as_ref() })?;
        if !session.is_complete {
            users::note_sign_in(tx, user.id)?;
        }
        let detail = "second factor confirmed; backup codes made";
        entry.append(tx, &target(&user), JournalOutcome::Done, Some(detail))?;
        Ok::<_, RegistryError>(true)
    })?;
    Ok(if is_done { Proved::Right(Confirmed { backup_codes, token }) } else { Proved::Wrong })
}

/// Gives the user of a complete session new backup codes. Those before them are of no use any more.
pub fn renew_backup_codes(context: &OpContext, token: &str) -> Result<[BackupCode; BackupCode::COUNT], EngineError> {
    let authorized = context.authorize(&SECOND_FACTORS_SET)?;
    let open = open(&authorized, token)?.filter(|open| open.session.is_complete && open.user.has_factor());
    let Some(Open { user, .. }) = open else { return Err(signed_out()) };
    let codes = BackupCode::generate()?;
    let digests = codes.each_ref().map(BackupCode::digest);
    let entry = authorized.entry_of(&user);
    let entry = crate::journal::JournalEntry { act: "second_factors.renew_codes".to_owned(), ..entry };
    authorized.home().registry.write(move |tx| {
        second_factors::put_backup_codes(tx, user.id, &digests)?;
        entry.done(tx, &target(&user))
    })?;
    Ok(codes)
}

/// Removes the second factor of a user who has lost it, with its backup codes. Sessions end. Where one is required, the user sets up another
/// one when signing in.
pub fn reset(context: &OpContext, email: &str) -> Result<UserView, EngineError> {
    let authorized = context.authorize(&SECOND_FACTORS_RESET)?;
    let (scope, account) = (authorized.scope(), AccountName::new(email));
    Ok(authorized.write(move |tx| {
        let found = users::find(tx, scope, &account)?;
        if !second_factors::reset(tx, &found)? {
            let (id, state) = (found.account, "without a second factor".to_owned());
            return Err(RegistryError::State { what: "user", id, state, act: "reset it".to_owned() });
        }
        Ok((target(&found), UserView::from(&known(tx, found.id)?)))
    })?)
}

impl NewFactor {
    /// The URI that an app reads from a picture.
    pub fn uri(&self) -> impl std::ops::Deref<Target = String> {
        self.secret.uri(ISSUER, &self.account)
    }
}
