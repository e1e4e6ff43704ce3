//! The rules of record lists, kept by PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{Clock, Database, ManualClock, Postgres, PostgresSettings, Time};
use strongroom_records::conformance::Subject;
use strongroom_records::{DatabaseRecordLists, RecordLists};

pub(super) struct PostgresSubject {
    pub(super) database: Arc<dyn Database>,
    clock: Arc<ManualClock>,
    pub(super) scratch: Scratch,
}

pub(super) fn fresh() -> Option<PostgresSubject> {
    let scratch = Scratch::new()?;
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let database = Arc::new(open(&scratch, clock.clone()));
    Some(PostgresSubject { database, clock, scratch })
}

fn open(scratch: &Scratch, clock: Arc<dyn Clock>) -> Postgres {
    let settings = PostgresSettings { clock: Some(clock), ..PostgresSettings::default() };
    let statements = strongroom_records::statements("postgres");
    Postgres::open(&scratch.url(), settings, statements, &super::migrations("postgres")).expect("opens")
}

impl Subject for PostgresSubject {
    fn lists(&self) -> Arc<dyn RecordLists> {
        Arc::new(DatabaseRecordLists::new(self.database.clone()))
    }

    fn other(&self) -> Arc<dyn RecordLists> {
        Arc::new(DatabaseRecordLists::new(Arc::new(open(&self.scratch, self.clock.clone()))))
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
    let Some(subject) = fresh() else { return };
    open(&subject.scratch, subject.clock.clone()).check_statements().expect("all fit");
}
