//! How much a process takes on may change while it runs: its source is asked at intervals.

use std::time::Duration;

use super::AskCapacity;
use super::core::Core;
use super::settings::PoolSettings;
use crate::event::Event;

/// Asks until the run is over, and changes the pools accordingly.
pub(super) fn follow(core: &Core, every: Duration, ask: &AskCapacity) {
    while !core.over.sleep(every) {
        let Some(pools) = ask() else { continue };
        for pool in &core.pools {
            let wanted = pools.of(&pool.topic);
            if pool.resize(&wanted) {
                let PoolSettings { workers, prefetch, max_total, aged_after, .. } = wanted;
                Event::CapacityTakenUp { topic: &pool.topic, workers, prefetch, max_total, aged_after }.emit();
            }
        }
        core.notifier.notify();
    }
}
