//! Deletion of objects and files: two users have to want it (`requests`), then work items remove what was named.

mod delete;
pub mod requests;
mod turn;

use strongroom_registry::{Action, Stage as Name};

use crate::workflow::{Passes, Stage, WaitsFor, Workflow};

pub(crate) use requests::{BATCH_KIND, OF_REQUESTS};

/// The deletion of an object.
pub(crate) const OF_OBJECTS: Workflow = of(Action::named("delete_object"));
/// The deletion of files of an object.
pub(crate) const OF_FILES: Workflow = of(Action::named("delete_files"));

const STAGES: &[Stage] = &[Stage {
    name: Name::named("delete"),
    run: delete::run,
    waits_for: WaitsFor::Turn,
    inline: false,
    passes: Passes::None,
    is_remote: None,
}];

const fn of(action: Action) -> Workflow {
    Workflow { action, group: "deletion", stages: STAGES, restart: Some(requests::restart), restage: None }
}
