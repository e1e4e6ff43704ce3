//! Puts into the stores the files of objects' logs that they missed while they were away, and copies logs that could not be
//! read before.

use super::BackgroundTask;
use crate::logs::{copy_unread, put_missed};
use crate::runtime::Shutdown;
use crate::{EngineError, Home};
use strongroom_registry::counted;

pub(super) const TASK: BackgroundTask =
    BackgroundTask { name: "logs", every: |settings| settings.fixity.poll_interval, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let (put, objects) = (put_missed(home, stop)?, copy_unread(home, stop)?);
    Ok(format!(
        "{} put that stores had missed, logs of {} copied that could not be read before",
        counted(put, "log", "logs"),
        counted(objects, "object", "objects")
    ))
}
