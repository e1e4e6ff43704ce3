//! Writes the catalogues of the preservation stores anew where they are not what they should be.

use strongroom_registry::counted;

use super::BackgroundTask;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, catalogue};

pub(super) const TASK: BackgroundTask =
    BackgroundTask { name: "catalogue", every: |settings| settings.catalogue.interval, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let ran = catalogue::run(home, stop)?;
    Ok(format!("{} written, {} unchanged", counted(ran.written, "catalogue", "catalogues"), ran.unchanged))
}
