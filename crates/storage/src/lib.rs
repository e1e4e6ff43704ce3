//! What a store is, and the stores made of folders.
//!
//! A [`Store`] keeps bytes under [`Key`]s; it knows nothing of objects or records. [`FolderStore`] is the embedded
//! default. Layers (retry, concurrency limit, metering, fault injection) wrap any store.

mod error;
mod folder;
mod key;
mod store;

pub use error::StorageError;
pub use folder::FolderStore;
pub use key::{Key, KeyError};
pub use store::{Assembly, Body, Capabilities, Durability, Head, Listed, PutCondition, PutOptions, Store};
