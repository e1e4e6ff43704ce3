//! OCFL 1.1 objects: plan, write, read, validate and purge, over any store.
//!
//! A [`RootFault, StorageRoot`] lies below a prefix of a [`Store`](strongroom_storage::Store) and leads from an id to the place of an
//! [`Object`], by a [`Layout`]. The crate knows no record: what an inventory shall say is handed to it entry by entry, and
//! what it says is handed out the same way, so that no inventory is ever held as a whole.
//!
//! | to | use |
//! |---|---|
//! | make or open a storage root, find and walk objects | [`StorageRoot`] |
//! | write an inventory, and learn its digest | [`InventoryWriter`] |
//! | write a version, so that it comes to be as a whole | [`VersionAssembly`] |
//! | see what a store holds now, read it, leave a log | [`Object`] |
//! | take files or an object out of every version | [`PurgePlan`] |
//! | read what others have on a disk: objects, versions, files, differences | [`open_local`] |
//! | validate, with the codes of the specification | [`validate_object`], [`validate_root`], [`validate_directory`] |
//!
//! A version becomes true in steps that may each be repeated:
//!
//! ```
//! use strongroom_digest::{Algorithm, hash_reader};
//! use strongroom_ocfl::{
//!     Commit, InventoryHeader, InventoryWriter, StorageRoot, User, ValidateOptions, VersionAssembly, VersionDetails,
//!     VersionNumber, object_id, validate_object,
//! };
//! use strongroom_storage::{FolderStore, Key};
//!
//! # let folder = tempfile::tempdir()?;
//! let store = FolderStore::create("primary", folder.path())?;
//! let root = StorageRoot::init(&store, &Key::new("example.edu")?)?;
//! let id = object_id("0192f5e1-7c2b-7000-8000-0123456789ab")?;
//! let object = root.object(&id)?;
//!
//! // Contents, each under its digest.
//! let (v1, bytes) = (VersionNumber::FIRST, b"hello\n");
//! let sha512 = hash_reader(&bytes[..], &[Algorithm::Sha512])?.1.get(Algorithm::Sha512).ok_or("no digest")?;
//! let assembly = VersionAssembly::open(&store, "0192f5e1-7c2b-7000-8000-00000000000a", object.root(), v1)?;
//! assembly.put_content(&sha512, 6, None, &mut &bytes[..])?;
//! assembly.sync()?;
//! assert!(assembly.verify_content(&sha512, 6)?);
//!
//! // The inventory, written once for all stores.
//! let user = User { name: "Archivist".into(), address: Some("mailto:archivist@example.edu".into()) };
//! let mut writer = InventoryWriter::new(Vec::new(), &InventoryHeader::new(&*id, v1))?;
//! writer.manifest(&sha512, &assembly.content_path(&sha512))?;
//! writer.version(v1, &VersionDetails::new("2026-01-31T12:00:00Z".parse()?, "deposit", user))?;
//! writer.state(&sha512, "deposit/data/hello.txt")?;
//! let (inventory, seal) = writer.finish()?;
//!
//! // Made true.
//! assembly.commit(&mut Commit {
//!     seal: &seal,
//!     replaces: None,
//!     inventory: &mut || Ok(Box::new(std::io::Cursor::new(inventory.clone()))),
//!     may_go_on: &mut || Ok(()),
//! })?;
//! assert!(object.is_at(&seal)?);
//! assert!(validate_object(&store, object.root(), &ValidateOptions::default())?.is_valid());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assembly;
mod error;
mod head;
mod inventory;
mod json;
mod layout;
mod local;
mod object;
mod path;
mod purge;
mod root;
mod spec;
mod validate;
mod version;
mod writer;

pub use assembly::{Commit, Contents, VersionAssembly};
pub use error::OcflError;
pub use head::StoredInventory;
pub use inventory::{InventoryEntry, InventorySummary, read_inventory};
pub use json::Limits;
pub use layout::{Layout, Tuples};
pub use local::{
    Difference, Local, LocalFile, LocalObject, LocalObjects, LocalRoot, PathStates, VersionChanges, open_local,
};
pub use object::Object;
pub use path::{content_path, object_id, owned_content_path};
pub use purge::{GoOn, LastRecord, PurgePlan, PurgeScope, Rewriting, Tombstone};
pub use root::{Objects, RootFault, StorageRoot};
pub use spec::SpecVersion;
pub use validate::{Problem, Report, ValidateOptions, Validated, validate_directory, validate_object, validate_root};
pub use version::{User, VersionDetails, VersionNumber};
pub use writer::{InventoryHeader, InventorySeal, InventoryWriter};
