//! Which files are opened, and which are refused.

use strongroom_database::{DatabaseError, Migration, Sqlite};

use super::{MIGRATIONS, clock, note, open_at, statements, texts};

#[test]
fn an_older_file_is_brought_up_to_date_and_keeps_its_rows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    {
        let old = Sqlite::open(&path, statements(), &MIGRATIONS[..1], clock()).expect("opens");
        note(&old, "kept").expect("writes");
        assert!(old.check_statements().is_err(), "the second migration is not there yet");
    }
    let new = open_at(&path).expect("opens");
    new.check_statements().expect("the second migration is there");
    assert_eq!(texts(&new), ["kept"]);
}

#[test]
fn a_file_of_a_newer_program_is_refused_naming_both_versions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    drop(open_at(&path).expect("opens"));
    let error = Sqlite::open(&path, statements(), &MIGRATIONS[..1], clock()).err().expect("refused");
    assert!(matches!(error, DatabaseError::Schema { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("version 2") && text.contains("version 1"), "{text}");
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("other.db");
    let other = rusqlite::Connection::open(&path).expect("opens");
    other.execute_batch("CREATE TABLE theirs (x)").expect("makes a table");
    drop(other);
    let before = std::fs::read(&path).expect("reads");
    let error = open_at(&path).err().expect("refused");
    assert!(matches!(error, DatabaseError::Schema { .. }), "{error}");
    assert_eq!(std::fs::read(&path).expect("reads"), before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let text = "this is a letter, not a database\n".repeat(100);
    std::fs::write(&path, &text).expect("writes");
    let error = open_at(&path).err().expect("refused");
    assert!(matches!(error, DatabaseError::Schema { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), text);
}

#[test]
fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = open_at(&folder.path().join("absent/registry.db")).err().expect("refused");
    assert!(error.to_string().contains("absent"), "{error}");
}

#[test]
fn a_migration_that_fails_leaves_the_version_before_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let broken =
        [MIGRATIONS[0], Migration { version: 2, name: "broken", sql: "CREATE TABLE half (x); SELECT nonsense" }];
    assert!(Sqlite::open(&path, statements(), &broken, clock()).is_err());
    let repaired = open_at(&path).expect("opens with the right migration");
    repaired.check_statements().expect("fits");
}

#[test]
fn migrations_with_a_gap_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = Sqlite::open(&folder.path().join("registry.db"), statements(), &MIGRATIONS[1..], clock())
        .err()
        .expect("refused");
    assert!(matches!(error, DatabaseError::Statement { statement: "marks", .. }), "{error}");
}
