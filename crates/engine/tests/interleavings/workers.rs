//! Engines at work: one that works until a subject is done, while time passes whenever it has nothing to do, and one that
//! may fall asleep or die.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Counts the tasks that run.
struct Counted {
    inner: Arc<dyn Handler>,
    running: Arc<AtomicUsize>,
}

impl Handler for Counted {
    fn topic(&self) -> &str {
        self.inner.topic()
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        struct Running<'r>(&'r AtomicUsize);
        impl Drop for Running<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(&self.running);
        self.inner.run(assignment, context)
    }
}

fn builder(home: &Arc<Home>, running: &Arc<AtomicUsize>, is_served: impl Fn(&str) -> bool) -> Builder {
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
    let running = Arc::new(AtomicUsize::new(0));
    let runtime = builder(home, &running, is_served).poll_every(OFTEN).sweep_every(SOMETIMES).build();
    let began = Instant::now();
    let is_stuck = || began.elapsed() > PATIENCE;
    runtime.run_until(&Shutdown::new(), &|| {
        if running.load(Ordering::SeqCst) == 0 {
            house.pass_time(IDLE);
        }
        is_enough() || is_stuck()
    });
    if is_stuck() { Err("the work does not end".to_owned()) } else { Ok(()) }
}

/// An engine that may fall asleep: it looks for work when it starts and goes on with what it has.
pub(crate) struct Sleeper {
    shutdown: Shutdown,
    running: Arc<AtomicUsize>,
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
        let began = Instant::now();
        while self.running.load(Ordering::SeqCst) > 0 {
            assert!(began.elapsed() < PATIENCE, "the woken worker does not come to an end");
            std::thread::sleep(Duration::from_micros(200));
        }
        self.shutdown.request();
    }
}
