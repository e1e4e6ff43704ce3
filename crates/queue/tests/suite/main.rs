//! The queue against its engines.

use std::sync::Arc;

use strongroom_database::{Clock, Migration, Sqlite};

const MIGRATIONS: &[Migration] = &[Migration { version: 1, name: "queue", sql: strongroom_queue::SQLITE_SCHEMA_1 }];

fn open(path: &std::path::Path, clock: Arc<dyn Clock>) -> Sqlite {
    Sqlite::open(path, strongroom_queue::statements("sqlite"), MIGRATIONS, clock).expect("opens")
}

#[test]
fn every_statement_fits_the_schema() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = open(&folder.path().join("registry.db"), Arc::new(strongroom_database::SystemClock));
    database.check_statements().expect("all fit");
}
