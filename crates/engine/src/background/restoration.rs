//! Removes the results of restorations whose time in the restoration store has run out, and lists of which no batch was made.

use std::time::Duration;

use super::BackgroundTask;
use crate::restoration::{expire, forget_unused_lists};
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

const EVERY: Duration = Duration::from_hours(1);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "restoration", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    forget_unused_lists(home, stop)?;
    let expired = expire(home, stop)?;
    let (removed, changed) = (expired.removed, expired.changed);
    Ok(format!("{removed} results of restorations removed, {changed} left because they were changed"))
}
