//! Restores an object of each institution every so often, and asks its admins to look at the result.

use std::time::Duration;

use strongroom_registry::counted;

use super::BackgroundTask;
use crate::restoration::spot_test;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

const EVERY: Duration = Duration::from_mins(10);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "spot-tests", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let done = spot_test(home, stop)?;
    let mut text = format!(
        "{} begun, {} restored, {} failed, {} reminded of",
        counted(done.begun, "test", "tests"),
        done.restored,
        done.failed,
        done.reminded
    );
    if done.without > 0 {
        let many = counted(done.without, "institution has", "institutions have");
        text = format!("{text}, {many} no object that is small enough");
    }
    Ok(text)
}
