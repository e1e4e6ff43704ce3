//! The plain store in a folder: each direct subfolder is a space, and each regular file below it a content item.
//!
//! Content type and properties are extended attributes (`attributes.rs`). What is written lies in `.strongroom/tmp` of the
//! folder until it has its place, so a space that is a file system of its own can be read and not written.

mod attributes;
mod reading;
#[cfg(target_os = "linux")]
mod watching;

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use strongroom_storage::{
    Body, FolderMode, Key, Listed, PlainFolder, PutOptions, Retrieval, RetrievalRequest, StorageError, Top, Tops, Walk,
    Walked,
};

use self::reading::Reading;
#[cfg(target_os = "linux")]
use crate::Changes;
use crate::store::{Items, PlainCapabilities, PlainStore, Removal, Spaces, shown_key, why_not_carried};
use crate::{
    Description, Expected, ItemHead, ItemPut, ListedContent, ListedItem, ListedName, ListedSpace, PropertyError,
    SpaceName,
};

/// A folder of a local file system whose subfolders are spaces. Several threads and several processes of one machine may use it
/// at once. Cloning gives another handle to the same store.
///
/// Symbolic links are not followed: they are listed as what is not carried.
#[derive(Debug, Clone)]
pub struct FolderSpaces {
    folder: PlainFolder,
    keeps_attributes: bool,
}

impl FolderSpaces {
    /// Opens a folder. `marker` names a file in it whose presence proves that the disk is mounted; without one, an empty folder
    /// counts as one that is not mounted. What is made from now on has these access rights.
    ///
    /// # Errors
    /// [`StorageError::Away`] where it is not there, and [`StorageError::Unusable`] where it is a preservation store.
    pub fn open(
        name: impl Into<String>,
        path: impl AsRef<Path>,
        mode: FolderMode,
        marker: Option<&Key>,
    ) -> Result<Self, StorageError> {
        let folder = PlainFolder::open(name, path, mode, marker)?;
        let keeps_attributes = folder.has_attributes();
        Ok(Self { folder, keeps_attributes })
    }

    fn unusable(&self, reason: impl Into<String>) -> StorageError {
        StorageError::Unusable { store: self.folder.name().to_owned(), reason: reason.into() }
    }

    fn check(&self, space: &SpaceName, key: &Key) -> Result<(), StorageError> {
        match why_not_carried(key) {
            Some(reason) => Err(self.unusable(format!("{space}: the key {:?} {reason}", key.as_str()))),
            None => Ok(()),
        }
    }

    fn check_space(&self, space: &SpaceName) -> Result<(), StorageError> {
        if self.folder.has_directory(space.as_key())? {
            return Ok(());
        }
        Err(StorageError::NotFound { store: self.folder.name().to_owned(), key: space.as_key().clone() })
    }

    fn not_kept(&self, space: &SpaceName, key: &Key, error: &PropertyError) -> StorageError {
        self.unusable(format!("{space}/{key}: {error}"))
    }

    fn head_of(&self, space: &SpaceName, key: &Key) -> Result<ItemHead, StorageError> {
        let (file, head) = self.folder.open_file(space.as_key(), key)?;
        let failed = |source| StorageError::Io {
            store: self.folder.name().to_owned(),
            act: "inspect",
            key: shown_key(space, key),
            source,
        };
        let modified = file.metadata().and_then(|metadata| metadata.modified()).map_err(failed)?;
        let description = if self.keeps_attributes {
            let read = attributes::read(&file).map_err(failed)?;
            read.map_err(|error| self.not_kept(space, key, &error))?
        } else {
            Description::default()
        };
        let changed = PlainFolder::changed_at(&file).map_err(failed)?;
        Ok(ItemHead {
            size: head.size,
            revision: Some(revision(&head.etag, changed)),
            etag: head.etag,
            modified: Some(modified),
            description,
            checksums: Vec::new(),
            class: None,
            is_archived: false,
            is_readable: true,
        })
    }
}

impl PlainStore for FolderSpaces {
    fn name(&self) -> &str {
        self.folder.name()
    }

    fn capabilities(&self) -> PlainCapabilities {
        PlainCapabilities {
            keeps_properties: self.keeps_attributes,
            keeps_content_types: self.keeps_attributes,
            keeps_empty_spaces: true,
            conditional_put: true,
            conditional_delete: true,
            vouched: &[],
            may_be_archived: false,
        }
    }

    fn check_presence(&self) -> Result<(), StorageError> {
        self.folder.check_presence()
    }

    fn spaces(&self, after: Option<&SpaceName>) -> Result<Spaces, StorageError> {
        self.folder.check_presence()?;
        let tops = Some(self.folder.directories(after.map(SpaceName::as_str)));
        Ok(Box::new(FolderList { folder: self.folder.clone(), tops }))
    }

    fn has_space(&self, space: &SpaceName) -> Result<bool, StorageError> {
        self.folder.has_directory(space.as_key())
    }

    fn create_space(&self, space: &SpaceName) -> Result<bool, StorageError> {
        self.folder.make_directory(space.as_key())
    }

    fn delete_space_if_empty(&self, space: &SpaceName) -> Result<Removal, StorageError> {
        self.folder.remove_directory(space.as_key())
    }

    fn list(&self, space: &SpaceName, after: &ListedName) -> Result<Items, StorageError> {
        self.folder.check_presence()?;
        self.check_space(space)?;
        let walk = Some(self.folder.walk(space.as_key(), after.as_bytes()));
        Ok(Box::new(FolderItems { store: self.clone(), space: space.clone(), walk }))
    }

    fn head(&self, space: &SpaceName, key: &Key) -> Result<ItemHead, StorageError> {
        self.check(space, key)?;
        match self.head_of(space, key) {
            // Nothing is called absent in a folder that is away.
            Err(error) if error.is_not_found() => self.folder.check_presence().and(Err(error)),
            outcome => outcome,
        }
    }

    fn open(&self, space: &SpaceName, key: &Key, etag: &str) -> Result<Body, StorageError> {
        self.check(space, key)?;
        let (file, head) = match self.folder.open_file(space.as_key(), key) {
            Err(error) if error.is_not_found() => return self.folder.check_presence().and(Err(error)),
            outcome => outcome?,
        };
        let changed = self.folder.changed(space.as_key(), key, etag);
        if head.etag != etag {
            return Err(changed);
        }
        Ok(Box::new(Reading::new(file, head, changed)))
    }

    fn put(&self, space: &SpaceName, key: &Key, body: &mut dyn Read, how: &ItemPut) -> Result<ItemHead, StorageError> {
        self.check(space, key)?;
        let mut expected = Expected::new(body, how);
        let options = PutOptions { size: how.size, condition: how.condition.clone(), ..PutOptions::default() };
        let attributes = if self.keeps_attributes { attributes::of(&how.description) } else { Vec::new() };
        let put = self.folder.put(space.as_key(), key, &mut expected, &options, &attributes);
        let head = put.map_err(|error| expected.error(self.folder.name(), &shown_key(space, key), error))?;
        Ok(ItemHead {
            size: head.size,
            etag: head.etag,
            revision: None,
            modified: None,
            description: if self.keeps_attributes { how.description.clone() } else { Description::default() },
            checksums: Vec::new(),
            class: None,
            is_archived: false,
            is_readable: true,
        })
    }

    fn set_properties(
        &self,
        space: &SpaceName,
        key: &Key,
        etag: &str,
        description: &Description,
    ) -> Result<ItemHead, StorageError> {
        self.check(space, key)?;
        if self.keeps_attributes {
            let act = |file: &std::fs::File| attributes::replace(file, description);
            self.folder.change(space.as_key(), key, etag, act)?;
        }
        self.head(space, key)
    }

    fn delete(&self, space: &SpaceName, key: &Key, etag: &str) -> Result<Removal, StorageError> {
        self.check(space, key)?;
        self.folder.delete(space.as_key(), key, etag)
    }

    fn request_retrieval(
        &self,
        space: &SpaceName,
        key: &Key,
        _how: &RetrievalRequest,
    ) -> Result<Retrieval, StorageError> {
        self.head(space, key).map(|_| Retrieval::Readable)
    }

    #[cfg(target_os = "linux")]
    fn changes(&self) -> Result<Option<Box<dyn Changes>>, StorageError> {
        Ok(Some(Box::new(self.folder.changes()?)))
    }

    fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        self.folder.sweep_unfinished(age)
    }
}

/// The spaces of a folder. Its end counts only while the folder is there.
struct FolderList {
    folder: PlainFolder,
    tops: Option<Tops>,
}

impl Iterator for FolderList {
    type Item = Result<ListedSpace, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.tops.as_mut()?.next() {
            Some(Ok(top)) => return Some(Ok(space_of(top))),
            Some(Err(error)) => Some(Err(error)),
            None => self.folder.check_presence().err().map(Err),
        };
        self.tops = None;
        line
    }
}

fn space_of(top: Top) -> ListedSpace {
    match top {
        Top::Directory(name) => match SpaceName::new(name.as_str()) {
            Ok(space) => ListedSpace::Space(space),
            Err(error) => not_a_space(name.into_bytes(), format!("its name {}", error.reason())),
        },
        Top::Foreign { name, why } => not_a_space(name, why.to_string()),
    }
}

fn not_a_space(name: Vec<u8>, reason: String) -> ListedSpace {
    ListedSpace::NotCarried { name: ListedName::new(name), reason }
}

/// What lies in a space. Its end counts only while folder and space are there.
struct FolderItems {
    store: FolderSpaces,
    space: SpaceName,
    walk: Option<Walk>,
}

impl Iterator for FolderItems {
    type Item = Result<ListedItem, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.walk.as_mut()?.next() {
            Some(Ok(walked)) => return Some(Ok(item_of(walked))),
            Some(Err(error)) => Some(Err(error)),
            None => {
                let present = self.store.check_presence().and_then(|()| self.store.check_space(&self.space));
                present.err().map(Err)
            }
        };
        self.walk = None;
        line
    }
}

fn revision(etag: &str, (seconds, nanoseconds): (i64, i64)) -> String {
    format!("{etag}@{seconds:x}.{nanoseconds:09}")
}

fn item_of(walked: Walked) -> ListedItem {
    match walked {
        Walked::Key(listed, changed) => listed_item(listed, changed),
        Walked::Foreign { name, why } => {
            ListedItem::NotCarried { name: ListedName::new(name), reason: why.to_string() }
        }
    }
}

fn listed_item(listed: Listed, changed: (i64, i64)) -> ListedItem {
    match why_not_carried(&listed.key) {
        None => {
            let Listed { key, size, etag } = listed;
            let revision = revision(&etag, changed);
            ListedItem::Item(ListedContent { key, size, etag, revision })
        }
        Some(reason) => {
            ListedItem::NotCarried { name: ListedName::from(&listed.key), reason: format!("its name {reason}") }
        }
    }
}
