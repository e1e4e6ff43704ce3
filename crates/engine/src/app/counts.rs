//! How many work items have each status, by institution or by collection. Those of a batch are counted in its view.

use strongroom_registry::{RegistryError, items, tenants};

use super::authorization::ITEMS_LIST;
use super::views::ItemCountsView;
use super::{OpContext, Page};
use crate::EngineError;

/// Institutions whose items are counted in one transaction.
const INSTITUTIONS: usize = 20;

/// Which items are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Those of an institution.
    Institution,
    /// Those of a collection, and those of an institution that are in none.
    Collection,
}

/// Counts the items of every institution, or of one, in order of the domain names after `after`. Where there are no items, there is
/// no line.
pub fn list(
    context: &OpContext,
    by: By,
    institution: Option<&str>,
    after: Option<String>,
) -> Result<Page<ItemCountsView, String>, EngineError> {
    let authorized = context.authorize(&ITEMS_LIST)?;
    let scope = authorized.scope_of(institution)?;
    let after = after.unwrap_or_default();
    Ok(authorized.read(|tx| {
        let page = tenants::institutions(tx, scope, &after, INSTITUTIONS)?;
        let mut views: Vec<ItemCountsView> = Vec::new();
        for institution in &page {
            for counted in items::count_by_collection(tx, institution.id)? {
                let collection = counted.collection.filter(|_| by == By::Collection);
                let is_same = |view: &&mut ItemCountsView| {
                    view.institution == institution.identifier && view.collection == collection
                };
                if let Some(view) = views.last_mut().filter(is_same) {
                    view.add(counted.status, counted.items);
                } else {
                    let mut view = ItemCountsView::new(institution.identifier.clone(), collection.clone());
                    view.add(counted.status, counted.items);
                    views.push(view);
                }
            }
        }
        Ok::<_, RegistryError>(Page { items: views, next: page.last().map(|last| last.identifier.clone()) })
    })?)
}
