//! The store that lies in S3-compatible object storage.
//!
//! [`S3Store`] is a [`strongroom_storage::Store`] over one bucket, or a part of one. Calls block; the network work is done
//! by a runtime of this crate's own, so nothing above knows of it. They must not be made from async code.
//! What a server really honours is found out by a [`Probe`], recorded in the bucket, and shown to people.
//!
//! Bookkeeping lies under `.strongroom/` below the store's prefix and is not listed: `store.json` says that this is a
//! store, and which; `probe.json` what was found out; `assembly/` names versions being written; `upload/` large puts that
//! were begun and can be gone on with.

#[cfg(feature = "client")]
mod assembly;
#[cfg(feature = "client")]
mod body;
#[cfg(feature = "client")]
mod bookkeeping;
#[cfg(feature = "client")]
mod buffers;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod condition;
#[cfg(feature = "client")]
mod delete;
#[cfg(feature = "client")]
mod failure;
#[cfg(feature = "client")]
mod head;
#[cfg(feature = "client")]
mod hold;
#[cfg(feature = "client")]
mod identity;
#[cfg(feature = "client")]
mod key_locks;
#[cfg(feature = "client")]
mod list;
mod location;
#[cfg(feature = "client")]
mod multipart;
#[cfg(feature = "client")]
mod probe;
#[cfg(feature = "client")]
mod purge;
#[cfg(feature = "client")]
mod put;
#[cfg(feature = "client")]
mod resume;
mod settings;
#[cfg(feature = "client")]
mod source;
#[cfg(feature = "client")]
mod spaces;
#[cfg(feature = "client")]
mod store;
#[cfg(feature = "client")]
mod versions;

#[cfg(feature = "client")]
pub use failure::Failure;
pub use location::BucketLocation;
#[cfg(feature = "client")]
pub use probe::Probe;
#[cfg(feature = "client")]
pub use resume::Swept;
pub use settings::{Checksums, S3Settings, Secret};
#[cfg(feature = "client")]
pub use spaces::S3Spaces;
#[cfg(feature = "client")]
pub use store::S3Store;
