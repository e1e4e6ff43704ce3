//! The SQL of record lists, for the caller that opens the database: statements by dialect, and the tables.

use strongroom_database::{Placeholders, Statements};

/// The revisions of the tables in a dialect, oldest first; each is run once, in this order. The owner of the database numbers them
/// among its own migrations.
pub fn schema(dialect: &str) -> &'static [&'static str] {
    match dialect {
        "sqlite" => &[include_str!("../sql/sqlite/schema_1.sql"), include_str!("../sql/sqlite/schema_2.sql")],
        "postgres" => &[include_str!("../sql/postgres/schema_1.sql"), include_str!("../sql/postgres/schema_2.sql")],
        _ => &[],
    }
}

/// The statements of record lists in a dialect: those that all dialects share, and its own.
macro_rules! statements_in {
    ($dialect:literal, $placeholders:expr) => {
        statements_in!($dialect, $placeholders; "lists" "population" "chunks" "pages")
    };
    ($dialect:literal, $placeholders:expr; $($file:literal)*) => {
        Statements::default()
            $(.with_shared($placeholders, include_str!(concat!("../sql/shared/", $file, ".sql"))))*
            $(.with(include_str!(concat!("../sql/", $dialect, "/", $file, ".sql"))))*
    };
}

/// The statements of record lists in a dialect; none for a dialect that they do not have.
pub fn statements(dialect: &str) -> Statements {
    match dialect {
        "sqlite" => statements_in!("sqlite", Placeholders::QuestionMarks),
        "postgres" => statements_in!("postgres", Placeholders::Dollars),
        _ => Statements::default(),
    }
}
