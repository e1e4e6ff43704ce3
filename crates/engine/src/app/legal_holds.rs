//! Legal holds: what forbids the deletion of a collection, an object or a file, until it is released.
//!
//! One person places and releases them: a hold that is placed by mistake keeps something for longer, and one that is released by mistake
//! deletes nothing, since every deletion takes two persons.

use strongroom_registry::begun_deletions::{self, BegunDeletion};
use strongroom_registry::legal_holds::{self, LONGEST_REASON, LegalHold, Listed, NewLegalHold, On};
use strongroom_registry::objects::{self, DEPOSIT, Object};
use strongroom_registry::{
    InstitutionId, JournalOutcome, LegalHoldId, ObjectState, RegistryError, Scope, Transaction, tenants,
};

use super::authorization::{LEGAL_HOLDS_ADD, LEGAL_HOLDS_LIST, LEGAL_HOLDS_RELEASE};
use super::views::LegalHoldView;
use super::{Authorized, OpContext, PAGE, Page, find_institution};
use crate::EngineError;
use crate::arks::find_object;
use crate::content_name::in_package;
use crate::deletion::was_deleted;
use crate::journal::Target;
use crate::legal_holds::{Act, record};
use crate::logs::put_noted;

/// What a hold is to be placed on, by the names that people know.
#[derive(Debug, Clone)]
pub enum Subject {
    /// An object, or files of it.
    Object {
        /// `<institution>/<name>`, the ARK, or an identifier.
        object: String,
        /// The paths of files in the package, a hold for each; none: the whole object.
        paths: Vec<String>,
    },
    /// A collection with every object of it.
    Collection {
        /// The domain name of its institution.
        institution: String,
        /// Its short name.
        collection: String,
    },
}

/// Places a hold on a collection or an object, or one on each of some files, all in one transaction. Each answers with the deletions that
/// have begun, which it does not stop.
///
/// # Errors
/// What it is to be placed on is not there: [`RegistryError::NotFound`]. The reason is empty or too long: [`EngineError::Usage`].
pub fn add(context: &OpContext, subject: &Subject, reason: &str) -> Result<Vec<LegalHoldView>, EngineError> {
    let authorized = context.authorize(&LEGAL_HOLDS_ADD)?;
    let reason = checked_reason(reason)?;
    let (scope, entry) = (authorized.scope(), authorized.entry());
    let (subject, count) = match subject {
        Subject::Object { paths, .. } => (subject.clone(), paths.len().max(1)),
        Subject::Collection { .. } => (subject.clone(), 1),
    };
    // Fixed before the transaction, which may run again.
    let ids: Vec<LegalHoldId> = (0..count).map(|_| LegalHoldId::new()).collect();
    let (placed, logs) = authorized.home().registry.write(move |tx| {
        let (mut placed, mut logs) = (Vec::new(), Vec::new());
        for ((institution, on), id) in targets(tx, scope, &subject)?.into_iter().zip(&ids) {
            let new = NewLegalHold { id: *id, on, institution, reason: &reason, actor: &entry.actor };
            let begun = legal_holds::place(tx, &new)?;
            let hold = existing(tx, scope, *id)?;
            logs.extend(record(tx, &hold, Act::Placed, &entry.actor)?);
            entry.append(tx, &target(&hold), JournalOutcome::Done, Some(&detail(&hold, &hold.reason)))?;
            placed.push(LegalHoldView::new(hold, &begun));
        }
        Ok::<_, EngineError>((placed, logs))
    })?;
    put_noted(authorized.home(), &logs);
    Ok(placed)
}

/// Releases a hold; others on the same target stay.
///
/// # Errors
/// There is no such hold, or it was released before.
pub fn release(context: &OpContext, hold: &str, reason: &str) -> Result<LegalHoldView, EngineError> {
    let authorized = context.authorize(&LEGAL_HOLDS_RELEASE)?;
    let reason = checked_reason(reason)?;
    let id = authorized.named::<LegalHoldId>(hold)?;
    let (scope, entry) = (authorized.scope(), authorized.entry());
    let (released, logs) = authorized.home().registry.write(move |tx| {
        let released = legal_holds::release(tx, scope, id, (&reason, &entry.actor))?;
        let logs = record(tx, &released, Act::Released, &entry.actor)?;
        entry.append(tx, &target(&released), JournalOutcome::Done, Some(&detail(&released, &reason)))?;
        Ok::<_, EngineError>((LegalHoldView::new(released, &[]), logs))
    })?;
    put_noted(authorized.home(), &logs);
    Ok(released)
}

/// Which holds are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only those on this object and on its files.
    pub object: Option<String>,
    /// Only those on the collection of this name itself, as
    /// [`scope_of_collection`](super::collections) takes it.
    pub collection: Option<String>,
    /// Also those that were released.
    pub released_too: bool,
}

/// Holds, the oldest first, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<LegalHoldId>,
) -> Result<Page<LegalHoldView, LegalHoldId>, EngineError> {
    let authorized = context.authorize(&LEGAL_HOLDS_LIST)?;
    let (scope, listed) = listed(&authorized, filter)?;
    let items = authorized.read(|tx| {
        let found = legal_holds::list(tx, scope, (listed, filter.released_too), after, PAGE)?;
        let view = |hold: LegalHold| {
            let begun = if hold.release.is_none() { begun(tx, hold.on)? } else { Vec::new() };
            Ok(LegalHoldView::new(hold, &begun))
        };
        found.into_iter().map(view).collect::<Result<Vec<_>, RegistryError>>()
    })?;
    let next = items.last().map(|last| last.legal_hold);
    Ok(Page { items, next })
}

fn listed(authorized: &Authorized<'_>, filter: &Filter) -> Result<(Scope, Listed), EngineError> {
    if let Some(object) = &filter.object {
        let scope = authorized.scope_of(filter.institution.as_deref())?;
        let found = authorized.read(|tx| find_object(tx, scope, object))?;
        return Ok((scope, Listed::OfObject(found.id)));
    }
    let (institution, collection) = (filter.institution.as_deref(), filter.collection.as_deref());
    let (scope, collection) = super::collections::scope_of_collection(authorized, institution, collection)?;
    Ok((scope, collection.map_or(Listed::All, Listed::OfCollection)))
}

fn begun(tx: &mut dyn Transaction, on: On) -> Result<Vec<BegunDeletion>, RegistryError> {
    match on {
        On::Collection(id) => begun_deletions::of_collection(tx, id),
        On::Object(object) | On::File { object, .. } => begun_deletions::of_object(tx, object),
    }
}

/// What the names mean, with whose it is.
fn targets(tx: &mut dyn Transaction, scope: Scope, subject: &Subject) -> Result<Vec<(InstitutionId, On)>, EngineError> {
    match subject {
        Subject::Collection { institution, collection } => {
            let institution = find_institution(tx, scope, institution)?;
            let found = tenants::collection(tx, scope, institution.id, collection)?
                .ok_or_else(|| RegistryError::NotFound { what: "collection", id: collection.clone() })?;
            Ok(vec![(institution.id, On::Collection(found.id))])
        }
        Subject::Object { object, paths } => {
            let found = find_object(tx, scope, object)?;
            if found.state == ObjectState::Deleted {
                return Err(was_deleted(&found.identifier));
            }
            if paths.is_empty() {
                return Ok(vec![(found.institution, On::Object(found.id))]);
            }
            let file = |path: &String| file(tx, &found, path).map(|on| (found.institution, on));
            paths.iter().map(file).collect()
        }
    }
}

/// The file of an object that has a path, also one that the newest version does not have.
fn file(tx: &mut dyn Transaction, object: &Object, path: &str) -> Result<On, EngineError> {
    let at = format!("{DEPOSIT}{}", path.trim_start_matches("./"));
    let (file, _) = objects::current(tx, object.id, &at)?
        .ok_or_else(|| RegistryError::NotFound { what: "file", id: format!("{}: {path}", object.identifier) })?;
    Ok(On::File { object: object.id, file })
}

fn existing(tx: &mut dyn Transaction, scope: Scope, id: LegalHoldId) -> Result<LegalHold, RegistryError> {
    legal_holds::get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "legal hold", id: id.to_string() })
}

/// A reason without blanks around it.
fn checked_reason(reason: &str) -> Result<String, EngineError> {
    let reason = reason.trim();
    let length = reason.chars().count();
    if !(1..=LONGEST_REASON).contains(&length) || reason.contains('\0') {
        return Err(EngineError::Usage(format!(
            "a reason has 1 to {LONGEST_REASON} characters, and this one {length}"
        ))
        .next("give --reason, such as \"Smith v. Jones, letter of 3 May\""));
    }
    Ok(reason.to_owned())
}

/// What the journal names.
fn target(hold: &LegalHold) -> Target {
    let name = match (&hold.collection_identifier, &hold.object_identifier, &hold.path) {
        (Some(collection), _, _) => format!("{}/{collection}", hold.institution_identifier),
        (None, Some(object), Some(path)) => format!("{object}: {}", in_package(path)),
        (None, object, _) => object.clone().unwrap_or_default(),
    };
    let target = Target::of(hold.institution, name);
    match &hold.object_identifier {
        Some(object) => target.about(object.clone()),
        None => target,
    }
}

fn detail(hold: &LegalHold, reason: &str) -> String {
    format!("legal hold {}: {reason}", hold.id)
}
