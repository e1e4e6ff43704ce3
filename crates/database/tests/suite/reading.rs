//! Reads: one state, beside the writers, and nothing but reads.

use strongroom_database::DatabaseError;

use super::{ALL, COUNT, add, columns, home, note};

#[test]
fn a_read_sees_one_state_while_others_write() {
    let home = home();
    note(&*home.database, "first").expect("writes");
    let counts: Vec<u64> = home
        .database
        .read(|transaction| {
            let before = transaction.query(COUNT, &[])?[0].count("notes")?;
            note(&*home.database, "second")?;
            let after = transaction.query(COUNT, &[])?[0].count("notes")?;
            Ok::<_, DatabaseError>(vec![before, after])
        })
        .expect("reads");
    assert_eq!(counts, [1, 1]);
}

#[test]
fn a_column_is_found_by_its_name_whatever_its_place() {
    columns::are_found_by_name(&*home().database);
}

#[test]
fn a_name_that_no_column_has_or_two_have_is_told() {
    columns::are_told_where_no_one_has_the_name(&*home().database);
}

fn read_within(home: &super::Home, depth: u32) -> u32 {
    if depth == 10 {
        return depth;
    }
    let reached: Result<u32, DatabaseError> = home.database.read(|transaction| {
        transaction.query(ALL, &[])?;
        Ok(read_within(home, depth + 1))
    });
    reached.expect("reads")
}

#[test]
fn a_read_within_a_read_does_not_wait_for_itself() {
    let home = home();
    note(&*home.database, "one").expect("writes");
    assert_eq!(read_within(&home, 0), 10);
}

#[test]
fn a_read_cannot_write() {
    let home = home();
    let error = home.database.read(|transaction| add(transaction, "smuggled")).expect_err("refused");
    assert!(matches!(error, DatabaseError::Statement { statement: "add", .. }), "{error}");
    assert!(super::texts(&*home.database).is_empty());
}

#[test]
fn an_error_while_rows_are_handed_over_ends_the_query() {
    let home = home();
    note(&*home.database, "a").expect("writes");
    note(&*home.database, "b").expect("writes");
    let mut seen = 0;
    let error = home
        .database
        .read(|transaction| {
            transaction.query_each(ALL, &[], &mut |_| {
                seen += 1;
                Err(DatabaseError::Aborted("enough".into()))
            })
        })
        .expect_err("ended");
    assert!(matches!(error, DatabaseError::Aborted(_)), "{error}");
    assert_eq!(seen, 1);
}

#[test]
fn the_revision_tells_that_another_handle_has_committed() {
    let home = home();
    let other = super::open_at(&home.folder.path().join("registry.db")).expect("opens");
    let before = home.database.revision().expect("a number");
    assert_eq!(home.database.revision().expect("a number"), before);
    note(&other, "from elsewhere").expect("writes");
    assert_ne!(home.database.revision().expect("a number"), before);
}
