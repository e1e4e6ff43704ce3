//! Which files are opened, and which are refused.

use strongroom_database::{DatabaseError, Migration, Sqlite};

use super::{MIGRATIONS, clock, note, open_at, statements, texts};

/// A file of an older program, with a row.
fn older(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("registry.db");
    let old = Sqlite::open(&path, statements(), &MIGRATIONS[..1], clock()).expect("opens");
    note(&old, "kept").expect("writes");
    path
}

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

#[test]
fn an_older_file_is_refused_as_it_is_unless_it_is_brought_up_to_date_on_purpose() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = older(folder.path());
    let error = Sqlite::open_current(&path, statements(), MIGRATIONS, clock()).err().expect("refused");
    assert!(matches!(error, DatabaseError::OlderSchema { found: 1, known: 2, .. }), "{error}");
    let old = Sqlite::open(&path, statements(), &MIGRATIONS[..1], clock()).expect("is as it was");
    assert_eq!(texts(&old), ["kept"]);
    assert!(!folder.path().join("registry.db.before-0002").exists());
}

#[test]
fn an_older_file_is_copied_before_it_is_brought_up_to_date() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = older(folder.path());
    let copy = folder.path().join("registry.db.before-0002");
    // What was left of an earlier upgrade that failed.
    std::fs::write(&copy, "an earlier copy").expect("writes");
    std::fs::write(folder.path().join("registry.db.before-0002.part"), "half a copy").expect("writes");
    let upgraded = Sqlite::upgrade(&path, MIGRATIONS, clock().as_ref()).expect("is brought up to date");
    assert_eq!((upgraded.from, upgraded.to, upgraded.copy.as_deref()), (1, 2, Some(copy.as_path())));
    let old = Sqlite::open_current(&copy, statements(), &MIGRATIONS[..1], clock()).expect("the copy is as it was");
    assert_eq!(texts(&old), ["kept"]);
    let new = Sqlite::open_current(&path, statements(), MIGRATIONS, clock()).expect("opens");
    assert_eq!(texts(&new), ["kept"]);
    drop(new);
    let again = Sqlite::upgrade(&path, MIGRATIONS, clock().as_ref()).expect("has nothing to do");
    assert_eq!((again.from, again.to, again.copy), (2, 2, None));
}

#[test]
fn of_several_that_bring_a_file_up_to_date_at_once_one_does_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = older(folder.path());
    let upgraded: Vec<_> = std::thread::scope(|scope| {
        let begun: Vec<_> =
            (0..4).map(|_| scope.spawn(|| Sqlite::upgrade(&path, MIGRATIONS, clock().as_ref()))).collect();
        begun.into_iter().map(|one| one.join().expect("does not panic").expect("ends well")).collect()
    });
    assert_eq!(upgraded.iter().filter(|one| one.copy.is_some()).count(), 1, "{upgraded:?}");
    assert!(upgraded.iter().all(|one| one.to == 2));
    assert_eq!(texts(&open_at(&path).expect("opens")), ["kept"]);
}

#[test]
fn a_backup_of_an_older_file_is_made_as_it_is_and_of_a_newer_one_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = older(folder.path());
    let to = folder.path().join("backup.db");
    Sqlite::backup_file(&path, MIGRATIONS, &to).expect("is copied");
    let copied = Sqlite::open_current(&to, statements(), &MIGRATIONS[..1], clock()).expect("opens");
    assert_eq!(texts(&copied), ["kept"]);
    drop(open_at(&path).expect("is brought up to date"));
    let error = Sqlite::backup_file(&path, &MIGRATIONS[..1], &folder.path().join("other.db")).expect_err("is refused");
    assert!(error.to_string().contains("newer program"), "{error}");
}
