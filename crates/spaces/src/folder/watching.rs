//! What changes in the spaces of a folder.

use std::time::Duration;

use strongroom_storage::{FolderChange, FolderChanges, Key, StorageError};

use crate::changes::{Change, Changes, TakeChange};
use crate::{SpaceName, why_not_carried};

impl Changes for FolderChanges {
    fn wait(&mut self, at_most: Duration, take: TakeChange<'_>) -> Result<bool, StorageError> {
        let mut take_named = |change| {
            if let Some(change) = named(change) {
                take(change);
            }
        };
        FolderChanges::wait(self, at_most, &mut take_named)
    }

    fn folders(&self) -> usize {
        self.directories()
    }

    fn unreadable(&self) -> Option<String> {
        FolderChanges::unreadable(self).map(str::to_owned)
    }
}

/// The change of a content item or a space; none where it is of neither.
fn named(change: FolderChange) -> Option<Change> {
    Some(match change {
        FolderChange::Written { top, key, is_new, renamed_from } => {
            let (space, key) = item(&top, key)?;
            let renamed_from = renamed_from.and_then(|(top, key)| item(&top, key));
            Change::Put { space, key, is_new, renamed_from }
        }
        FolderChange::Removed { top, key } => {
            let (space, key) = item(&top, key)?;
            Change::Removed { space, key }
        }
        FolderChange::TopCame { top } => Change::SpaceCame(SpaceName::new(top.as_str()).ok()?),
        FolderChange::TopRemoved { top } => Change::SpaceRemoved(SpaceName::new(top.as_str()).ok()?),
        FolderChange::Missed => Change::Missed,
    })
}

fn item(top: &Key, key: Key) -> Option<(SpaceName, Key)> {
    let space = SpaceName::new(top.as_str()).ok()?;
    why_not_carried(&key).is_none().then_some((space, key))
}
