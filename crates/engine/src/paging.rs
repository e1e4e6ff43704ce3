//! Rows of the registry page by page, in the order of a key: a bounded number of them is in memory, and no transaction is open
//! while they are worked on.

/// Pages of at most `limit` rows, each looked up by the key of the last row before it, until one is not full.
pub(crate) fn pages<T, K, E>(
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

/// The rows of [`pages`] one by one.
pub(crate) fn rows<T, K, E>(
    limit: usize,
    key: impl Fn(&T) -> K,
    look_up: impl FnMut(Option<K>, usize) -> Result<Vec<T>, E>,
) -> impl Iterator<Item = Result<T, E>> {
    pages(limit, key, look_up).flat_map(|page| {
        let (rows, failure) = match page {
            Ok(rows) => (rows, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        rows.into_iter().map(Ok).chain(failure.map(Err))
    })
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
                Ok::<_, &str>((after.unwrap_or(0) + 1..=last).take(limit).collect())
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
        let mut failing = pages(2, |row: &u32| *row, |_, _| Err("no answer"));
        assert!(failing.next().is_some_and(|page| page.is_err()));
        assert!(failing.next().is_none());
    }

    #[test]
    fn rows_come_one_by_one_up_to_a_failure() {
        let list = |after: Option<u32>, limit: usize| match after {
            Some(4..) => Err("no answer"),
            after => Ok((after.unwrap_or(0) + 1..=9).take(limit).collect()),
        };
        let found: Vec<_> = rows(2, |row: &u32| *row, list).collect();
        assert_eq!(found, [Ok(1), Ok(2), Ok(3), Ok(4), Err("no answer")]);
    }
}
