//! What people ask of the engine: one file for each resource. Every public function takes an [`OpContext`] first and asks the
//! table of [`authorization`] before it reads or writes; what it answers are the structs of [`views`]. Command line and servers
//! call these functions and nothing below them.
//!
//! What is asked where there may be no registry that can be opened takes an [`Installation`] in the place of the [`OpContext`].
//!
//! A function that changes something appends a line to the journal in the transaction that does it.

pub mod activities;
pub mod audit;
pub mod authorization;
pub mod background;
pub mod batches;
pub mod collections;
mod context;
pub mod counts;
pub mod deletions;
pub mod deposits;
pub mod disposals;
pub mod documents;
pub mod duplication;
pub mod duplication_policies;
pub mod events;
pub mod failures;
pub mod files;
pub mod fixity;
pub mod formats;
pub mod installation;
pub mod institutions;
pub mod interim;
pub mod items;
pub mod journal;
pub mod keys;
pub mod legal_holds;
pub mod levels;
pub mod manifests;
pub mod notifications;
pub mod objects;
pub mod outbox;
pub mod pipelines;
pub mod problems;
pub mod profiles;
pub mod provenance;
pub mod queues;
pub mod rebuild;
pub mod receiving;
pub mod registry;
pub mod reports;
pub mod restorations;
pub mod second_factors;
pub mod sessions;
pub mod settings;
pub mod spaces;
pub mod spot_tests;
pub mod statistics;
pub mod status;
pub mod stores;
mod untold;
pub mod users;
pub mod versions;
pub mod views;
pub mod workers;

pub(crate) use context::{Authorized, find_institution, is_address, target_among};

pub use crate::measure::queue_rate;
/// The wish of a person or the system that work comes to its end.
pub use crate::runtime::Shutdown;
pub use context::{ActingAs, Caller, OpContext};
pub use installation::{Installation, Opened};
pub use strongroom_credentials::Password;
pub use strongroom_registry::{KeyScope, Order, UserRole};

use crate::EngineError;

/// Reads a password as a person wrote it.
pub fn password(text: &str) -> Result<Password, EngineError> {
    Password::new(text).map_err(|error| crate::people::unusable(&error))
}

/// Rows read at once.
pub(crate) const PAGE: usize = 500;

/// A page of a listing.
#[derive(Debug, Clone)]
pub struct Page<T, K> {
    /// What is on it, in order.
    pub items: Vec<T>,
    /// Where the next one begins; none behind the last.
    pub next: Option<K>,
}

/// In which order a listing comes, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Listing {
    /// The order.
    pub order: Order,
    /// At most this many.
    pub limit: Option<u64>,
}

impl Listing {
    /// Rows read at once.
    pub(crate) fn page(&self) -> usize {
        self.limit.and_then(|limit| usize::try_from(limit).ok()).map_or(PAGE, |limit| limit.min(PAGE))
    }
}

/// Hands over what a listing has, page by page and one by one.
pub fn each<T, K, E, F>(page: impl FnMut(Option<K>) -> Result<Page<T, K>, EngineError>, take: F) -> Result<(), E>
where
    E: From<EngineError>,
    F: FnMut(T) -> Result<(), E>,
{
    first(None, page, take)
}

/// As [`each`], at most `limit` of them.
pub fn first<T, K, E, F>(
    limit: Option<u64>,
    mut page: impl FnMut(Option<K>) -> Result<Page<T, K>, EngineError>,
    mut take: F,
) -> Result<(), E>
where
    E: From<EngineError>,
    F: FnMut(T) -> Result<(), E>,
{
    let (mut after, mut room) = (None, limit.unwrap_or(u64::MAX));
    while room > 0 {
        let Page { items, next } = page(after)?;
        for item in items {
            if room == 0 {
                return Ok(());
            }
            room -= 1;
            take(item)?;
        }
        match next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Hands over what a listing has that the registry reads in one order only: in the opposite one, its pages are read once to learn
/// where they begin, and then again from the last to the first. Memory holds one page and the beginnings of the others.
pub fn arranged<T, K, E, F>(
    listing: Listing,
    mut page: impl FnMut(Option<K>) -> Result<Page<T, K>, EngineError>,
    mut take: F,
) -> Result<(), E>
where
    K: Clone,
    E: From<EngineError>,
    F: FnMut(T) -> Result<(), E>,
{
    if listing.order == Order::OldestFirst {
        return first(listing.limit, page, take);
    }
    let mut beginnings = vec![None];
    while let Some(next) = page(beginnings.last().cloned().flatten())?.next {
        beginnings.push(Some(next));
    }
    let mut room = listing.limit.unwrap_or(u64::MAX);
    while let Some(beginning) = beginnings.pop() {
        for item in page(beginning)?.items.into_iter().rev() {
            if room == 0 {
                return Ok(());
            }
            room -= 1;
            take(item)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Listing, Order, Page, arranged};
    use crate::EngineError;

    /// The numbers below ten, four on a page.
    fn page(after: Option<u32>) -> Page<u32, u32> {
        let from = after.map_or(0, |after| after + 1);
        let items: Vec<u32> = (from..10).take(4).collect();
        Page { next: items.last().copied(), items }
    }

    fn taken(order: Order, limit: Option<u64>) -> Vec<u32> {
        let mut taken = Vec::new();
        let listing = Listing { order, limit };
        let outcome: Result<(), EngineError> = arranged(
            listing,
            |after| Ok(page(after)),
            |number| {
                taken.push(number);
                Ok(())
            },
        );
        outcome.expect("lists");
        taken
    }

    #[test]
    fn a_listing_that_is_read_in_one_order_comes_in_both() {
        let all: Vec<u32> = (0..10).collect();
        assert_eq!(taken(Order::OldestFirst, None), all);
        assert_eq!(taken(Order::NewestFirst, None), all.iter().rev().copied().collect::<Vec<_>>());
        assert_eq!(taken(Order::OldestFirst, Some(5)), [0, 1, 2, 3, 4]);
        assert_eq!(taken(Order::NewestFirst, Some(5)), [9, 8, 7, 6, 5]);
    }
}
