//! Collections: objects under one set of rules.

use strongroom_bagit::Profile;
use strongroom_registry::notifications::{self, Notifications};
use strongroom_registry::tenants::{self, Collection, CollectionRules};
use strongroom_registry::{
    CollectionId, InstitutionId, MailKind, PublicAccess, RegistryError, Scope, Time, Transaction, profiles,
};

use super::authorization::{
    COLLECTIONS_ADD, COLLECTIONS_LIST, COLLECTIONS_REMOVE, COLLECTIONS_SET, COLLECTIONS_SHOW, Permission,
};
use super::views::CollectionView;
use super::{Authorized, OpContext};
use crate::EngineError;
use crate::journal::Target;
use crate::notifications::{callback_client, mailbox};
use crate::settings::nearest;

/// The addresses that a collection has at most.
const MOST_ADDRESSES: usize = 100;

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
    /// The addresses that mails about its batches go to; an empty text alone takes all away.
    pub notify_to: Option<Vec<String>>,
    /// The kinds of mails that are not sent.
    pub suppress: Option<Vec<MailKind>>,
    /// The URL that events of its batches are posted to.
    pub callback_url: Option<String>,
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
    Ok(authorized.read(|tx| found.iter().map(|collection| CollectionView::read(tx, collection)).collect())?)
}

/// A collection of an institution.
pub fn show(context: &OpContext, institution: &str, collection: &str) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_SHOW, institution, collection)?;
    Ok(authorized.read(|tx| CollectionView::read(tx, &found))?)
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
    let change = NotificationChange::of(&rules, &authorized)?;
    let rules = checked(rules, blank, &authorized)?;
    let (scope, identifier) = (authorized.scope(), collection.to_owned());
    Ok(authorized.write(move |tx| {
        require_profile(tx, &rules)?;
        let id = CollectionId::new();
        tenants::add_collection(tx, id, institution.id, &identifier, &rules)?;
        change.apply(tx, id)?;
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
    let change = NotificationChange::of(&rules, &authorized)?;
    let rules = checked(rules, rules_of(&found), &authorized)?;
    let scope = authorized.scope();
    Ok(authorized.write(move |tx| {
        require_profile(tx, &rules)?;
        tenants::set_collection(tx, found.id, &rules, true)?;
        change.apply(tx, found.id)?;
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
    Ok((target, CollectionView::read(tx, &found)?))
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

/// What is to be changed of who hears of a collection's batches.
#[derive(Debug, Clone, Default)]
struct NotificationChange {
    addresses: Option<Vec<String>>,
    suppressed: Option<Vec<MailKind>>,
    /// An empty text takes it away.
    callback_url: Option<String>,
}

impl NotificationChange {
    /// What is asked, where it can be used.
    fn of(asked: &Rules, authorized: &Authorized<'_>) -> Result<Self, EngineError> {
        let addresses = asked.notify_to.as_ref().map(|addresses| {
            let given = addresses.iter().map(|address| address.trim()).filter(|address| !address.is_empty());
            given.map(str::to_owned).collect::<Vec<_>>()
        });
        let addresses_given = addresses.iter().flatten();
        if let Some(wrong) = addresses_given.map(|address| mailbox(address)).find_map(Result::err) {
            return Err(EngineError::Usage(wrong).next("give one such as ann@example.edu"));
        }
        if addresses.as_ref().is_some_and(|addresses| addresses.len() > MOST_ADDRESSES) {
            return Err(EngineError::Usage(format!("a collection can have at most {MOST_ADDRESSES} addresses"))
                .next("give the address of a mailing list"));
        }
        let mut suppressed = asked.suppress.clone();
        if let Some(kinds) = &mut suppressed {
            kinds.sort_unstable();
            kinds.dedup();
        }
        if let Some(url) = asked.callback_url.as_deref().filter(|url| !url.is_empty()) {
            check_url(url, authorized)?;
        }
        Ok(Self { addresses, suppressed, callback_url: asked.callback_url.clone() })
    }

    fn apply(&self, tx: &mut dyn Transaction, collection: CollectionId) -> Result<(), RegistryError> {
        let Self { addresses, suppressed, callback_url } = self;
        if addresses.is_none() && suppressed.is_none() && callback_url.is_none() {
            return Ok(());
        }
        let holds = notifications::get(tx, collection)?;
        let notifications = Notifications {
            addresses: addresses.clone().unwrap_or(holds.addresses),
            suppressed: suppressed.clone().unwrap_or(holds.suppressed),
            callback_url: callback_url.clone().or(holds.callback_url).filter(|url| !url.is_empty()),
        };
        notifications::set(tx, collection, &notifications)
    }
}

/// Refuses a URL that callbacks cannot be posted to by the settings.
fn check_url(url: &str, authorized: &Authorized<'_>) -> Result<(), EngineError> {
    callback_client(authorized.home())?.check(url).map_err(|error| {
        EngineError::Usage(error.to_string()).next("[callbacks] of the settings says which URLs may be used")
    })
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
