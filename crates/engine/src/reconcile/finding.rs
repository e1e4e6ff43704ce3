//! What differs between a store and the record: a code for each kind, what it means, and what a person can do about it.

use strongroom_registry::{ObjectId, deletion_requests};

/// A kind of difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// An object that the record does not know.
    ObjectUnknown,
    /// An object of the record that the record does not have in this store.
    ObjectUnrecorded,
    /// An object without a root inventory that no work item writes.
    ObjectIncomplete,
    /// An object that should lie there.
    ObjectMissing,
    /// An object that a worker worked on all the time.
    ObjectBusy,
    /// An object that the placement puts into this store, and that the store does not hold whole.
    ObjectLacking,
    /// A version that the record does not know.
    VersionUnknown,
    /// A content that should lie there.
    CopyMissing,
    /// A content of another size than is recorded.
    CopySize,
    /// A content that the record has no copy of there.
    CopyUnknown,
    /// A content that was deleted.
    CopyDeleted,
    /// An object of which something is still to be removed after a deletion.
    DeletionUnfinished,
    /// Contents under the identifier of a version that was given up.
    VersionDiscarded,
    /// A declaration, inventory, sidecar or tombstone that should lie there.
    InventoryMissing,
    /// A file that declares a storage root, and is missing or differs.
    RootDeclaration,
    /// A file that belongs to no object.
    FileForeign,
    /// A name that is no key.
    NameUnusable,
    /// What was assembled for a work item that is not open.
    AssemblyAbandoned,
    /// What was staged for a work item that is not open.
    StagingAbandoned,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 19] = [
        Self::ObjectUnknown,
        Self::ObjectUnrecorded,
        Self::ObjectIncomplete,
        Self::ObjectMissing,
        Self::ObjectBusy,
        Self::ObjectLacking,
        Self::VersionUnknown,
        Self::CopyMissing,
        Self::CopySize,
        Self::CopyUnknown,
        Self::CopyDeleted,
        Self::DeletionUnfinished,
        Self::VersionDiscarded,
        Self::InventoryMissing,
        Self::RootDeclaration,
        Self::FileForeign,
        Self::NameUnusable,
        Self::AssemblyAbandoned,
        Self::StagingAbandoned,
    ];

    /// Its word, for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ObjectUnknown => "object.unknown",
            Self::ObjectUnrecorded => "object.unrecorded",
            Self::ObjectIncomplete => "object.incomplete",
            Self::ObjectMissing => "object.missing",
            Self::ObjectBusy => "object.busy",
            Self::ObjectLacking => "object.lacking",
            Self::VersionUnknown => "version.unknown",
            Self::CopyMissing => "copy.missing",
            Self::CopySize => "copy.size",
            Self::CopyUnknown => "copy.unknown",
            Self::CopyDeleted => "copy.deleted",
            Self::DeletionUnfinished => "deletion.unfinished",
            Self::VersionDiscarded => "version.discarded",
            Self::InventoryMissing => "inventory.missing",
            Self::RootDeclaration => "root.declaration",
            Self::FileForeign => "file.foreign",
            Self::NameUnusable => "name.unusable",
            Self::AssemblyAbandoned => "assembly.abandoned",
            Self::StagingAbandoned => "staging.abandoned",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::ObjectUnknown => "the store holds an object that the registry does not have",
            Self::ObjectUnrecorded => "the registry has the object, and not that this store holds it",
            Self::ObjectIncomplete => "an object without a root inventory: a version that was never finished",
            Self::ObjectMissing => "the registry says that the store holds the object, and it is not there",
            Self::ObjectLacking => "the object's placement names the store, and the store lacks copies of it",
            Self::ObjectBusy => "a worker held the object during the whole comparison, so it could not be compared",
            Self::VersionUnknown => "the store holds a later version of the object than the registry",
            Self::CopyMissing => "the registry says that the store holds the content, and it is not there",
            Self::CopySize => "the content has another size than the registry says: it is damaged",
            Self::CopyUnknown => "the object holds bytes that the registry does not have in this store",
            Self::DeletionUnfinished => "what was deleted of the object is still to be removed from the store",
            Self::CopyDeleted => "the object holds bytes that were deleted, as a store that was put back from a backup",
            Self::VersionDiscarded => "the object has bytes of a version that was discarded; no inventory names them",
            Self::InventoryMissing => "a declaration, inventory, sidecar or tombstone of the object is missing",
            Self::RootDeclaration => "a file that declares the storage root is missing or differs",
            Self::FileForeign => "the file belongs to no object and no storage root",
            Self::NameUnusable => "the name is none that a store can keep, so the file cannot be read",
            Self::AssemblyAbandoned => "what was assembled for a work item that is not open",
            Self::StagingAbandoned => "what was staged for a work item that is not open",
        }
    }

    fn next(self, store: &str, object: Option<ObjectId>) -> String {
        let fixity = || {
            let object = object.map(|object| format!(" --object {object}")).unwrap_or_default();
            format!("strongroom fixity run --all --store {store}{object}")
        };
        match self {
            Self::ObjectUnknown | Self::ObjectUnrecorded | Self::VersionUnknown | Self::CopyUnknown => {
                format!("strongroom rebuild --adopt --store {store}")
            }
            Self::ObjectMissing
            | Self::CopyMissing
            | Self::CopySize
            | Self::InventoryMissing
            | Self::RootDeclaration => fixity(),
            Self::DeletionUnfinished => "strongroom delete unfinished".to_owned(),
            Self::CopyDeleted => format!("strongroom background run {}", deletion_requests::TASK),
            Self::ObjectLacking => format!("strongroom store backfill {store}"),
            Self::ObjectBusy => format!("strongroom store reconcile --store {store}"),
            Self::StagingAbandoned | Self::VersionDiscarded => "strongroom schedule --once".to_owned(),
            Self::AssemblyAbandoned => {
                "strongroom schedule --once; if it remains, inspect it, and remove it by hand if it is not needed"
                    .to_owned()
            }
            Self::ObjectIncomplete | Self::FileForeign | Self::NameUnusable => {
                "inspect it; if it is not needed, remove it by hand".to_owned()
            }
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The store.
    pub store: String,
    /// What kind it is.
    pub code: Code,
    /// The key, or what stands for it.
    pub path: String,
    /// The object, where it is known.
    pub object: Option<ObjectId>,
    /// What was found and expected, where that says more than the code.
    pub detail: Option<String>,
}

impl Difference {
    /// What a person can do: a command to type, where there is one.
    pub fn next(&self) -> String {
        self.code.next(&self.store, self.object)
    }
}
