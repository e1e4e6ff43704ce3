//! The files of a deposit page by page: a stage that goes through them keeps a bounded number of them in memory.

use strongroom_registry::interim::{self, InterimFile};

use crate::paging::pages;
use crate::workflow::{StageContext, StageError};

/// How many rows of files are looked at and decided at once.
const ROWS_AT_ONCE: usize = 500;

/// The item's files, in byte order of the path.
pub(super) fn files_by_page(context: &StageContext<'_>) -> impl Iterator<Item = Result<Vec<InterimFile>, StageError>> {
    pages(
        ROWS_AT_ONCE,
        |file: &InterimFile| file.path.clone(),
        |after, limit| {
            context.task.check()?;
            let after = after.unwrap_or_default();
            Ok(context.registry().read(|tx| interim::files_after(tx, context.item.id, &after, limit))?)
        },
    )
}

/// Runs over the item's files page by page, in byte order of the path.
pub(super) fn for_each_page(
    context: &StageContext<'_>,
    act: impl FnMut(Vec<InterimFile>) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut act = act;
    files_by_page(context).try_for_each(|page| act(page?))
}
