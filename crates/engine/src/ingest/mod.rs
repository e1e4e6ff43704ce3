//! Taking deposits in: from the request to the fourteen stages, each a handler of its own topic.

mod context;
mod deposit;
mod intake;
mod staged;
mod stages;
mod staging;
mod sweep;

pub use context::StageError;
pub(crate) use context::{StageContext, StageHandler};
pub use deposit::{DepositKind, DepositRequest, Deposited, deposit};
pub(crate) use deposit::{DepositOptions, PRIORITY, object_name_fault};
pub(crate) use intake::{bag_name, bag_part};
pub use stages::handlers;
pub(crate) use staging::Interruptible;
pub(crate) use sweep::finish_discarding;
pub use sweep::{sweep_assemblies, sweep_staging};
