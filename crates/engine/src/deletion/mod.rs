//! Deletion of objects and of files: two users have to want it (`requests`); then what they agreed on is recorded, the rows go, then the
//! bytes in every store that has them, and a tombstone stays. A store that is away loses its bytes when it is back, before anything else is
//! done to the object there.

mod carrying_out;
mod delete;
mod holding;
mod importing;
mod last;
pub mod requests;
mod rows;
mod tombstone;
mod turn;

use strongroom_registry::{Action, Stage as Name};

use crate::EngineError;
use crate::workflow::{Passes, Stage, StageWork, WaitsFor, Workflow};

pub(crate) use carrying_out::{finish_all, finish_pending, is_of_before, removes, still_before};
pub(crate) use importing::{KnownDeletions, OpenDeletions};
pub(crate) use last::{emptied, last_record};
pub(crate) use requests::obstacles::in_words;
pub(crate) use requests::{BATCH_KIND, OF_REQUESTS};
pub(crate) use tombstone::ACT;

/// The deletion of an object.
pub(crate) const OF_OBJECTS: Workflow = of(Action::named("delete_object"));
/// The deletion of files of an object.
pub(crate) const OF_FILES: Workflow = of(Action::named("delete_files"));

const STAGES: &[Stage] = &[
    stage(Name::named("wait"), turn::run, WaitsFor::Turn, false),
    stage(Name::named("delete"), delete::run, WaitsFor::ObjectLease, true),
];

/// What is said to who wants something of an object that was deleted.
pub(crate) fn was_deleted(identifier: &str) -> EngineError {
    EngineError::Refused(format!("{identifier} was deleted")).next(format!(
        "strongroom delete list --object {identifier} says who asked for it and why; a new deposit begins the object anew"
    ))
}

const fn of(action: Action) -> Workflow {
    Workflow { action, group: "deletion", stages: STAGES, restart: Some(requests::restart), restage: None }
}

const fn stage(name: Name, run: StageWork, waits_for: WaitsFor, inline: bool) -> Stage {
    Stage { name, run, waits_for, inline, passes: Passes::None, is_remote: None }
}
