//! The worker runtime over a real registry, with handlers made up for the occasion and clocks that tests move.

mod capacity;
mod draining;
mod ending;
mod following;
mod holding;
mod order;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use strongroom_database::{Clock, Time};
use strongroom_engine::runtime::{
    Builder, Handler, MonotonicClock, PoolSettings, Pools, Runtime, Shutdown, TaskContext, TaskEnd,
};
use strongroom_engine::workflow::Workflows;
use strongroom_queue::{TaskRecord, tasks};
use strongroom_registry::items::{self, HistoryLine, Item, NewItem};
use strongroom_registry::work::{Assignment, StageEnd};
use strongroom_registry::{Action, InstitutionId, ItemId, ItemStatus, Registry, RegistryError, Scope, Stage, tenants};
use tempfile::TempDir;

/// Nothing here takes this long; what does is stuck.
const PATIENCE: Duration = Duration::from_mins(1);

/// A clock that is moved by tests and by a microsecond at each look, so that every transaction has a time of its own.
#[derive(Default)]
struct TickingClock(AtomicI64);

impl TickingClock {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).expect("fits"), Ordering::SeqCst);
    }
}

impl Clock for TickingClock {
    fn now(&self) -> Time {
        Time(1_700_000_000_000_000 + self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// A monotonic clock that stands still until it is moved.
#[derive(Default)]
struct Stopwatch(AtomicU64);

impl Stopwatch {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_micros()).expect("fits"), Ordering::SeqCst);
    }
}

impl MonotonicClock for Stopwatch {
    fn now(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// A registry with one institution.
struct House {
    folder: TempDir,
    clock: Arc<TickingClock>,
    registry: Registry,
    institution: InstitutionId,
}

impl House {
    fn new() -> Self {
        let folder = TempDir::new().expect("makes a folder");
        let clock = Arc::new(TickingClock::default());
        let registry = open(&folder, clock.clone());
        let institution = InstitutionId::new();
        registry
            .write(move |tx| tenants::add_institution(tx, institution, "example.edu", "Example University"))
            .expect("adds an institution");
        Self { folder, clock, registry, institution }
    }

    /// The same registry as another process would open it.
    fn again(&self) -> Registry {
        open(&self.folder, self.clock.clone())
    }

    fn items(&self, count: usize) -> Vec<ItemId> {
        let institution = self.institution;
        let ids: Vec<ItemId> = (0..count).map(|_| ItemId::new()).collect();
        let made = ids.clone();
        self.registry
            .write_and_wake(move |tx| {
                made.iter().map(|id| items::create(tx, &Workflows::standard(), &new_item(*id, institution))).collect()
            })
            .expect("makes items");
        ids
    }

    fn item(&self) -> ItemId {
        self.items(1)[0]
    }

    fn find(&self, id: ItemId) -> Item {
        self.registry.read(|tx| items::find(tx, Scope::System, id)).expect("finds the item")
    }

    fn has_status(&self, id: ItemId, status: ItemStatus) -> bool {
        self.find(id).status == status
    }

    /// Whether an item succeeded; false where there is none yet.
    fn has_ended(&self, id: ItemId) -> bool {
        let found = self.registry.read(|tx| items::get(tx, Scope::System, id)).expect("reads");
        found.is_some_and(|item| item.status == ItemStatus::Succeeded)
    }

    fn history(&self, id: ItemId) -> Vec<HistoryLine> {
        self.registry.read(|tx| items::history(tx, Scope::System, id)).expect("reads the history")
    }

    fn tasks(&self, key: &str) -> Vec<TaskRecord> {
        self.registry.read(|tx| tasks::of_key(tx, key).map_err(RegistryError::from)).expect("reads the tasks")
    }

    /// A runtime that neither beats nor sweeps unless the test says so.
    fn runtime(&self, handlers: Vec<Arc<dyn Handler>>) -> Builder {
        quiet(&self.registry, handlers)
    }
}

fn quiet(registry: &Registry, handlers: Vec<Arc<dyn Handler>>) -> Builder {
    let never = Duration::from_hours(1);
    Runtime::builder(registry.clone(), handlers)
        .poll_every(Duration::from_millis(5))
        .beat_every(never)
        .sweep_every(never)
}

fn open(folder: &TempDir, clock: Arc<TickingClock>) -> Registry {
    let registry = Registry::open_sqlite(&folder.path().join("registry.db"), clock).expect("opens the registry");
    registry.with_workflows(Arc::new(Workflows::standard()))
}

fn new_item(id: ItemId, institution: InstitutionId) -> NewItem {
    NewItem {
        id,
        name: "bag.tar".into(),
        priority: 0,
        note: "deposited".into(),
        ..NewItem::new(Action::named("ingest"), institution, format!("example.edu/{id}"))
    }
}

struct Script<F> {
    topic: String,
    act: F,
}

impl<F> Handler for Script<F>
where
    F: Fn(&Assignment, &TaskContext) -> TaskEnd + Send + Sync,
{
    fn topic(&self) -> &str {
        &self.topic
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        (self.act)(assignment, context)
    }
}

/// A handler for an ingest stage.
fn stage<F>(stage: Stage, act: F) -> Arc<dyn Handler>
where
    F: Fn(&Assignment, &TaskContext) -> TaskEnd + Send + Sync + 'static,
{
    Arc::new(Script { topic: format!("ingest.{stage}"), act })
}

/// A stage that only leads to the next.
fn leads(from: Stage, to: Stage) -> Arc<dyn Handler> {
    stage(from, move |_, _| next(to))
}

fn next(next: Stage) -> TaskEnd {
    StageEnd::Next { next, note: "done".into() }.into()
}

fn succeeded() -> TaskEnd {
    StageEnd::Succeeded { note: "all done".into() }.into()
}

/// Waits for the context to say why to stop, and stops for that reason.
fn work_until_interrupted(context: &TaskContext) -> TaskEnd {
    let mut end = None;
    until(|| {
        end = context.check().err();
        end.is_some()
    });
    end.expect("interrupted").into()
}

fn pool(topic: Stage, settings: PoolSettings) -> Pools {
    Pools([(format!("ingest.{topic}"), settings)].into())
}

/// Waits for a condition.
fn until(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "waited in vain");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Stops a run that is stuck, so that its test fails instead of waiting for ever.
struct Watchdog(#[allow(dead_code)] Sender<()>);

fn watch(shutdown: &Shutdown) -> Watchdog {
    let (alive, gone) = channel();
    let shutdown = shutdown.clone();
    std::thread::spawn(move || {
        if gone.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            shutdown.request();
            shutdown.request();
        }
    });
    Watchdog(alive)
}
