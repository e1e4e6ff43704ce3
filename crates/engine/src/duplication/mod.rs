//! Duplication policies as workers and sweeps use them. [`current`] is called before each use: it reads the number of the newest version, and
//! its document only where this process has not read that version yet, so a version that was set applies at once. What is wrong with the
//! policy of one institution is an error of that institution alone.

mod acts;
mod check;
mod events;
mod handler;
mod item;
mod large;
mod matches;
mod preview;
mod space;
pub(crate) mod sweep;
mod tasks;
pub mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use strongroom_duplication::{DuplicationError, Lookup, Policy, Rule};
use strongroom_registry::duplication_policies::{self as rows, PolicyVersion};
use strongroom_registry::duplication_routes::Route;
use strongroom_registry::{InstitutionId, Registry, RegistryError, Scope, Time, Transaction, sweeps, tenants};

pub use events::{NewEvent, Recorded, record};
pub(crate) use events::{check as check_event, policies};
pub(crate) use handler::{HIGH_TASK, LOW_TASK};
pub(crate) use large::LargeCopies;
pub(crate) use matches::matches;
pub(crate) use tasks::subject_of;
pub use tasks::{HIGH, LOW};

pub(crate) use check::{check_settings, plain_stores, problems_of};
pub(crate) use preview::{Compared, Previewed, preview};

use crate::{EngineError, Home};

/// Deletions of more than one in so many content items wait for a person.
const MOST_DELETED: u64 = 100;
/// For how long deletions are counted together, in microseconds.
const COUNTED_FOR: i64 = 24 * 3_600_000_000;
/// The most policies that are kept in memory.
const MOST_CACHED: usize = 256;

/// The policies that this process has read, by institution and version.
#[derive(Debug, Default)]
pub(crate) struct CachedPolicies(Mutex<BTreeMap<InstitutionId, (u64, Arc<Lookup>)>>);

/// The policy of an institution that applies now.
#[derive(Debug, Clone)]
pub struct CurrentPolicy {
    /// The version.
    pub version: u64,
    /// Whether the version is approved, so that rules with `delete = true` delete.
    pub may_delete: bool,
    /// When it was set, or approved.
    pub changed_at: Time,
    lookup: Arc<Lookup>,
}

impl CurrentPolicy {
    /// Which rules apply to which space.
    pub fn lookup(&self) -> &Lookup {
        &self.lookup
    }

    /// Whether a rule of this policy deletes now.
    pub fn deletes(&self, rule: &Rule) -> bool {
        rule.delete && self.may_delete
    }
}

/// The policy of an institution; none where it has none.
///
/// # Errors
/// The registry failed, or the document of the newest version cannot be read.
pub fn current(home: &Home, institution: InstitutionId) -> Result<Option<CurrentPolicy>, EngineError> {
    let newest = home.registry.read(|tx| rows::newest(tx, institution))?;
    newest.map(|newest| loaded(home, institution, &newest)).transpose()
}

/// A version with its rules, which are read once.
fn loaded(home: &Home, institution: InstitutionId, newest: &PolicyVersion) -> Result<CurrentPolicy, EngineError> {
    let (version, may_delete) = (newest.version, newest.may_delete());
    let changed_at = newest.approved.as_ref().map_or(newest.set_at, |(_, at)| *at);
    let lookup = if let Some(known) = home.policies.get(institution, version) {
        known
    } else {
        let lookup = Arc::new(Lookup::new(read(&home.registry, institution, version)?));
        home.policies.put(institution, version, lookup.clone());
        lookup
    };
    Ok(CurrentPolicy { version, may_delete, changed_at, lookup })
}

/// The document of a version.
pub(crate) fn read(registry: &Registry, institution: InstitutionId, version: u64) -> Result<Policy, EngineError> {
    let text = registry.read(|tx| rows::document(tx, institution, version))?;
    let error = match Policy::from_json(&text) {
        Ok(policy) => return Ok(policy),
        Err(error) => error,
    };
    let of = registry.read(|tx| tenants::institution_by_id(tx, Scope::System, institution))?;
    Err(unreadable(&of.map(|of| of.identifier).unwrap_or_default(), version, &error))
}

/// What differs between a version and the one before it, in words.
pub(crate) fn changes_of(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    version: &PolicyVersion,
) -> Result<Vec<String>, RegistryError> {
    let mut document = |number| -> Result<Result<Policy, DuplicationError>, RegistryError> {
        if number == 0 {
            return Ok(Ok(Policy::default()));
        }
        Ok(Policy::from_json(&rows::document(tx, institution, number)?))
    };
    let (before, after) = (document(version.version.saturating_sub(1))?, document(version.version)?);
    Ok(match (before, after) {
        (Ok(before), Ok(after)) => strongroom_duplication::changes(&before, &after),
        _ => vec!["not known: the document of this version, or of the one before, cannot be read".to_owned()],
    })
}

fn unreadable(institution: &str, version: u64, error: &DuplicationError) -> EngineError {
    let reason = crate::error::chain(error);
    EngineError::CheckFailed(format!("version {version} of the duplication policy cannot be used: {reason}")).next(format!(
        "set the policy again with \"strongroom duplicate policy set FILE --reason TEXT --if-version {version} --institution {institution}\"; \
         until then nothing of this institution is copied, and others are not affected"
    ))
}

impl CachedPolicies {
    fn get(&self, institution: InstitutionId, version: u64) -> Option<Arc<Lookup>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, lookup) = cached.get(&institution)?;
        (*known == version).then(|| lookup.clone())
    }

    fn put(&self, institution: InstitutionId, version: u64, lookup: Arc<Lookup>) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= MOST_CACHED && !cached.contains_key(&institution) {
            cached.pop_first();
        }
        cached.insert(institution, (version, lookup));
    }
}

/// Since when the deletions of a route are counted together: for a day, and since a person has allowed some last.
fn counted_since(tx: &mut dyn Transaction, route: &Route, now: Time) -> Result<Time, RegistryError> {
    let since = now.plus(COUNTED_FOR.saturating_neg());
    Ok(sweeps::last_allowed(tx, route.id)?.map_or(since, |allowed| allowed.max(since)))
}

/// The plain stores to which a rule of a newest policy copies.
pub(crate) fn destinations(home: &Home) -> Result<BTreeSet<String>, EngineError> {
    let policies = events::policies(home)?;
    Ok(policies.iter().flat_map(|(_, policy)| policy.lookup().destinations()).map(str::to_owned).collect())
}
