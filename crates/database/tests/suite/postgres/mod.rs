//! What the engine for many machines promises, proved against a real server.

mod bell;
mod conflicts;
mod connections;
mod doubt;
mod opening;
mod proxy;
mod tls;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{
    Database, DatabaseError, Migration, Postgres, PostgresSettings, Statement, Statements, Transaction,
};

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "notes",
        sql: "CREATE TABLE note (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    },
    Migration {
        version: 2,
        name: "numbers",
        sql: "CREATE TABLE number (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",
    },
];

const ADD: Statement = Statement("add");
const ADD_MANY: Statement = Statement("add_many");
const ALL: Statement = Statement("all");
const COUNT: Statement = Statement("count");
const PUT: Statement = Statement("put");
const VALUE: Statement = Statement("value");
const SUM: Statement = Statement("sum");
const PID: Statement = Statement("pid");
const ECHO: Statement = Statement("echo");

fn statements() -> Statements {
    Statements::default().with(crate::columns::STATEMENTS).with(
        "-- name: add\nINSERT INTO note (text) VALUES ($1)\n\
         -- name: add_many\nWITH new AS (SELECT * FROM unnest($1::text[]) WITH ORDINALITY AS new (text, place)),\n\
         made AS (INSERT INTO note (text) SELECT text FROM new ON CONFLICT DO NOTHING RETURNING id, text)\n\
         SELECT new.place, made.id FROM made JOIN new ON new.text = made.text\n\
         -- name: all\nSELECT text FROM note ORDER BY text\n\
         -- name: count\nSELECT count(*) AS notes FROM note\n\
         -- name: put\nINSERT INTO number (name, value) VALUES ($1, $2)\n\
         ON CONFLICT (name) DO UPDATE SET value = excluded.value\n\
         -- name: value\nSELECT value FROM number WHERE name = $1\n\
         -- name: sum\nSELECT coalesce(sum(value), 0)::bigint AS total FROM number\n\
         -- name: pid\nSELECT pg_backend_pid() AS pid\n\
         -- name: echo\nSELECT $1::text AS text, $2::bytea AS bytes, $3::uuid AS id, $4::boolean AS truth,\n\
         $5::float8 AS measure, $6::int AS number\n",
    )
}

fn settings() -> PostgresSettings {
    PostgresSettings::default()
}

fn try_open(url: &str, settings: PostgresSettings) -> Result<Postgres, DatabaseError> {
    Postgres::open(url, settings, statements(), MIGRATIONS)
}

fn open(url: &str) -> Arc<dyn Database> {
    Arc::new(try_open(url, settings()).expect("opens"))
}

/// A database in a schema of its own, which goes with it.
fn home() -> Option<(Arc<dyn Database>, Scratch)> {
    let scratch = Scratch::new()?;
    Some((open(&scratch.url()), scratch))
}

fn add(transaction: &mut dyn Transaction, text: &str) -> Result<(), DatabaseError> {
    transaction.execute(ADD, &[text.into()]).map(|_| ())
}

fn note(database: &dyn Database, text: &'static str) -> Result<(), DatabaseError> {
    database.write(move |transaction| add(transaction, text))
}

fn texts(database: &dyn Database) -> Vec<String> {
    database
        .read(|transaction| {
            let rows = transaction.query(ALL, &[])?;
            rows.iter().map(|row| row.text("text").map(str::to_owned)).collect::<Result<_, DatabaseError>>()
        })
        .expect("reads")
}

fn value(transaction: &mut dyn Transaction, name: &str) -> Result<i64, DatabaseError> {
    transaction.query_one(VALUE, &[name.into()])?.map_or(Ok(0), |row| row.integer("value"))
}

/// Raises a number by one, by reading and writing it.
fn raise(transaction: &mut dyn Transaction, name: &str) -> Result<(), DatabaseError> {
    let present = value(transaction, name)?;
    transaction.execute(PUT, &[name.into(), (present + 1).into()]).map(|_| ())
}

fn impatient(connections: usize) -> PostgresSettings {
    PostgresSettings {
        connections,
        connection_wait: Duration::from_millis(50),
        patience: Duration::from_millis(200),
        ..settings()
    }
}
