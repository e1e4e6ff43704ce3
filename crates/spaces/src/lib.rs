//! What a plain store is, and the plain stores made of folders.
//!
//! A [`PlainStore`] has content that others write to: no OCFL, no records of ours. Its content items lie in spaces, each under
//! a [`strongroom_storage::Key`]. [`FolderSpaces`] takes the subfolders of a folder for spaces; the crate `strongroom-s3` has
//! the engine over object storage. Every engine passes [`conformance::run`], and lists in the same order, so that the listings
//! of two stores can be compared line by line.

mod changes;
pub mod conformance;
mod expected;
mod folder;
mod item;
mod listed_name;
mod properties;
mod space;
mod store;

pub use changes::{Change, Changes, TakeChange};
pub use expected::Expected;
pub use folder::FolderSpaces;
pub use item::{Description, ItemHead, ItemPut, ListedContent, ListedItem, ListedSpace};
pub use listed_name::{ListedName, ListedNameError};
pub use properties::{Properties, PropertyError};
pub use space::{SpaceName, SpaceNameError};
pub use store::{Items, PlainCapabilities, PlainStore, Removal, Spaces, shown_key, why_not_carried};
