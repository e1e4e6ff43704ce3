//! Collections: objects under one set of rules.

use strongroom_bagit::Profile;
use strongroom_registry::tenants::{self, Collection, CollectionRules};
use strongroom_registry::{
    CollectionId, InstitutionId, PublicAccess, RegistryError, Scope, Time, Transaction, profiles,
};

use super::authorization::{
    COLLECTIONS_ADD, COLLECTIONS_LIST, COLLECTIONS_REMOVE, COLLECTIONS_SET, COLLECTIONS_SHOW, Permission,
};
use super::views::{CollectionView, RulesView};
use super::{Authorized, OpContext, PAGE, Page};
use crate::EngineError;
use crate::ingest::DepositKind;
use crate::journal::Target;
use crate::settings::nearest;

/// What is to be changed of a collection's rules; what is absent stays, an empty text takes a rule away.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The display name.
    pub name: Option<String>,
    /// The profile its bags must keep.
    pub profile: Option<String>,
    /// Which version of it; 0 for the newest at the time of each deposit, as where only a profile is given.
    pub profile_version: Option<u64>,
    /// The placement of its objects where a deposit names none.
    pub placement: Option<String>,
    /// Whether its deposits wait until a person releases them.
    pub held: Option<bool>,
    /// What the public may see of it.
    pub public: Option<PublicAccess>,
    /// From when on; `Some(None)` ends an embargo.
    pub embargo_until: Option<Option<Time>>,
    /// The priority of its deposits, from 0 to 99, lower is sooner; `Some(None)`: by the size of the batch.
    pub priority: Option<Option<u64>>,
    /// The types of submission that it takes; an empty list: all.
    pub accepted: Option<Vec<DepositKind>>,
    /// The most bytes of a package; 0: no limit.
    pub most_bytes: Option<u64>,
    /// The most rows of a batch manifest; 0: no limit.
    pub most_rows: Option<u64>,
    /// What the names of its new ARKs begin with.
    pub shoulder: Option<String>,
}

/// Collections of an institution, or all, in order of institution and name; those that were removed only where they are asked for.
pub fn list(
    context: &OpContext,
    institution: Option<&str>,
    removed_too: bool,
) -> Result<Vec<CollectionView>, EngineError> {
    let authorized = context.authorize(&COLLECTIONS_LIST)?;
    let scope = authorized.scope_of(institution)?;
    let found = authorized.read(|tx| tenants::collections(tx, scope, removed_too))?;
    Ok(found.iter().map(CollectionView::from).collect())
}

/// A collection of an institution.
pub fn show(context: &OpContext, institution: &str, collection: &str) -> Result<CollectionView, EngineError> {
    let (_, found) = existing(context, &COLLECTIONS_SHOW, institution, collection)?;
    Ok(CollectionView::from(&found))
}

/// The versions of the rules of a collection, oldest first, after `after`. A batch keeps the version that it began with.
pub fn rules(
    context: &OpContext,
    (institution, collection): (&str, &str),
    after: Option<u64>,
) -> Result<Page<RulesView, u64>, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_SHOW, institution, collection)?;
    let versions = authorized.read(|tx| tenants::rules_of(tx, found.id, after.unwrap_or(0), PAGE))?;
    let next = versions.last().map(|last| last.version);
    Ok(Page { items: versions.iter().map(RulesView::from).collect(), next })
}

/// Adds a collection to an institution.
pub fn add(
    context: &OpContext,
    institution: &str,
    collection: &str,
    rules: Rules,
) -> Result<CollectionView, EngineError> {
    let (authorized, institution) = context.authorize_in(&COLLECTIONS_ADD, institution)?;
    let is_short_name = !collection.is_empty()
        && collection.len() <= 100
        && collection.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !is_short_name {
        return Err(EngineError::Usage(format!("{collection:?} cannot name a collection"))
            .next("give up to 100 letters, digits, dots, - and _"));
    }
    let blank = CollectionRules { name: collection.to_owned(), ..CollectionRules::default() };
    let rules = checked(rules, blank, &authorized)?;
    let (scope, identifier, by) = (authorized.scope(), collection.to_owned(), authorized.actor().name.clone());
    Ok(authorized.write(move |tx| {
        require_profile(tx, &rules)?;
        tenants::add_collection(tx, CollectionId::new(), institution.id, &identifier, (&rules, &by))?;
        told(tx, scope, institution.id, &identifier)
    })?)
}

/// Changes the rules of a collection, and activates one again that was removed.
pub fn set(
    context: &OpContext,
    institution: &str,
    collection: &str,
    rules: Rules,
) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_SET, institution, collection)?;
    let rules = checked(rules, found.rules, &authorized)?;
    let (scope, by) = (authorized.scope(), authorized.actor().name.clone());
    Ok(authorized.write(move |tx| {
        require_profile(tx, &rules)?;
        tenants::set_collection(tx, found.id, (&rules, &by), true)?;
        told(tx, scope, found.institution, &found.identifier)
    })?)
}

/// Puts a collection away: nothing more is deposited in it; what is kept stays.
pub fn remove(context: &OpContext, institution: &str, collection: &str) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_REMOVE, institution, collection)?;
    let (scope, by) = (authorized.scope(), authorized.actor().name.clone());
    Ok(authorized.write(move |tx| {
        tenants::set_collection(tx, found.id, (&found.rules, &by), false)?;
        told(tx, scope, found.institution, &found.identifier)
    })?)
}

fn existing<'c>(
    context: &'c OpContext,
    permission: &'static Permission,
    institution: &str,
    collection: &str,
) -> Result<(Authorized<'c>, Collection), EngineError> {
    let (authorized, institution) = context.authorize_in(permission, institution)?;
    let found = authorized.read(|tx| find(tx, authorized.scope(), institution.id, collection))?;
    Ok((authorized, found))
}

fn find(
    tx: &mut dyn Transaction,
    scope: Scope,
    institution: InstitutionId,
    identifier: &str,
) -> Result<Collection, RegistryError> {
    tenants::collection(tx, scope, institution, identifier)?
        .ok_or_else(|| RegistryError::NotFound { what: "collection", id: identifier.to_owned() })
}

/// A collection as it stands after a change, for the answer and for the journal.
fn told(
    tx: &mut dyn Transaction,
    scope: Scope,
    institution: InstitutionId,
    identifier: &str,
) -> Result<(Target, CollectionView), RegistryError> {
    let found = find(tx, scope, institution, identifier)?;
    let target = Target::of(institution, format!("{}/{identifier}", found.institution_identifier));
    Ok((target, CollectionView::from(&found)))
}

/// Refuses rules with a profile that is not for new deposits, in the transaction that sets them: a profile is not removed while
/// a collection names it.
fn require_profile(tx: &mut dyn Transaction, rules: &CollectionRules) -> Result<(), RegistryError> {
    match &rules.profile {
        Some(name) => profiles::usable(tx, name, rules.profile_version, "name it in a collection").map(drop),
        None => Ok(()),
    }
}

/// The least urgent priority that can be set.
pub(super) const MOST_PRIORITY: u64 = 99;

/// Types of submission as the registry keeps them.
fn words(accepted: Vec<DepositKind>) -> Vec<String> {
    accepted.into_iter().map(|kind| kind.as_str().to_owned()).collect()
}

/// What is asked laid over what holds, with names that exist.
fn checked(asked: Rules, holds: CollectionRules, authorized: &Authorized<'_>) -> Result<CollectionRules, EngineError> {
    let over = |asked: Option<String>, holds: Option<String>| match asked {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text),
        None => holds,
    };
    let profile_version = match (&asked.profile, asked.profile_version) {
        (None, None) => holds.profile_version,
        (_, version) => version.filter(|version| *version > 0),
    };
    let rules = CollectionRules {
        name: asked.name.unwrap_or(holds.name),
        profile: over(asked.profile, holds.profile).map(|name| Profile::canonical_name(&name)),
        profile_version,
        placement: over(asked.placement, holds.placement),
        held: asked.held.unwrap_or(holds.held),
        public: asked.public.unwrap_or(holds.public),
        embargo_until: asked.embargo_until.unwrap_or(holds.embargo_until),
        priority: asked.priority.unwrap_or(holds.priority),
        accepted: asked.accepted.map_or(holds.accepted, words),
        most_bytes: asked.most_bytes.or(holds.most_bytes).filter(|most| *most > 0),
        most_rows: asked.most_rows.or(holds.most_rows).filter(|most| *most > 0),
        shoulder: over(asked.shoulder, holds.shoulder),
    };
    if let Some(priority) = rules.priority.filter(|priority| *priority > MOST_PRIORITY) {
        return Err(EngineError::Usage(format!("{priority} is no priority"))
            .next(format!("give one from 0, the most urgent, to {MOST_PRIORITY}")));
    }
    match &rules.profile {
        Some(profile) => {
            let known = authorized.read(profiles::list)?;
            if !known.iter().any(|one| one.name == *profile) {
                let usable = known.iter().filter(|one| one.is_usable());
                let near = nearest(profile, usable.map(|one| one.name.as_str())).unwrap_or_default();
                return Err(EngineError::Usage(format!("there is no profile {profile:?}; the nearest is {near}"))
                    .next("\"strongroom profile list\" shows those there are"));
            }
        }
        None if rules.profile_version.is_some() => {
            return Err(EngineError::Usage("a version of a profile is asked for, and no profile".to_owned())
                .next("name the profile, too"));
        }
        None => {}
    }
    let settings = &authorized.home().settings;
    if let Some(shoulder) = &rules.shoulder
        && !settings.identifiers.has_shoulder(shoulder)
    {
        return Err(EngineError::Usage(format!("the settings name no shoulder {shoulder:?}"))
            .next("name it in the settings, in identifiers.shoulders: no other program may make names below it"));
    }
    if let Some(placement) = &rules.placement
        && settings.placement(placement).is_none()
    {
        let near = nearest(placement, settings.placements.keys().map(String::as_str)).unwrap_or_default();
        return Err(EngineError::Usage(format!("there is no placement {placement:?}; the nearest is {near}"))
            .next("placements are made in the settings, under [placements]"));
    }
    Ok(rules)
}
