//! The rules of a queue, kept by PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{Clock, Database, ManualClock, Postgres, PostgresSettings, Time};
use strongroom_queue::conformance::Subject;
use strongroom_queue::{DatabaseQueue, Queue, Wakeups};

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
