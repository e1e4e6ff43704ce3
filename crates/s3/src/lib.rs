//! The store that lies in S3-compatible object storage.
//!
//! [`S3Store`] is a [`strongroom_storage::Store`] over one bucket, or a part of one. Calls block; the network work is done
//! by a runtime of this crate's own, so nothing above knows of it. They must not be made from async code.
//! What a server really honours is found out by a [`Probe`], recorded in the bucket, and shown to people.
//!
//! Bookkeeping lies under `.strongroom/` below the store's prefix and is not listed: `store.json` says that this is a
//! store, and which; `probe.json` what was found out; `assembly/` names versions being written; `upload/` large puts that
//! were begun and can be gone on with.

mod assembly;
mod body;
mod bookkeeping;
mod buffers;
mod client;
mod condition;
mod delete;
mod failure;
mod head;
mod identity;
mod key_locks;
mod list;
mod location;
mod multipart;
mod probe;
mod put;
mod resume;
mod settings;
mod source;
mod store;

pub use failure::Failure;
pub use location::BucketLocation;
pub use probe::Probe;
pub use resume::Swept;
pub use settings::{Checksums, S3Settings, Secret};
pub use store::S3Store;
