//! Keeps the leases alive: one thread, one transaction for everything held.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::Isolation;
use strongroom_queue::Lease;
use strongroom_registry::work::{self, Claim, HeartbeatOutcome};
use strongroom_registry::{RegistryError, Transaction};

use super::core::Core;
use super::held::HeldTask;
use crate::event::Event;

/// How soon to try again when the registry did not answer.
const AGAIN: Duration = Duration::from_secs(1);

/// Beats until the run is over. Where the registry cannot be reached it keeps trying; the tasks themselves see by the
/// clock that their leases have run out.
pub(super) fn beat(core: &Core, every: Duration) {
    let mut pause = every;
    while !core.over.sleep(pause) {
        pause = match beat_once(core) {
            Ok(()) => every,
            Err(error) => {
                Event::RegistryUnavailable { act: "extend leases", error: &error }.emit();
                every.min(AGAIN)
            }
        };
    }
}

/// Leases that are extended by the same time.
type Group = (Duration, Vec<(Lease, Option<Claim>)>);

/// All leases by one transaction; where that fails, such as for one row that another transaction keeps locked, each by its own.
fn beat_once(core: &Core) -> Result<(), RegistryError> {
    let mut held = core.held.all();
    held.sort_by_key(|one| one.lease_for);
    match extend(core, &held) {
        Err(error) if error.is_transient() && held.len() > 1 => {}
        outcome => return outcome,
    }
    let mut outcome = Ok(());
    for one in held {
        if let Err(error) = extend(core, std::slice::from_ref(&one)) {
            Event::LeaseNotExtended { topic: &one.topic, key: &one.key, error: &error }.emit();
            outcome = Err(error);
        }
    }
    outcome
}

/// Extends leases that are in order of how long they last, by one transaction.
fn extend(core: &Core, held: &[Arc<HeldTask>]) -> Result<(), RegistryError> {
    if held.is_empty() {
        return Ok(());
    }
    let groups: Vec<Group> = held.chunk_by(|one, other| one.lease_for == other.lease_for).map(group).collect();
    let asked_at = core.clock.now();
    let pulses = core.registry.write_lease(Isolation::ReadCommitted, move |tx: &mut dyn Transaction| {
        let mut pulses: Vec<HeartbeatOutcome> = Vec::new();
        for (duration, leases) in &groups {
            pulses.extend(work::heartbeat(tx, leases, *duration)?);
        }
        Ok::<_, RegistryError>(pulses)
    })?;
    for (one, pulse) in held.iter().zip(pulses) {
        one.apply_heartbeat(pulse, asked_at);
    }
    Ok(())
}

fn group(held: &[Arc<HeldTask>]) -> Group {
    let duration = held.first().map_or(Duration::ZERO, |one| one.lease_for);
    (duration, held.iter().map(|one| (one.lease, one.claim.clone())).collect())
}
