//! OCFL 1.1 objects: plan, write, read, validate and purge, over any store.

mod assembly;
mod error;
mod head;
mod inventory;
mod json;
mod layout;
mod object;
mod path;
mod purge;
mod root;
mod spec;
mod validate;
mod version;
mod writer;

pub use assembly::VersionAssembly;
pub use error::OcflError;
pub use head::StoredInventory;
pub use inventory::{InventoryEntry, InventorySummary, read_inventory};
pub use json::Limits;
pub use layout::{Layout, Tuples};
pub use object::Object;
pub use path::{content_path, object_id};
pub use purge::{PurgePlan, PurgeScope, Tombstone};
pub use root::{Objects, StorageRoot};
pub use spec::SpecVersion;
pub use validate::{Problem, Report, ValidateOptions, Validated, validate_directory, validate_object, validate_root};
pub use version::{User, VersionDetails, VersionNumber};
pub use writer::{InventoryHeader, InventorySeal, InventoryWriter};
