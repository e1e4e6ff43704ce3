//! Work items as workflows: ordered stages, as data. A workflow is registered with a [`Home`](crate::Home); the record keeps the
//! names of action and stage, and the runtime does each stage as the tasks of its topic. It knows no stage by name.

mod context;
mod definition;
mod handler;
mod outcome;

pub use context::StageContext;
pub(crate) use context::staging_prefix;
pub(crate) use definition::local_topic;
pub use definition::{IsRemote, Passes, Restage, Restart, Stage, StageBytes, StageWork, WaitsFor, Workflow, Workflows};
pub(crate) use handler::handlers;
pub use outcome::{Outcome, StageError};
