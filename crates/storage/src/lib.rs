//! What a store is, and the stores made of folders.
//!
//! A [`Store`] keeps bytes under [`Key`]s; it knows nothing of objects or records. [`FolderStore`] is the embedded
//! default. Every kind of store passes [`conformance::run`].

pub mod conformance;
mod error;
mod folder;
mod key;
mod moment;
mod removal;
mod store;

pub use error::StorageError;
#[cfg(target_os = "linux")]
pub use folder::{FolderChange, FolderChanges, TakeChange};
pub use folder::{
    FolderLocation, FolderMode, FolderStore, NotKey, Overlap, PlainFolder, Removal, Top, Tops, Unfinished, Walk, Walked,
};
pub use key::{Key, KeyError};
pub use removal::{RemovalHold, Retention, RetentionMode};
pub use store::{
    Assembly, Body, Capabilities, Durability, Head, Listed, Listing, PutCondition, PutOptions, Retrieval,
    RetrievalRequest, Store,
};
