//! The work: worker runtime, ingest, fixity, restoration, rebuild. Every decision about preservation is made here; the
//! crates below keep records and bytes, those above only ask.

mod access;
pub mod activities;
pub mod app;
mod arks;
mod audit;
pub mod backfill;
pub mod background;
mod batch_acts;
mod catalogue;
mod content_name;
mod crash;
pub mod deletion;
mod downloads;
pub mod duplication;
mod error;
pub mod event;
pub mod export;
pub mod findings;
pub mod fixity;
mod held;
mod hold;
mod home;
pub mod identification;
pub mod ingest;
mod interruptible;
pub mod journal;
mod layout;
mod legal_holds;
mod levels;
mod logs;
mod manifests;
mod measure;
pub mod notifications;
pub mod outbox;
mod paging;
mod people;
mod pipelines;
pub mod places;
mod plain_stores;
mod problems;
mod profiles;
mod provenance;
pub mod rebuild;
pub mod receiving;
pub mod reconcile;
mod record;
mod reports;
pub mod restoration;
pub mod retention;
mod review;
mod rights;
pub mod runtime;
pub mod settings;
pub mod signatures;
mod statistics;
pub mod status;
pub mod survey;
mod tools;
pub mod watermark;
mod work;
pub mod workflow;

pub use access::{Availability, StoreAccess, StoreState};
#[cfg(feature = "failpoints")]
pub use crash::arm_crash_points;
pub(crate) use crash::{altered, crash_point};
pub use downloads::Downloads;
pub use error::{EngineError, chain, without_system_codes};
pub use home::{Home, NamedStore, Roles};
pub use strongroom_registry::counted;
pub use tools::{LAUNCHER_COMMAND, ToolLauncher};
pub use work::{build_runtime, handlers, with_settings_reload, work_on, work_on_batch};

/// What did an act, in events: this program and its version.
pub const AGENT: &str = concat!("https://crates.io/crates/strongroom/", env!("CARGO_PKG_VERSION"));
