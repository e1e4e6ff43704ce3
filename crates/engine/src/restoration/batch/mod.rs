//! Many objects restored by one request: a batch with a work item for each object, and one that makes those, waits for their
//! ends and writes the receipt. The batch is open for as long as that one is, so that it is never taken for whole before it is.

mod expand;
mod receipt;
mod request;

use serde::{Deserialize, Serialize};
use strongroom_registry::{Action, BatchId, Stage as Name};

use crate::workflow::{Passes, Stage, StageContext, StageError, StageWork, WaitsFor, Workflow};

pub(crate) use receipt::follow as follow_receipt;
pub(crate) use request::KIND;
pub use request::{
    BatchRequested, CollectionRequest, ListRequest, forget_unused_lists, request_collection, request_list,
};

/// The restoration of many objects. The registry's statements name the action, too.
pub(crate) const OF_BATCHES: Workflow = Workflow {
    action: Action::named("restore_batch"),
    group: "restoration",
    stages: &[stage(Name::named("expand"), expand::run), stage(Name::named("receipt"), receipt::run)],
    restart: None,
    restage: None,
};

const fn stage(name: Name, run: StageWork) -> Stage {
    Stage { name, run, waits_for: WaitsFor::Time, inline: false, passes: Passes::None, is_remote: None }
}

/// What the work item of a batch keeps of the request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct BatchOptions {
    /// Whether the objects are those of a list; else those of the item's collection.
    of_list: bool,
    /// An absolute folder.
    to: Option<String>,
    requested_by: String,
}

/// The batch that the item is of.
fn batch_of(context: &StageContext<'_>) -> Result<BatchId, StageError> {
    context.item.batch.ok_or_else(|| StageError::fatal("the work item is of no batch"))
}
