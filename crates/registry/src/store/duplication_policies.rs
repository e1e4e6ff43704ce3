//! Duplication policies: versions of a document for each institution, of which the newest applies. A version stays as it was set; only its
//! approval is added, once. What is in a document is not known here.

use strongroom_database::{Row, Statement, Time, Transaction};

use super::journal;
use crate::model::actor::Actor;
use crate::{InstitutionId, RegistryError, UserId};

/// The most characters of a reason.
pub const LONGEST_REASON: usize = 2_000;

/// A version of the policy of an institution, without its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVersion {
    /// Which version it is, from 1.
    pub version: u64,
    /// Whether a rule of it deletes: until the version is approved, none does.
    pub deletes: bool,
    /// Why it was set.
    pub reason: String,
    /// Who set it, as [`journal::ShownActor`] reads it.
    pub set_by: String,
    /// The user who set it; none where it was an account of the operating system.
    pub user: Option<UserId>,
    /// When it was set.
    pub set_at: Time,
    /// Who approved it, and when.
    pub approved: Option<(String, Time)>,
}

impl PolicyVersion {
    /// Whether its rules delete where they say so.
    pub fn may_delete(&self) -> bool {
        self.deletes && self.approved.is_some()
    }
}

/// A document that becomes the newest version.
#[derive(Debug, Clone)]
pub struct NewPolicy {
    /// Whose policy it is.
    pub institution: InstitutionId,
    /// The version that it was made from; none where there was none.
    pub based_on: Option<u64>,
    /// The document.
    pub document: String,
    /// Whether a rule of it deletes.
    pub deletes: bool,
    /// Why it is set: up to [`LONGEST_REASON`] characters.
    pub reason: String,
    /// Who sets it.
    pub actor: Actor,
    /// The user who sets it.
    pub user: Option<UserId>,
}

/// What became of a document that was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// It is the newest version now.
    Set(PolicyVersion),
    /// The newest version has this document already.
    Unchanged(PolicyVersion),
    /// Another version than the one that it was made from is the newest one; none where there is none at all.
    Newer(Option<PolicyVersion>),
}

/// The newest version of the policy of an institution, which applies; one row by its key.
pub fn newest(tx: &mut dyn Transaction, of: InstitutionId) -> Result<Option<PolicyVersion>, RegistryError> {
    let row = tx.query_one(Statement("duplication_policies.newest"), &[of.into()])?;
    row.as_ref().map(policy_row).transpose()
}

/// The newest version of every institution that has a policy.
pub fn newest_of_all(tx: &mut dyn Transaction) -> Result<Vec<(InstitutionId, PolicyVersion)>, RegistryError> {
    let rows = tx.query(Statement("duplication_policies.newest_of_all"), &[])?;
    rows.iter().map(|row| Ok((InstitutionId(row.uuid("institution_id")?), policy_row(row)?))).collect()
}

/// A version of the policy of an institution.
pub fn get(tx: &mut dyn Transaction, of: InstitutionId, version: u64) -> Result<PolicyVersion, RegistryError> {
    let row = tx.query_one(Statement("duplication_policies.get"), &[of.into(), bounded(version).into()])?;
    policy_row(&row.ok_or_else(|| missing(version))?)
}

/// The document of a version.
pub fn document(tx: &mut dyn Transaction, of: InstitutionId, version: u64) -> Result<String, RegistryError> {
    let row = tx.query_one(Statement("duplication_policies.document"), &[of.into(), bounded(version).into()])?;
    Ok(row.ok_or_else(|| missing(version))?.text("document")?.to_owned())
}

/// The versions of the policy of an institution, the oldest first, behind `after`.
pub fn list(
    tx: &mut dyn Transaction,
    of: InstitutionId,
    after: u64,
    limit: usize,
) -> Result<Vec<PolicyVersion>, RegistryError> {
    let values = [of.into(), bounded(after).into(), limit.into()];
    tx.query(Statement("duplication_policies.list"), &values)?.iter().map(policy_row).collect()
}

/// Sets a document as the next version, where the newest one is that from which it was made. A document that the newest version has changes
/// nothing. Runs in a transaction of [`Isolation::Serial`](strongroom_database::Isolation), as `write` has it: of two at once one
/// is told of the version of the other.
pub fn set(tx: &mut dyn Transaction, new: &NewPolicy) -> Result<Setting, RegistryError> {
    let newest = newest(tx, new.institution)?;
    if newest.as_ref().map(|newest| newest.version) != new.based_on {
        return Ok(Setting::Newer(newest));
    }
    if let Some(newest) = newest
        && document(tx, new.institution, newest.version)? == new.document
    {
        return Ok(Setting::Unchanged(newest));
    }
    journal::know(tx, &new.actor)?;
    let version = new.based_on.unwrap_or(0).saturating_add(1);
    let now = tx.now()?;
    // PostgreSQL holds no U+0000 in a text.
    let reason: String = new.reason.replace('\0', "\u{fffd}").chars().take(LONGEST_REASON).collect();
    tx.execute(
        Statement("duplication_policies.insert"),
        &[
            new.institution.into(),
            version.into(),
            new.deletes.into(),
            reason.into(),
            new.actor.to_string().into(),
            new.user.into(),
            now.into(),
            (&new.document).into(),
        ],
    )?;
    Ok(Setting::Set(get(tx, new.institution, version)?))
}

/// Approves the newest version.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is no such version; [`RegistryError::State`] where it is not the newest one, nothing of it needs
/// approval, or it is approved already.
pub fn approve(
    tx: &mut dyn Transaction,
    of: InstitutionId,
    version: u64,
    actor: &Actor,
) -> Result<PolicyVersion, RegistryError> {
    let found = get(tx, of, version)?;
    let newest = newest(tx, of)?.map_or(version, |newest| newest.version);
    let refused = |state: String| RegistryError::State {
        what: "duplication policy",
        id: format!("version {version}"),
        state,
        act: "approve it".to_owned(),
    };
    if newest != version {
        return Err(refused(format!("replaced by version {newest}")));
    }
    if !found.deletes {
        return Err(refused("without rules that delete, and needs no approval".to_owned()));
    }
    if let Some((by, _)) = found.approved {
        return Err(refused(format!("approved by {by} already")));
    }
    let now = tx.now()?;
    let values = [of.into(), version.into(), actor.to_string().into(), now.into()];
    tx.execute(Statement("duplication_policies.approve"), &values)?;
    get(tx, of, version)
}

/// A number that people give, as far as the database has it.
fn bounded(version: u64) -> u64 {
    version.min(i64::MAX.unsigned_abs())
}

fn missing(version: u64) -> RegistryError {
    RegistryError::NotFound { what: "version of the duplication policy", id: version.to_string() }
}

fn policy_row(row: &Row) -> Result<PolicyVersion, RegistryError> {
    let approved_by = row.optional_text("approved_by")?.map(str::to_owned);
    Ok(PolicyVersion {
        version: row.count("version")?,
        deletes: row.bool("deletes")?,
        reason: row.text("reason")?.to_owned(),
        set_by: row.text("set_by")?.to_owned(),
        user: row.optional_uuid("user_id")?.map(UserId),
        set_at: row.time("set_at")?,
        approved: approved_by.zip(row.optional_time("approved_at")?),
    })
}
