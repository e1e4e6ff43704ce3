//! The record: institutions to events, work items, and the SQL that keeps them.
//!
//! Operations are plain functions over a [`Transaction`], one implementation for all engines; their SQL lies in `sql/`,
//! one folder per dialect. [`Registry`] opens a database with them. Readers see published versions only.

mod advance;
pub mod backfill;
pub mod batches;
pub mod checks;
pub mod comparing;
pub mod copies;
pub mod discarding;
mod error;
pub mod events;
#[cfg(feature = "failpoints")]
pub mod faults;
pub mod fixity;
mod format;
pub mod health;
pub mod identification;
mod ids;
pub mod interim;
pub mod items;
pub mod leases;
pub mod objects;
pub mod outbox;
pub mod parts;
pub mod rebuild;
pub mod receiving;
mod recovery;
mod registry;
pub mod restored;
pub mod retention;
pub mod schedules;
mod scope;
pub mod standing;
pub mod stores;
pub mod tenants;
pub mod versions;
mod words;
pub mod work;
mod workflow;

pub use error::RegistryError;
pub use format::Format;
pub use ids::{
    BatchId, CollectionId, ContentId, EventId, FileId, FindingId, GenerationId, InstitutionId, ItemId, ObjectId,
    UploadId, VersionId,
};
pub use objects::{Description, Digests};
pub use parts::{Part, Parts};
pub use registry::{Registry, check_schema, migrations, schema, statements};
pub use scope::Scope;
pub use strongroom_database::{Time, Transaction};
pub use words::{
    BatchState, CopyState, Decision, FindingKind, FindingState, Health, ItemStatus, ObjectState, RestoredState,
    UploadState, VersionState, WaitReason,
};
pub use workflow::{Action, Position, Stage, Subject, WaitKey, Workflows};
