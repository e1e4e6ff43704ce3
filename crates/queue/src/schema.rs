//! The SQL of the queue, for whoever opens the database: statements by dialect, and the tables.

use strongroom_database::Statements;

/// The tables of the queue in SQLite, first revision. The owner of the database numbers it among its own migrations.
pub const SQLITE_SCHEMA_1: &str = include_str!("../sql/sqlite/schema_1.sql");

/// The tables of the queue in PostgreSQL, first revision.
pub const POSTGRES_SCHEMA_1: &str = include_str!("../sql/postgres/schema_1.sql");

/// The revisions of the queue's tables in a dialect, oldest first; each is run once, in this order.
pub fn schema(dialect: &str) -> &'static [&'static str] {
    match dialect {
        "sqlite" => &[SQLITE_SCHEMA_1],
        "postgres" => &[POSTGRES_SCHEMA_1],
        _ => &[],
    }
}

/// The statements of the queue in a dialect; none for a dialect it does not speak.
pub fn statements(dialect: &str) -> Statements {
    match dialect {
        "sqlite" => Statements::default()
            .with(include_str!("../sql/sqlite/enqueue.sql"))
            .with(include_str!("../sql/sqlite/lease.sql"))
            .with(include_str!("../sql/sqlite/settle.sql"))
            .with(include_str!("../sql/sqlite/administer.sql")),
        "postgres" => Statements::default()
            .with(include_str!("../sql/postgres/enqueue.sql"))
            .with(include_str!("../sql/postgres/lease.sql"))
            .with(include_str!("../sql/postgres/settle.sql"))
            .with(include_str!("../sql/postgres/administer.sql")),
        _ => Statements::default(),
    }
}
