//! Record lists against their engines.

mod migrating;
mod postgres;
mod sqlite;
mod transactions;

use std::path::Path;
use std::sync::Arc;

use strongroom_database::{Clock, Migration, Sqlite};

/// The tables of record lists, as a database of its own has them.
fn migrations(dialect: &str) -> Vec<Migration> {
    let steps = strongroom_records::schema(dialect).iter().zip(1..);
    steps.map(|(sql, version)| Migration { version, name: "record lists", sql }).collect()
}

fn open(path: &Path, clock: Arc<dyn Clock>) -> Sqlite {
    Sqlite::open(path, strongroom_records::statements("sqlite"), &migrations("sqlite"), clock).expect("opens")
}
