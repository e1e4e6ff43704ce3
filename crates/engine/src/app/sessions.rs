//! Sessions of people who sign in. The system calls these functions for a person who presents a password, a code or the token of a session; a server
//! adds cookies, and nothing else.
//!
//! An attempt is counted before its outcome is known. What a wrong address, a wrong password, a deactivated user and a disabled password have in
//! common is the answer and the work.

use std::net::IpAddr;

use jiff::SignedDuration;
use strongroom_credentials::{
    AccountName, Attempt, BackupCode, Password, SessionLimits, SessionNext, StoredPassword, ThrottleKey, Token,
    TokenKind, TotpCode, Verification,
};
use strongroom_registry::sessions::{self, Session};
use strongroom_registry::throttles::{self, Tried};
use strongroom_registry::users::{self, User};
use strongroom_registry::{RegistryError, Scope, SessionId, Time, Transaction, second_factors};

use super::authorization::{SESSIONS_START, SESSIONS_USE};
use super::{Authorized, Caller, OpContext};
use crate::EngineError;
use crate::people::{hasher, open_factor};

/// For how long the token before the present one is accepted, for requests that were on their way when it was replaced.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_secs(60);

/// What is missing before a session is for more than signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Nothing.
    Nothing,
    /// A code of the second factor, or a backup code.
    Code,
    /// A second factor, which is required and which the user has not set up yet.
    Factor,
}

impl Missing {
    fn of(user: &User) -> Self {
        match (user.has_factor(), user.needs_factor()) {
            (true, _) => Self::Code,
            (false, true) => Self::Factor,
            (false, false) => Self::Nothing,
        }
    }
}

/// What came of an attempt to prove something.
#[derive(Debug)]
pub enum Proved<T> {
    /// It was right.
    Right(T),
    /// It was wrong, or there is no such user; the answer does not say which.
    Wrong,
    /// It was not tried: there were too many attempts, and the next one is possible after this time.
    Wait(SignedDuration),
}

/// A session that was started.
#[derive(Debug)]
pub struct Started {
    /// Its token, a secret of the person who signed in.
    pub token: Token,
    /// What is missing.
    pub missing: Missing,
}

/// Starts a session by a password. `address` is that of the network from which the person asks.
pub fn start(
    context: &OpContext,
    email: &str,
    password: &Password,
    address: Option<IpAddr>,
) -> Result<Proved<Started>, EngineError> {
    let authorized = context.authorize(&SESSIONS_START)?;
    let account = AccountName::new(email);
    let (by, from) = (ThrottleKey::password(account.as_str()), address.map(ThrottleKey::address));
    let (found, answer) = authorized.home().registry.write({
        let (by, from) = (by.clone(), from.clone());
        move |tx| {
            let found = users::by_account(tx, Scope::System, &account)?;
            let tried = Tried { authenticator: &by, user: found.as_ref().map(|user| user.id), address: from.as_ref() };
            let answer = throttles::attempt(tx, tried)?;
            Ok::<_, RegistryError>((found, answer))
        }
    })?;
    if let Attempt::Wait(wait) = answer {
        return Ok(Proved::Wait(wait));
    }
    let user = found.filter(|user| user.is_active && answer == Attempt::Admitted);
    let stored: Option<StoredPassword> = user.as_ref().and_then(|user| user.password.clone());
    let renewed = match hasher().verify(stored.as_ref(), password)? {
        Verification::Mismatch => return Ok(Proved::Wrong),
        Verification::Match => None,
        Verification::Renewed(hash) => Some(hash),
    };
    let (Some(user), Some(stored)) = (user, stored) else { return Ok(Proved::Wrong) };
    let token = Token::generate(TokenKind::Session)?;
    let (id, digest) = (token.id(), token.digest());
    let missing = authorized.home().registry.write(move |tx| {
        // The user may have been deactivated, or the password changed, while the hash was computed.
        let now = users::get(tx, user.id)?.filter(|now| now.is_active && now.password.as_ref() == Some(&stored));
        let Some(user) = now else { return Ok(None) };
        throttles::succeed(tx, Tried { authenticator: &by, user: Some(user.id), address: from.as_ref() })?;
        if let Some(hash) = &renewed {
            users::renew_password(tx, user.id, &stored, hash)?;
        }
        let missing = Missing::of(&user);
        let is_complete = missing == Missing::Nothing;
        sessions::start(tx, (SessionId::new(), user.id), (&id, &digest), is_complete)?;
        if is_complete {
            users::note_sign_in(tx, user.id)?;
        }
        Ok::<_, RegistryError>(Some(missing))
    })?;
    Ok(missing.map_or(Proved::Wrong, |missing| Proved::Right(Started { token, missing })))
}

/// Completes a session by a code of the second factor, or by a backup code. The answer is the token that takes the place of the one before.
///
/// # Errors
/// The token is not that of a session that lacks a code; the key of the second factors is missing.
pub fn confirm(
    context: &OpContext,
    token: &str,
    code: &str,
    address: Option<IpAddr>,
) -> Result<Proved<Token>, EngineError> {
    let authorized = context.authorize(&SESSIONS_USE)?;
    let open = open(&authorized, token)?.filter(|open| !open.session.is_complete && !open.session.is_previous_token);
    let Some(Open { user, session, .. }) = open.filter(|open| open.user.has_factor()) else { return Err(signed_out()) };
    let (by, from) = (ThrottleKey::second_factor(&user.account), address.map(ThrottleKey::address));
    match try_code(&authorized, &user, (&by, from.as_ref()))? {
        Attempt::Admitted => {}
        Attempt::Wait(wait) => return Ok(Proved::Wait(wait)),
        Attempt::Disabled => return Ok(Proved::Wrong),
    }
    let Some(proof) = proof(&authorized, &user, code)? else { return Ok(Proved::Wrong) };
    let token = Token::generate(TokenKind::Session)?;
    let (id, digest) = (token.id(), token.digest());
    let is_done = authorized.home().registry.write(move |tx| {
        // No code is spent for a session that another request has replaced or ended.
        if !sessions::is_present(tx, &session)? {
            return Ok(false);
        }
        let is_used = match &proof {
            Proof::Step(sealed, step) => second_factors::use_step(tx, user.id, sealed, *step)?,
            Proof::BackupCode(digest) => second_factors::use_backup_code(tx, user.id, digest)?,
        };
        if !is_used || !sessions::complete(tx, &session, (&id, &digest))? {
            return Ok(false);
        }
        throttles::succeed(tx, Tried { authenticator: &by, user: Some(user.id), address: from.as_ref() })?;
        users::note_sign_in(tx, user.id)?;
        Ok::<_, RegistryError>(true)
    })?;
    Ok(if is_done { Proved::Right(token) } else { Proved::Wrong })
}

/// A session that goes on.
#[derive(Debug)]
pub struct Resumed {
    /// Who asks. A session from which something is missing has no role.
    pub caller: Caller,
    /// What is missing.
    pub missing: Missing,
    /// The token that takes the place of the one that was presented, now and then.
    pub token: Option<Token>,
}

/// The session of a token. None where it has ended: by its limits, by signing out, by a new password or role, or with its user.
pub fn resume(context: &OpContext, token: &str) -> Result<Option<Resumed>, EngineError> {
    let authorized = context.authorize(&SESSIONS_USE)?;
    let Some(Open { user, session, next }) = open(&authorized, token)? else { return Ok(None) };
    let mut replacement = None;
    // The token before the present one has been replaced already, and by it nothing is noted.
    match next {
        _ if session.is_previous_token => {}
        SessionNext::Continue => {}
        SessionNext::Note => {
            let id = session.id;
            authorized.home().registry.write(move |tx| sessions::note(tx, id))?;
        }
        SessionNext::Rotate => {
            let token = Token::generate(TokenKind::Session)?;
            let (id, digest, known) = (token.id(), token.digest(), session.clone());
            let is_replaced =
                authorized.home().registry.write(move |tx| sessions::rotate(tx, &known, (&id, &digest)))?;
            replacement = is_replaced.then_some(token);
        }
    }
    let is_complete = session.is_complete && !lacks_factor(&user);
    let missing = if is_complete { Missing::Nothing } else { Missing::of(&user) };
    let mut caller = Caller::of_user(&user);
    if !is_complete {
        caller.roles.clear();
    }
    Ok(Some(Resumed { caller, missing, token: replacement }))
}

/// Ends the session of a token: its user signs out. One that has ended is no error.
pub fn end(context: &OpContext, token: &str) -> Result<(), EngineError> {
    let authorized = context.authorize(&SESSIONS_USE)?;
    let Some(Open { session, .. }) = open(&authorized, token)? else { return Ok(()) };
    Ok(authorized.home().registry.write(move |tx| sessions::end(tx, session.id))?)
}

/// A session that has not ended, and whose it is.
pub(super) struct Open {
    pub(super) user: User,
    pub(super) session: Session,
    next: SessionNext,
}

/// The session of a token, if it has not ended. One that has ended by its limits is removed.
pub(super) fn open(authorized: &Authorized<'_>, token: &str) -> Result<Option<Open>, EngineError> {
    let Ok(token) = Token::parse(token, TokenKind::Session) else { return Ok(None) };
    let found = authorized.read(|tx| {
        let Some(session) = sessions::find(tx, &token)? else { return Ok(None) };
        Ok(users::get(tx, session.user)?.map(|user| (user, session)).zip(Some(tx.now()?)))
    })?;
    let Some(((user, session), now)) = found else { return Ok(None) };
    let now = now.timestamp();
    if let Ok(next) = session.times.check(now, &SessionLimits::default()) {
        let is_late = session.is_previous_token && now.duration_since(session.times.rotated_at) > ON_ITS_WAY;
        return Ok((user.is_active && !is_late).then_some(Open { user, session, next }));
    }
    authorized.home().registry.write(move |tx| sessions::end(tx, session.id))?;
    Ok(None)
}

/// Whether a second factor became required after the session was started: the session is for setting one up, and for nothing else.
fn lacks_factor(user: &User) -> bool {
    user.needs_factor() && !user.has_factor()
}

/// The refusal of what needs a session of another kind.
pub(super) fn signed_out() -> EngineError {
    EngineError::Refused("the session has ended, or is not for this".to_owned()).next("sign in again")
}

/// Counts an attempt on the second factor of a user.
pub(super) fn try_code(
    authorized: &Authorized<'_>,
    user: &User,
    (by, from): (&ThrottleKey, Option<&ThrottleKey>),
) -> Result<Attempt, EngineError> {
    let (by, from, id) = (by.clone(), from.cloned(), user.id);
    Ok(authorized.home().registry.write(move |tx| {
        throttles::attempt(tx, Tried { authenticator: &by, user: Some(id), address: from.as_ref() })
    })?)
}

/// What a code has proved, to be used in the transaction that depends on it.
enum Proof {
    Step(second_factors::SealedFactor, strongroom_credentials::TotpStep),
    BackupCode(strongroom_credentials::BackupCodeDigest),
}

fn proof(authorized: &Authorized<'_>, user: &User, code: &str) -> Result<Option<Proof>, EngineError> {
    if let Ok(code) = TotpCode::parse(code) {
        let Some(sealed) = &user.factor else { return Ok(None) };
        let secret = open_factor(authorized.home(), user.id, sealed)?;
        let now = now(authorized)?.timestamp();
        let verified = secret.verify(code, now, user.factor_last_step);
        return Ok(verified.ok().map(|step| Proof::Step(sealed.clone(), step)));
    }
    let Ok(code) = BackupCode::parse(code) else { return Ok(None) };
    let stored = authorized.read(|tx| second_factors::backup_codes(tx, user.id))?;
    Ok(code.redeem(&stored).is_ok().then(|| Proof::BackupCode(code.digest())))
}

pub(super) fn now(authorized: &Authorized<'_>) -> Result<Time, EngineError> {
    Ok(authorized.read(|tx: &mut dyn Transaction| Ok(tx.now()?))?)
}
