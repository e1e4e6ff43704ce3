//! What this machine can do, measured without an installation.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use strongroom_database::SystemClock;
use strongroom_queue::{LeaseRequest, NewTask, Outcome, Settlement, WorkerId, tasks};
use strongroom_registry::{Registry, RegistryError};

use crate::EngineError;

/// Tasks in one transaction.
const AT_ONCE: usize = 100;
const TOPIC: &str = "bench";

/// How many tasks a second are enqueued, leased and settled, 100 at once, in a new registry that is made in this folder.
pub fn queue_rate(folder: &Path, duration: Duration) -> Result<f64, EngineError> {
    let registry = Registry::open_sqlite(&folder.join("registry.db"), Arc::new(SystemClock))?;
    let holder = WorkerId::this_process();
    let begin = Instant::now();
    let (mut done, mut round) = (0_u32, 0_u32);
    while begin.elapsed() < duration {
        round += 1;
        let new: Vec<NewTask> =
            (0..AT_ONCE).map(|index| NewTask::new(TOPIC, format!("{round}-{index}"), Vec::new())).collect();
        registry.write(move |tx| tasks::enqueue(tx, &new).map_err(RegistryError::from))?;
        let request = LeaseRequest {
            topics: vec![TOPIC.to_owned()],
            limit: AT_ONCE,
            holder: holder.clone(),
            duration: Duration::from_mins(1),
            keys: None,
        };
        let leased = registry.write(move |tx| tasks::lease(tx, &request).map_err(RegistryError::from))?;
        done += leased.len() as u32;
        let ends: Vec<Settlement> =
            leased.iter().map(|task| Settlement { lease: task.lease, outcome: Outcome::Done }).collect();
        registry.write(move |tx| tasks::settle(tx, &ends).map_err(RegistryError::from))?;
    }
    Ok(f64::from(done) / begin.elapsed().as_secs_f64())
}
