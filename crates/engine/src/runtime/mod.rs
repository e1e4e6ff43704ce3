//! The worker runtime: leases tasks from the registry's queue, runs each on a pooled thread, keeps the leases alive, ends
//! every task in one transaction, and drains when asked to stop. It knows no job of the system: those are [`Handler`]s.
//!
//! Rules it keeps. A task runs only while its lease holds by a clock that never goes back. What a handler does wrong,
//! a panic too, costs that attempt and nothing else. An end that is reported late meets the fence and changes nothing.
//! Nothing waits for a poll that a finished task could announce, and everything still works by polling alone.

mod backoff;
mod capacity;
mod clock;
mod context;
mod core;
mod dispatch;
mod ending;
mod heartbeat;
mod held;
mod notifier;
mod order;
mod pool;
mod running;
mod settings;
mod shutdown;
mod sweeper;
mod turns;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use strongroom_queue::WorkerId;
use strongroom_registry::work::Assignment;
use strongroom_registry::{ItemId, Registry, RegistryError, Together};

pub(crate) use self::core::panic_message;
pub use backoff::retry_delay;
pub use clock::{BootClock, MonotonicClock};
pub use context::{Interrupted, TaskContext};
pub use ending::{TaskEnd, Writes};
pub use running::RunningTasks;
pub use settings::{DEFAULT_TOPIC, PoolSettings, Pools};
pub(crate) use shutdown::Listener;
pub use shutdown::{RequestOnDrop, Shutdown};

use self::core::{Core, Tally};
use self::dispatch::Dispatcher;
use self::held::HeldTasks;
use self::notifier::{Notifier, Over};
use self::pool::Pool;
use self::turns::Turns;
use crate::event::Event;

/// Does the tasks of one topic. It may be called for several tasks at once, from as many threads.
pub trait Handler: Send + Sync {
    /// The topic, such as `ingest.fetch`.
    fn topic(&self) -> &str;

    /// Whether its tasks wait for servers rather than for processors. Then no institution has more of its workers than are free besides, and
    /// nothing is prefetched.
    fn waits_for_servers(&self) -> bool {
        false
    }

    /// Does one task and says how it ended. The task may have been done before, in part or whole: a repeat does only what
    /// is missing. Calls [`TaskContext::check`] at least once a second of work and stops where that fails.
    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd;
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Summary {
    /// How often the queue was queried for tasks.
    pub looks: u64,
    /// Tasks whose end was recorded, whichever it was.
    pub ended: u64,
    /// Tasks returned before they were begun.
    pub given_back: u64,
    /// Tasks whose handler panicked.
    pub panicked: u64,
    /// Tasks whose end could not be recorded, because another process had them by then or the registry did not answer.
    pub dropped: u64,
    /// Tasks that were still running when the run ended.
    pub abandoned: usize,
    /// Why the run ended by itself, where it did.
    pub failure: Option<RegistryError>,
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.looks += other.looks;
        self.ended += other.ended;
        self.given_back += other.given_back;
        self.panicked += other.panicked;
        self.dropped += other.dropped;
        self.abandoned += other.abandoned;
        self.failure = self.failure.take().or(other.failure);
    }
}

/// How a runtime is put together.
pub struct Builder {
    registry: Registry,
    handlers: Vec<Arc<dyn Handler>>,
    pools: Pools,
    earlier_topics: HashMap<String, Vec<String>>,
    holder: WorkerId,
    keys: Option<Arc<HashSet<String>>>,
    clock: Arc<dyn MonotonicClock>,
    poll_every: Duration,
    beat_every: Option<Duration>,
    sweep_every: Duration,
    leave_to_others_after: Duration,
    capacity: Option<(Duration, Arc<AskCapacity>)>,
    running: Arc<RunningTasks>,
}

/// Says how much of each topic is to be taken on from now on; none where that is as before.
pub type AskCapacity = dyn Fn() -> Option<Pools> + Send + Sync;

impl Builder {
    /// The settings of the topics' pools.
    #[must_use]
    pub fn pools(mut self, pools: Pools) -> Self {
        self.pools = pools;
        self
    }

    /// The tasks of these topics go before those of `topic`: while this process works on such a topic too, and a task of it can be leased, it
    /// leases none of `topic`, unless that has been ready for as long as [`PoolSettings::aged_after`] says. Topics that went before each
    /// other would both stand still. Has no effect with [`Self::only_items`].
    #[must_use]
    pub fn goes_after(mut self, topic: &str, earlier: &[&str]) -> Self {
        self.earlier_topics.entry(topic.to_owned()).or_default().extend(earlier.iter().map(|&topic| topic.to_owned()));
        self
    }

    /// Only tasks of these work items.
    #[must_use]
    pub fn only_items(mut self, items: impl IntoIterator<Item = ItemId>) -> Self {
        self.keys = Some(Arc::new(items.into_iter().map(|item| item.to_string()).collect()));
        self
    }

    /// Who holds the tasks; this process unless told otherwise.
    #[must_use]
    pub fn holder(mut self, holder: WorkerId) -> Self {
        self.holder = holder;
        self
    }

    /// By which clock the own leases are judged.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn MonotonicClock>) -> Self {
        self.clock = clock;
        self
    }

    /// The longest sleep without looking for work; one second unless told otherwise.
    #[must_use]
    pub fn poll_every(mut self, duration: Duration) -> Self {
        self.poll_every = duration;
        self
    }

    /// How often leases are extended; a third of the shortest lease unless told otherwise.
    #[must_use]
    pub fn beat_every(mut self, duration: Duration) -> Self {
        self.beat_every = Some(duration);
        self
    }

    /// How often tasks of dead or silent workers are taken over; five seconds unless told otherwise.
    #[must_use]
    pub fn sweep_every(mut self, duration: Duration) -> Self {
        self.sweep_every = duration;
        self
    }

    /// How long an item that comes from the stage before waits in this process for a thread before it is left to the queue; half a
    /// second unless told otherwise. It is looked for that as often as [`Self::poll_every`] says.
    #[must_use]
    pub fn leave_to_others_after(mut self, duration: Duration) -> Self {
        self.leave_to_others_after = duration;
        self
    }

    /// Asks so often how much is to be taken on: workers and prefetch of each topic are taken up while it runs. Leases, attempts
    /// and shutdown timeout stay as they were at the start.
    #[must_use]
    pub fn capacity(mut self, every: Duration, ask: Arc<AskCapacity>) -> Self {
        self.capacity = Some((every, ask));
        self
    }

    /// Where the runtime records what runs, and what that has read.
    #[must_use]
    pub fn running(mut self, running: Arc<RunningTasks>) -> Self {
        self.running = running;
        self
    }

    /// The runtime. Of several handlers for one topic the first is taken.
    pub fn build(self) -> Runtime {
        Runtime { plan: self }
    }
}

/// Does tasks until asked to stop.
pub struct Runtime {
    plan: Builder,
}

impl Runtime {
    /// Begins a runtime over a registry. The handlers stand in the order of a work item's way: where there is work for
    /// several, that of the later one is taken first, so that what is under way ends before something new begins.
    pub fn builder(registry: Registry, handlers: Vec<Arc<dyn Handler>>) -> Builder {
        Builder {
            registry,
            handlers,
            pools: Pools::default(),
            earlier_topics: HashMap::new(),
            holder: WorkerId::this_process(),
            keys: None,
            clock: Arc::new(BootClock),
            poll_every: Duration::from_secs(1),
            beat_every: None,
            sweep_every: Duration::from_secs(5),
            leave_to_others_after: Duration::from_millis(500),
            capacity: None,
            running: Arc::default(),
        }
    }

    /// Works until asked to stop, and returns when drained. Blocks its caller.
    pub fn run(&self, shutdown: &Shutdown) -> Summary {
        self.work(shutdown, None)
    }

    /// As [`Self::run`], and stops by itself as soon as `done` holds. That is asked whenever a task may have ended a work
    /// item, and at least once a second or as often as [`Builder::poll_every`] says.
    pub fn run_until(&self, shutdown: &Shutdown, done: &dyn Fn() -> bool) -> Summary {
        self.work(shutdown, Some(done))
    }

    fn work(&self, shutdown: &Shutdown, done: Option<&dyn Fn() -> bool>) -> Summary {
        let plan = &self.plan;
        let core = Arc::new(self.core(done.is_some()));
        Event::RuntimeStarted { holder: &core.holder_text, topics: core.pools.len() }.emit();
        let listener: Arc<dyn Fn() + Send + Sync> = {
            let core = Arc::downgrade(&core);
            Arc::new(move || {
                if let Some(core) = core.upgrade() {
                    core.notifier.notify();
                }
            })
        };
        shutdown.listen(&listener);
        let shortest = core.pools.iter().map(|pool| pool.settings.lease).min().unwrap_or(Duration::from_mins(1));
        let beat_every = plan.beat_every.unwrap_or(shortest / 3);
        let heart = core.clone();
        let sweeper = core.clone();
        let sweep_every = plan.sweep_every;
        // Without a heartbeat nothing may be held: with nothing to beat, threads are what is short, so nothing is begun.
        if !core.spawn("heartbeat", move || heartbeat::beat(&heart, beat_every)) {
            return Summary::default();
        }
        core.spawn("sweeper", move || sweeper::sweep(&sweeper, sweep_every));
        if let Some((every, ask)) = plan.capacity.clone() {
            let resized = core.clone();
            core.spawn("capacity", move || capacity::follow(&resized, every, ask.as_ref()));
        }
        let schema_checked_at = Cell::new(None);
        let (poll_every, leave_to_others_after) = (plan.poll_every, plan.leave_to_others_after);
        Dispatcher { core, shutdown, done, poll_every, leave_to_others_after, schema_checked_at }.run()
    }

    fn core(&self, has_condition: bool) -> Core {
        let plan = &self.plan;
        let turns = Arc::new(Turns::new(std::thread::available_parallelism().map_or(1, usize::from)));
        let mut pools: Vec<Pool> = Vec::new();
        for handler in plan.handlers.iter().rev() {
            pools.retain(|pool| pool.topic != handler.topic());
            pools.push(Pool::new(handler.clone(), plan.pools.of(handler.topic()), turns.clone()));
        }
        let topics: Vec<String> = pools.iter().map(|pool| pool.topic.clone()).collect();
        let by_topic: HashMap<String, usize> = topics.iter().cloned().zip(0..).collect();
        // Who waits for chosen items would wait for others, too, if these went before.
        if plan.keys.is_none() {
            let earlier = |pool: &Pool| {
                let topics = plan.earlier_topics.get(&pool.topic).into_iter().flatten();
                topics.filter(|topic| **topic != pool.topic).filter_map(|topic| by_topic.get(topic).copied()).collect()
            };
            let earlier: Vec<Vec<usize>> = pools.iter().map(earlier).collect();
            for (place, pool) in pools.iter_mut().enumerate() {
                pool.goes_before_others = earlier.iter().any(|earlier| earlier.contains(&place));
            }
            for (pool, earlier) in pools.iter_mut().zip(earlier) {
                pool.earlier = earlier;
            }
        }
        let limits = pools.iter().map(|pool| (pool.topic.clone(), pool.settings.max_attempts));
        Core {
            ends: Together::default(),
            registry: plan.registry.clone(),
            holder: plan.holder.clone(),
            holder_text: plan.holder.to_string().into(),
            by_topic,
            keys: plan.keys.clone(),
            max_attempts: Arc::new(limits.collect()),
            held: HeldTasks::default(),
            clock: plan.clock.clone(),
            notifier: Notifier::new(plan.registry.wakeups().clone(), topics),
            over: Over::default(),
            has_condition,
            draining: AtomicBool::new(false),
            threads: AtomicUsize::new(0),
            tally: Tally::default(),
            running: plan.running.clone(),
            pools,
            turns,
        }
    }
}
