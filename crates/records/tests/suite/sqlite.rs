//! The rules of record lists, kept by SQLite.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::{Clock, Database, ManualClock, Sqlite, Statement, SystemClock, Time, Value};
use strongroom_records::conformance::Subject;
use strongroom_records::{DatabaseRecordLists, RecordLists, RecordsError};
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

/// However long a list is.
#[test]
fn no_statement_reads_a_table_from_end_to_end() {
    let all = strongroom_records::statements("sqlite");
    let mut explained = all.clone();
    let names: Vec<&str> = all.names().collect();
    for name in &names {
        let sql = all.sql(Statement(name)).expect("is there");
        explained = explained.with(format!("-- name: explain {name}\nEXPLAIN QUERY PLAN {sql}\n").leak());
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let database = Sqlite::open(&path, explained, &super::migrations("sqlite"), Arc::new(SystemClock)).expect("opens");
    let database: Arc<dyn Database> = Arc::new(database);
    let mut scans = Vec::new();
    for name in names {
        let sql = all.sql(Statement(name)).expect("is there");
        let count = (1..40).take_while(|number| sql.contains(&format!("?{number}"))).count();
        let explain = Statement(format!("explain {name}").leak());
        let plan =
            database.read::<_, RecordsError, _>(|tx| Ok(tx.query(explain, &vec![Value::Null; count])?)).expect(name);
        let steps = plan.iter().map(|row| row.text("detail").expect("a step").to_owned());
        // What is not of a table is a page that was read before. The index has the lists that are being removed.
        let is_scan = |step: &String| step.starts_with("SCAN record") && !step.ends_with("record_lists_removed");
        scans.extend(steps.filter(is_scan).map(|step| format!("{name}: {step}")));
    }
    assert_eq!(scans, [] as [String; 0]);
}
