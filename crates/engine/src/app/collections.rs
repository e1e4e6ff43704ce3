//! Collections: objects under one set of rules.

use strongroom_bagit::Profile;
use strongroom_registry::tenants::{self, Collection, CollectionRules};
use strongroom_registry::{
    CollectionId, InstitutionId, PublicAccess, RegistryError, Scope, Time, Transaction, profiles,
};

use super::authorization::{
    COLLECTIONS_ADD, COLLECTIONS_LIST, COLLECTIONS_REMOVE, COLLECTIONS_SET, COLLECTIONS_SHOW, Permission,
};
use super::views::CollectionView;
use super::{Authorized, OpContext};
use crate::EngineError;
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
    let (scope, identifier) = (authorized.scope(), collection.to_owned());
    Ok(authorized.write(move |tx| {
        require_profile(tx, &rules)?;
        tenants::add_collection(tx, CollectionId::new(), institution.id, &identifier, &rules)?;
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
    let rules = checked(rules, rules_of(&found), &authorized)?;
    let scope = authorized.scope();
    Ok(authorized.write(move |tx| {
        require_profile(tx, &rules)?;
        tenants::set_collection(tx, found.id, &rules, true)?;
        told(tx, scope, found.institution, &found.identifier)
    })?)
}

/// Puts a collection away: nothing more is deposited in it; what is kept stays.
pub fn remove(context: &OpContext, institution: &str, collection: &str) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_REMOVE, institution, collection)?;
    let (rules, scope) = (rules_of(&found), authorized.scope());
    Ok(authorized.write(move |tx| {
        tenants::set_collection(tx, found.id, &rules, false)?;
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

fn rules_of(record: &Collection) -> CollectionRules {
    CollectionRules {
        name: record.name.clone(),
        profile: record.profile.clone(),
        profile_version: record.profile_version,
        placement: record.placement.clone(),
        held: record.held,
        public: record.public,
        embargo_until: record.embargo_until,
    }
}

/// Refuses rules with a profile that is not for new deposits, in the transaction that sets them: a profile is not removed while
/// a collection names it.
fn require_profile(tx: &mut dyn Transaction, rules: &CollectionRules) -> Result<(), RegistryError> {
    match &rules.profile {
        Some(name) => profiles::usable(tx, name, rules.profile_version, "name it in a collection").map(drop),
        None => Ok(()),
    }
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
    };
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
    if let Some(placement) = &rules.placement
        && settings.placement(placement).is_none()
    {
        let near = nearest(placement, settings.placements.keys().map(String::as_str)).unwrap_or_default();
        return Err(EngineError::Usage(format!("there is no placement {placement:?}; the nearest is {near}"))
            .next("placements are made in the settings, under [placements]"));
    }
    Ok(rules)
}
