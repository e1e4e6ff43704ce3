//! What a plain store is: a place whose spaces others write to. Folders and object storage stand behind this one trait.

use std::io::Read;
use std::time::Duration;

use strongroom_digest::Algorithm;
pub use strongroom_storage::Removal;
use strongroom_storage::{Body, Key, Retrieval, RetrievalRequest, StorageError};

use crate::space::RESERVED;
use crate::{Changes, Description, ItemHead, ItemPut, ListedItem, ListedName, ListedSpace, SpaceName};

/// The spaces of a store, in the order of [`SpaceName`]. An error is the last line, and never the end of what is there.
pub type Spaces = Box<dyn Iterator<Item = Result<ListedSpace, StorageError>>>;

/// What lies in a space, in byte order of the whole name. An error is the last line, and never the end of what is there.
pub type Items = Box<dyn Iterator<Item = Result<ListedItem, StorageError>>>;

/// What a plain store really honours, as far as it is known: an engine that has to try finds out at the first write.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainCapabilities {
    /// Properties are kept; where not, they are never compared.
    pub keeps_properties: bool,
    /// Content types are kept; where not, they are never compared.
    pub keeps_content_types: bool,
    /// A space without content items exists; where not, it exists as long as something lies in it.
    pub keeps_empty_spaces: bool,
    /// Puts and changes of properties compare and write in one step. In a folder, this holds against processes of this program.
    pub conditional_put: bool,
    /// Deletions compare and remove in one step. In a folder, this holds against all processes.
    pub conditional_delete: bool,
    /// Algorithms of which [`ItemHead::checksums`] are as good as reading the bytes.
    pub vouched: &'static [Algorithm],
    /// Content items may be in an archived storage class.
    pub may_be_archived: bool,
}

/// A place with spaces, in which content items lie that others write, replace and remove at any moment. Calls block; callers bring
/// their own threads. All methods may be called from many threads.
///
/// Opening a store, and reading of it, writes nothing. Errors name a content item as `SPACE/KEY`.
pub trait PlainStore: Send + Sync {
    /// The store's name in the settings.
    fn name(&self) -> &str;

    /// What this store honours.
    fn capabilities(&self) -> PlainCapabilities;

    /// Whether the place itself is there, so that "nothing lies there" can be relied on.
    ///
    /// # Errors
    /// [`StorageError::Away`] where it is not, such as a folder that is not mounted.
    fn check_presence(&self) -> Result<(), StorageError>;

    /// The spaces after this one, or all.
    fn spaces(&self, after: Option<&SpaceName>) -> Result<Spaces, StorageError>;

    /// Whether a space is there. Of a store that keeps no empty spaces: whether something lies in it.
    fn has_space(&self, space: &SpaceName) -> Result<bool, StorageError>;

    /// Makes a space; whether it was not there. Nothing where the store keeps no empty spaces.
    fn create_space(&self, space: &SpaceName) -> Result<bool, StorageError>;

    /// Removes a space in which nothing lies, in one step: what comes at the same moment stays, with the space.
    /// [`Removal::Changed`] where something lies in it. Never removes anything else.
    fn delete_space_if_empty(&self, space: &SpaceName) -> Result<Removal, StorageError>;

    /// What lies in a space, after this name, in byte order of the name: `a.txt` comes before `a/b`. Memory is bounded.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] where there is no such space, if the store keeps empty ones.
    fn list(&self, space: &SpaceName, after: &ListedName) -> Result<Items, StorageError>;

    /// Inspects a content item without reading it.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] where there is none. [`StorageError::Unusable`] where it has properties that not every store can
    /// keep.
    fn head(&self, space: &SpaceName, key: &Key) -> Result<ItemHead, StorageError>;

    /// Opens a content item that has this etag. The body is of that content alone: where it is replaced or changed meanwhile, it
    /// fails instead of ending.
    ///
    /// # Errors
    /// [`StorageError::Changed`] where it has another etag.
    fn open(&self, space: &SpaceName, key: &Key, etag: &str) -> Result<Body, StorageError>;

    /// Stores everything that `body` yields, atomically and durably: after an error or a kill, the content item is as it was before,
    /// and no listing shows anything else. The space must be there, if the store keeps empty ones.
    fn put(&self, space: &SpaceName, key: &Key, body: &mut dyn Read, how: &ItemPut) -> Result<ItemHead, StorageError>;

    /// Gives a content item that has this etag this content type and these properties, instead of those that it has. Its bytes and
    /// its storage class stay. Nothing where the store keeps neither. A folder changes one after the other: a kill may leave some
    /// of the old ones, and a repetition completes it.
    ///
    /// # Errors
    /// [`StorageError::Changed`] where it has another etag, and [`StorageError::Archived`] where its storage class is an archived one.
    fn set_properties(
        &self,
        space: &SpaceName,
        key: &Key,
        etag: &str,
        description: &Description,
    ) -> Result<ItemHead, StorageError>;

    /// Removes a content item that has this etag.
    fn delete(&self, space: &SpaceName, key: &Key, etag: &str) -> Result<Removal, StorageError>;

    /// Requests that a content item in an archived storage class is made readable for some days. A repeated request, or one for
    /// what can be read, succeeds and costs nothing.
    fn request_retrieval(
        &self,
        space: &SpaceName,
        key: &Key,
        how: &RetrievalRequest,
    ) -> Result<Retrieval, StorageError>;

    /// Watches the store: what changes in it from here on. None where this kind of store reports nothing.
    ///
    /// # Errors
    /// [`StorageError::Unusable`] where it cannot be watched, such as beyond a limit of the kernel.
    fn changes(&self) -> Result<Option<Box<dyn Changes>>, StorageError> {
        Ok(None)
    }

    /// Drops what puts of processes that ended left out of sight, or that is older than `age`; how much that was.
    fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        let _ = age;
        Ok(0)
    }
}

/// A content item as errors name it.
pub fn shown_key(space: &SpaceName, key: &Key) -> Key {
    // Together they may be longer than a key is.
    space.as_key().join(key.as_str()).unwrap_or_else(|_| key.clone())
}

/// Why a key is none of a content item, in any store; nothing where it may be one.
pub fn why_not_carried(key: &Key) -> Option<&'static str> {
    if key.is_root() {
        return Some("is empty");
    }
    // Clients of S3 take it for no name.
    if key.as_str().trim().is_empty() {
        return Some("has only blanks");
    }
    key.as_str().starts_with(RESERVED).then_some("begins with .strongroom, which belongs to Strongroom itself")
}
