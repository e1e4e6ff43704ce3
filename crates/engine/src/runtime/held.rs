//! The tasks this process holds, begun or not: what the heartbeat keeps alive.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use strongroom_queue::Lease;
use strongroom_registry::work::{Assignment, Claim, HeartbeatOutcome};

use super::context::{Interrupted, Signal};
use super::settings::PoolSettings;
use crate::event::Event;

/// One task we hold.
#[derive(Debug)]
pub(super) struct HeldTask {
    pub(super) lease: Lease,
    pub(super) claim: Option<Claim>,
    pub(super) topic: String,
    pub(super) key: String,
    /// How long each heartbeat extends the lease.
    pub(super) lease_for: Duration,
    pub(super) signal: Arc<Signal>,
    /// Its end is being recorded: that it is gone then is no news.
    ending: AtomicBool,
}

impl HeldTask {
    /// A task leased by a transaction that began at `asked_at` of the monotonic clock.
    pub(super) fn new(assignment: &Assignment, settings: &PoolSettings, asked_at: Duration) -> Self {
        Self {
            lease: assignment.task.lease,
            claim: assignment.claimed.as_ref().map(|(claim, _)| claim.clone()),
            topic: assignment.task.topic.clone(),
            key: assignment.task.key.clone(),
            lease_for: settings.lease,
            signal: Arc::new(Signal::new(safe_until(asked_at, settings.lease))),
            ending: AtomicBool::new(false),
        }
    }

    pub(super) fn begin_to_end(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    /// Takes in what a heartbeat sent at `asked_at` learned.
    pub(super) fn apply_heartbeat(&self, pulse: HeartbeatOutcome, asked_at: Duration) -> bool {
        match pulse {
            HeartbeatOutcome::Held(_) => self.signal.extend(safe_until(asked_at, self.lease_for)),
            HeartbeatOutcome::StopRequested => {
                self.signal.extend(safe_until(asked_at, self.lease_for));
                self.signal.interrupt(Interrupted::StopRequested);
            }
            HeartbeatOutcome::Lost if self.ending.load(Ordering::SeqCst) => {}
            HeartbeatOutcome::Lost => {
                self.signal.interrupt(Interrupted::LeaseLost);
                Event::TaskLost { topic: &self.topic, key: &self.key, cause: "the heartbeat was refused" }.emit();
                return false;
            }
        }
        true
    }
}

/// Until when a lease asked for at `asked_at` surely holds: what was asked happened later, and a tenth of the lease is left
/// for a write that is under way.
fn safe_until(asked_at: Duration, lease: Duration) -> Duration {
    asked_at.saturating_add(lease.saturating_sub(lease / 10))
}

/// All tasks we hold.
#[derive(Debug, Default)]
pub(super) struct HeldTasks(Mutex<HashMap<Lease, Arc<HeldTask>>>);

impl HeldTasks {
    pub(super) fn add(&self, held: HeldTask) -> Arc<HeldTask> {
        let held = Arc::new(held);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(held.lease, held.clone());
        held
    }

    pub(super) fn remove(&self, lease: Lease) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&lease);
    }

    pub(super) fn all(&self) -> Vec<Arc<HeldTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
