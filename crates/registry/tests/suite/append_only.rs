//! Tables that are only appended to, against statements that would change what they say.

use std::fmt::Debug;
use std::sync::Arc;

use strongroom_database::testing::Scratch;
use strongroom_database::{
    Database, DatabaseError, Placeholders, Postgres, PostgresSettings, Sqlite, Statement, Statements, SystemClock,
};
use strongroom_registry::Registry;

/// Statements that would change a table, each with its name.
pub(crate) struct Changes {
    /// Those of every dialect.
    pub(crate) shared: &'static str,
    pub(crate) of_sqlite: &'static str,
    pub(crate) of_postgresql: &'static str,
}

pub(crate) fn stays_as_it_was_in_sqlite<T: PartialEq + Debug>(changes: &Changes, written: impl Fn(&Registry) -> T) {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |statements| {
        let migrations = strongroom_registry::schema("sqlite").migrations;
        let path = folder.path().join("registry.db");
        Arc::new(Sqlite::open(&path, statements, &migrations, Arc::new(SystemClock)).expect("opens"))
            as Arc<dyn Database>
    };
    stays_as_it_was(open, "sqlite", [changes.shared, changes.of_sqlite], Placeholders::QuestionMarks, written);
}

pub(crate) fn stays_as_it_was_in_postgresql<T: PartialEq + Debug>(changes: &Changes, written: impl Fn(&Registry) -> T) {
    let Some(scratch) = Scratch::new() else { return };
    let open = |statements| {
        let migrations = strongroom_registry::schema("postgres").migrations;
        Arc::new(Postgres::open(&scratch.url(), PostgresSettings::default(), statements, &migrations).expect("opens"))
            as Arc<dyn Database>
    };
    stays_as_it_was(open, "postgres", [changes.shared, changes.of_postgresql], Placeholders::Dollars, written);
}

/// `written` writes at its first call, and reads what was written.
fn stays_as_it_was<T: PartialEq + Debug>(
    open: impl Fn(Statements) -> Arc<dyn Database>,
    dialect: &str,
    changes: [&'static str; 2],
    placeholders: Placeholders,
    written: impl Fn(&Registry) -> T,
) {
    let statements = changes
        .iter()
        .fold(strongroom_registry::schema(dialect).statements, |all, more| all.with_shared(placeholders, more));
    let database = open(statements);
    let registry = Registry::within(database.clone());
    let before = written(&registry);
    for name in changes.into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("-- name: ")) {
        let refused = database.write::<_, DatabaseError, _>(move |tx| tx.execute(Statement(name), &[]));
        let refused = refused.expect_err(name).to_string();
        assert!(refused.contains(" is never "), "{name}: {refused}");
        assert_eq!(written(&registry), before, "{name}");
    }
}
