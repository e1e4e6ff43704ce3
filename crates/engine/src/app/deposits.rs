//! Deposits: packages that are submitted, and how each ended.

use strongroom_digest::{Algorithm, Digest};
use strongroom_registry::tenants::{self, Institution};
use strongroom_registry::{ItemId, RegistryError, Scope, Transaction, items, parts};

use super::authorization::{DEPOSITS_SUBMIT, INSTITUTIONS_LIST, ITEMS_SHOW};
use super::views::{DepositView, SubmittedView};
use super::{OpContext, PAGE};
use crate::EngineError;
use crate::ingest::{DepositRequest, deposit};
use crate::notifications::checked_addresses;
use crate::paging;

pub use crate::ingest::{DepositKind, DepositMode, GivenDescription, PackageSource, delete_paths, read_description};

/// What a depositor asks for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The institution's domain name; where absent, the only one that may deposit and that the actor sees.
    pub institution: Option<String>,
    /// The collection's short name.
    pub collection: Option<String>,
    /// What is deposited.
    pub kind: DepositKind,
    /// Where the packages lie, one work item each.
    pub sources: Vec<PackageSource>,
    /// The depositor's own identifiers of the object.
    pub local_ids: Vec<String>,
    /// The object's name or its ARK, where the package does not say.
    pub primary_id: Option<String>,
    /// What describes the object.
    pub description: GivenDescription,
    /// Where its copies belong, where the package does not say.
    pub placement: Option<String>,
    /// What becomes of files that the object has already; the kind of the package decides where it is not given.
    pub mode: Option<DepositMode>,
    /// Paths that the object does not have any more from the new version on.
    pub delete: Vec<String>,
    /// A note to keep with batch and items.
    pub note: Option<String>,
    /// The digest that the package must have as a file, for a single serialized one.
    pub digest: Option<(Algorithm, Digest)>,
    /// The objects must exist already.
    pub update: bool,
    /// The addresses that mails about the batch go to, instead of those of the collection.
    pub notify_to: Vec<String>,
}

/// Makes a batch and its work items. Nothing is made when anything of the request is wrong.
///
/// # Errors
/// Something that the request names does not exist or cannot be deposited; or an actor who acts for one institution names a path
/// of the server.
pub fn submit(context: &OpContext, request: Request) -> Result<SubmittedView, EngineError> {
    let institution = if let Some(institution) = &request.institution {
        institution.clone()
    } else {
        refuse_institution_in(request.collection.as_deref())?;
        only_institution(context)?
    };
    let authorized = context.authorize(&DEPOSITS_SUBMIT)?;
    let request = DepositRequest {
        scope: authorized.scope(),
        institution,
        collection: request.collection,
        kind: request.kind,
        sources: request.sources,
        local_ids: request.local_ids,
        primary_id: request.primary_id,
        description: request.description,
        placement: request.placement,
        mode: request.mode,
        delete: request.delete,
        note: request.note,
        digest: request.digest,
        update: request.update,
        notify_to: checked_addresses(&request.notify_to)?,
        by: authorized.entry(),
    };
    let made = deposit(authorized.home(), &request)?;
    Ok(SubmittedView { batch: made.batch, items: made.items })
}

/// A collection has its name within its institution: no name has a slash.
fn refuse_institution_in(collection: Option<&str>) -> Result<(), EngineError> {
    let Some((both, (institution, name))) = collection.and_then(|both| Some((both, both.split_once('/')?))) else {
        return Ok(());
    };
    Err(EngineError::Usage(format!("{both:?} is an institution with a collection, and --collection is a name alone"))
        .next(format!("give --institution {institution} --collection {name}")))
}

/// How a deposit stands, or how it ended.
pub fn show(context: &OpContext, item: ItemId) -> Result<DepositView, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    Ok(authorized.read(|tx| view(tx, authorized.scope(), item))?)
}

/// How several deposits stand, in their order.
pub fn show_all(context: &OpContext, items: &[ItemId]) -> Result<Vec<DepositView>, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    Ok(authorized.read(|tx| items.iter().map(|item| view(tx, authorized.scope(), *item)).collect())?)
}

fn view(tx: &mut dyn Transaction, scope: Scope, item: ItemId) -> Result<DepositView, RegistryError> {
    let item = items::find(tx, scope, item)?;
    let parts = parts::of_deposit(tx, &item)?;
    DepositView::read(tx, item, parts)
}

/// The institution of a deposit or activity that names none: the only one.
pub(super) fn only_institution(context: &OpContext) -> Result<String, EngineError> {
    let authorized = context.authorize(&INSTITUTIONS_LIST)?;
    let list = |after: Option<String>, limit| {
        authorized.read(|tx| tenants::institutions(tx, authorized.scope(), after.as_deref().unwrap_or_default(), limit))
    };
    let (mut active, mut removed) = (Vec::new(), None);
    for institution in paging::rows(PAGE, |institution| institution.identifier.clone(), list) {
        let Institution { identifier, active: is_active, .. } = institution?;
        if is_active {
            active.push(identifier);
        } else {
            removed = Some(identifier);
        }
        if active.len() > 1 {
            break;
        }
    }
    match (active.as_slice(), removed) {
        ([only], _) => Ok(only.clone()),
        ([], None) => Err(EngineError::Usage("there is no institution that this could belong to".to_owned())
            .next("\"strongroom institution add DOMAIN\" adds one")),
        ([], Some(removed)) => {
            Err(EngineError::Usage(format!("the institution {removed} is removed: it takes nothing new"))
                .next(format!("\"strongroom institution remove --undo {removed}\" brings it back")))
        }
        _ => Err(EngineError::Usage("there are several institutions, and none of them is named".to_owned())
            .next("give --institution; \"strongroom institution list\" shows them")),
    }
}
