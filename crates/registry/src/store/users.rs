//! Users: who they are, what they may do, and their passwords. Their second factors, keys and sessions are in files of their own.

use strongroom_credentials::{AccountName, StoredPassword, ThrottleKey, TotpStep};
use strongroom_database::{Row, Statement, Time, Transaction};

use super::second_factors::SealedFactor;
use crate::journal::{self, Actor};
use crate::{
    GrantAct, InstitutionId, RegistryError, Scope, UserId, UserRole, api_keys, one_time_tokens, sessions, throttles,
};

/// A user.
#[derive(Debug, Clone)]
pub struct User {
    /// Its identifier in records.
    pub id: UserId,
    /// The address in the form by which the user is found; the name of the actor.
    pub account: String,
    /// The address as it was given.
    pub email: String,
    /// What the user may do.
    pub role: UserRole,
    /// Where; none for the whole installation.
    pub institution: Option<InstitutionId>,
    /// The domain name of that institution.
    pub institution_identifier: Option<String>,
    /// Whether the institution asks for a second factor.
    pub institution_requires_factor: bool,
    /// Whether the user may do anything.
    pub is_active: bool,
    /// The hash of the password, where one was chosen.
    pub password: Option<StoredPassword>,
    /// Whether the password is too short to be used without a second factor.
    pub password_needs_factor: bool,
    /// The second factor, where one was begun.
    pub factor: Option<SealedFactor>,
    /// When the second factor was confirmed by a first code; before that there is none.
    pub factor_confirmed_at: Option<Time>,
    /// The last step whose code was used.
    pub factor_last_step: Option<TotpStep>,
    /// When the user last signed in.
    pub signed_in_at: Option<Time>,
    /// When the user was added.
    pub created_at: Time,
    /// When the user was deactivated, where that is so.
    pub deactivated_at: Option<Time>,
}

impl User {
    /// Whether there is a second factor, whose code is asked for.
    pub fn has_factor(&self) -> bool {
        self.factor_confirmed_at.is_some()
    }

    /// Whether a second factor is required: one that there is, is asked for in any case.
    pub fn needs_factor(&self) -> bool {
        self.institution_requires_factor || self.password_needs_factor
    }

    /// What the user sees.
    pub fn scope(&self) -> Scope {
        self.institution.map_or(Scope::System, Scope::Institution)
    }
}

/// A user to be added.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Its identifier.
    pub id: UserId,
    /// The address as it was given.
    pub email: String,
    /// What the user may do.
    pub role: UserRole,
    /// Where; none for the whole installation.
    pub institution: Option<InstitutionId>,
}

/// Which users are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserFilter {
    /// Only those of this role.
    pub role: Option<UserRole>,
    /// Also those that were deactivated.
    pub deactivated_too: bool,
}

/// Whether a user of a role belongs to an institution: must, or must not; none: either.
pub fn belongs_to_institution(role: UserRole) -> Option<bool> {
    match role {
        UserRole::SystemAdmin => Some(false),
        UserRole::InstitutionAdmin | UserRole::InstitutionUser => Some(true),
        UserRole::Auditor => None,
    }
}

/// Adds a user without a password.
pub fn add(tx: &mut dyn Transaction, new: &NewUser) -> Result<(), RegistryError> {
    let (account, now) = (AccountName::new(&new.email), tx.now()?);
    let values = [
        new.id.into(),
        account.as_str().into(),
        (&new.email).into(),
        new.role.as_str().into(),
        new.institution.into(),
        now.into(),
    ];
    match tx.query_one(Statement("users.insert"), &values)? {
        Some(_) => Ok(()),
        None => Err(RegistryError::Exists { what: "a user", id: account.as_str().to_owned() }),
    }
}

/// A user by the address, within a scope.
pub fn by_account(
    tx: &mut dyn Transaction,
    scope: Scope,
    account: &AccountName,
) -> Result<Option<User>, RegistryError> {
    let values = [account.as_str().into(), scope.value()];
    tx.query_one(Statement("users.by_account"), &values)?.as_ref().map(user_row).transpose()
}

/// A user that must exist within a scope.
pub fn find(tx: &mut dyn Transaction, scope: Scope, account: &AccountName) -> Result<User, RegistryError> {
    by_account(tx, scope, account)?
        .ok_or_else(|| RegistryError::NotFound { what: "user", id: account.as_str().to_owned() })
}

/// A user by its identifier, which no person has typed; it takes no scope.
pub fn get(tx: &mut dyn Transaction, id: UserId) -> Result<Option<User>, RegistryError> {
    tx.query_one(Statement("users.get"), &[id.into()])?.as_ref().map(user_row).transpose()
}

/// Users in order of their addresses, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: UserFilter,
    after: &str,
    limit: usize,
) -> Result<Vec<User>, RegistryError> {
    let role = filter.role.map(UserRole::as_str);
    let values = [scope.value(), after.into(), role.into(), filter.deactivated_too.into(), limit.into()];
    tx.query(Statement("users.list"), &values)?.iter().map(user_row).collect()
}

/// Changes what a user may do, and where. Sessions end: what is on the screen of one was shown for other rights.
pub fn set_role(
    tx: &mut dyn Transaction,
    id: UserId,
    role: UserRole,
    institution: Option<InstitutionId>,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("users.set_role"), &[id.into(), role.as_str().into(), institution.into(), now.into()])?;
    sessions::end_of_user(tx, id)
}

/// Sets a password. Sessions and tokens of the user end, and a password that was disabled by too many attempts is not any more.
pub fn set_password(
    tx: &mut dyn Transaction,
    user: &User,
    password: &StoredPassword,
    needs_factor: bool,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values = [user.id.into(), password.reveal().into(), needs_factor.into(), now.into()];
    tx.execute(Statement("users.set_password"), &values)?;
    sessions::end_of_user(tx, user.id)?;
    one_time_tokens::end_of_user(tx, user.id)?;
    throttles::clear(tx, &ThrottleKey::password(&user.account))
}

/// Replaces the hash of the same password, unless another one was set in the meantime; whether it did.
pub fn renew_password(
    tx: &mut dyn Transaction,
    id: UserId,
    known: &StoredPassword,
    renewed: &StoredPassword,
) -> Result<bool, RegistryError> {
    let values = [id.into(), known.reveal().into(), renewed.reveal().into()];
    Ok(tx.query_one(Statement("users.renew_password"), &values)?.is_some())
}

/// What ended with a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How many keys were revoked.
    pub keys: u64,
}

/// Deactivates a user: sessions, tokens and keys end. None where the user was not active.
pub fn deactivate(tx: &mut dyn Transaction, id: UserId) -> Result<Option<Ended>, RegistryError> {
    let now = tx.now()?;
    if tx.query_one(Statement("users.deactivate"), &[id.into(), now.into()])?.is_none() {
        return Ok(None);
    }
    sessions::end_of_user(tx, id)?;
    one_time_tokens::end_of_user(tx, id)?;
    Ok(Some(Ended { keys: api_keys::revoke_of_user(tx, id)? }))
}

/// Activates a user again; keys stay revoked. Whether the user was not active.
pub fn activate(tx: &mut dyn Transaction, id: UserId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.query_one(Statement("users.activate"), &[id.into(), now.into()])?.is_some())
}

/// Notes that a user has signed in now.
pub fn note_sign_in(tx: &mut dyn Transaction, id: UserId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("users.signed_in"), &[id.into(), now.into()])?;
    Ok(())
}

/// Active users who answer for an institution: its admins, and those of the whole installation; in order of their addresses, after `after`.
pub fn admins(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    after: &str,
    limit: usize,
) -> Result<Vec<User>, RegistryError> {
    let values = [institution.into(), after.into(), limit.into()];
    tx.query(Statement("users.admins"), &values)?.iter().map(user_row).collect()
}

/// How and by whom a user got what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGrant {
    /// When.
    pub granted_at: Time,
    /// How.
    pub act: GrantAct,
    /// The role that the user had afterwards.
    pub role: UserRole,
    /// Who did it.
    pub actor: Actor,
    /// The user who did it, where it was one.
    pub by_user: Option<UserId>,
}

/// Records who has made a user, or changed what it may do, in the transaction that does so. `user` is as it is afterwards.
pub fn record_grant(
    tx: &mut dyn Transaction,
    user: &User,
    act: GrantAct,
    (actor, by_user): (&Actor, Option<UserId>),
) -> Result<(), RegistryError> {
    journal::know(tx, actor)?;
    let now = tx.now()?;
    let values =
        [user.id.into(), now.into(), act.as_str().into(), user.role.as_str().into(), actor.id.into(), by_user.into()];
    tx.execute(Statement("role_grants.insert"), &values)?;
    Ok(())
}

/// Who has made a user, changed its role or institution, or activated it again since a time, oldest first. What was done before users were
/// recorded so is not there.
pub fn grants_since(tx: &mut dyn Transaction, user: UserId, since: Time) -> Result<Vec<RoleGrant>, RegistryError> {
    let rows = tx.query(Statement("role_grants.since"), &[user.into(), since.into()])?;
    rows.iter()
        .map(|row| {
            Ok(RoleGrant {
                granted_at: row.time("granted_at")?,
                act: row.text("act")?.parse()?,
                role: row.text("role")?.parse()?,
                actor: journal::actor_row(row, "actor_id")?,
                by_user: row.optional_uuid("by_user_id")?.map(UserId),
            })
        })
        .collect()
}

fn user_row(row: &Row) -> Result<User, RegistryError> {
    let password = row.optional_text("password_hash")?.map(StoredPassword::parse).transpose()?;
    Ok(User {
        id: UserId(row.uuid("id")?),
        account: row.text("account")?.to_owned(),
        email: row.text("email")?.to_owned(),
        role: row.text("role")?.parse()?,
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        institution_identifier: row.optional_text("institution_identifier")?.map(str::to_owned),
        institution_requires_factor: row.bool("second_factor_required")?,
        is_active: row.text("state")? == "active",
        password,
        password_needs_factor: row.bool("password_needs_factor")?,
        factor: row.optional_bytes("factor_sealed")?.map(SealedFactor::from),
        factor_confirmed_at: row.optional_time("factor_confirmed_at")?,
        factor_last_step: row.optional_integer("factor_last_step")?.map(TotpStep::new),
        signed_in_at: row.optional_time("signed_in_at")?,
        created_at: row.time("created_at")?,
        deactivated_at: row.optional_time("deactivated_at")?,
    })
}
