//! Compares the copies that there are with those that the placements name, and reports which stores lack some.

use std::collections::BTreeMap;
use std::time::Duration;

use strongroom_registry::Scope;

use super::BackgroundTask;
use crate::backfill::each_lacking;
use crate::event::Event;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

const EVERY: Duration = Duration::from_hours(24);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "placements", every: |_| EVERY, run };

/// Why the comparison ended before its end.
enum Ended {
    Stopped,
    Failed(EngineError),
}

impl From<EngineError> for Ended {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let mut lacking = BTreeMap::<String, u64>::new();
    let compared = each_lacking((&home.settings, &home.registry), Scope::System, None, &mut |found| {
        if stop.is_requested() {
            return Err(Ended::Stopped);
        }
        *lacking.entry(found.store).or_default() += 1;
        Ok(())
    });
    match compared {
        Ok(()) => {}
        // What was counted until then is not reported: it is less than there is.
        Err(Ended::Stopped) => return Ok("stopped before every placement was compared".to_owned()),
        Err(Ended::Failed(error)) => return Err(error),
    }
    for (store, objects) in &lacking {
        Event::CopiesLacking { store, objects: *objects }.emit();
    }
    Ok(format!("{} times a store lacks an object of its placement", lacking.values().sum::<u64>()))
}
