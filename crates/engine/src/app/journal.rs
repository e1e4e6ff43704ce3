//! The journal: what actors did, or were refused.

use strongroom_registry::Time;
use strongroom_registry::journal::{self, LineFilter};

use super::authorization::JOURNAL_LIST;
use super::views::JournalView;
use super::{Listing, OpContext, Page};
use crate::EngineError;

/// Which lines are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those about what belongs to this institution.
    pub institution: Option<String>,
    /// Only those of actors of this name.
    pub actor: Option<String>,
    /// Only those since then.
    pub since: Option<Time>,
    /// In which order, and at most how many on a page.
    pub listing: Listing,
}

/// Lines of the journal, in the order that the filter says, after the number `after`.
pub fn list(context: &OpContext, filter: &Filter, after: Option<u64>) -> Result<Page<JournalView, u64>, EngineError> {
    let authorized = context.authorize(&JOURNAL_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    // Addresses are kept in lower case; names of accounts are kept as they are.
    let actor = filter.actor.as_ref().map(|name| if name.contains('@') { name.to_lowercase() } else { name.clone() });
    let wanted = LineFilter { since: filter.since, actor, order: filter.listing.order };
    let lines = authorized.read(|tx| journal::list(tx, scope, &wanted, after, filter.listing.page()))?;
    let next = lines.last().map(|line| line.number);
    Ok(Page { items: lines.into_iter().map(JournalView::from).collect(), next })
}
