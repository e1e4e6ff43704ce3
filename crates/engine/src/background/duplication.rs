//! Begins sweeps of duplication whose time has come, and works on those that are open.

use std::time::Duration;

use super::BackgroundTask;
use crate::duplication::sweep;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// The name of this task.
pub(crate) const NAME: &str = "duplication";

const EVERY: Duration = Duration::from_secs(10);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: NAME, every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    sweep::run(home, stop).map(|ran| ran.in_words())
}
