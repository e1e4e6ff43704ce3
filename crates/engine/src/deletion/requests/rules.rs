//! Who may ask for what two people decide, a deletion or a duplication policy that deletes, and who may approve it: the one place with these
//! rules.
//!
//! 1. Who asks is an active user: an admin of the institution, or a system admin.
//! 2. Who approves is another active user, and who asked is still one that may ask. Users are compared by their identifiers.
//! 3. Where an admin of the institution asked, another admin of it approves. Where no other active admin of it may, a system admin approves.
//! 4. Where a system admin asked, an admin of the institution approves: one of the two answers for what the institution keeps.
//! 5. A requeue of the work item of a deletion resumes a request that failed only while both users still may, and for 30 days after the approval.
//! 6. Of the two, within 30 days before the request or after it, none made the other, changed it, or gave it access, also through users in
//!    between, and no admin of an institution made both: else one person could be both. A system admin may approve what a user requested whom that
//!    admin made, since an institution has to get its first admin from somebody.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use strongroom_registry::deletion_requests::{self, Request};
use strongroom_registry::users::{self, User, UserFilter};
use strongroom_registry::{InstitutionId, RegistryError, Scope, Time, Transaction, UserId, UserRole};

use crate::EngineError;

/// How long before a request its requester may not have made or changed the user who approves.
const INDEPENDENT_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long after its approval a request that failed may be resumed.
const APPROVED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Users between the requester and one whom these have made, at most: with more of them the user does not approve.
const MOST_BETWEEN: usize = 100;
/// Users that are read at once.
const USERS_AT_ONCE: usize = 200;

/// What one user asked for, and another one approves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Who asked.
    pub(crate) requester: UserId,
    /// For whom.
    pub(crate) institution: InstitutionId,
    /// When.
    pub(crate) at: Time,
    /// The act of approving it, as the journal names it.
    pub(crate) approving: &'static str,
    /// What is to be done where who asked may not ask any more.
    pub(crate) otherwise: &'static str,
}

impl From<&Request> for Asked {
    fn from(request: &Request) -> Self {
        Self {
            requester: request.requester,
            institution: request.institution,
            at: request.requested.at,
            approving: "deletions.approve",
            otherwise: "deny the request; another user can make it again",
        }
    }
}

/// The user who asks, where that user may.
pub(super) fn requester(tx: &mut dyn Transaction, user: UserId, of: InstitutionId) -> Result<User, EngineError> {
    let user = known(tx, user)?;
    match why_not_requester(&user, of) {
        None => Ok(user),
        Some(reason) => Err(refused(&user, "deletions.request", reason)),
    }
}

/// The user who approves what another one asked for, where that user may.
pub(crate) fn approver(tx: &mut dyn Transaction, user: UserId, asked: Asked) -> Result<User, EngineError> {
    let user = known(tx, user)?;
    let requester = known(tx, asked.requester)?;
    if let Some(reason) = why_not_requester(&requester, asked.institution) {
        return Err(refused(&user, asked.approving, format!("it was requested by {}: {reason}", requester.account))
            .next(asked.otherwise));
    }
    match why_not_approver(tx, &user, &requester, asked)? {
        None => Ok(user),
        Some(reason) => Err(refused(&user, asked.approving, reason).next(who_can(tx, &requester, asked)?)),
    }
}

/// Why what two users wanted is not begun any more by who requeues a work item of it; none where it may be: both still answer for what the
/// institution keeps, and it was approved within the last 30 days.
pub(super) fn why_not_any_more(tx: &mut dyn Transaction, request: &Request) -> Result<Option<String>, RegistryError> {
    let Some(approved) = &request.approved else { return Ok(None) };
    for (did, id) in [("requested", Some(request.requester)), ("approved", approved.user)] {
        let Some(id) = id else { continue };
        let user = known(tx, id)?;
        if let Some(reason) = why_not_requester(&user, request.institution) {
            return Ok(Some(format!("{did} by {}: {reason}", user.account)));
        }
    }
    let is_old = approved.at.plus(micros(APPROVED_FOR)) < tx.now()?;
    Ok(is_old.then(|| format!("approved at {}, which is more than 30 days ago", approved.at)))
}

/// The users who may approve what was asked for, in order of their addresses.
pub(super) fn approvers(tx: &mut dyn Transaction, asked: Asked) -> Result<Vec<User>, RegistryError> {
    let Some(requester) = users::get(tx, asked.requester)? else { return Ok(Vec::new()) };
    let of_institution = independent_admins(tx, &requester, asked)?;
    if requester.role != UserRole::InstitutionAdmin || !of_institution.is_empty() {
        return Ok(of_institution);
    }
    let mut others = Vec::new();
    for user in all(tx, Scope::System, UserRole::SystemAdmin)? {
        if is_independent(tx, &user, &requester, asked)? {
            others.push(user);
        }
    }
    Ok(others)
}

/// The active admins of an institution.
pub(super) fn admins(tx: &mut dyn Transaction, of: InstitutionId) -> Result<Vec<User>, RegistryError> {
    all(tx, Scope::Institution(of), UserRole::InstitutionAdmin)
}

fn why_not_requester(user: &User, of: InstitutionId) -> Option<String> {
    if !user.is_active {
        return Some("the user was deactivated".to_owned());
    }
    match (user.role, user.institution) {
        (UserRole::SystemAdmin, _) => None,
        (UserRole::InstitutionAdmin, Some(own)) if own == of => None,
        (role, _) => Some(format!("a user with the role {role} does not answer for what the institution keeps")),
    }
}

fn why_not_approver(
    tx: &mut dyn Transaction,
    user: &User,
    requester: &User,
    asked: Asked,
) -> Result<Option<String>, RegistryError> {
    if user.id == requester.id {
        return Ok(Some("it was requested by the same user, and another one has to approve it".to_owned()));
    }
    if let Some(reason) = why_not_requester(user, asked.institution) {
        return Ok(Some(reason));
    }
    if user.role == UserRole::SystemAdmin {
        if requester.role == UserRole::SystemAdmin {
            return Ok(Some(
                "it was requested by a system admin, and an admin of the institution has to approve it".into(),
            ));
        }
        if !independent_admins(tx, requester, asked)?.is_empty() {
            return Ok(Some("the institution has another admin, who has to approve it".to_owned()));
        }
    }
    if !is_independent(tx, user, requester, asked)? {
        return Ok(Some(format!(
            "of this user and {} one made the other, or changed what the other may do or how the other signs in, or an admin made both, within 30 days before the request or after it",
            requester.account
        )));
    }
    Ok(None)
}

/// The active admins of the institution other than the requester, who may approve.
fn independent_admins(tx: &mut dyn Transaction, requester: &User, asked: Asked) -> Result<Vec<User>, RegistryError> {
    let mut independent = Vec::new();
    for user in admins(tx, asked.institution)? {
        if user.id != requester.id && is_independent(tx, &user, requester, asked)? {
            independent.push(user);
        }
    }
    Ok(independent)
}

fn is_independent(
    tx: &mut dyn Transaction,
    user: &User,
    requester: &User,
    asked: Asked,
) -> Result<bool, RegistryError> {
    let since = asked.at.plus(-micros(INDEPENDENT_FOR));
    if deletion_requests::has_changed_user(tx, &requester.account, &user.account, since)? {
        return Ok(false);
    }
    if user.role != UserRole::SystemAdmin
        && deletion_requests::has_changed_user(tx, &user.account, &requester.account, since)?
    {
        return Ok(false);
    }
    let (Some(of_user), Some(of_requester)) = (makers(tx, user.id, since)?, makers(tx, requester.id, since)?) else {
        return Ok(false);
    };
    if of_user.contains(&requester.id) {
        return Ok(false);
    }
    for maker in of_user.iter().chain([&user.id]).filter(|maker| of_requester.contains(maker)) {
        let is_system_admin = users::get(tx, *maker)?.is_some_and(|maker| maker.role == UserRole::SystemAdmin);
        if !is_system_admin {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The users who made a user or gave it access since a time, also through users in between; none where they are too many.
fn makers(tx: &mut dyn Transaction, user: UserId, since: Time) -> Result<Option<BTreeSet<UserId>>, RegistryError> {
    let (mut known, mut open) = (BTreeSet::new(), vec![user]);
    while let Some(one) = open.pop() {
        for granter in deletion_requests::granters(tx, one, since)? {
            if known.len() > MOST_BETWEEN {
                return Ok(None);
            }
            if granter != user && known.insert(granter) {
                open.push(granter);
            }
        }
    }
    Ok(Some(known))
}

fn all(tx: &mut dyn Transaction, scope: Scope, role: UserRole) -> Result<Vec<User>, RegistryError> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let filter = UserFilter { role: Some(role), deactivated_too: false };
        let page = users::list(tx, scope, filter, &after, USERS_AT_ONCE)?;
        let Some(last) = page.last() else { return Ok(found) };
        after.clone_from(&last.account);
        found.extend(page);
    }
}

/// What to do where a user may not approve.
fn who_can(tx: &mut dyn Transaction, requester: &User, asked: Asked) -> Result<String, RegistryError> {
    let mut names: Vec<String> = approvers(tx, asked)?.into_iter().map(|user| user.account).collect();
    names.retain(|name| *name != requester.account);
    if names.is_empty() {
        return Ok("add another admin of the institution with \"strongroom user add\"".to_owned());
    }
    let more = names.len().saturating_sub(5);
    names.truncate(5);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    Ok(format!("it can be approved by {}", names.join(", ")))
}

fn micros(time: SignedDuration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn known(tx: &mut dyn Transaction, id: UserId) -> Result<User, RegistryError> {
    users::get(tx, id)?.ok_or_else(|| RegistryError::NotFound { what: "user", id: id.to_string() })
}

fn refused(user: &User, act: &'static str, reason: String) -> EngineError {
    EngineError::NotAllowed { actor: user.account.clone(), act, reason }
}
