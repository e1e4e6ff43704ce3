//! Rows page by page: a stage that goes through the rows of a deposit keeps a bounded number of them in memory.

use strongroom_registry::interim::{self, InterimFile};

use crate::workflow::{StageContext, StageError};

/// How many rows of files are looked at and decided at once.
const ROWS_AT_ONCE: usize = 500;

/// Pages of at most `limit` rows, each looked up by the key of the last row before it, until one is not full.
pub(super) fn pages<T, K, E>(
    limit: usize,
    key: impl Fn(&T) -> K,
    mut look_up: impl FnMut(Option<K>, usize) -> Result<Vec<T>, E>,
) -> impl Iterator<Item = Result<Vec<T>, E>> {
    let mut after = None;
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let page = look_up(after.take(), limit);
        let rows = page.as_deref().unwrap_or_default();
        is_over = rows.len() < limit;
        after = rows.last().map(&key);
        if page.as_ref().is_ok_and(Vec::is_empty) { None } else { Some(page) }
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages of the numbers from 1 to `last`, by two, and how often they were looked up.
    fn pages_to(last: u32) -> (Vec<Vec<u32>>, usize) {
        let mut looked = 0;
        let found = pages(
            2,
            |row: &u32| *row,
            |after: Option<u32>, limit| {
                looked += 1;
                Ok::<_, StageError>((after.unwrap_or(0) + 1..=last).take(limit).collect())
            },
        );
        let found = found.map(|page| page.expect("a page")).collect();
        (found, looked)
    }

    #[test]
    fn every_row_is_in_one_page_and_the_page_that_is_not_full_is_the_last() {
        assert_eq!(pages_to(0), (vec![], 1));
        assert_eq!(pages_to(1), (vec![vec![1]], 1));
        assert_eq!(pages_to(4), (vec![vec![1, 2], vec![3, 4]], 3));
        assert_eq!(pages_to(5), (vec![vec![1, 2], vec![3, 4], vec![5]], 3));
    }

    #[test]
    fn nothing_is_looked_up_after_a_failure() {
        let mut failing = pages(2, |row: &u32| *row, |_, _| Err(StageError::fatal("no answer")));
        assert!(failing.next().is_some_and(|page| page.is_err()));
        assert!(failing.next().is_none());
    }
}
