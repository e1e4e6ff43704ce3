//! A run of a background task that this process has taken. Its lease is short and extended by a heartbeat while the task runs,
//! so that the run of a machine that died is taken over soon; a run that was taken over is asked to stop.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use strongroom_registry::schedules::{self, Due, RunEnd};
use strongroom_registry::{Registry, RegistryError};

use crate::EngineError;
use crate::event::Event;
use crate::runtime::{BootClock, Listener, MonotonicClock, Shutdown};

/// How soon to try again when the registry did not answer.
const AGAIN: Duration = Duration::from_secs(1);

/// For how long after a request to stop the lease of a run is extended. A run that hangs is left to another process then.
const EXTENDED_AFTER_STOP: Duration = Duration::from_secs(30);

/// How the lease of a run was lost. What the run did is not recorded, and the next run repeats what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Another process has taken the run over.
    TakenOver,
    /// The registry could not be reached for as long as the lease lasts: another process may have taken the run over.
    NotExtended,
}

/// A turn that was taken.
pub(super) struct Turn<'a> {
    registry: &'a Registry,
    name: &'static str,
    holder: String,
    lease: Duration,
    taken_at: Duration,
    loss: OnceLock<Loss>,
}

impl<'a> Turn<'a> {
    /// Takes a run of a task, where it is due and no process runs it.
    pub(super) fn take(
        registry: &'a Registry,
        name: &'static str,
        due: Due,
        holder: &str,
        lease: Duration,
    ) -> Result<Option<Self>, EngineError> {
        let taken_at = BootClock.now();
        let owner = holder.to_owned();
        let is_ours = registry.write(move |tx| {
            let until = tx.now()?.plus(micros(lease));
            schedules::take(tx, name, due, &owner, until)
        })?;
        let turn = Self { registry, name, holder: holder.to_owned(), lease, taken_at, loss: OnceLock::new() };
        Ok(is_ours.then_some(turn))
    }

    /// Runs the turn and keeps its lease meanwhile. What runs is asked to stop when the turn is lost, or when the process
    /// is asked to.
    pub(super) fn keep<T>(&self, beat_every: Duration, shutdown: &Shutdown, run: impl FnOnce(&Shutdown) -> T) -> T {
        let (stop, over) = (Shutdown::new(), Shutdown::new());
        let listener: Arc<Listener> = {
            let stop = stop.clone();
            Arc::new(move || stop.request())
        };
        shutdown.listen(&listener);
        // It may have been asked before anybody listened.
        if shutdown.is_requested() {
            stop.request();
        }
        thread::scope(|scope| {
            let heart = thread::Builder::new().name(format!("turn of {}", self.name));
            let beating = heart.spawn_scoped(scope, || self.beat(beat_every, &over, &stop));
            if let Err(error) = beating {
                // The lease alone may be long enough.
                Event::ThreadNotStarted { name: self.name, error: &error }.emit();
            }
            let _over = over.request_on_drop();
            run(&stop)
        })
    }

    /// How the lease was lost; none where this process still has it.
    pub(super) fn loss(&self) -> Option<Loss> {
        self.loss.get().copied()
    }

    /// Ends the run: how it ended, and how long until the next. Changes nothing where another process has taken it over.
    pub(super) fn end(self, end: RunEnd, next: Duration) -> Result<(), EngineError> {
        let (name, holder) = (self.name, self.holder);
        Ok(self.registry.write(move |tx| {
            let at = tx.now()?.plus(micros(next));
            schedules::end(tx, name, &holder, &end, at)
        })?)
    }

    fn beat(&self, every: Duration, over: &Shutdown, stop: &Shutdown) {
        let mut held_until = self.taken_at.saturating_add(self.lease);
        let mut pause = every;
        let mut stop_seen_at = None;
        while !over.wait(pause) {
            let asked_at = BootClock.now();
            if stop.is_requested() {
                let since = *stop_seen_at.get_or_insert(asked_at);
                if asked_at.saturating_sub(since) > EXTENDED_AFTER_STOP {
                    return;
                }
            }
            let loss = match self.extend() {
                Ok(is_ours) => {
                    held_until = asked_at.saturating_add(self.lease);
                    pause = every;
                    (!is_ours).then_some(Loss::TakenOver)
                }
                Err(error) => {
                    Event::RegistryUnavailable { act: "extend the lease of a background task", error: &error }.emit();
                    pause = every.min(AGAIN);
                    (BootClock.now() >= held_until).then_some(Loss::NotExtended)
                }
            };
            if let Some(loss) = loss {
                // The heartbeat ends here: it is set once.
                let _ = self.loss.set(loss);
                stop.request();
                return;
            }
        }
    }

    fn extend(&self) -> Result<bool, RegistryError> {
        let (name, holder, lease) = (self.name, self.holder.clone(), micros(self.lease));
        // One row, which the statement itself decides by.
        self.registry.write_by_rows(move |tx| {
            let until = tx.now()?.plus(lease);
            schedules::extend(tx, name, &holder, until)
        })
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Instant;

    use strongroom_database::{Clock, SystemClock, Time};
    use strongroom_registry::schedules::Schedule;

    use super::*;

    const LEASE: Duration = Duration::from_mins(1);
    const BEAT: Duration = Duration::from_millis(1);
    /// How long a condition may take to come true before the test fails.
    const PATIENCE: Duration = Duration::from_mins(1);

    #[derive(Default)]
    struct Moved(AtomicI64);

    impl Clock for Moved {
        fn now(&self) -> Time {
            SystemClock.now().plus(self.0.load(Ordering::SeqCst))
        }
    }

    fn registry() -> (tempfile::TempDir, Registry, Arc<Moved>) {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(Moved::default());
        let registry = Registry::open_sqlite(&folder.path().join("registry.db"), clock.clone()).unwrap();
        (folder, registry, clock)
    }

    fn row(registry: &Registry) -> Schedule {
        registry.read(schedules::list).unwrap().remove(0)
    }

    fn until(mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < PATIENCE, "waited in vain");
            thread::yield_now();
        }
    }

    #[test]
    fn a_turn_is_kept_for_as_long_as_it_runs() {
        let (_folder, registry, clock) = registry();
        let turn = Turn::take(&registry, "look", Due::Now, "we", LEASE).unwrap().unwrap();
        turn.keep(BEAT, &Shutdown::new(), |stop| {
            for _ in 0..3 {
                let before = row(&registry).lease_until.unwrap();
                clock.0.fetch_add(micros(LEASE / 2), Ordering::SeqCst);
                until(|| row(&registry).lease_until.unwrap().0 >= before.0 + micros(LEASE / 2));
            }
            assert!(!stop.is_requested());
        });
        assert!(Turn::take(&registry, "look", Due::Now, "others", LEASE).unwrap().is_none());
        assert_eq!(turn.loss(), None);
        turn.end(RunEnd::Done("done".into()), Duration::from_mins(1)).unwrap();
        assert_eq!(row(&registry).holder, None);
    }

    #[test]
    fn a_turn_that_was_taken_over_stops_and_ends_nothing() {
        let (_folder, registry, clock) = registry();
        let turn = Turn::take(&registry, "look", Due::Now, "we", LEASE).unwrap().unwrap();
        turn.keep(BEAT, &Shutdown::new(), |stop| {
            // As if nothing had been heard of us for longer than the lease.
            until(|| {
                clock.0.fetch_add(2 * micros(LEASE), Ordering::SeqCst);
                Turn::take(&registry, "look", Due::Now, "others", LEASE).unwrap().is_some()
            });
            until(|| stop.is_requested());
        });
        assert_eq!(turn.loss(), Some(Loss::TakenOver));
        let theirs = row(&registry);
        turn.end(RunEnd::Done("done".into()), Duration::ZERO).unwrap();
        assert_eq!((&row(&registry), theirs.holder.as_deref()), (&theirs, Some("others")));
    }

    #[test]
    fn a_turn_stops_when_its_process_is_asked_to_and_is_not_lost() {
        let (_folder, registry, _clock) = registry();
        let shutdown = Shutdown::new();
        let turn = Turn::take(&registry, "look", Due::Now, "we", LEASE).unwrap().unwrap();
        turn.keep(LEASE, &shutdown, |stop| {
            assert!(!stop.is_requested());
            shutdown.request();
            assert!(stop.is_requested());
        });
        assert_eq!(turn.loss(), None);
    }
}
