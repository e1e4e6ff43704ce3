//! Counts what has changed of objects in the statistics by day.

use std::time::Duration;

use strongroom_registry::counted;

use super::BackgroundTask;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, statistics};

const EVERY: Duration = Duration::from_mins(1);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "statistics", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let ran = statistics::run(home, stop)?;
    let mails = statistics::weekly::report(home)?;
    let mut words = vec![format!("{} counted", counted(ran.changes, "change", "changes"))];
    if ran.objects > 0 {
        words.push(format!("{} counted from nothing", counted(ran.objects, "object", "objects")));
    }
    if ran.corrected > 0 {
        words.push(format!("{} corrected", counted(ran.corrected, "figure", "figures")));
    }
    if mails > 0 {
        words.push(format!("{} mailed", counted(mails, "storage report", "storage reports")));
    }
    Ok(words.join(", "))
}
