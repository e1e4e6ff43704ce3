//! The rules of record lists, kept by SQLite.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::{Clock, Database, ManualClock, SystemClock, Time};
use strongroom_records::conformance::Subject;
use strongroom_records::{DatabaseRecordLists, RecordLists};
use tempfile::TempDir;

pub(super) struct SqliteSubject {
    pub(super) database: Arc<dyn Database>,
    clock: Arc<ManualClock>,
    folder: TempDir,
}

#[expect(clippy::unnecessary_wraps, reason = "the suite asks: other engines may be absent")]
pub(super) fn fresh() -> Option<SqliteSubject> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let database = Arc::new(super::open(&folder.path().join("registry.db"), clock.clone()));
    Some(SqliteSubject { database, clock, folder })
}

impl Subject for SqliteSubject {
    fn lists(&self) -> Arc<dyn RecordLists> {
        Arc::new(DatabaseRecordLists::new(self.database.clone()))
    }

    fn other(&self) -> Arc<dyn RecordLists> {
        let other = super::open(&self.folder.path().join("registry.db"), self.clock.clone());
        Arc::new(DatabaseRecordLists::new(Arc::new(other)))
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by.as_micros() as i64);
    }
}

strongroom_records::conformance_suite!(fresh);

#[test]
fn every_statement_fits_the_schema() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    super::open(&folder.path().join("registry.db"), Arc::new(SystemClock)).check_statements().expect("all fit");
}
