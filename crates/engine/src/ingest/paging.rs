//! The files of a deposit page by page: a stage that goes through them keeps a bounded number of them in memory.

use strongroom_registry::interim::{self, InterimFile};
use strongroom_registry::{ItemId, RegistryError, Transaction};

use crate::paging::pages;
use crate::workflow::{StageContext, StageError};

/// How many rows of files are inspected and decided at once.
pub(super) const ROWS_AT_ONCE: usize = 500;

/// The item's files, in byte order of the path.
pub(super) fn files_by_page(context: &StageContext<'_>) -> impl Iterator<Item = Result<Vec<InterimFile>, StageError>> {
    files_behind(context, None)
}

/// The same, where the first page was read before.
pub(super) fn files_behind(
    context: &StageContext<'_>,
    first: Option<Vec<InterimFile>>,
) -> impl Iterator<Item = Result<Vec<InterimFile>, StageError>> {
    let mut first = first;
    pages(
        ROWS_AT_ONCE,
        |file: &InterimFile| file.path.clone(),
        move |after, limit| {
            context.task.check()?;
            if let Some(first) = first.take() {
                return Ok(first);
            }
            let after = after.unwrap_or_default();
            Ok(context.registry().read(|tx| interim::files_after(tx, context.item.id, &after, limit))?)
        },
    )
}

/// The first page of an item's files, within a transaction that reads other things too.
pub(super) fn first_page(tx: &mut dyn Transaction, item: ItemId) -> Result<Vec<InterimFile>, RegistryError> {
    interim::files_after(tx, item, "", ROWS_AT_ONCE)
}

/// Runs over the item's files page by page, in byte order of the path.
pub(super) fn for_each_page(
    context: &StageContext<'_>,
    act: impl FnMut(Vec<InterimFile>) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut act = act;
    files_by_page(context).try_for_each(|page| act(page?))
}
