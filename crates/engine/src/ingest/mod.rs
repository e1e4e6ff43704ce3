//! Taking deposits in: from the request to the stages, each with a topic of its own.

mod area;
mod batch;
mod completion;
mod deposit;
mod intake;
mod inventory;
mod kept_copies;
mod kind;
mod lease;
mod manifest;
mod manifest_size;
mod metadata;
mod naming;
mod paging;
mod placement;
mod staged;
mod stages;
mod staging;
mod submission;
mod sweep;
mod version;
mod workflow;

pub(crate) use batch::OF_BATCHES;
pub(crate) use deposit::{DepositOptions, object_name_fault};
pub use deposit::{DepositRequest, Deposited, GivenDescription, NewDescription, deposit, describe};
pub use intake::PackageSource;
pub(crate) use intake::{bag_name, bag_part};
pub use kind::{DepositKind, DepositMode};
pub(crate) use metadata::description_record;
pub use metadata::{read_description, read_descriptions};
pub(crate) use stages::validate::item_problem;
pub(crate) use submission::{Package, Submission, submit};
pub(crate) use sweep::finish_discarding;
pub(crate) use sweep::{SweepHandler, is_over};
pub use sweep::{sweep_assemblies, sweep_staging};
pub(crate) use workflow::{INGEST, WORKFLOW, is_read, is_taken_in};
