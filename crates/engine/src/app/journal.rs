//! The journal: what actors did, or were refused.

use strongroom_registry::journal::{self, LineFilter};
use strongroom_registry::{RegistryError, Scope, Time};

use super::authorization::JOURNAL_LIST;
use super::views::JournalView;
use super::{Authorized, Listing, OpContext, Page};
use crate::EngineError;
use crate::arks::find_object;

/// Which lines are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those about what belongs to this institution.
    pub institution: Option<String>,
    /// Only those of actors of this name, or who acted by the account of this name.
    pub actor: Option<String>,
    /// Only those of this act, such as `items.hold`, or of a resource, such as `items`.
    pub act: Option<String>,
    /// Only those about this object: its identifier, a part of it, its UUID or its ARK. One that is not there is named by its whole identifier.
    pub object: Option<String>,
    /// Only those since then.
    pub since: Option<Time>,
    /// In which order, and at most how many on a page.
    pub listing: Listing,
}

/// The identifier of an object as the journal has it. An object that has no row, as before it was deposited, may have lines all the same.
fn named_object(authorized: &Authorized<'_>, scope: Scope, object: &str) -> Result<String, EngineError> {
    match authorized.read(|tx| find_object(tx, scope, object)) {
        Ok(found) => Ok(found.identifier),
        Err(RegistryError::NotFound { .. }) if object.contains('/') => Ok(object.to_owned()),
        Err(error) => Err(error.into()),
    }
}

/// Lines of the journal, in the order that the filter says, after the number `after`.
pub fn list(context: &OpContext, filter: &Filter, after: Option<u64>) -> Result<Page<JournalView, u64>, EngineError> {
    let authorized = context.authorize(&JOURNAL_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    // Addresses are kept in lower case; names of accounts are kept as they are.
    let actor = filter.actor.as_ref().map(|name| if name.contains('@') { name.to_lowercase() } else { name.clone() });
    let object = filter.object.as_deref().map(|object| named_object(&authorized, scope, object)).transpose()?;
    let wanted =
        LineFilter { since: filter.since, actor, act: filter.act.clone(), object, order: filter.listing.order };
    let lines = authorized.read(|tx| journal::list(tx, scope, &wanted, after, filter.listing.page()))?;
    let next = lines.last().map(|line| line.number);
    Ok(Page { items: lines.into_iter().map(JournalView::from).collect(), next })
}
