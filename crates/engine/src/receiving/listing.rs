//! What one listing of a place shows: its uploads, one by one in the order of their keys. A folder is known by a digest over
//! its keys, sizes and etags, which is gathered key by key, so that a listing may stop in the midst of it and go on later.

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_registry::Time;
use strongroom_registry::receiving::ScannedUpload;
use strongroom_storage::{Key, Listed, StorageError, Store};

/// What makes a folder a bag.
pub(super) const DECLARATION: &str = "bagit.txt";

/// A folder, as far as its keys were seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Folder {
    /// With a slash at the end.
    pub(super) key: String,
    /// Over the keys so far.
    digest: String,
    pub(super) size: u64,
    pub(super) has_declaration: bool,
    /// When the look began, in microseconds since the epoch.
    since: i64,
}

impl Folder {
    pub(super) fn new(key: String, since: Time) -> Self {
        Self { key, digest: String::new(), size: 0, has_declaration: false, since: since.0 }
    }

    /// Takes the next key of the folder, in the order of the listing.
    pub(super) fn take(&mut self, listed: &Listed) {
        let relative = listed.key.as_str().strip_prefix(&self.key).unwrap_or(listed.key.as_str());
        let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
        // No part of it contains a control character but the etag, which stands last.
        for part in [&self.digest, relative, &listed.size.to_string(), &listed.etag] {
            hasher.update(part.as_bytes());
            hasher.update(b"\n");
        }
        self.digest = hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
        self.size = self.size.saturating_add(listed.size);
        self.has_declaration |= relative == DECLARATION;
    }

    /// The folder as an upload, once all its keys were taken.
    pub(super) fn finish(self) -> ListedUpload {
        let seen = ScannedUpload { key: self.key, etag: self.digest, size: self.size };
        ListedUpload { seen, is_bag: self.has_declaration, since: Time(self.since) }
    }
}

/// An upload that a listing showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedUpload {
    pub(super) seen: ScannedUpload,
    /// Whether it may be a bag, by what a listing says.
    pub(super) is_bag: bool,
    /// When the scan of it began: it was as it was seen then or later.
    pub(super) since: Time,
}

/// Inspects one upload as it is now; none where nothing lies there.
pub(super) fn look_at(
    store: &dyn Store,
    key: &str,
    each: &mut dyn FnMut(&Listed) -> Result<(), StorageError>,
) -> Result<Option<ScannedUpload>, StorageError> {
    let Some(folder_key) = key.strip_suffix('/') else {
        return match store.head(&Key::new(key)?) {
            Ok(head) => Ok(Some(ScannedUpload { key: key.to_owned(), etag: head.etag, size: head.size })),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        };
    };
    let mut folder = Folder::new(key.to_owned(), Time(0));
    let mut is_there = false;
    for line in store.list(&Key::new(folder_key)?)? {
        match line {
            Ok(listed) => {
                is_there = true;
                folder.take(&listed);
                each(&listed)?;
            }
            Err(error) if is_no_key(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(is_there.then(|| folder.finish().seen))
}

/// Whether a line of a listing is about something that no key can name. It is passed over: a bag that needs it is found
/// incomplete.
pub(super) fn is_no_key(error: &StorageError) -> bool {
    matches!(error, StorageError::Key(_) | StorageError::Unusable { .. })
}
