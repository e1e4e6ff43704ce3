//! The fourteen stages of an ingest, one file each. A stage does only what the interim record says is not done, so that it
//! may be repeated at any time.

mod characterize;
mod cleanup;
mod compare;
mod complete;
mod estimate;
mod fetch;
mod gather;
mod heal;
mod inventory;
mod notify;
mod provision;
mod receive;
mod record;
mod resolve;
mod validate;
mod verify;
mod write;

use std::sync::Arc;

use strongroom_registry::{Action, Stage};

use super::context::{StageHandler, StageWork};
use super::sweep::SweepHandler;
use crate::Home;
use crate::runtime::Handler;

pub(crate) use record::previous_inventory;
pub(crate) use validate::Findings;

/// The handlers of every stage, and of what ended items leave behind.
pub fn handlers(home: &Arc<Home>) -> Vec<Arc<dyn Handler>> {
    let mut handlers: Vec<Arc<dyn Handler>> = Vec::with_capacity(Stage::INGEST.len() + 1);
    for stage in Stage::INGEST {
        let topic = stage.topic(Action::Ingest);
        handlers.push(Arc::new(StageHandler { home: home.clone(), topic, work: work_of(stage) }));
    }
    handlers.push(Arc::new(SweepHandler { home: home.clone() }));
    handlers
}

fn work_of(stage: Stage) -> StageWork {
    match stage {
        Stage::Receive => receive::run,
        Stage::Estimate => estimate::run,
        Stage::Provision => provision::run,
        Stage::Fetch => fetch::run,
        Stage::Validate => validate::run,
        Stage::Resolve => resolve::run,
        Stage::Compare => compare::run,
        Stage::Gather => gather::run,
        Stage::Characterize => characterize::run,
        Stage::Write => write::run,
        Stage::Verify => verify::run,
        Stage::Record => record::run,
        Stage::Notify => notify::run,
        Stage::Cleanup | Stage::Restore => cleanup::run,
    }
}
