//! Engines at work: one that works until a subject is done, while time passes whenever it has nothing to do, and one that
//! may fall asleep or die.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use strongroom_engine::runtime::{Builder, Handler, PoolSettings, Pools, Runtime, Shutdown, TaskContext, TaskEnd};
use strongroom_engine::{Home, handlers};
use strongroom_queue::{TaskState, tasks};
use strongroom_registry::work::Assignment;
use strongroom_registry::{RegistryError, Scope, items};

use crate::gate::PATIENCE;
use crate::house::{House, Subject};

const LEASE: Duration = Duration::from_hours(6);
const NEVER: Duration = Duration::from_hours(1);
const OFTEN: Duration = Duration::from_millis(2);
const SOMETIMES: Duration = Duration::from_millis(20);
/// What passes at each look while no task runs.
const IDLE: Duration = Duration::from_mins(10);

/// How many tasks run.
#[derive(Debug, Default)]
struct Running {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        *self.lock() == 0
    }

    /// Waits until no task runs, but not longer than [`PATIENCE`]; whether none does.
    fn wait_until_idle(&self) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), PATIENCE, |count| *count > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }

    /// Counts a task until the guard is dropped.
    fn enter(&self) -> Entered<'_> {
        *self.lock() += 1;
        Entered(self)
    }
}

/// A task that runs.
struct Entered<'r>(&'r Running);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.changed.notify_all();
    }
}

/// Counts the tasks that run.
struct Counted {
    inner: Arc<dyn Handler>,
    running: Arc<Running>,
}

impl Handler for Counted {
    fn topic(&self) -> &str {
        self.inner.topic()
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let _entered = self.running.enter();
        self.inner.run(assignment, context)
    }
}

fn builder(home: &Arc<Home>, running: &Arc<Running>, is_served: impl Fn(&str) -> bool) -> Builder {
    let settings = PoolSettings { lease: LEASE, max_attempts: 50, ..PoolSettings::default() };
    let served = handlers(home).into_iter().filter(|handler| is_served(handler.topic()));
    let counted: Vec<Arc<dyn Handler>> =
        served.map(|inner| Arc::new(Counted { inner, running: running.clone() }) as Arc<dyn Handler>).collect();
    let pools = counted.iter().map(|handler| (handler.topic().to_owned(), settings.clone())).collect();
    Runtime::builder(home.registry.clone(), counted).pools(Pools(pools)).beat_every(NEVER)
}

/// Whether the subject's item has ended and no task of it is left.
pub(crate) fn is_done(home: &Home, subject: &Subject) -> bool {
    let is_done = home.registry.read(|tx| {
        if let Some(item) = subject.item
            && !items::find(tx, Scope::System, item)?.status.is_ended()
        {
            return Ok(false);
        }
        for key in &subject.keys {
            if tasks::of_key(tx, key)?.iter().any(|task| task.state != TaskState::Dead) {
                return Ok(false);
            }
        }
        Ok::<_, RegistryError>(true)
    });
    is_done.unwrap_or(false)
}

/// Works until the subject is done.
pub(crate) fn work(house: &House, home: &Arc<Home>, subject: &Subject) -> Result<(), String> {
    work_until(house, home, |_| true, || is_done(home, subject))
}

/// Works in the topics that are served until `is_enough`.
pub(crate) fn work_until(
    house: &House,
    home: &Arc<Home>,
    is_served: impl Fn(&str) -> bool,
    is_enough: impl Fn() -> bool,
) -> Result<(), String> {
    let running = Arc::<Running>::default();
    let runtime = builder(home, &running, is_served).poll_every(OFTEN).sweep_every(SOMETIMES).build();
    let began = Instant::now();
    let is_stuck = || began.elapsed() > PATIENCE;
    runtime.run_until(&Shutdown::new(), &|| {
        if running.is_idle() {
            house.pass_time(IDLE);
        }
        is_enough() || is_stuck()
    });
    if is_stuck() { Err("the work does not end".to_owned()) } else { Ok(()) }
}

/// An engine that may fall asleep: it looks for work when it starts and goes on with what it has.
pub(crate) struct Sleeper {
    shutdown: Shutdown,
    running: Arc<Running>,
}

impl Sleeper {
    pub(crate) fn new() -> Self {
        Self { shutdown: Shutdown::new(), running: Arc::default() }
    }

    /// Works in this thread until it is let go.
    pub(crate) fn work(&self, home: &Arc<Home>, subject: &Subject) {
        let runtime = builder(home, &self.running, |_| true).poll_every(NEVER).sweep_every(NEVER).build();
        runtime.run_until(&self.shutdown, &|| is_done(home, subject));
    }

    /// Waits until what it was doing has ended, then lets it go.
    pub(crate) fn let_go(&self) {
        assert!(self.running.wait_until_idle(), "the woken worker does not come to an end");
        self.shutdown.request();
    }
}
