//! The queue against its engines.

mod looking;
mod model;
mod postgres;
mod processes;
mod sqlite;

use std::path::Path;
use std::sync::Arc;

use strongroom_database::{Clock, Database, Migration, Sqlite};
use strongroom_queue::{DatabaseQueue, Wakeups};

const MIGRATIONS: &[Migration] = &[Migration { version: 1, name: "queue", sql: strongroom_queue::SQLITE_SCHEMA_1 }];

fn open(path: &Path, clock: Arc<dyn Clock>) -> Sqlite {
    Sqlite::open(path, strongroom_queue::statements("sqlite"), MIGRATIONS, clock).expect("opens")
}

/// A queue in the database at `path`, as a process of its own would open it.
fn queue_at(path: &Path, clock: Arc<dyn Clock>) -> Arc<DatabaseQueue> {
    let database: Arc<dyn Database> = Arc::new(open(path, clock));
    Arc::new(DatabaseQueue::new(database, Arc::new(Wakeups::default())))
}
