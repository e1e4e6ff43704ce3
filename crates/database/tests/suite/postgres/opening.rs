//! Opening: whose schema it is, what version it has, and what is said where there is none.

use strongroom_database::testing::{Scratch, with_schema};
use strongroom_database::{Database, DatabaseError, Migration, Postgres};

use super::{MIGRATIONS, note, open, settings, statements, texts, try_open};

#[test]
fn a_schema_is_made_once_by_programs_that_start_together() {
    let Some(scratch) = Scratch::new() else { return };
    let url = scratch.url();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| try_open(&url, settings()).expect("opens"));
        }
    });
    let steps = scratch.client().query("SELECT name FROM schema_version ORDER BY version", &[]).expect("reads");
    let names: Vec<String> = steps.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["notes", "numbers"]);
}

#[test]
fn an_older_schema_is_brought_forward_and_a_newer_one_refused() {
    let Some(scratch) = Scratch::new() else { return };
    let older = Postgres::open(&scratch.url(), settings(), statements(), &MIGRATIONS[..1]).expect("opens as it was");
    note(&older, "kept").expect("writes");
    drop(older);
    assert_eq!(texts(&*open(&scratch.url())), ["kept"]);
    let error = Postgres::open(&scratch.url(), settings(), statements(), &MIGRATIONS[..1]).err().expect("is newer");
    assert!(matches!(error, DatabaseError::Schema { .. }), "{error}");
    assert!(error.to_string().contains("newer program"), "{error}");
}

#[test]
fn a_step_that_fails_leaves_the_schema_as_it_was() {
    let Some(scratch) = Scratch::new() else { return };
    let broken = [MIGRATIONS[0], Migration { version: 2, name: "broken", sql: "CREATE TABLE half (id INT); SELEKT" }];
    let error = Postgres::open(&scratch.url(), settings(), statements(), &broken).err().expect("does not parse");
    assert!(matches!(error, DatabaseError::Statement { statement: "broken", .. }), "{error}");
    open(&scratch.url());
}

#[test]
fn what_an_extension_of_the_server_brings_is_no_other_program() {
    let Some(scratch) = Scratch::new() else { return };
    let mut client = scratch.client();
    // A member of an extension, whichever extensions the server has; PL/pgSQL is always there.
    let made =
        client.batch_execute("BEGIN; CREATE VIEW statistics AS SELECT 1; ALTER EXTENSION plpgsql ADD VIEW statistics");
    made.expect("the test's user may");
    client.batch_execute("COMMIT").expect("is kept");
    open(&scratch.url());
    client.batch_execute("ALTER EXTENSION plpgsql DROP VIEW statistics").expect("is put back");
}

#[test]
fn tables_of_another_program_are_left_alone() {
    let Some(scratch) = Scratch::new() else { return };
    scratch.run("CREATE TABLE schema_version (version INT)");
    let error = try_open(&scratch.url(), settings()).err().expect("is not ours");
    assert!(error.to_string().contains("another program"), "{error}");
}

#[test]
fn a_missing_database_schema_or_server_is_said_to_be_missing() {
    let Some(scratch) = Scratch::new() else { return };
    let server = scratch.url();
    let (server, _) = server.split_once('?').expect("has a query");
    let elsewhere = with_schema(server, "nowhere");
    let error = try_open(&elsewhere, settings()).err().expect("has no schema");
    assert!(matches!(error, DatabaseError::Schema { .. }), "{error}");
    let (base, _) = server.rsplit_once('/').expect("has a path");
    let error = try_open(&format!("{base}/nowhere"), settings()).err().expect("has no database");
    assert!(matches!(error, DatabaseError::Schema { .. }), "{error}");
    let error = try_open("postgres://nobody@127.0.0.1:1/nowhere", settings()).err().expect("has no server");
    assert!(error.is_transient(), "{error}");
}

#[test]
fn every_statement_fits_the_schema() {
    let Some(scratch) = Scratch::new() else { return };
    try_open(&scratch.url(), settings()).expect("opens").check_statements().expect("all fit");
    let wrong = statements().with("-- name: wrong\nSELECT missing FROM note\n");
    let database = Postgres::open(&scratch.url(), settings(), wrong, MIGRATIONS).expect("opens");
    let error = database.check_statements().expect_err("one does not fit");
    assert!(matches!(error, DatabaseError::Statement { statement: "wrong", .. }), "{error}");
    assert_eq!(database.dialect(), "postgres");
}
