//! What the engines promise: the embedded one proved against real files, the other one against a real server.

mod backup;
mod columns;
mod opening;
mod postgres;
mod reading;
mod writing;

use std::path::Path;
use std::sync::Arc;

use strongroom_database::{
    Clock, Database, DatabaseError, ManualClock, Migration, Sqlite, Statement, Statements, Time, Transaction, Value,
};
use tempfile::TempDir;

const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "notes",
        sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT",
    },
    Migration {
        version: 2,
        name: "marks",
        sql: "CREATE TABLE mark (note INTEGER NOT NULL REFERENCES note (id), data BLOB) STRICT",
    },
];

const ADD: Statement = Statement("add");
const MARK: Statement = Statement("mark");
const ALL: Statement = Statement("all");
const COUNT: Statement = Statement("count");

fn statements() -> Statements {
    Statements::default().with(columns::STATEMENTS).with(
        "-- name: add\nINSERT INTO note (text) VALUES (?1)\n\
         -- name: mark\nINSERT INTO mark (note, data) VALUES (?1, ?2)\n\
         -- name: all\nSELECT text FROM note ORDER BY text\n\
         -- name: count\nSELECT count(*) AS notes FROM note\n",
    )
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Time(1_000_000)))
}

fn open_at(path: &Path) -> Result<Sqlite, DatabaseError> {
    Sqlite::open(path, statements(), MIGRATIONS, clock())
}

/// A database in a folder of its own, which goes with it.
struct Home {
    database: Arc<dyn Database>,
    folder: TempDir,
}

fn home() -> Home {
    home_with(clock())
}

fn home_with(clock: Arc<dyn Clock>) -> Home {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = Sqlite::open(&folder.path().join("registry.db"), statements(), MIGRATIONS, clock).expect("opens");
    Home { database: Arc::new(database), folder }
}

fn add(transaction: &mut dyn Transaction, text: &str) -> Result<(), DatabaseError> {
    transaction.execute(ADD, &[text.into()]).map(|_| ())
}

fn texts(database: &dyn Database) -> Vec<String> {
    database
        .read(|transaction| {
            let rows = transaction.query(ALL, &[])?;
            rows.iter().map(|row| row.text("text").map(str::to_owned)).collect::<Result<_, DatabaseError>>()
        })
        .expect("reads")
}

fn note(database: &dyn Database, text: &'static str) -> Result<(), DatabaseError> {
    database.write(move |transaction| add(transaction, text))
}

#[test]
fn every_statement_fits_the_schema() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    open_at(&path).expect("opens").check_statements().expect("all fit");
    let wrong = statements().with("-- name: wrong\nSELECT missing FROM note\n");
    let database = Sqlite::open(&path, wrong, MIGRATIONS, clock()).expect("opens");
    let error = database.check_statements().expect_err("one does not fit");
    assert!(matches!(error, DatabaseError::Statement { statement: "wrong", .. }), "{error}");
}

#[test]
fn a_wrong_number_of_values_is_told_and_not_bound_as_null() {
    let home = home();
    for values in [vec![], vec![Value::Integer(1), Value::Integer(2)]] {
        let error: DatabaseError =
            home.database.write(move |transaction| transaction.execute(ADD, &values)).expect_err("the numbers differ");
        assert!(matches!(error, DatabaseError::Statement { statement: "add", .. }), "{error}");
    }
}
