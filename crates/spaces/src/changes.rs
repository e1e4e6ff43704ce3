//! What changes in the spaces of a plain store, from stores that report it.

use std::time::Duration;

use strongroom_storage::{Key, StorageError};

use crate::SpaceName;

/// A change that a store reports. It says what happened, and not what is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A content item was put, replaced or described anew.
    Put {
        /// The space.
        space: SpaceName,
        /// Its key.
        key: Key,
        /// Nothing had this key before.
        is_new: bool,
        /// The space and key that it had before, where something above it was renamed.
        renamed_from: Option<(SpaceName, Key)>,
    },
    /// What had this key, a content item or something that is none, was removed, or has another name.
    Removed {
        /// The space.
        space: SpaceName,
        /// The key.
        key: Key,
    },
    /// A space came.
    SpaceCame(SpaceName),
    /// A space was removed, in which nothing lay.
    SpaceRemoved(SpaceName),
    /// Changes were lost: what is known only from changes before may not be so any more.
    Missed,
}

/// Takes changes, in the order in which they happened.
pub type TakeChange<'t> = &'t mut dyn FnMut(Change);

/// Reports the changes in a plain store from the moment at which it was made.
pub trait Changes: Send {
    /// Waits for changes, at most so long, and hands over some of those that are there; whether there were any. Where not, everything that
    /// happened before was handed over. Keys of no content item are left out.
    ///
    /// # Errors
    /// [`StorageError::Away`] where the place itself has gone. After an error nothing more is reported.
    fn wait(&mut self, at_most: Duration, take: TakeChange<'_>) -> Result<bool, StorageError>;

    /// How many folders are watched.
    fn folders(&self) -> usize;

    /// A folder that may not be read, so that nothing of it is reported; there may be more.
    fn unreadable(&self) -> Option<String>;
}
