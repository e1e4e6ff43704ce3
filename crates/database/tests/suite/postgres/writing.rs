//! Writes: together or not at all; values come back as they were given.

use strongroom_database::{Asked, DatabaseError, Time, Value};
use uuid::Uuid;

use super::{ADD, ADD_MANY, ALL, COUNT, ECHO, PUT, VALUE, add, home, note, open, texts};
use crate::columns;

#[test]
fn an_error_of_the_job_undoes_all_it_did() {
    let Some((database, _scratch)) = home() else { return };
    let error = database
        .write(|transaction| {
            add(transaction, "one")?;
            Err::<(), _>(DatabaseError::Aborted("second thoughts".into()))
        })
        .expect_err("the job's own error comes back");
    assert_eq!(error.to_string(), "second thoughts");
    assert!(texts(&*database).is_empty());
}

#[test]
fn a_refused_row_is_told_with_its_statement_and_its_constraint() {
    let Some((database, _scratch)) = home() else { return };
    note(&*database, "same").expect("writes");
    let error = note(&*database, "same").expect_err("refused");
    let DatabaseError::Constraint { statement, detail } = &error else { panic!("{error}") };
    assert_eq!(*statement, "add");
    assert!(detail.contains("note_text_key"), "{detail}");
    assert!(!error.is_transient());
}

#[test]
fn a_job_that_goes_on_after_a_failed_statement_is_told_that_nothing_was_kept() {
    let Some((database, _scratch)) = home() else { return };
    note(&*database, "same").expect("writes");
    let error: DatabaseError = database
        .write(|transaction| {
            add(transaction, "other")?;
            let _ = add(transaction, "same");
            Ok(())
        })
        .expect_err("cannot be kept");
    assert!(error.to_string().contains("add"), "{error}");
    assert_eq!(texts(&*database), ["same"]);
}

#[test]
fn a_panic_fails_its_own_job_and_leaves_no_transaction_behind() {
    let Some((database, _scratch)) = home() else { return };
    let error: DatabaseError = database
        .write(|transaction| {
            add(transaction, "half")?;
            assert!(texts_are_liked(), "they are not");
            Ok(())
        })
        .expect_err("is told");
    assert!(error.to_string().contains("they are not"), "{error}");
    note(&*database, "whole").expect("goes on");
    assert_eq!(texts(&*database), ["whole"]);
}

fn texts_are_liked() -> bool {
    std::hint::black_box(false)
}

#[test]
fn many_rows_go_in_with_one_statement_and_each_is_answered() {
    let Some((database, _scratch)) = home() else { return };
    note(&*database, "text 1500").expect("writes");
    let made: Vec<bool> = database
        .write(|transaction| {
            let mut lists = (0..2_500).map(|number| vec![Value::Text(format!("text {number}"))]);
            let rows = transaction.query_many(ADD_MANY, &mut lists)?;
            Ok::<_, DatabaseError>(rows.iter().map(Option::is_some).collect())
        })
        .expect("writes");
    assert_eq!(made.len(), 2_500);
    let refused: Vec<usize> = made.iter().enumerate().filter(|(_, made)| !**made).map(|(place, _)| place).collect();
    assert_eq!(refused, [1_500]);
    let changed: u64 = database
        .write(|transaction| {
            let mut lists = (0..7).map(|number| vec![Value::Text(format!("single {number}"))]);
            transaction.execute_each(ADD, &mut lists)
        })
        .map_err(|error: DatabaseError| error)
        .expect("writes");
    assert_eq!(changed, 7);
}

#[test]
fn a_wrong_number_of_values_is_told_and_not_bound_as_null() {
    let Some((database, _scratch)) = home() else { return };
    for values in [vec![], vec![Value::Integer(1), Value::Integer(2)]] {
        let error: DatabaseError =
            database.write(move |transaction| transaction.execute(ADD, &values)).expect_err("the numbers differ");
        assert!(matches!(error, DatabaseError::Statement { statement: "add", .. }), "{error}");
    }
    let error: DatabaseError =
        database.write(|transaction| transaction.execute(ADD, &[Value::Integer(1)])).expect_err("is no text");
    assert!(matches!(error, DatabaseError::Statement { statement: "add", .. }), "{error}");
}

#[test]
fn values_of_every_kind_come_back() {
    const TEXT: &str = "a\u{10FFFF} '\"\\";
    const BYTES: &[u8] = &[0, 255, 7];
    let Some((database, _scratch)) = home() else { return };
    let id = Uuid::now_v7();
    let echo = |values: [Value; 6]| {
        database.read(|transaction| transaction.query(ECHO, &values)).map_err(|error: DatabaseError| error)
    };
    let given = [
        Value::Text(TEXT.into()),
        Value::Bytes(BYTES.into()),
        Value::Uuid(id),
        Value::Integer(1),
        Value::Real(0.5),
        Value::Integer(-7),
    ];
    let row = echo(given.clone()).expect("reads").remove(0);
    assert_eq!((row.text("text").expect("text"), row.bytes("bytes").expect("bytes")), (TEXT, BYTES));
    assert_eq!(row.uuid("id").expect("an identifier"), id);
    assert_eq!((row.integer("truth").expect("a number"), row.integer("number").expect("a number")), (1, -7));
    let error = row.integer("measure").expect_err("is no whole number");
    assert!(error.to_string().contains("Real(0.5)"), "{error}");
    let row = echo([(); 6].map(|()| Value::Null)).expect("reads").remove(0);
    for column in ["text", "bytes", "id", "truth", "measure", "number"] {
        assert_eq!(row.optional_text(column).expect("NULL"), None, "{column}");
    }
    let mut other = given.clone();
    // An identifier that came as bytes, and a character that the server cannot keep.
    other[2] = Value::Bytes(id.as_bytes().to_vec());
    other[0] = Value::Text("a\0b".into());
    let row = echo(other).expect("reads").remove(0);
    assert_eq!((row.uuid("id").expect("an identifier"), row.text("text").expect("text")), (id, "a\u{FFFD}b"));
    let mut too_large = given;
    too_large[5] = Value::Integer(i64::MAX);
    assert!(matches!(echo(too_large), Err(DatabaseError::Statement { .. })));
}

#[test]
fn a_column_is_found_by_its_name_whatever_its_place() {
    let Some((database, _scratch)) = home() else { return };
    columns::are_found_by_name(&*database);
}

#[test]
fn a_name_that_no_column_has_or_two_have_is_told() {
    let Some((database, _scratch)) = home() else { return };
    columns::are_told_where_no_one_has_the_name(&*database);
}

#[test]
fn a_read_cannot_write() {
    let Some((database, _scratch)) = home() else { return };
    let error = database.read(|transaction| add(transaction, "smuggled")).expect_err("refused");
    assert!(matches!(error, DatabaseError::Statement { statement: "add", .. }), "{error}");
    assert!(texts(&*database).is_empty());
}

#[test]
fn a_read_sees_one_state_while_others_write() {
    let Some((database, scratch)) = home() else { return };
    note(&*database, "first").expect("writes");
    let other = open(&scratch.url());
    let counts: Vec<u64> = database
        .read(|transaction| {
            let before = transaction.query(COUNT, &[])?[0].count("notes")?;
            note(&*other, "second")?;
            let after = transaction.query(COUNT, &[])?[0].count("notes")?;
            Ok::<_, DatabaseError>(vec![before, after])
        })
        .expect("reads");
    assert_eq!(counts, [1, 1]);
}

#[test]
fn an_error_while_rows_are_handed_over_ends_the_query_and_nothing_else() {
    let Some((database, _scratch)) = home() else { return };
    note(&*database, "a").expect("writes");
    note(&*database, "b").expect("writes");
    let mut seen = 0;
    let error = database
        .read(|transaction| {
            transaction.query_each(super::ALL, &[], &mut |_| {
                seen += 1;
                Err(DatabaseError::Aborted("enough".into()))
            })
        })
        .expect_err("ended");
    assert!(matches!(error, DatabaseError::Aborted(_)), "{error}");
    assert_eq!(seen, 1);
    assert_eq!(texts(&*database), ["a", "b"]);
}

#[test]
fn time_is_the_servers_one_within_a_transaction_and_never_goes_back() {
    let Some((database, _scratch)) = home() else { return };
    let times = || -> (Time, Time) {
        database.write(|transaction| Ok::<_, DatabaseError>((transaction.now()?, transaction.now()?))).expect("writes")
    };
    let (first, same) = times();
    let (later, _) = times();
    assert_eq!(first, same);
    assert!(later >= first);
    assert!(first > Time(1_700_000_000_000_000), "microseconds since the epoch: {first:?}");
}

fn asked(statement: strongroom_database::Statement, values: &[Value]) -> Asked {
    Asked::once(statement, values.to_vec())
}

#[test]
fn what_is_asked_together_is_answered_in_order_and_sees_what_was_asked_before() {
    let Some((database, _scratch)) = home() else { return };
    let answers = database
        .write(|transaction| {
            transaction.query_together(&[
                asked(COUNT, &[]),
                asked(ADD, &["one".into()]),
                asked(ADD, &["two".into()]),
                asked(COUNT, &[]),
                asked(ALL, &[]),
                asked(VALUE, &["nobody".into()]),
            ])
        })
        .map_err(|error: DatabaseError| error)
        .expect("answers");
    let answers: Vec<_> = answers.into_iter().map(|mut one| one.pop().expect("an answer for its values")).collect();
    let notes = |place: usize| answers[place].as_ref().expect("a row").integer("notes").expect("a number");
    assert_eq!((answers.len(), notes(0), notes(3)), (6, 0, 2));
    assert!(answers[1].is_none() && answers[2].is_none() && answers[5].is_none());
    assert_eq!(answers[4].as_ref().expect("a row").text("text").expect("a text"), "two", "the last of several rows");
    assert_eq!(texts(&*database), ["one", "two"]);
}

#[test]
fn what_is_asked_together_has_an_answer_for_each_of_its_value_lists() {
    let Some((database, _scratch)) = home() else { return };
    note(&*database, "1500").expect("writes");
    let added: Vec<Vec<Value>> = (0..2_500).map(|number| vec![number.to_string().into()]).collect();
    let put: Vec<Vec<Value>> =
        [("a", 1), ("b", 2)].map(|(name, value)| vec![name.into(), Value::Integer(value)]).into();
    let wanted: Vec<Vec<Value>> = ["b", "c", "a"].map(|name| vec![name.into()]).into();
    let answers = database
        .write(move |transaction| {
            transaction.query_together(&[
                Asked { statement: ADD_MANY, lists: added.clone() },
                Asked { statement: PUT, lists: put.clone() },
                Asked { statement: VALUE, lists: wanted.clone() },
                Asked { statement: ADD_MANY, lists: Vec::new() },
            ])
        })
        .map_err(|error: DatabaseError| error)
        .expect("answers");
    let refused: Vec<usize> =
        answers[0].iter().enumerate().filter(|(_, made)| made.is_none()).map(|(place, _)| place).collect();
    assert_eq!((answers[0].len(), refused), (2_500, vec![1_500]));
    let value = |row: &Option<strongroom_database::Row>| Some(row.as_ref()?.integer("value").expect("a number"));
    assert_eq!(answers[2].iter().map(value).collect::<Vec<_>>(), [Some(2), None, Some(1)]);
    assert!(answers[3].is_empty());
}

#[test]
fn the_first_failure_of_what_is_asked_together_is_told_and_nothing_is_kept() {
    let Some((database, _scratch)) = home() else { return };
    note(&*database, "same").expect("writes");
    let together = |values: [Value; 3]| {
        let wanted: Vec<Asked> = values.into_iter().map(|value| asked(ADD, &[value])).collect();
        database.write(move |transaction| {
            // Whatever the job makes of it.
            let told = transaction.query_together(&wanted).err().map(|error| error.to_string());
            let _ = add(transaction, "behind");
            told.map_or(Ok(()), |told| Err(DatabaseError::Aborted(told)))
        })
    };
    for (values, wanted) in [
        (["before".into(), "same".into(), "after".into()], "note_text_key"),
        (["before".into(), Value::Integer(1), "after".into()], "does not fit"),
    ] {
        let error: DatabaseError = together(values).expect_err("cannot be kept");
        assert!(error.to_string().contains(wanted), "{error}");
        assert_eq!(texts(&*database), ["same"]);
    }
}

#[test]
fn what_begins_a_transaction_and_is_refused_lets_nothing_of_its_job_through() {
    let Some((database, scratch)) = home() else { return };
    let refusing = format!("{}%2Cpg_catalog", scratch.url());
    scratch.run(
        "CREATE FUNCTION pg_current_xact_id() RETURNS xid8 LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'no transaction begins here'; END $$",
    );
    let refusing = open(&refusing);
    for look in [false, true] {
        let error: DatabaseError = refusing
            .write(move |transaction| {
                let first = if look { transaction.query(COUNT, &[]).map(drop) } else { add(transaction, "first") };
                assert!(first.is_err(), "a transaction has begun");
                assert!(add(transaction, "second").is_err(), "a transaction has begun");
                Ok(())
            })
            .expect_err("is refused");
        assert!(error.to_string().contains("no transaction begins here"), "{error}");
    }
    assert!(texts(&*database).is_empty());
}

#[test]
fn a_job_that_asks_nothing_needs_no_transaction() {
    let Some((database, _scratch)) = home() else { return };
    let told = database.write(|_| Ok::<_, DatabaseError>(7)).expect("nothing was asked");
    assert_eq!(told, 7);
    let error = database.write(|_| Err::<(), _>(DatabaseError::Aborted("second thoughts".into())));
    assert_eq!(error.expect_err("the job's own").to_string(), "second thoughts");
    note(&*database, "one").expect("the connection is as it was");
}
