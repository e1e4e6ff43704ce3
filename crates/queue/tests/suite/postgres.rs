//! The rules of a queue, kept by PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{Clock, Database, ManualClock, Postgres, PostgresSettings, Time, Transaction};
use strongroom_queue::conformance::Subject;
use strongroom_queue::{DatabaseQueue, NewTask, Queue, QueueError, TaskState, Wakeups, tasks};

/// A handle on the database at `url`, as a process of its own would open it; with a clock, it goes by that.
pub(super) fn open(url: &str, clock: Option<Arc<dyn Clock>>) -> Postgres {
    let settings = PostgresSettings { clock, ..PostgresSettings::default() };
    Postgres::open(url, settings, strongroom_queue::statements("postgres"), &super::migrations("postgres"))
        .expect("opens")
}

/// A queue in the database at `url`.
pub(super) fn queue_at(url: &str, clock: Option<Arc<dyn Clock>>) -> Arc<DatabaseQueue> {
    let database: Arc<dyn Database> = Arc::new(open(url, clock));
    Arc::new(DatabaseQueue::new(database.clone(), Arc::new(Wakeups::through(database))))
}

struct PostgresSubject {
    queue: Arc<dyn Queue>,
    clock: Arc<ManualClock>,
    scratch: Scratch,
}

fn fresh() -> Option<PostgresSubject> {
    let scratch = Scratch::new()?;
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let queue = queue_at(&scratch.url(), Some(clock.clone()));
    Some(PostgresSubject { queue, clock, scratch })
}

impl Subject for PostgresSubject {
    fn queue(&self) -> Arc<dyn Queue> {
        self.queue.clone()
    }

    fn other(&self) -> Arc<dyn Queue> {
        queue_at(&self.scratch.url(), Some(self.clock.clone()))
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by.as_micros() as i64);
    }
}

strongroom_queue::conformance_suite!(fresh);

#[test]
fn every_statement_fits_the_schema() {
    let Some(scratch) = Scratch::new() else { return };
    open(&scratch.url(), None).check_statements().expect("all fit");
}

/// One that another transaction has, and one that is not there, are passed by.
#[test]
fn who_hastens_tasks_waits_for_none_of_them() {
    let Some(scratch) = Scratch::new() else { return };
    let database: Arc<dyn Database> = Arc::new(open(&scratch.url(), None));
    let task = |key: &str| NewTask::new("a", key, "");
    let put = move |tx: &mut dyn Transaction| {
        let not_before = Some(tx.now()?.plus(3_600_000_000));
        tasks::enqueue(tx, &["locked", "free"].map(|key| NewTask { not_before, ..task(key) })).map(drop)
    };
    database.write::<_, QueueError, _>(put).expect("enqueues");
    let mut other = scratch.client();
    let mut transaction = other.transaction().expect("begins");
    transaction.batch_execute("UPDATE task SET reason = reason WHERE key = 'locked'").expect("keeps the row");
    let wanted = ["locked", "free", "missing"].map(task);
    let hastened = database.write::<_, QueueError, _>(move |tx| tasks::hasten(tx, &wanted)).expect("does not wait");
    assert_eq!(hastened, 1);
    transaction.rollback().expect("lets go");
    let ready = |key: &str| {
        let found = database.read::<_, QueueError, _>(|tx| tasks::of_key(tx, key)).expect("reads");
        found.iter().map(|task| task.state).collect::<Vec<_>>()
    };
    assert_eq!((ready("locked"), ready("free")), (vec![TaskState::Delayed], vec![TaskState::Ready]));
    assert_eq!(ready("missing"), []);
}
