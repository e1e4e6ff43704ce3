//! What a store is: a place that keeps bytes under keys. Folders, S3 and its kin stand behind this one trait, and every
//! engine passes the conformance suite of this crate. A store knows nothing of objects, files or records.

use std::io::Read;
use std::time::Duration;

use strongroom_digest::{Algorithm, Digest};
use uuid::Uuid;

use crate::{Key, RemovalHold, StorageError};

/// What the bytes under a key are, without reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Length in bytes.
    pub size: u64,
    /// Changes whenever the bytes may have changed. Folder: inode, size and modification time; S3: the `ETag`.
    pub etag: String,
    /// Storage class as the store names it; `None` where a store has no classes.
    pub class: Option<String>,
    /// Whether the bytes can be read now (false for archived storage classes that were not retrieved).
    pub readable: bool,
    /// A digest of the whole content that the store itself vouches for, where it keeps one.
    pub checksum: Option<(Algorithm, Digest)>,
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The key, relative to the store.
    pub key: Key,
    /// Length in bytes.
    pub size: u64,
    /// As [`Head::etag`].
    pub etag: String,
}

/// How a put must behave.
#[derive(Debug, Clone, Default)]
pub struct PutOptions {
    /// Refuse (and leave nothing behind) when the bytes read do not have this digest.
    pub digest: Option<(Algorithm, Digest)>,
    /// The caller reads the bytes back, or compares the checksum that the store vouches for, before they count. A store that
    /// would calculate the digest for nothing else than to refuse other bytes need not.
    pub is_read_back: bool,
    /// Refuse when the bytes read do not have this length.
    pub size: Option<u64>,
    /// Storage class, for stores that have them.
    pub class: Option<String>,
    /// What must be true of the key for the put to happen.
    pub condition: PutCondition,
    /// When the bytes must have reached the disk.
    pub durability: Durability,
}

/// What must be true of a key for a put to happen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PutCondition {
    /// Put in any case; an existing key is replaced atomically.
    #[default]
    Always,
    /// Only when nothing lies under the key.
    IfAbsent,
    /// Only when the key's etag is still this one.
    IfMatch(String),
}

/// When bytes must have reached the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before the put returns.
    #[default]
    OnReturn,
    /// Before the next [`Store::sync`] returns: for many small puts that only count together.
    OnSync,
}

/// How a content in an archived storage class is made readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievalRequest {
    /// For how many days it can be read.
    pub days: u32,
    /// How fast, as the service names it: `Bulk`, `Standard` or `Expedited`.
    pub tier: String,
}

/// How far the retrieval of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retrieval {
    /// It was asked for and takes minutes to days.
    UnderWay,
    /// It can be read now.
    Readable,
}

/// A reader of a stored content.
pub type Body = Box<dyn Read + Send>;

/// Keys in order, as a listing yields them. It outlives the handle it was asked of.
pub type Listing = Box<dyn Iterator<Item = Result<Listed, StorageError>>>;

/// What an engine really honours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Puts honour [`PutCondition`].
    pub conditional_put: bool,
    /// [`Head::checksum`] is present and as strong as reading back.
    pub strong_checksum: bool,
    /// An assembly becomes visible as a whole by one rename; where false its keys are final from the first put.
    pub atomic_assembly: bool,
}

/// A place that keeps bytes. Calls block; callers bring their own threads. All methods may be called from many threads.
pub trait Store: Send + Sync {
    /// The store's name in the settings.
    fn name(&self) -> &str;

    /// Which store this is, as it says itself, wherever it lies and whatever the settings call it; none for stores that keep
    /// no identity.
    fn id(&self) -> Option<Uuid> {
        None
    }

    /// Whether the place itself is there, so that "nothing lies under this key" can be relied on. Cheap. Engines whose answers
    /// tell that by themselves have nothing to add.
    ///
    /// # Errors
    /// [`StorageError::Away`] where it is not, such as a folder that was removed or unmounted.
    fn check_presence(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Whether the place holds this very store, inspected now: before something is written that would belong to
    /// another store otherwise.
    ///
    /// # Errors
    /// As [`Self::check_presence`], and where another store lies there.
    fn check_identity(&self) -> Result<(), StorageError> {
        self.check_presence()
    }

    /// Whether something can be written, as far as the place says that without a write: a disk that is mounted read-only, access rights. Cheap.
    /// Engines whose places say nothing have nothing to add.
    ///
    /// # Errors
    /// [`StorageError::Unusable`] with the reason.
    fn check_writable(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// What this store honours.
    fn capabilities(&self) -> Capabilities;

    /// Inspects a key without reading it. [`StorageError::NotFound`] when nothing lies there.
    fn head(&self, key: &Key) -> Result<Head, StorageError>;

    /// Opens a key for reading from `offset` (0 for all), at most `length` bytes when given. At or past the end there is
    /// nothing to read, which is no error.
    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError>;

    /// Requests that a content in an archived storage class is made readable for some days. A repeated request, or one for a
    /// content that can be read, succeeds and costs nothing. Stores without archived storage classes refuse.
    fn request_retrieval(&self, key: &Key, how: &RetrievalRequest) -> Result<Retrieval, StorageError> {
        let _ = how;
        let reason = format!("{key} cannot be retrieved: the store has no archived storage classes");
        Err(StorageError::Unusable { store: self.name().to_owned(), reason })
    }

    /// Drops what puts and deletions have left behind that were begun longer than `age` ago and never finished, or whose process is known
    /// to have ended; how many those were. `age` is longer than any of them may take. Nothing for engines that clear up by themselves.
    fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        let _ = age;
        Ok(0)
    }

    /// Stores everything `body` yields under `key`, atomically: after an error or a crash the key is as it was before.
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError>;

    /// Makes everything durable that has returned before: puts with [`Durability::OnSync`], and deletions. One call
    /// serves all threads that wait for it. After a failure nothing more is promised until the store is opened anew.
    fn sync(&self) -> Result<(), StorageError>;

    /// Every key under `prefix` (a whole path segment prefix, or the empty one), in byte order of the key, streamed with
    /// bounded memory. `prefix` itself does not lie below itself. What lies there but is no key (a name that is not
    /// UTF-8) is an error in its place, and the listing goes on.
    fn list(&self, prefix: &Key) -> Result<Listing, StorageError>;

    /// As [`Store::list`], only what comes after `after` in that order (the root: everything). Engines that can begin in
    /// the middle do so; others pass over what comes before.
    fn list_after(&self, prefix: &Key, after: &Key) -> Result<Listing, StorageError> {
        let after = after.clone();
        let comes_before = move |line: &Result<Listed, StorageError>| matches!(line, Ok(listed) if listed.key <= after);
        Ok(Box::new(self.list(prefix)?.skip_while(comes_before)))
    }

    /// Removes a key where what lies there has this etag; whether that was so, or nothing lay there. Directories that it
    /// leaves empty go with it, but for `keep` and those above it. An engine that cannot compare and remove in one step looks
    /// first: what is put at that moment is lost with it.
    fn delete_match(&self, key: &Key, etag: &str, keep: &Key) -> Result<bool, StorageError> {
        // Without directories nothing is to be kept.
        let _ = keep;
        match self.head(key) {
            Ok(head) if head.etag != etag => Ok(false),
            Ok(_) => self.delete(key).map(|()| true),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Removes a key; also succeeds when nothing lies there. Folders leave no empty directory behind. Durable after the
    /// next [`Store::sync`]. A store that keeps versions keeps the bytes: [`Store::purge`] removes those as well.
    fn delete(&self, key: &Key) -> Result<(), StorageError>;

    /// Removes everything under `prefix`, as [`Store::delete`] does. Not for the empty prefix.
    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError>;

    /// Removes a key for good: with every version that the store keeps of it, markers of its deletion, and what unfinished
    /// puts left of it where that can be known. Older versions go first, so that none of them is ever seen in place of the last.
    /// Durable when it returns; also succeeds when nothing lies there. Only for what people decided to delete.
    ///
    /// # Errors
    /// [`StorageError::Held`] where the store forbids it. Some versions may be gone then: ask [`Store::removal_hold`] before.
    fn purge(&self, key: &Key) -> Result<(), StorageError>;

    /// Removes everything under `prefix` for good, as [`Store::purge`] does. Not for the empty prefix.
    ///
    /// # Errors
    /// As [`Store::purge`].
    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError>;

    /// Removes for good what was replaced under a key; what lies there now stays. Nothing for stores that keep no versions.
    ///
    /// # Errors
    /// As [`Store::purge`].
    fn purge_replaced(&self, key: &Key) -> Result<(), StorageError>;

    /// What the store reports against [`Store::purge`] of a key: every version of it counts. None where nothing lies there, and
    /// for folders, where a file that cannot be removed shows at its removal. A store that does not say is an error, never none.
    fn removal_hold(&self, key: &Key) -> Result<Option<RemovalHold>, StorageError>;

    /// What the store reports against [`Store::purge_all`] of a prefix, of all keys under it together. Not for the empty prefix.
    fn removal_hold_below(&self, prefix: &Key) -> Result<Option<RemovalHold>, StorageError>;

    /// Opens the assembly `id` (one segment of a key; made by its first put), whose keys become visible under `target` by
    /// [`Assembly::commit`]. Opening it again after a crash finds what was put. An id is used for one target only and never
    /// again for another, so that a process which lost its lease can reach keys of its own id and no others: where keys are
    /// final from the first put ([`Capabilities::atomic_assembly`] is false), every key has the id as one of its segments.
    fn assembly(&self, id: &str, target: &Key) -> Result<Box<dyn Assembly>, StorageError>;

    /// Ids of assemblies that exist out of sight, for sweeping what no open work owns; none where keys are final.
    fn assemblies(&self) -> Result<Vec<String>, StorageError>;
}

/// A group of keys that is written out of sight and becomes visible as a whole.
pub trait Assembly: Send + Sync {
    /// Stores bytes under `key`, relative to the target, as [`Store::put`] does. Not durable before
    /// [`Assembly::sync`], whatever the options say. After a crash of the machine, what was put and not synced may be
    /// there and damaged: prove it before relying on it. Refused where keys are final and `key` does not have the id of
    /// the assembly as a segment.
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError>;

    /// As [`Store::head`], for a key of this assembly, also after commit.
    fn head(&self, key: &Key) -> Result<Head, StorageError>;

    /// As [`Store::open`], for a key of this assembly, also after commit.
    fn open(&self, key: &Key) -> Result<Body, StorageError>;

    /// As [`Store::list`], for the keys of this assembly below `prefix`, also after commit. Keys are relative to the target.
    fn list<'a>(
        &'a self,
        prefix: &Key,
    ) -> Result<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'a>, StorageError>;

    /// Makes everything put so far durable.
    fn sync(&self) -> Result<(), StorageError>;

    /// Makes everything durable and visible under the target: one rename and a sync of the parent in a folder, nothing where keys
    /// were final from the start. Repeating it after it happened succeeds. Refuses when the target exists otherwise.
    fn commit(&self) -> Result<(), StorageError>;

    /// Removes everything that was put and not committed; where keys are final, every key below the target that has the id
    /// as a segment. Succeeds where nothing is left.
    fn discard(&self) -> Result<(), StorageError>;
}
