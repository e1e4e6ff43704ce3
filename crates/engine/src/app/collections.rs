//! Collections: objects under one set of rules.

use strongroom_bagit::Profile;
use strongroom_registry::holds::{self, On};
use strongroom_registry::items::{self, Asker};
use strongroom_registry::notifications::Notifications;
use strongroom_registry::tenants::{self, Collection, CollectionRules};
use strongroom_registry::{
    CollectionId, InstitutionId, ItemStatus, MailKind, Period, PublicAccess, RegistryError, Scope, Time, Transaction,
    counted, profiles,
};

use super::authorization::{
    COLLECTIONS_ADD, COLLECTIONS_LIST, COLLECTIONS_REMOVE, COLLECTIONS_SET, COLLECTIONS_SHOW, COLLECTIONS_STEER,
    Permission, Role,
};
use super::items::Ask;
use super::views::{CollectionView, RulesView};
use super::{Authorized, OpContext, PAGE, Page};
use crate::ingest::DepositKind;
use crate::journal::Target;
use crate::notifications::{callback_client, checked_addresses};
use crate::settings::nearest;
use crate::{EngineError, background};

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
    /// Whether it is to be on hold; see [`hold`].
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
    /// For how long nothing of an object is deleted after it was deposited last; `Some(None)`: for no time. Only a system admin may shorten it.
    pub retention: Option<Option<Period>>,
    /// How long after that its objects are due for disposal; `Some(None)`: never.
    pub disposal: Option<Option<Period>>,
    /// The addresses that mails about its batches go to; an empty text alone takes all away.
    pub notify_to: Option<Vec<String>>,
    /// The kinds of mails that are not sent.
    pub suppress: Option<Vec<MailKind>>,
    /// The URL that events of its batches are posted to; an empty text takes it away.
    pub callback_url: Option<String>,
    /// Whether a deposit succeeds only when the program at that URL has confirmed its event.
    pub callback_required: Option<bool>,
}

/// Collections of an institution, or all, in order of institution and name; those that were removed only where they are asked for.
pub fn list(
    context: &OpContext,
    institution: Option<&str>,
    removed_too: bool,
) -> Result<Vec<CollectionView>, EngineError> {
    let authorized = context.authorize(&COLLECTIONS_LIST)?;
    let scope = authorized.scope_of(institution)?;
    Ok(authorized.read(|tx| {
        let found = tenants::collections(tx, scope, removed_too)?;
        found.iter().map(|collection| CollectionView::read(tx, collection)).collect()
    })?)
}

/// A collection of an institution.
pub fn show(context: &OpContext, institution: &str, collection: &str) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_SHOW, institution, collection)?;
    Ok(authorized.read(|tx| CollectionView::read(tx, &found))?)
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
    let (is_held, who) = (rules.held, authorized.actor().name.clone());
    let placed_by = authorized.actor().to_string();
    let rules = checked(rules, blank, &authorized)?;
    let (scope, identifier) = (authorized.scope(), collection.to_owned());
    let known = authorized.read(|tx| tenants::collection(tx, scope, institution.id, collection))?;
    if let Some(removed) = known.filter(|known| !known.active) {
        let of = &removed.institution_identifier;
        return Err(EngineError::Exists(format!("a collection {collection:?} exists already, and was removed")).next(
            format!("\"strongroom collection remove {collection} --institution {of} --undo\" has it used again"),
        ));
    }
    Ok(authorized.write(move |tx| {
        require_profile(tx, &rules)?;
        let id = CollectionId::new();
        tenants::add_collection(tx, id, institution.id, &identifier, (&rules, &who))?;
        if is_held == Some(true) {
            holds::place(tx, On::Collection(id), institution.id, Asker::from(&placed_by))?;
        }
        told(tx, scope, institution.id, &identifier)
    })?)
}

/// Changes the rules of a collection. One that was removed stays so.
///
/// # Errors
/// The rules cannot be used: [`EngineError::Usage`].
pub fn set(
    context: &OpContext,
    institution: &str,
    collection: &str,
    rules: Rules,
) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_SET, institution, collection)?;
    let is_held = rules.held;
    let (retention, disposal) = (rules.retention, rules.disposal);
    let may_shorten = authorized.has_role(&[Role::SystemAdmin]);
    if retention.is_some_and(|asked| is_shorter(asked, found.rules.retention)) && !may_shorten {
        return Err(authorized.refused("a retention period is shortened by a system admin only"));
    }
    let rules = checked(rules, found.rules, &authorized)?;
    let (scope, who) = (authorized.scope(), authorized.actor().to_string());
    let asker = who.clone();
    let shown = authorized.write(move |tx| {
        require_profile(tx, &rules)?;
        // What another person has set meanwhile is not set back by the way.
        let known = find(tx, scope, found.institution, &found.identifier)?.rules;
        let rules = CollectionRules {
            retention: retention.unwrap_or(known.retention),
            disposal: disposal.unwrap_or(known.disposal),
            ..rules.clone()
        };
        if is_shorter(rules.retention, known.retention) && !may_shorten {
            return Err(RegistryError::State {
                what: "collection",
                id: found.identifier.clone(),
                state: "changed by another person".to_owned(),
                act: "shorten its retention period, which only a system admin may".to_owned(),
            });
        }
        tenants::set_collection(tx, found.id, (&rules, &asker), None)?;
        match is_held {
            Some(true) => holds::place(tx, On::Collection(found.id), found.institution, Asker::from(&asker))?,
            Some(false) => holds::lift(tx, On::Collection(found.id))?,
            None => false,
        };
        told(tx, scope, found.institution, &found.identifier)
    })?;
    if is_held.is_some() {
        background::holds::settle(authorized.home(), None, &who, &|| false)?;
    }
    Ok(shown)
}

/// Whether a retention period may be over before another one is.
fn is_shorter(asked: Option<Period>, known: Option<Period>) -> bool {
    match (asked, known) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(asked), Some(known)) => asked.may_be_shorter_than(known),
    }
}

/// Refuses rules by which an object is due for disposal while its retention period is not over.
fn check_disposal(rules: &CollectionRules) -> Result<(), EngineError> {
    match (rules.disposal, rules.retention) {
        (Some(disposal), Some(retention)) if disposal.may_be_shorter_than(retention) => Err(EngineError::Usage(
            format!("objects would be due for disposal after {disposal} and be kept for {retention}"),
        )
        .next("give a disposal that is no shorter than the retention, in the same unit")),
        _ => Ok(()),
    }
}

/// Places a hold on a collection: no work item of it begins a stage until the hold is lifted, also none that is made meanwhile. Items whose
/// version is committed go on to their end.
///
/// # Errors
/// It is on hold already: [`EngineError::Refused`].
pub fn hold(
    context: &OpContext,
    institution: &str,
    collection: &str,
    reason: Option<&str>,
) -> Result<CollectionView, EngineError> {
    steer(context, (institution, collection), Ask::Hold, reason)
}

/// Lifts the hold on a collection: its items continue where they stood, but for those that are held by themselves or with their batches.
///
/// # Errors
/// There is no hold on it: [`EngineError::Refused`].
pub fn release(context: &OpContext, institution: &str, collection: &str) -> Result<CollectionView, EngineError> {
    steer(context, (institution, collection), Ask::Release, None)
}

fn steer(
    context: &OpContext,
    (institution, collection): (&str, &str),
    ask: Ask,
    reason: Option<&str>,
) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_STEER, institution, collection)?;
    let (scope, who) = (authorized.scope(), authorized.actor().to_string());
    let (entry, registry) = (authorized.entry_named(ask.act()), &authorized.home().registry);
    let (asker, reason) = (who.clone(), reason.map(str::to_owned));
    let of = found.clone();
    registry.write(move |tx| {
        let on = On::Collection(of.id);
        let name = format!("{}/{}", of.institution_identifier, of.identifier);
        let by = Asker { who: &asker, reason: reason.as_deref() };
        let before = holds::on(tx, on)?;
        let has_changed = match ask {
            Ask::Hold => holds::place(tx, on, of.institution, by)?,
            _ => holds::lift(tx, on)?,
        };
        if !has_changed {
            let why = before.map_or_else(|| "there is no hold on it".to_owned(), |hold| format!("there is {hold}"));
            return Err(EngineError::Refused(format!("could not {} collection {name}: {why}", ask.act())).next(
                format!(
                    "\"strongroom collection show {} --institution {}\" shows it",
                    of.identifier, of.institution_identifier
                ),
            ));
        }
        entry.done(tx, &Target::of(of.institution, name))?;
        Ok::<_, EngineError>(())
    })?;
    background::holds::settle(authorized.home(), None, &who, &|| false)?;
    Ok(authorized.read(|tx| {
        let found = find(tx, scope, found.institution, &found.identifier)?;
        CollectionView::read(tx, &found)
    })?)
}

/// What of a collection has not ended, a sentence each: it goes on or fails when the collection is removed.
pub fn open_work(context: &OpContext, institution: &str, collection: &str) -> Result<Vec<String>, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_SHOW, institution, collection)?;
    open_work_of(&authorized, &found)
}

fn open_work_of(authorized: &Authorized<'_>, found: &Collection) -> Result<Vec<String>, EngineError> {
    let (counts, hold) = authorized.read(|tx| {
        let counts = items::open_of_collection(tx, found.institution, found.id)?;
        Ok::<_, RegistryError>((counts, holds::on(tx, On::Collection(found.id))?))
    })?;
    let sum = |is_held: bool| -> u64 {
        let counts = counts.iter().filter(|(status, _)| (*status == ItemStatus::Held) == is_held);
        counts.map(|(_, count)| count).sum()
    };
    let (open, held) = (sum(false), sum(true));
    let mut told = Vec::new();
    if open > 0 {
        let items = counted(open, "work item of it waits or is worked on", "work items of it wait or are worked on");
        told.push(format!(
            "{items}: one that has not done its first stage fails when it begins it, and others go on to their end"
        ));
    }
    if held > 0 {
        told.push(format!(
            "{}, and do the same when released",
            counted(held, "work item of it is held", "work items of it are held")
        ));
    }
    if let Some(hold) = hold.filter(|_| !told.is_empty()) {
        told.push(format!("there is {hold}, which stays"));
    }
    Ok(told)
}

/// Puts a collection away: nothing more is deposited in it; what is kept stays.
///
/// # Errors
/// Something of it has not ended, and the removal is not confirmed: [`EngineError::Usage`].
pub fn remove(
    context: &OpContext,
    institution: &str,
    collection: &str,
    is_confirmed: bool,
) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_REMOVE, institution, collection)?;
    let open = if is_confirmed { Vec::new() } else { open_work_of(&authorized, &found)? };
    if !open.is_empty() {
        let name = format!("{}/{}", found.institution_identifier, found.identifier);
        return Err(EngineError::Usage(format!("collection {name} has work that has not ended: {}", open.join("; ")))
            .next(format!(
                "\"strongroom items list --collection {name}\" shows it; wait for it, or repeat the command with --yes"
            )));
    }
    let (scope, by) = (authorized.scope(), authorized.actor().to_string());
    Ok(authorized.write(move |tx| {
        let rules = find(tx, scope, found.institution, &found.identifier)?.rules;
        tenants::set_collection(tx, found.id, (&rules, &by), false)?;
        told(tx, scope, found.institution, &found.identifier)
    })?)
}

/// Has a collection that was removed used again, with the rules that it had.
pub fn use_again(context: &OpContext, institution: &str, collection: &str) -> Result<CollectionView, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_SET, institution, collection)?;
    let (scope, by) = (authorized.scope(), authorized.actor().to_string());
    Ok(authorized.write(move |tx| {
        let rules = find(tx, scope, found.institution, &found.identifier)?.rules;
        require_profile(tx, &rules)?;
        tenants::set_collection(tx, found.id, (&rules, &by), true)?;
        told(tx, scope, found.institution, &found.identifier)
    })?)
}

pub(super) fn existing<'c>(
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

/// What the actor sees, narrowed to the institution of this name and to its collection, where they are given. A collection may be named with
/// its institution, `<institution>/<name>`, and without where one institution only has a collection of this name.
pub(super) fn scope_of_collection(
    authorized: &Authorized<'_>,
    institution: Option<&str>,
    collection: Option<&str>,
) -> Result<(Scope, Option<CollectionId>), EngineError> {
    let Some(collection) = collection else { return Ok((authorized.scope_of(institution)?, None)) };
    let (institution, name) = match (institution, collection.split_once('/')) {
        (None, Some((institution, name))) => (Some(institution), name),
        (institution, _) => (institution, collection),
    };
    let scope = authorized.scope_of(institution)?;
    let mut found = authorized.read(|tx| tenants::collections(tx, scope, true))?;
    found.retain(|one| one.identifier == name);
    match found.as_slice() {
        [] => Err(RegistryError::NotFound { what: "collection", id: collection.to_owned() }.into()),
        [one] => Ok((Scope::Institution(one.institution), Some(one.id))),
        several => {
            let names: Vec<&str> = several.iter().map(|one| one.institution_identifier.as_str()).take(NAMED).collect();
            Err(EngineError::Usage(format!("several institutions have a collection {name}: {}", names.join(", ")))
                .next("give --institution"))
        }
    }
}

/// Institutions that are named where several have a collection.
const NAMED: usize = 5;

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

/// What is asked of who hears of a collection's batches laid over what holds, where it can be used.
fn told_by(asked: &Rules, known: Notifications, authorized: &Authorized<'_>) -> Result<Notifications, EngineError> {
    let mut told = known;
    if let Some(addresses) = &asked.notify_to {
        told.addresses = checked_addresses(addresses)?;
    }
    if let Some(kinds) = &asked.suppress {
        told.suppressed.clone_from(kinds);
        told.suppressed.sort_unstable();
        told.suppressed.dedup();
    }
    if let Some(url) = &asked.callback_url {
        told.callback_url = Some(url.clone()).filter(|url| !url.is_empty());
        // What nothing is posted to confirms nothing.
        told.is_callback_required &= told.callback_url.is_some();
    }
    told.is_callback_required = asked.callback_required.unwrap_or(told.is_callback_required);
    if let Some(url) = told.callback_url.as_deref().filter(|_| asked.callback_url.is_some()) {
        check_url(url, authorized)?;
    }
    if told.is_callback_required && told.callback_url.is_none() {
        return Err(EngineError::Usage(
            "a callback is required, and there is no URL that events are posted to".to_owned(),
        )
        .next("give --callback-url, too"));
    }
    Ok(told)
}

/// Refuses a URL that callbacks cannot be posted to by the settings.
pub(super) fn check_url(url: &str, authorized: &Authorized<'_>) -> Result<(), EngineError> {
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

/// The least urgent priority that can be set.
pub(super) const MOST_PRIORITY: u64 = 99;

/// Types of submission as the registry keeps them.
fn words(accepted: Vec<DepositKind>) -> Vec<String> {
    accepted.into_iter().map(|kind| kind.as_str().to_owned()).collect()
}

/// What is asked laid over what holds, with names that exist.
fn checked(asked: Rules, known: CollectionRules, authorized: &Authorized<'_>) -> Result<CollectionRules, EngineError> {
    let over = |asked: Option<String>, known: Option<String>| match asked {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text),
        None => known,
    };
    let profile_version = match (&asked.profile, asked.profile_version) {
        (None, None) => known.profile_version,
        (_, version) => version.filter(|version| *version > 0),
    };
    let notifications = told_by(&asked, known.notifications, authorized)?;
    let rules = CollectionRules {
        name: asked.name.unwrap_or(known.name),
        profile: over(asked.profile, known.profile).map(|name| Profile::canonical_name(&name)),
        profile_version,
        placement: over(asked.placement, known.placement),
        public: asked.public.unwrap_or(known.public),
        embargo_until: asked.embargo_until.unwrap_or(known.embargo_until),
        priority: asked.priority.unwrap_or(known.priority),
        accepted: asked.accepted.map_or(known.accepted, words),
        most_bytes: asked.most_bytes.or(known.most_bytes).filter(|most| *most > 0),
        most_rows: asked.most_rows.or(known.most_rows).filter(|most| *most > 0),
        shoulder: over(asked.shoulder, known.shoulder),
        retention: asked.retention.unwrap_or(known.retention),
        disposal: asked.disposal.unwrap_or(known.disposal),
        notifications,
    };
    if let Some(priority) = rules.priority.filter(|priority| *priority > MOST_PRIORITY) {
        return Err(EngineError::Usage(format!("{priority} is no priority"))
            .next(format!("give one from 0, the most urgent, to {MOST_PRIORITY}")));
    }
    check_disposal(&rules)?;
    match &rules.profile {
        Some(profile) => {
            let profiles = authorized.read(profiles::list)?;
            if !profiles.iter().any(|one| one.name == *profile) {
                let usable = profiles.iter().filter(|one| one.is_usable());
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
