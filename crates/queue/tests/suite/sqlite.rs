//! The rules of a queue, kept by SQLite.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::{Clock, ManualClock, SystemClock, Time};
use strongroom_queue::Queue;
use strongroom_queue::conformance::Subject;
use tempfile::TempDir;

struct SqliteSubject {
    queue: Arc<dyn Queue>,
    clock: Arc<ManualClock>,
    folder: TempDir,
}

#[expect(clippy::unnecessary_wraps, reason = "the suite asks: other engines may be absent")]
fn fresh() -> Option<SqliteSubject> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let queue = super::queue_at(&folder.path().join("registry.db"), clock.clone());
    Some(SqliteSubject { queue, clock, folder })
}

impl Subject for SqliteSubject {
    fn queue(&self) -> Arc<dyn Queue> {
        self.queue.clone()
    }

    fn other(&self) -> Arc<dyn Queue> {
        super::queue_at(&self.folder.path().join("registry.db"), self.clock.clone())
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
    let folder = tempfile::tempdir().expect("a temporary folder");
    super::open(&folder.path().join("registry.db"), Arc::new(SystemClock)).check_statements().expect("all fit");
}
