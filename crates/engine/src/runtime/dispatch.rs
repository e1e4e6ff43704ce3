//! The run itself: looks for tasks as long as there are free slots, sleeps when there is nothing, and drains at the end.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use strongroom_database::Isolation;
use strongroom_queue::Registered;
use strongroom_queue::tasks::{self, QueueStatus, ReadyFilter};
use strongroom_registry::{RegistryError, Transaction, check_schema};

use super::Summary;
use super::context::Interrupted;
use super::core::{Core, Tally, TopicLease};
use super::order::Turn;
use super::pool::Pool;
use super::shutdown::{Shutdown, Urgency};
use crate::event::Event;

/// How often an idle process asks whether another one has changed anything; that is cheap.
const GLANCE: Duration = Duration::from_millis(50);
/// As good as at once, and yet no idle loop.
const AT_ONCE: Duration = Duration::from_millis(1);
/// While the registry does not answer, it is asked this often at least.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often an idle process looks whether the tables are newer than it knows.
const CHECK_SCHEMA_EVERY: Duration = Duration::from_secs(1);
/// How long to wait at the end for threads that have nothing left to do.
const LEAVE_TAKING: Duration = Duration::from_secs(2);

/// What one look for work found.
enum Look {
    /// Something was leased; there may be more.
    Found,
    /// No slot is free.
    Full,
    /// Nothing now; look again after this time at the latest.
    Idle(Duration),
}

pub(super) struct Dispatcher<'a> {
    pub(super) core: Arc<Core>,
    pub(super) shutdown: &'a Shutdown,
    /// See [`super::Runtime::run_until`].
    pub(super) done: Option<&'a dyn Fn() -> bool>,
    /// The longest sleep without looking.
    pub(super) poll_every: Duration,
    /// See [`super::Builder::leave_to_others_after`].
    pub(super) leave_to_others_after: Duration,
    /// When it was last looked whether the tables are newer than the program.
    pub(super) schema_checked_at: Cell<Option<Instant>>,
}

impl Dispatcher<'_> {
    pub(super) fn run(&self) -> Summary {
        let failure = self.dispatch();
        let abandoned = self.drain();
        Event::RuntimeStopped { abandoned }.emit();
        Summary { abandoned, failure, ..self.core.tally.summary() }
    }

    /// Leases and sleeps in turns until asked to stop, until done, or until the registry fails for good.
    fn dispatch(&self) -> Option<RegistryError> {
        let mut pause = GLANCE;
        loop {
            let listening = self.core.notifier.listen();
            if self.shutdown.is_requested() || self.done.is_some_and(|done| done()) {
                return None;
            }
            self.leave_to_others();
            let revision = self.core.registry.database().revision().ok();
            match self.look() {
                Ok(Look::Found) => pause = GLANCE,
                Ok(Look::Full) => {
                    pause = GLANCE;
                    self.core.notifier.wait(listening, self.poll_every);
                }
                Ok(Look::Idle(due)) => {
                    pause = GLANCE;
                    self.sleep(listening, revision, due.min(self.poll_every));
                }
                Err(error) if error.is_transient() => {
                    Event::RegistryUnavailable { act: "query for tasks", error: &error }.emit();
                    self.core.notifier.wait(listening, pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(error) => return Some(error),
            }
        }
    }

    /// Returns what has waited for a thread of this process for too long.
    fn leave_to_others(&self) {
        for pool in &self.core.pools {
            for work in pool.overdue(self.leave_to_others_after) {
                self.core.give_back(&work);
            }
        }
    }

    /// One look: every free slot of every topic, later stages first, in one transaction; and none at all where a read
    /// shows that there is nothing to lease. Slots are kept only after that read: until then the end of a task may fill
    /// them.
    fn look(&self) -> Result<Look, RegistryError> {
        Tally::count(&self.core.tally.looks);
        let core = &self.core;
        let open: Vec<&Pool> = core.pools.iter().filter(|pool| pool.is_open()).collect();
        if open.is_empty() {
            return Ok(Look::Full);
        }
        // Also where there is nothing to lease: an idle process of an older program ends, too. The caller that leases
        // queries in any case.
        let is_due = self.schema_checked_at.get().is_none_or(|at| at.elapsed() >= CHECK_SCHEMA_EVERY);
        let (prospect, wait) = core.registry.read(|tx| {
            if is_due {
                check_schema(tx, core.registry.known_schema())?;
            }
            let mut topics = Vec::with_capacity(open.len());
            for pool in &open {
                let is_full = match pool.max_total() {
                    Some(most) => tasks::leased_of(tx, &pool.topic)? >= most,
                    None => false,
                };
                if !is_full {
                    topics.push(pool.topic.clone());
                }
            }
            let all = tasks::look(tx, &topics)?;
            let prospect = self.look_besides(tx, all)?;
            let wait = match &prospect {
                QueueStatus::At(time) => u64::try_from(time.0.saturating_sub(tx.now()?.0)).unwrap_or(0),
                _ => 0,
            };
            Ok::<_, RegistryError>((prospect, Duration::from_micros(wait)))
        })?;
        if is_due {
            self.schema_checked_at.set(Some(Instant::now()));
        }
        match prospect {
            QueueStatus::Work(topics) => self.lease(&topics),
            QueueStatus::Nothing => Ok(Look::Idle(self.poll_every)),
            QueueStatus::At(_) => Ok(Look::Idle(wait)),
        }
    }

    /// What is left of it without the topics whose tasks are all of institutions that have their share of the pool, or go after those of
    /// another topic.
    fn look_besides(&self, tx: &mut dyn Transaction, prospect: QueueStatus) -> Result<QueueStatus, RegistryError> {
        let QueueStatus::Work(topics) = prospect else { return Ok(prospect) };
        let mut left = Vec::with_capacity(topics.len());
        for topic in topics {
            let pool = self.core.by_topic.get(&topic).and_then(|pool| self.core.pools.get(*pool));
            let without = pool.filter(|_| self.core.keys.is_none()).map(|pool| pool.without(None)).unwrap_or_default();
            let since = match pool.map(|pool| self.core.order_of(pool).turn(tx)).transpose()? {
                Some(Turn::None) => continue,
                Some(Turn::Since(time)) => Some(time),
                Some(Turn::All) | None => None,
            };
            let filter = ReadyFilter { without: &without, since };
            if (without.is_empty() && since.is_none()) || tasks::has_ready(tx, &topic, filter)? {
                left.push(topic);
            }
        }
        Ok(if left.is_empty() { QueueStatus::Nothing } else { QueueStatus::Work(left) })
    }

    /// Leases what these topics have.
    fn lease(&self, topics: &[String]) -> Result<Look, RegistryError> {
        let core = &self.core;
        let mut wanted: Vec<TopicLease> = Vec::new();
        for (index, pool) in core.pools.iter().enumerate().filter(|(_, pool)| topics.contains(&pool.topic)) {
            let free = pool.reserve(usize::MAX);
            if free > 0 {
                wanted.extend(core.wanted(index, free, None));
            }
        }
        let asked_at = core.clock.now();
        let leased = core.registry.write_lease(Isolation::ReadCommitted, {
            let (wanted, max_attempts) = (wanted.clone(), core.max_attempts.clone());
            let (workflows, schema) = (core.registry.workflows(), core.registry.known_schema());
            move |tx| {
                // Nothing is leased from a schema that is newer than the one this program knows.
                if !wanted.is_empty() {
                    check_schema(tx, schema)?;
                }
                Core::lease_all(tx, &wanted, workflows.as_ref(), &max_attempts)
            }
        });
        let (assignments, failure) = match leased {
            Ok(leasing) => {
                for outcome in &leasing.outcomes {
                    Event::ItemEnded { outcome }.emit();
                }
                core.registry.wakeups().notify(leasing.topics.iter().map(String::as_str));
                (leasing.assignments, None)
            }
            Err(error) => (Vec::new(), Some(error)),
        };
        let look = match (assignments.is_empty(), &core.keys) {
            (false, _) => Look::Found,
            // Another process was faster, or what was there is outdated: there may be more behind it.
            (true, None) => Look::Idle(AT_ONCE),
            // What is there is for others.
            (true, Some(_)) => Look::Idle(self.poll_every),
        };
        core.take_in(&wanted, assignments, asked_at);
        failure.map_or(Ok(look), Err)
    }

    /// Sleeps until the notifier rings, another process has changed the registry since `revision`, or `at_most` has passed.
    fn sleep(&self, listening: Registered, revision: Option<u64>, at_most: Duration) {
        let began = Instant::now();
        loop {
            let left = at_most.saturating_sub(began.elapsed());
            if self.core.notifier.wait(listening, left.min(GLANCE)) || left <= GLANCE {
                return;
            }
            if self.core.registry.database().revision().ok() != revision {
                return;
            }
        }
    }

    /// Returns what was not begun, asks what runs to stop, and waits for it as long as its shutdown timeout lasts; how
    /// many tasks are left running.
    fn drain(&self) -> usize {
        let core = &self.core;
        core.draining.store(true, Ordering::SeqCst);
        let unbegun: Vec<_> = core.pools.iter().flat_map(Pool::close).collect();
        for held in core.held.all() {
            held.signal.interrupt(Interrupted::Draining);
        }
        let running = core.pools.iter().map(Pool::running).sum();
        Event::RuntimeDraining { running, given_back: unbegun.len() }.emit();
        if self.shutdown.urgency() < Urgency::AtOnce {
            for work in &unbegun {
                core.give_back(work);
            }
        }
        let began = Instant::now();
        loop {
            let listening = core.notifier.listen();
            // What has used up its shutdown timeout is not waited for any more.
            let waited_for = |pool: &&Pool| pool.running() > 0 && began.elapsed() < pool.settings.shutdown_timeout;
            let longest = core.pools.iter().filter(waited_for).map(|pool| pool.settings.shutdown_timeout).max();
            let Some(timeout) = longest.filter(|_| self.shutdown.urgency() < Urgency::AtOnce) else { break };
            core.notifier.wait(listening, timeout.saturating_sub(began.elapsed()));
        }
        let abandoned = core.pools.iter().map(Pool::running).sum();
        core.over.declare();
        self.join_workers(abandoned);
        abandoned
    }

    /// Waits a moment for threads that are on their way out, so that the registry is closed when a run has ended well.
    fn join_workers(&self, abandoned: usize) {
        let began = Instant::now();
        loop {
            let listening = self.core.notifier.listen();
            let left = LEAVE_TAKING.saturating_sub(began.elapsed());
            let at_once = self.shutdown.urgency() == Urgency::AtOnce;
            if self.core.threads.load(Ordering::SeqCst) <= abandoned || left.is_zero() || at_once {
                return;
            }
            self.core.notifier.wait(listening, left);
        }
    }
}
