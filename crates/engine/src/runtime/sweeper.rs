//! Takes over what dead or silent workers held, and gives work items without a task one. Every process does it; it changes
//! nothing where there is nothing to do.

use std::time::Duration;

use strongroom_registry::work::{self, Reclaimed};
use strongroom_registry::{ItemId, RegistryError, Transaction};
use uuid::Uuid;

use super::core::Core;
use crate::event::Event;

/// Tasks taken over in one transaction.
const TASKS_AT_ONCE: usize = 500;
/// Work items inspected in one read.
const ITEMS_AT_ONCE: usize = 500;
/// Pages of work items in one sweep: a long list is walked over several.
const PAGES: usize = 4;

/// Sweeps at once, and then every so often until the run is over.
pub(super) fn sweep(core: &Core, every: Duration) {
    let mut after = ItemId(Uuid::nil());
    loop {
        if let Err(error) = sweep_once(core, &mut after) {
            Event::RegistryUnavailable { act: "take over tasks of silent workers", error: &error }.emit();
        }
        if core.over.sleep(every) {
            return;
        }
    }
}

fn sweep_once(core: &Core, after: &mut ItemId) -> Result<(), RegistryError> {
    let Reclaimed { topics, outcomes } =
        core.registry.write(|tx: &mut dyn Transaction| work::reclaim(tx, TASKS_AT_ONCE))?;
    for outcome in &outcomes {
        Event::ItemEnded { outcome }.emit();
    }
    if !topics.is_empty() {
        Event::TasksReclaimed { topics: &topics }.emit();
        announce(core, &topics);
    }
    for _ in 0..PAGES {
        let from = *after;
        let open = core.registry.read(|tx| work::open_items(tx, from, ITEMS_AT_ONCE))?;
        if !open.written_ahead.is_empty() {
            let ahead = open.written_ahead;
            Event::WaitsWrittenAhead { items: ahead.len() }.emit();
            let topics = core.registry.write(move |tx: &mut dyn Transaction| work::wake_written_ahead(tx, &ahead))?;
            announce(core, &topics);
        }
        let stranded = open.without_task;
        if !stranded.is_empty() {
            let workflows = core.registry.workflows();
            let topics = core
                .registry
                .write(move |tx: &mut dyn Transaction| work::requeue_stranded(tx, workflows.as_ref(), &stranded))?;
            announce(core, &topics);
        }
        let Some(last) = open.last else {
            *after = ItemId(Uuid::nil());
            return Ok(());
        };
        *after = last;
    }
    Ok(())
}

fn announce(core: &Core, topics: &[String]) {
    core.registry.wakeups().notify(topics.iter().map(String::as_str));
}
