//! The columns of an answer, of either engine: each is taken by its name.

use strongroom_database::{Database, DatabaseError, Row, Statement};

pub(super) const STATEMENTS: &str = "-- name: number_first\nSELECT 1 AS number, 'one' AS text\n\
    -- name: text_first\nSELECT 'one' AS text, 1 AS number\n\
    -- name: text_twice\nSELECT 'one' AS text, 1 AS number, 'two' AS text\n";

fn row(database: &dyn Database, statement: Statement) -> Row {
    let rows: Result<Vec<Row>, DatabaseError> = database.read(|transaction| transaction.query(statement, &[]));
    rows.expect("reads").remove(0)
}

pub(super) fn are_found_by_name(database: &dyn Database) {
    for statement in [Statement("number_first"), Statement("text_first")] {
        let row = row(database, statement);
        assert_eq!((row.integer("number").expect("a number"), row.text("text").expect("text")), (1, "one"));
    }
}

pub(super) fn are_told_where_no_one_has_the_name(database: &dyn Database) {
    let row = row(database, Statement("text_twice"));
    assert_eq!(row.integer("number").expect("a number"), 1);
    for column in ["missing", "text"] {
        let error = row.optional_text(column).expect_err("no one column has this name");
        assert!(matches!(&error, DatabaseError::Column { column: told, .. } if told == column), "{error}");
        assert!(error.to_string().contains(column), "{error}");
    }
}
