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

/// The tables of the queue, as a database of its own has them.
fn migrations(dialect: &str) -> Vec<Migration> {
    let steps = strongroom_queue::schema(dialect).iter().zip(1..);
    steps.map(|(sql, version)| Migration { version, name: "queue", sql }).collect()
}

fn open(path: &Path, clock: Arc<dyn Clock>) -> Sqlite {
    Sqlite::open(path, strongroom_queue::statements("sqlite"), &migrations("sqlite"), clock).expect("opens")
}

/// A queue in the database at `path`, as a process of its own would open it.
fn queue_at(path: &Path, clock: Arc<dyn Clock>) -> Arc<DatabaseQueue> {
    let database: Arc<dyn Database> = Arc::new(open(path, clock));
    Arc::new(DatabaseQueue::new(database, Arc::new(Wakeups::default())))
}
