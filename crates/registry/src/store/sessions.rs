//! Sessions of people who signed in, as rows. Their tokens are replaced now and then; what is stored is the digest of each.

use strongroom_credentials::{SessionTimes, Token, TokenDigest, TokenId};
use strongroom_database::{Row, Statement, Time, Transaction};

use crate::{RegistryError, SessionId, UserId};

/// A session.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its identifier in records; no secret, and the same for as long as it lasts.
    pub id: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// Whether everything was proved that is required. Before that it is for proving it, and for nothing else.
    pub is_complete: bool,
    /// Its times.
    pub times: SessionTimes,
    /// The identifier of its present token.
    pub token: TokenId,
    /// Whether the token by which it was found is the one before the present one.
    pub is_previous_token: bool,
}

/// Starts a session.
pub fn start(
    tx: &mut dyn Transaction,
    (id, user): (SessionId, UserId),
    token: (&TokenId, &TokenDigest),
    is_complete: bool,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values = [
        id.into(),
        token.0.as_str().into(),
        token.1.as_bytes().as_slice().into(),
        user.into(),
        is_complete.into(),
        now.into(),
    ];
    tx.execute(Statement("sessions.insert"), &values)?;
    Ok(())
}

/// The session of a token, which is its present one or the one before.
pub fn find(tx: &mut dyn Transaction, token: &Token) -> Result<Option<Session>, RegistryError> {
    let id = token.id();
    for (statement, digest, is_previous) in [
        (Statement("sessions.get"), "token_digest", false),
        (Statement("sessions.get_previous"), "previous_digest", true),
    ] {
        let Some(row) = tx.query_one(statement, &[id.as_str().into()])? else { continue };
        let is_of = row.optional_bytes(digest)?.map(TokenDigest::try_from).transpose()?;
        return is_of.filter(|digest| digest.is_of(token)).map(|_| session_row(&row, is_previous)).transpose();
    }
    Ok(None)
}

/// Whether the token by which a session was read is still its present one.
pub fn is_present(tx: &mut dyn Transaction, session: &Session) -> Result<bool, RegistryError> {
    let values = [session.id.into(), session.token.as_str().into()];
    Ok(tx.query_one(Statement("sessions.get_present"), &values)?.is_some())
}

/// Notes the time of a request.
pub fn note(tx: &mut dyn Transaction, id: SessionId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("sessions.note"), &[id.into(), now.into()])?;
    Ok(())
}

/// Replaces the present token; the one before it is kept beside. False where another request has replaced it in the meantime.
pub fn rotate(
    tx: &mut dyn Transaction,
    session: &Session,
    (id, digest): (&TokenId, &TokenDigest),
) -> Result<bool, RegistryError> {
    replace(tx, Statement("sessions.rotate"), session, (id, digest))
}

/// Notes that everything was proved that is required, and replaces the token, so that one that was known before has no more rights than
/// before. False where another request has replaced it in the meantime.
pub fn complete(
    tx: &mut dyn Transaction,
    session: &Session,
    (id, digest): (&TokenId, &TokenDigest),
) -> Result<bool, RegistryError> {
    replace(tx, Statement("sessions.complete"), session, (id, digest))
}

fn replace(
    tx: &mut dyn Transaction,
    statement: Statement,
    session: &Session,
    (id, digest): (&TokenId, &TokenDigest),
) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let values = [
        session.id.into(),
        session.token.as_str().into(),
        id.as_str().into(),
        digest.as_bytes().as_slice().into(),
        now.into(),
    ];
    Ok(tx.query_one(statement, &values)?.is_some())
}

/// Ends a session.
pub fn end(tx: &mut dyn Transaction, id: SessionId) -> Result<(), RegistryError> {
    tx.execute(Statement("sessions.end"), &[id.into()])?;
    Ok(())
}

/// Ends every session of a user.
pub fn end_of_user(tx: &mut dyn Transaction, user: UserId) -> Result<(), RegistryError> {
    tx.execute(Statement("sessions.end_of_user"), &[user.into()])?;
    Ok(())
}

/// Removes sessions that were started before `before`, so many at most. How many.
pub fn drop_old(tx: &mut dyn Transaction, before: Time, limit: usize) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("sessions.drop"), &[before.into(), limit.into()])?)
}

fn session_row(row: &Row, is_previous_token: bool) -> Result<Session, RegistryError> {
    Ok(Session {
        id: SessionId(row.uuid("id")?),
        user: UserId(row.uuid("user_id")?),
        is_complete: row.bool("is_complete")?,
        times: SessionTimes {
            started_at: row.time("started_at")?.timestamp(),
            seen_at: row.time("seen_at")?.timestamp(),
            rotated_at: row.time("rotated_at")?.timestamp(),
        },
        token: TokenId::parse(row.text("token_id")?)?,
        is_previous_token,
    })
}
