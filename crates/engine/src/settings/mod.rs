//! Settings: one typed tree, read from `strongroom.toml` and the environment.
//!
//! The tree, the defaults, the units and the meanings are one table (`tree`); the commented file that a new home gets,
//! `config show` and the book's table are made from it (`document`). Reading and its errors are in `load`.

mod check;
mod collected;
mod document;
mod environment;
mod error;
mod identifiers;
mod kind;
mod line;
mod load;
mod mask;
mod nearest;
mod notifications;
mod plain_stores;
pub(crate) mod prices;
mod renamed;
mod secret;
mod stores;
mod tree;
mod units;
mod watch;
mod worker_kinds;

pub(crate) use check::{elsewhere, plain_elsewhere, shared_place};
pub use document::{STARTING_STORES, markdown, starting_file, with_registry};
pub use error::{Origin, SettingsError};
pub use load::{EffectiveSetting, Loaded};
pub use nearest::{is_near, nearest, nearest_few};
pub use plain_stores::{PlainFolderSettings, PlainStoreSettings};
pub use renamed::OldName;
pub use secret::Secret;
pub use stores::{FolderSettings, Location, StoreFacts, StoreSettings};
pub use tree::{
    ArkStatus, Audit, Backfill, CallbackSettings, CatalogueSettings, CollectionSettings, Deletion, DuplicationSettings,
    Fixity, Identification, IdentifierSettings, Ingest, InstitutionSettings, Log, LogFormat, MailSettings, MailTls,
    MinterKind, Receiving, RegistrySettings, Restoration, Retention, Roles, Settings, Staging, StatisticsSettings,
    ToolSettings, Workers, topics,
};
pub use units::{duration as parse_duration, readable_size, size as parse_size};
pub use watch::Watch;
