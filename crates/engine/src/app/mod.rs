//! What people ask of the engine: one file for each resource. Every public function takes an [`OpContext`] first and asks the
//! table of [`authorization`] before it reads or writes; what it answers are the structs of [`views`]. Command line and servers
//! call these functions and nothing below them.
//!
//! What is asked where there may be no registry that can be opened takes an [`Installation`] in the place of the [`OpContext`].
//!
//! A function that changes something appends a line to the journal in the transaction that does it.

pub mod authorization;
pub mod background;
pub mod batches;
pub mod collections;
mod context;
pub mod deposits;
pub mod events;
pub mod files;
pub mod fixity;
pub mod formats;
pub mod installation;
pub mod institutions;
pub mod items;
pub mod journal;
pub mod objects;
pub mod outbox;
pub mod profiles;
pub mod queues;
pub mod rebuild;
pub mod receiving;
pub mod registry;
pub mod restorations;
pub mod settings;
pub mod status;
pub mod stores;
pub mod versions;
pub mod views;
pub mod workers;

pub(crate) use context::{Authorized, find_institution, target_among};

pub use crate::measure::queue_rate;
/// The wish of a person or the system that work comes to its end.
pub use crate::runtime::Shutdown;
pub use context::{Caller, OpContext};
pub use installation::{Installation, Opened};

use crate::EngineError;

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

/// Hands over what a listing has, page by page and one by one.
pub fn each<T, K, E, F>(
    mut page: impl FnMut(Option<K>) -> Result<Page<T, K>, EngineError>,
    mut take: F,
) -> Result<(), E>
where
    E: From<EngineError>,
    F: FnMut(T) -> Result<(), E>,
{
    let mut after = None;
    loop {
        let Page { items, next } = page(after)?;
        items.into_iter().try_for_each(&mut take)?;
        match next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}
